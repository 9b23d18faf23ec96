// BankProblem: one memory in several pieces, such as a small fast SRAM beside a large slow PSRAM. Which buffers lie in
// which, when they do not all fit into the best.
//
//     bytes ^ fast, 8 bytes        bytes ^ slow, 64 bytes     A, B and C are live at once and need 12 bytes.
//         8 |  B B B . .               4 |  A A A A A         A is read once, B and C again and again: A goes where a
//         4 |  C C C C .               0 +--0-1-2-3-4-->      byte that is moved costs more.
//         0 +--0-1-2-3-4-->
//
// A bank is an arena: it has addresses of its own, and buffers in two banks share no bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

struct Bank {
  int64_t capacity = kUnlimited;  // bytes
  int64_t cost = 0;               // of a byte that is moved in it; not negative
  bool pinned_only = false;       // only buffers that are pinned to it lie in it
};

/// Of a pin: the buffer may lie in any bank.
inline constexpr int32_t kAnyBank = -1;

struct BankProblem {
  Problem problem;               // of one space, whose capacity is not looked at; its candidates may be taken or not
  std::vector<bool> preferred;   // of each candidate: whether a plan without banks takes it; empty: none
  std::vector<Bank> banks;       // the cheapest first
  std::vector<int64_t> traffic;  // of each buffer: the bytes that a run moves in it
  std::vector<int32_t> pins;     // of each buffer: the only bank that it may lie in, or kAnyBank; empty: none has one
};

/// Whether a buffer with this pin may lie in banks[k].
inline bool may_lie_in(const std::vector<Bank>& banks, size_t k, int32_t pin) {
  return pin == kAnyBank ? !banks[k].pinned_only : pin == static_cast<int32_t>(k);
}

}  // namespace berth::packing

// Allocations that fail: malloc() and its like of the program that links failing_allocations_testing.cc, libberth.so's
// calls included.
#pragma once

#include <cstdint>
#include <functional>

#include "c/berth.h"

namespace berth::testing {

/// False with sanitizers, which have their own malloc().
bool allocations_can_fail();

/// What a call did.
struct Allocations {
  int64_t lost = 0;     // blocks that are left; below zero: of others that were freed
  bool failed = false;  // whether there was one to fail
};

enum class Fails { kOne, kAllFromThere };

/// Calls `call`, and fails its allocation `n`, counted from 0, or all from there on. Blocks are counted of all threads,
/// as one may free what another took; only this thread is refused any.
Allocations with_failing(int64_t n, const std::function<void()>& call, Fails fails = Fails::kOne);

/// Calls `call`, which closes what it opens and returns the first error, with each of its allocations failing in turn,
/// or of more with every `stride`-th: each time it says that memory was missing or succeeds, and loses nothing.
void fail_each(const char* what, const std::function<int32_t(berth_error*)>& call, Fails fails = Fails::kOne,
               int64_t stride = 1);

}  // namespace berth::testing

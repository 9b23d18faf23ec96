// ArenaTable: which arenas a method needs, found while its buffers are made, and their order in the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"
#include "compiler/memory/packing/problem.h"

namespace berth::memory {

/// One arena of the program: space k of the problem is the arena with memory id k + 1.
struct Arena {
  Device device;
  bool holds_state = false;
  std::string bank;                        // its name (banks.h); "": the device has none
  int64_t alignment = 16;                  // of the arena's address and of each buffer in it
  int64_t behind = 0;                      // bytes that follow the last value (base/backend_facts.h)
  int64_t capacity = packing::kUnlimited;  // bytes for values; of a bank: those that state leaves
  int64_t bank_bytes = -1;                 // the bank's capacity; -1: none is set

  /// Its bytes when values take `height`.
  int64_t bytes(int64_t height) const { return height == 0 ? 0 : height + behind; }
};

/// What addresses are multiples of.
struct Alignments {
  int64_t host = 16;     // arenas of the host start there by contract
  int64_t device = 256;  // what device allocators give

  int64_t of(Device where) const { return where.is_cpu() ? host : device; }
};

struct SortedArenas {
  std::vector<Arena> arenas;
  std::vector<int32_t> moved;  // of each space of the table: the one that it has become
};

class ArenaTable {
 public:
  /// `state`: the alignments of arenas that hold state; `behind`: Arena::behind of every arena.
  ArenaTable(const Alignments& alignments, const Alignments& state, int64_t behind)
      : alignments_(alignments), state_alignments_(state), behind_(behind) {}

  /// The space of that arena, which is made at its first mention.
  int32_t space(Device device, bool holds_state);
  int64_t alignment(int32_t space) const { return arenas_[space].alignment; }

  /// The host's arenas first, then by type and index of the device; on each device its own memory, then that of
  /// state. None is without a buffer, except for the host's own where the file must have an arena or has
  /// state of the host, which ExecuTorch wants in arena 2, and those that keep the numbers of shared state alike
  /// (Analysis::number_arenas_alike).
  SortedArenas sorted() &&;

 private:
  Alignments alignments_;
  Alignments state_alignments_;
  int64_t behind_;
  std::vector<Arena> arenas_;  // in order of first mention
};

}  // namespace berth::memory

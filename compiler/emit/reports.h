// What compilation says of a program: its arenas, its delegates, and what it copies between devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"

namespace berth {

/// What one arena of one method takes.
struct ArenaReport {
  std::string method;
  int id = 1;  // ExecuTorch's memory id
  Device device;
  int64_t bytes = 0;
  int64_t lower_bound = 0;  // no plan of this schedule is smaller
  bool optimal = false;     // proven: bytes == lower_bound
};

/// From when to when bytes of an arena are in use, in instructions of the file: all that other code may rely on between
/// two instructions.
struct LiveRange {
  uint32_t memory_id = 1;
  uint64_t offset = 0;  // bytes
  uint64_t bytes = 0;
  /// In use from before instruction `first` to before instruction `end`. -1: the caller sets it; one more than there
  /// are instructions: the caller reads it.
  int32_t first = -1;
  int32_t end = 0;
  /// From one run to the next: `first` and `end` say nothing.
  bool state = false;
  /// In bytes of others on purpose, or others in its: a candidate for sharing bytes that was taken.
  bool merged = false;
};

/// A call of a delegate, or all calls of one that was compiled elsewhere.
struct DelegateReport {
  std::string method;
  int32_t id = 0;  // index into the method's delegates
  std::string name;
  std::string backend;
  Device device;
  int64_t nodes = 0;  // of its region; 0 when it was compiled elsewhere
  int64_t payload_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t own_scratch_bytes = 0;  // it would take if nothing lay in the bytes of results until they are written
  int64_t scratch_lower_bound = 0;
  /// Of each result: 0, or all of its bytes, where some of what is dead before it lies in them.
  std::vector<int64_t> output_scratch_bytes;
  /// Of its nested program, whose arena 1 is the scratch and 2 + k the bytes of result k.
  int64_t instructions = 0;
  std::vector<LiveRange> live_ranges;
};

/// The copies from one device to another in a run of a method, with every symbol at its upper bound. The body of a scan
/// counts for each iteration, that of a `while` once, and of the branches of an `if` the one that copies more.
struct CopyReport {
  std::string method;
  Device from;
  Device to;
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t per_turn = 0;  // of `count`: those in `while` loops, which each further turn makes again
};

}  // namespace berth

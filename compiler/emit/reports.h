// What the compiler reports about a program: its arenas, its delegates, and its copies between devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"

namespace berth {

/// An arena of a method.
struct ArenaReport {
  std::string method;
  int id = 1;  // ExecuTorch's memory id
  Device device;
  int64_t bytes = 0;
  int64_t lower_bound = 0;  // no memory plan for this schedule needs fewer bytes
  bool optimal = false;     // bytes == lower_bound
  std::string bank;         // its name; "": the device has no banks
  int64_t capacity = -1;    // bytes; -1: none is set
};

/// What it costs that the values of a device do not all lie in its first bank (compiler/memory/banks.h).
struct BankReport {
  std::string method;
  Device device;
  int64_t cost = 0;
  int64_t lower_bound = 0;
};

/// The instructions during which some bytes of an arena are in use. Between two instructions, code that looks at the
/// arena may rely on this and on nothing else.
struct LiveRange {
  uint32_t memory_id = 1;
  uint64_t offset = 0;  // bytes
  uint64_t bytes = 0;
  /// In use from just before instruction `first` to just before instruction `end`. `first` is -1 if the caller sets the
  /// bytes; `end` is the number of instructions plus 1 if the caller reads them.
  int32_t first = -1;
  int32_t end = 0;
  /// Whether they hold state, which lives from one run to the next; `first` and `end` then mean nothing.
  bool state = false;
  /// Whether they share bytes with another live range on purpose: an alias candidate that the planner took.
  bool shared = false;
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
  int64_t own_scratch_bytes = 0;  // of scratch that it would need if no output were used as scratch
  int64_t scratch_lower_bound = 0;
  int64_t scratch_inputs = 0;  // how many of its inputs lie in the scratch
  int64_t scratch_outputs = 0;
  int64_t state_bytes = 0;  // that it keeps from one call to the next
  /// For each output: its bytes if it is used as scratch until it is first written, otherwise 0.
  std::vector<int64_t> output_scratch_bytes;
  /// Of its nested program, in which arena 1 is the scratch and arena 2 + k the bytes of output k.
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
  int64_t per_turn = 0;  // the part of `count` that is in `while` loops: each further iteration adds as many
};

}  // namespace berth

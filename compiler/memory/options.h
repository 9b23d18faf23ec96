// MemoryOptions: what the plan of a method's memory may do, and what it must keep to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/watch.h"
#include "compiler/ir/module.h"
#include "compiler/memory/arenas.h"
#include "compiler/memory/banks.h"
#include "compiler/memory/in_place_set.h"
#include "compiler/memory/packing/planner.h"
#include "compiler/memory/scheduling/timing.h"

namespace berth::memory {

/// Whether an input or an output of a method is memory of the caller's. May be empty: none is.
using CallersMemory = std::function<bool(const ir::Method& method, ir::ValueId port)>;

/// Input `input` of a delegate's call, the old value of a state, and result `result`, the new one, which lies in its
/// bytes.
struct StatePort {
  int32_t input = 0;
  int32_t result = 0;
};

/// Input or output `port` of a delegate's call, which lies in its scratch, `offset` bytes from its front:
/// packing::kAnywhere as long as that is open.
struct ScratchPort {
  int32_t port = 0;
  int64_t offset = packing::kAnywhere;
};

struct ScratchPorts {
  std::vector<ScratchPort> inputs;
  std::vector<ScratchPort> outputs;

  bool empty() const { return inputs.empty() && outputs.empty(); }
};

/// What a node of the method's body takes, and who does it.
using NodeTime = std::function<scheduling::TaskTime(const ir::Method& method, const ir::Node& node)>;

/// How much memory an order may cost in which devices work at the same time (plan_overlap.h).
struct OverlapOptions {
  /// Empty: the order is that of the least memory.
  NodeTime time;
  /// More than that order's arenas take together: bytes, and hundredths of them.
  int64_t bytes = 0;
  int64_t percent = 0;
};

struct MemoryOptions {
  packing::Planner planner = packing::Planner::kBest;
  /// Whether nodes may run in another order than the module has them, where that makes the arenas smaller (kBest only).
  bool reorder = true;
  /// Whether it may cost memory that devices work at the same time. Without `reorder` it has no effect.
  OverlapOptions overlap;
  /// Values that are in use while a node of the body runs, beside those that it reads: an unfinished copy between
  /// devices reads them (plan_overlap.h). May be empty.
  std::map<ir::NodeId, std::vector<ir::ValueId>> in_use;
  /// Seconds of planning; 0: as long as it takes. What is begun then ends with the best that it has, so the plan
  /// depends on the machine and its load, and PlanningCost::truncated says so.
  double time_limit = 0;
  /// Is told of each method, and may end the planning; null: none. What is begun then ends as with the limit.
  Watch* watch = nullptr;
  /// At least what buffers and arenas start at multiples of: powers of two. A method that calls delegates gets more
  /// (alignments_of).
  Alignments alignments;
  /// Set: state lies in the order of the module, at multiples of these, whatever the planner, so that methods with
  /// other options find it at the same place. Otherwise it lies as the planner likes.
  std::optional<Alignments> state_alignments;
  /// Whether inputs and outputs lie in arenas; those on devices never do.
  bool plan_inputs_and_outputs = true;
  /// Which inputs and outputs are memory of the caller's: no arena has bytes for them, an input is read where it is and
  /// never written. Empty: those on devices, which always are.
  CallersMemory callers;
  /// Of each output that is the caller's: whether what dies before it is made may lie in its bytes (output_scratch.h).
  /// May be empty.
  std::vector<bool> scratch_outputs;
  /// Of the method of a region: inputs that hold state, and the outputs that replace it in the same bytes
  /// (delegate_state.h). May be empty.
  std::vector<StatePort> state_ports;
  /// Of the method of a region: ports that lie in its arena (scratch_ports.h).
  ScratchPorts own_scratch_ports;
  /// Of calls of delegates: ports that must lie in their scratch (scratch_ports.h). May be empty.
  std::map<ir::NodeId, ScratchPorts> scratch_ports;
  /// Named pieces of devices' memory, in order of preference (banks.h). Empty: every device has one arena.
  std::vector<MemoryBank> banks;
  /// Only whether the banks can hold everything, with a bounded effort (BankOptions::trial).
  bool trial_of_banks = false;
  /// Which of them a value of a method must lie in; -1: whichever costs least. May be empty.
  std::function<int32_t(const ir::Method& method, ir::ValueId value)> bank_of;
  /// Values that lie in far banks, and in which: what spill_to_far_banks() says.
  std::map<ir::ValueId, int32_t> spilled;
  /// Whether results may be computed into the bytes of inputs that die and of state (in_place.h).
  bool in_place = true;
  /// Those of which operators.
  InPlaceSet in_place_set;
  /// Whether results may be names of their inputs' bytes: views, and parts in their wholes (sub_buffers.h).
  bool alias = true;
  /// Whether delegates may use the bytes of their outputs as scratch until they first write them.
  bool output_scratch = true;
  /// Whether inputs that only a delegate reads may lie in its scratch, and its outputs.
  bool inputs_in_scratch = true;
  bool outputs_in_scratch = true;

  // The naive planner gives every buffer bytes of its own.
  bool allows_in_place() const { return in_place && planner != packing::Planner::kNaive; }
  bool allows_sub_buffers() const { return alias && planner != packing::Planner::kNaive; }
};

}  // namespace berth::memory

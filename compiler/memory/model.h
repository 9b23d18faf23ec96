// MemoryModel: what decides the memory of one method before anything is placed. Which values share bytes whatever the
// plan, from when to when each buffer is in use, which further values may share bytes, and what must be copied.
//
//     step 0            the caller sets the inputs
//     step 1 + i        node i of the method's body; the nodes in a branch or loop follow their node, and one more step
//                       ends each region (liveness_regions.cc)
//     steps.save        values that a write-back would destroy are saved
//     steps.write_back  state is written back
//     steps.read        the caller reads the outputs
//
// A buffer is alive from the step that defines its first value to the last step that reads any of its values; so what
// a node reads and what it writes never share bytes. Inputs are alive from step 0, outputs to the last step, state
// always. Sizes are those at the upper ends of the symbols' ranges.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/memory/alias_candidates.h"
#include "compiler/memory/arenas.h"
#include "compiler/memory/options.h"
#include "compiler/memory/packing/plan.h"
#include "compiler/memory/packing/problem.h"

namespace berth::memory {

/// What kind of memory holds a value.
enum class Home : uint8_t {
  kScalar,    // none: it is not a tensor
  kBuffer,    // buffers.all[buffer]
  kConstant,  // module.constants[constant]
  kNowhere,   // none: an output that nothing reads and that its kernel can do without
  kCaller,    // memory that the caller brings; known when the program runs
};

/// Bytes that values lie in: one buffer of the plan.
using BufferId = Id<packing::Buffer>;

/// The buffer of a port that lies in the scratch, and where there: packing::kAnywhere as long as that is open.
struct ScratchPortBuffer {
  BufferId buffer;
  int64_t offset = packing::kAnywhere;
};

struct ValueHome {
  Home home = Home::kScalar;
  BufferId buffer;          // of kBuffer
  ir::ConstantId constant;  // of kConstant
  int64_t offset = 0;       // of kBuffer: bytes from the buffer's front

  bool is(BufferId id) const { return home == Home::kBuffer && buffer == id; }
};

/// Whether a node is a view, or why not.
enum class ViewReason : uint8_t {
  kView,               // its result is another name for its input's bytes
  kSizesChange,        // the same, but an instruction must set the sizes: a dimension is a symbol
  kCallersMemory,      // the same, but an instruction must set the address: the caller brings the memory
  kNotAView,           // the operator moves or computes
  kOrderDiffers,       // the input's elements do not lie in memory as the view would have them
  kOtherDevice,        // input and result are on different devices
  kOutputOfInput,      // the method returns it, and the bytes are the caller's input
  kOutputOfConstant,   // the method returns it, and the bytes are a constant's
  kOutputOfState,      // the method returns it, and the bytes are state
  kCallersOutput,      // the method returns it in memory of the caller's
  kConstantOfSymbols,  // a constant under sizes that are not known
  kStateOfSymbols,     // state under sizes that are not known and may be larger: its place is the same in every method
  kScratchOfSymbols,   // an output used as scratch, under sizes that are not known and may be larger
  kOff,                // switched off
};

/// "view", "sizes-change", "not-a-view"…
const char* to_string(ViewReason reason);

/// Whether the result has its input's bytes, with or without an instruction.
inline bool is_view(ViewReason reason) {
  return reason == ViewReason::kView || reason == ViewReason::kSizesChange || reason == ViewReason::kCallersMemory;
}

/// `value` is computed into the bytes of the state that `base`, a value that reads it, is in: nothing reads the old
/// contents any more, so no write-back is needed.
struct StateUpdate {
  ir::StateId state;
  ir::ValueId value;
  ir::ValueId base;  // invalid: the node that makes `value` does not read the state
};

/// The row of a tensor on a device in which a value lies. Instructions find the row in each iteration of a loop, so
/// that nothing is copied (liveness_rows.cc).
struct RowHome {
  enum class Kind : uint8_t {
    kNone,
    kSlice,  // the value is a slice of `rows`, which a scan scans
    kStack,  // the value is made in a row of `rows`, which a scan stacks
    kPair,   // the value is made in one of two rows by turns; `rows` is the loop's result, whose buffer has both
  };
  Kind kind = Kind::kNone;
  ir::ValueId rows;

  bool in_row() const { return kind != Kind::kNone; }
};

/// Which values share bytes whatever the plan.
struct Aliases {
  IdVector<ir::ValueId, ValueHome> homes;
  IdVector<ir::ValueId, ir::ValueId> bases;  // what the value is a view of, or invalid
  IdVector<ir::NodeId, ViewReason> reasons;
  /// The result of a branch or loop that a value is itself, in the file too; invalid for most. What a branch makes for
  /// a result, and what a loop carries.
  IdVector<ir::ValueId, ir::ValueId> stands_for;
  IdVector<ir::ValueId, bool> stacked;  // a loop fills the value slice by slice
  IdVector<ir::ValueId, RowHome> rows;
  /// A loop's result, which is carried: not copied, but pointed at what is made for the next iteration, in a row.
  IdVector<ir::ValueId, bool> pointed;
  std::vector<StateUpdate> state_updates;  // in place of write-backs
};

/// When nodes run and values are read.
struct Steps {
  IdVector<ir::NodeId, int64_t> nodes;        // -1: the node is in no graph that is emitted here
  IdVector<ir::ValueId, int64_t> last_reads;  // the last step that reads the value under this name; -1: none does
  int64_t save = 0;
  int64_t write_back = 0;
  int64_t read = 0;
};

/// State `state` gets the value `value` at the end of each run.
struct WriteBack {
  ir::StateId state;
  ir::ValueId value;
};

/// `value` is copied into a place of its own before the write-backs: it shares bytes with state that they change, or it
/// is an output that the caller wants in his own memory.
struct Save {
  ir::ValueId value;
  BufferId buffer;      // invalid: the caller's memory
  int32_t output = -1;  // the copy is this output alone; -1: it stands for the value from there on
};

/// At the end of a region, or before a loop: `value` is copied into the place of `into`.
struct Transfer {
  ir::ValueId value;
  ir::ValueId into;
  BufferId saved;  // of a copy that is made before all these transfers, as one of them destroys the value; or invalid
  bool points = false;  // `into` is pointed at a row (Aliases::pointed): of the value, or before a loop of a copy of it
};

/// What must be copied beside what the nodes compute.
struct Copies {
  std::vector<Save> saves;
  std::vector<WriteBack> write_backs;
  /// Of nodes with regions: for `if` after each branch; for loops before the first and after each iteration.
  std::map<ir::NodeId, std::vector<std::vector<Transfer>>> transfers;
};

/// The bytes that values lie in, each with its live range, and what it was made for.
struct Buffers {
  IdVector<BufferId, packing::Buffer> all;
  IdVector<BufferId, ir::ValueId> first_value;   // the value that it was made for; invalid for state and saves
  IdVector<BufferId, bool> made_twice;           // several instructions make what is in it
  IdVector<ir::StateId, BufferId> states;        // invalid when no method mentions the state
  IdVector<ir::NodeId, BufferId> scratch;        // of the node's delegate, or invalid
  std::vector<BufferId> output_scratch;          // of each output: its buffer when it is used as scratch, or invalid
  std::vector<ScratchPortBuffer> scratch_ports;  // of a region's method: ports that lie in its scratch

  /// Whether state lies in a buffer.
  IdVector<BufferId, bool> are_states() const;
};

/// What one walk over the method finds (liveness.h), before candidates for sharing more.
struct Liveness {
  Aliases aliases;
  Steps steps;
  Copies copies;
  Buffers buffers;
  ArenaTable arenas;  // those that the buffers' spaces number
};

struct MemoryModel {
  Aliases aliases;
  Steps steps;
  Copies copies;
  Buffers buffers;
  AliasCandidates candidates;
  std::vector<Arena> arenas;  // one a space of the buffers
};

/// Whether `plan` has taken the candidate; false for none.
inline bool is_taken(const packing::Plan& plan, CandidateId candidate) {
  return candidate.valid() && static_cast<size_t>(candidate.index) < plan.taken.size() && plan.taken[candidate.index];
}

/// Whether `node` needs no instruction, as its parts lie in their sub-buffers.
inline bool is_elided(const MemoryModel& model, const packing::Plan& plan, ir::NodeId node) {
  return is_taken(plan, model.candidates.sub_buffers[node]);
}

}  // namespace berth::memory

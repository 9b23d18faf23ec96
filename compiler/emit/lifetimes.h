// From a method to a memory problem: which values share bytes (the one alias analysis that everybody asks), and from
// when to when those bytes are in use.
//
//     step 0        the caller sets the inputs
//     step 1 + i    node i of the method's body; the nodes in a branch or loop follow their node, and a step more ends
//                   each region (lifetimes_regions.cc)
//     save_step     values that a write-back would destroy are saved
//     write_step    state is written back
//     read_step     the caller reads the outputs
//
// A storage is alive from the step that defines its first value to the last step that reads any of its values; so what
// a node reads and what it writes never share bytes. Inputs are alive from step 0, outputs to the last step, state
// always. Sizes are those at the upper ends of the symbols' ranges.
//
// Each storage lies on the device of its values. What the caller owns has no storage: inputs and outputs that live on a
// device, and all of them where the options say so (the nested program of a delegate). An output of the caller's has
// bytes of its own; where the method has the value elsewhere already, it is copied there at the end. Outputs that the
// caller lends have a storage each, which then lies where lent_results.h says.
//
// What may be computed in place, and parts that may lie in their wholes, is offered to the planner (in_place.h,
// slots.h). A new value of state is computed into the state's bytes where nothing reads the old one after that; it is
// copied there at the end elsewhere.
//
// What an operator with a RESHAPE row makes is a view: it has its input's bytes under another shape and costs no
// instruction (when a dimension is a symbol: one that sets the sizes), except where view_reason() names a reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "compiler/emit/arena_table.h"
#include "compiler/emit/in_place.h"
#include "compiler/emit/in_place_set.h"
#include "compiler/ir/module.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/problem.h"

namespace berth::emit {

/// Where the bytes of a value are.
enum class Home : uint8_t {
  kScalar,    // it is no tensor
  kStorage,   // problem.storages[index]
  kConstant,  // module.constants[index]
  kNowhere,   // an output that nobody reads and that its kernel can do without
  kCaller,    // memory that the caller brings; known when the program runs
};

struct Place {
  Home home = Home::kScalar;
  int32_t index = -1;
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
  kLentOfSymbols,      // an output that the caller lends under sizes that are not known and may be larger
  kOff,                // switched off
};

/// "view", "sizes-change", "not-a-view"…
const char* to_string(ViewReason reason);

/// Whether the result has its input's bytes, with or without an instruction.
inline bool is_view(ViewReason reason) {
  return reason == ViewReason::kView || reason == ViewReason::kSizesChange || reason == ViewReason::kCallersMemory;
}

/// State `state` gets the value `value` at the end of each run.
struct WriteBack {
  ir::StateId state = -1;
  ir::ValueId value;
};

/// `value` is copied into a place of its own before the write-backs: it shares bytes with state that they change, or it
/// is an output that the caller wants in memory of his own.
struct Save {
  ir::ValueId value;
  int32_t storage = -1;  // -1: the caller's memory
  int32_t output = -1;   // the copy is this output alone; -1: it stands for the value from there on
};

/// `value` is computed into the bytes of the state that `base`, a value that reads it, is in: nothing reads the old
/// contents any more, so no write-back is needed.
struct Successor {
  ir::StateId state = -1;
  ir::ValueId value;
  ir::ValueId base;  // invalid: the node that makes `value` does not read the state
};

/// At the end of a region, or before a loop: `value` is copied into the place of `into`.
struct Transfer {
  ir::ValueId value;
  ir::ValueId into;
  int32_t saved = -1;  // storage of a copy that is made before all these transfers, as one of them destroys the value
};

struct Lifetimes {
  std::vector<Place> places;        // of each value of the method
  std::vector<ir::ValueId> bases;   // of each value: what it is a view of, or invalid
  std::vector<ViewReason> reasons;  // of each node of the method
  std::vector<int64_t> steps;       // of each node of the method; -1: it is in no graph that is emitted here
  std::vector<int64_t> last_reads;  // of each value: the last step that reads it under this name; -1: none does
  std::vector<int32_t> states;      // of each state of the module: its storage, or -1 when no method mentions it
  std::vector<Save> saves;
  std::vector<WriteBack> write_backs;
  int64_t save_step = 0;
  int64_t write_step = 0;
  int64_t read_step = 0;
  /// Of each value: the result of a branch or loop that it is itself, in the file too; invalid for most. What a branch
  /// makes for a result, and what a loop carries.
  std::vector<ir::ValueId> stands_for;
  /// Of nodes with regions, by index: for `if` after each branch; for loops before the first and after each iteration.
  std::map<int32_t, std::vector<std::vector<Transfer>>> transfers;
  std::vector<bool> stacked;     // of each value: a loop fills it slice by slice
  std::vector<bool> made_twice;  // of each storage, as far as it goes: several instructions make what is in it
  std::vector<int32_t> scratch;  // of each node of the method: the storage of its delegate's scratch, or -1
  std::vector<int32_t> lent;     // of each output of the method: its storage when the caller lends it, or -1
  std::vector<Arena> arenas;     // one a space of the problem
  plan::Problem problem;
  InPlaceSet in_place_set;               // that of the options
  std::vector<Offer> offers;             // of each merge of the problem
  std::vector<int32_t> slots;            // of each node: one of its merges into slots, or -1 (slots.h)
  std::vector<Reuse> reuses;             // why results may, or may not, be in the bytes of arguments
  std::vector<Successor> successors;     // values computed in place, whatever the planner chooses
  std::vector<ir::ValueId> first_value;  // of each storage: the value that it was made for; invalid for state and saves
};

/// Whether `node` needs no instruction, as its parts lie in their slots.
inline bool is_elided(const Lifetimes& lifetimes, const plan::Plan& plan, ir::NodeId node) {
  const int32_t merge = lifetimes.slots[static_cast<size_t>(node.index)];
  return merge >= 0 && static_cast<size_t>(merge) < plan.merged.size() && plan.merged[static_cast<size_t>(merge)];
}

/// What find_lifetimes() may assume of the memory.
struct MemoryOptions {
  Alignments alignments;
  /// Whether inputs and outputs lie in arenas; those on devices never do.
  bool plan_inputs_and_outputs = true;
  /// EmitOptions::callers.
  std::function<bool(const ir::Method& method, ir::ValueId port)> callers;
  /// Of each output that is the caller's: whether what dies before it is made may lie in its bytes (lent_results.h).
  /// May be empty.
  std::vector<bool> lent_outputs;
  std::vector<MemoryPool> pools;
  /// The pool that a value of the method is to lie in, -1 for its device's own memory; may be empty.
  std::function<int32_t(const ir::Method& method, ir::ValueId value)> pool_of;
  /// Whether results may be computed into the bytes of inputs and of state.
  bool in_place = true;
  /// Those of which operators.
  InPlaceSet in_place_set;
  /// Whether there are views, and parts in their wholes.
  bool alias = true;
  bool slots = true;
};

/// `scratch_bytes`: of each node of the method, what its delegate needs at each call; empty says 0 everywhere.
///
/// NotSupported for nodes that write their argument, and in branches and loops for numbers that cross their borders and
/// for writes of state; OutOfResources for a tensor over 2^58 bytes;
/// InvalidArgument for a pool on another device than its value. The failure's place names the method and the node or
/// value.
Expected<Lifetimes> find_lifetimes(const ir::Module& module, const ir::Method& method,
                                   const MemoryOptions& options = {}, const std::vector<int64_t>& scratch_bytes = {});

}  // namespace berth::emit

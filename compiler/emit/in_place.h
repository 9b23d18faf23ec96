// In place: which results may be computed into the bytes of an input, by conditions under which no kernel, ours or
// ExecuTorch's, on however many threads, reads what it has overwritten.
//
// An operator's row (format/operators.def) names its class and the arguments. Beyond that:
//   element   the result and that input have the same element size, sizes (as symbols too) and dimension order; so the
//             input is not the one that is broadcast. Of a list of tensors, each
//   row       the same; a whole row is read before it is written
//   self      the same; only the argument that the operator is written to change
// and the input fills a place in an arena, of the result's device, read for the last time by this node through every
// name that they have, and only by arguments that the row allows. A planned input of the method may be overwritten:
// each run sets it again. Constants, what the caller owns, state and outputs are never overwritten.
//
// What passes is an offer, plan::Merge: which of several results takes a buffer is the planner's choice.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::emit {

struct Lifetimes;

/// Why a result may be, or may not be, in the bytes of one argument.
enum class ReuseReason : uint8_t {
  kReuse,           // it may
  kNever,           // the operator's row does not allow it
  kOff,             // switched off, or not in the set that was asked for (in_place_set.h)
  kNotInArena,      // the result has no place of its own: nobody reads it, or the caller brings its memory
  kNoTensor,        // the argument is none or a number
  kConstant,        // the input is a constant
  kCallersMemory,   // the input is the caller's
  kState,           // the input is state, which keeps its bytes
  kOtherDevice,     // input and result are on different devices
  kOtherPool,       // they are to lie in different pools of one device
  kElementDiffers,  // their elements have different sizes in bytes
  kSizeDiffers,     // their sizes differ, or are not known to be equal
  kOrderDiffers,    // their elements lie in different orders
  kGraphOutput,     // the method returns the input
  kStillRead,       // the input is read later
  kViewAlive,       // another name of the input's bytes is read later, or returned
  kReadElsewhere,   // the node reads the same bytes through an argument that the row does not allow
  kMadeBefore,      // another branch makes the result too, and has its place already
  // Of concatenations and slices (slots.h):
  kSymbolic,    // a size is not known before the program runs
  kStrided,     // the part is not one piece of the whole
  kMisaligned,  // the part would not begin at a multiple of what its device or a delegate asks for
  kTwice,       // the same bytes are two parts
  kInOther,     // the bytes are a part or a whole of another concatenation or slice already
};

/// "reuse", "never", "still-read"…
const char* to_string(ReuseReason reason);

/// The answer for one argument of one node.
struct Reuse {
  ir::NodeId node;
  int32_t argument = -1;  // -1: of all of them
  ReuseReason reason = ReuseReason::kNever;
  int32_t merge = -1;  // the offer in the problem, of kReuse
  ir::ValueId value;   // the argument, or the one of its list; invalid when it is no value
};

/// What a merge of the problem stands for: `value` in the bytes of `base`, by `node`.
struct Offer {
  ir::NodeId node;
  ir::ValueId value;
  ir::ValueId base;
  bool is_slot = false;  // `value` is a part of `base` (slots.h), and the node needs no instruction
};

/// Appends the offers to the problem's merges and to lifetimes->offers, and the answers to lifetimes->reuses.
/// `enabled` false: every answer is kOff. REQUIRES: lifetimes are complete.
void offer_in_place(const ir::Module& module, const ir::Method& method, bool enabled, Lifetimes* lifetimes);

/// May the result of `node` be in the bytes of `input`, which is argument `k` or in the list that it is, whatever may
/// read them later? kReuse, or a reason that has nothing to do with lifetimes. For state, which is never dead
/// (state_in_place.h).
ReuseReason kernel_allows(const ir::Module& module, const ir::Method& method, const ir::Node& node, int32_t k,
                          ir::ValueId input, const Lifetimes& lifetimes);

}  // namespace berth::emit

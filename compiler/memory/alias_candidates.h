// AliasCandidates: which values may share bytes where the planner finds it worth while, and why the others may not.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/memory/packing/problem.h"

namespace berth::memory {

/// Why a result may be, or may not be, in the bytes of one argument.
enum class ReuseReason : uint8_t {
  kReuse,           // it may
  kNever,           // the operator's row does not allow it
  kOff,             // switched off, or not in the set that was asked for (in_place_set.h)
  kNotInArena,      // the result has no place of its own: nothing reads it, or the caller brings its memory
  kNoTensor,        // the argument is none or a number
  kConstant,        // the input is a constant
  kCallersMemory,   // the input is the caller's
  kState,           // the input is state, which keeps its bytes
  kOtherDevice,     // input and result are on different devices
  kOtherBank,       // they lie in different banks of one device
  kElementDiffers,  // their elements have different sizes in bytes
  kSizeDiffers,     // their sizes differ, or are not known to be equal
  kOrderDiffers,    // their elements lie in different orders
  kGraphOutput,     // the method returns the input
  kStillRead,       // the input is read later
  kViewAlive,       // another name of the input's bytes is read later, or returned
  kReadElsewhere,   // the node reads the same bytes through an argument that the row does not allow
  kMadeBefore,      // another branch makes the result too, and has its place already
  // Of concatenations and slices (sub_buffers.h):
  kSymbolic,    // a size is not known before the program runs
  kStrided,     // the part is not one piece of the whole
  kMisaligned,  // the part would not begin at a multiple of what its device or a delegate asks for
  kTwice,       // the same bytes are two parts
  kInOther,     // the bytes are a part or a whole of another concatenation or slice already
};

/// "reuse", "never", "still-read"…
const char* to_string(ReuseReason reason);

enum class AliasKind : uint8_t {
  kInPlace,    // `node` computes `value` in the bytes of `base`
  kSubBuffer,  // `value` is a part of `base` (sub_buffers.h), and `node` needs no instruction
  kInScratch,  // `value` lies in the scratch of `node`, a delegate's call that reads it (scratch_ports.h)
};

/// `value` in the bytes of `base`, by `node`. Of kInScratch, `base` is the result that is the scratch; invalid when it
/// is none.
struct AliasCandidate {
  ir::NodeId node;
  ir::ValueId value;
  ir::ValueId base;
  packing::Candidate buffers;  // the same, in buffers
  AliasKind kind = AliasKind::kInPlace;
};

using CandidateId = Id<AliasCandidate>;

/// The answer for one argument of one node.
struct ReuseRemark {
  ir::NodeId node;
  int32_t argument = -1;  // -1: of all of them
  ReuseReason reason = ReuseReason::kNever;
  CandidateId candidate;  // of kReuse
  ir::ValueId value;      // the argument, or the one of its list; invalid when it is not a value
};

struct AliasCandidates {
  IdVector<CandidateId, AliasCandidate> all;
  /// One of the node's candidates to lie in sub-buffers, or invalid. They are taken together or not at all.
  IdVector<ir::NodeId, CandidateId> sub_buffers;
  std::vector<ReuseRemark> remarks;  // why results may, or may not, be in the bytes of arguments
};

/// Puts the candidates and remarks of `from`, which has no sub-buffers, behind those of `to`.
void append(AliasCandidates from, AliasCandidates* to);

struct KeptCandidates {
  AliasCandidates candidates;
  std::vector<CandidateId> were;  // of each: its number before
};

/// The candidates of two buffers of one space, and of groups in which all are; the remarks of the others say
/// kOtherBank.
KeptCandidates within_spaces(AliasCandidates from, const IdVector<Id<packing::Buffer>, packing::Buffer>& buffers);

}  // namespace berth::memory

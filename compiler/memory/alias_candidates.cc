#include "compiler/memory/alias_candidates.h"

namespace berth::memory {

const char* to_string(ReuseReason reason) {
  switch (reason) {
    case ReuseReason::kReuse: return "reuse";
    case ReuseReason::kNever: return "never";
    case ReuseReason::kOff: return "off";
    case ReuseReason::kNotInArena: return "not-in-arena";
    case ReuseReason::kNoTensor: return "no-tensor";
    case ReuseReason::kConstant: return "constant";
    case ReuseReason::kCallersMemory: return "callers-memory";
    case ReuseReason::kState: return "state";
    case ReuseReason::kOtherDevice: return "other-device";
    case ReuseReason::kOtherPool: return "other-pool";
    case ReuseReason::kElementDiffers: return "element-differs";
    case ReuseReason::kSizeDiffers: return "size-differs";
    case ReuseReason::kOrderDiffers: return "order-differs";
    case ReuseReason::kGraphOutput: return "graph-output";
    case ReuseReason::kStillRead: return "still-read";
    case ReuseReason::kViewAlive: return "view-alive";
    case ReuseReason::kReadElsewhere: return "read-elsewhere";
    case ReuseReason::kMadeBefore: return "made-before";
    case ReuseReason::kSymbolic: return "symbolic";
    case ReuseReason::kStrided: return "strided";
    case ReuseReason::kMisaligned: return "misaligned";
    case ReuseReason::kTwice: return "twice";
    case ReuseReason::kInOther: return "in-other";
  }
  return "unknown";
}

void append(AliasCandidates from, AliasCandidates* to) {
  const int32_t count = to->all.next_id().index;
  for (ReuseRemark& remark : from.remarks) {
    if (remark.candidate.valid()) remark.candidate.index += count;
    to->remarks.push_back(remark);
  }
  for (const AliasCandidate& candidate : from.all) to->all.push_back(candidate);
}

}  // namespace berth::memory

#include "compiler/memory/alias_candidates.h"

#include <set>

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
    case ReuseReason::kOtherBank: return "other-bank";
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

KeptCandidates within_spaces(AliasCandidates from, const IdVector<Id<packing::Buffer>, packing::Buffer>& buffers) {
  const auto crosses = [&](const AliasCandidate& c) {
    return buffers[{c.buffers.from}].space != buffers[{c.buffers.to}].space;
  };
  std::set<int32_t> cut;
  for (const AliasCandidate& candidate : from.all) {
    if (candidate.buffers.all_or_none != packing::kAlone && crosses(candidate))
      cut.insert(candidate.buffers.all_or_none);
  }
  KeptCandidates kept;
  IdVector<CandidateId, CandidateId> moved(from.all.size());
  for (const CandidateId id : from.all.ids()) {
    if (crosses(from.all[id]) || cut.count(from.all[id].buffers.all_or_none) > 0) continue;
    moved[id] = kept.candidates.all.push_back(from.all[id]);
    kept.were.push_back(id);
  }
  kept.candidates.sub_buffers = std::move(from.sub_buffers);
  for (CandidateId& id : kept.candidates.sub_buffers) {
    if (id.valid()) id = moved[id];
  }
  kept.candidates.remarks = std::move(from.remarks);
  for (ReuseRemark& remark : kept.candidates.remarks) {
    if (!remark.candidate.valid()) continue;
    remark.candidate = moved[remark.candidate];
    if (!remark.candidate.valid()) remark.reason = ReuseReason::kOtherBank;
  }
  return kept;
}

}  // namespace berth::memory

#include "compiler/memory/model.h"

#include "compiler/memory/in_place.h"
#include "compiler/memory/liveness.h"
#include "compiler/memory/output_scratch.h"
#include "compiler/memory/sub_buffers.h"

namespace berth::memory {

const char* to_string(ViewReason reason) {
  switch (reason) {
    case ViewReason::kView: return "view";
    case ViewReason::kSizesChange: return "sizes-change";
    case ViewReason::kCallersMemory: return "callers-memory";
    case ViewReason::kNotAView: return "not-a-view";
    case ViewReason::kOrderDiffers: return "order-differs";
    case ViewReason::kOtherDevice: return "other-device";
    case ViewReason::kOutputOfInput: return "output-of-input";
    case ViewReason::kOutputOfConstant: return "output-of-constant";
    case ViewReason::kOutputOfState: return "output-of-state";
    case ViewReason::kCallersOutput: return "callers-output";
    case ViewReason::kConstantOfSymbols: return "constant-of-symbols";
    case ViewReason::kStateOfSymbols: return "state-of-symbols";
    case ViewReason::kScratchOfSymbols: return "scratch-of-symbols";
    case ViewReason::kOff: return "off";
  }
  return "unknown";
}

IdVector<BufferId, bool> Buffers::are_states() const {
  IdVector<BufferId, bool> are(all.size(), false);
  for (const BufferId buffer : states) {
    if (buffer.valid()) are[buffer] = true;
  }
  return are;
}

Expected<MemoryModel> make_model(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                 const IdVector<ir::NodeId, int64_t>& scratch_bytes) {
  BERTH_ASSIGN_OR_RETURN(Liveness live, find_liveness(module, method, options, scratch_bytes));
  AliasCandidates candidates = find_sub_buffers(module, method, options, live);
  append(find_in_place(module, method, options, live), &candidates);
  SortedArenas sorted = std::move(live.arenas).sorted();
  MemoryModel model{std::move(live.aliases), std::move(live.steps), std::move(live.copies),
                    std::move(live.buffers), std::move(candidates), std::move(sorted.arenas)};
  for (packing::Buffer& buffer : model.buffers.all) buffer.space = sorted.moved[buffer.space];
  return model;
}

packing::Problem packing_problem(const MemoryModel& model) {
  packing::Problem problem;
  problem.buffers.assign(model.buffers.all.begin(), model.buffers.all.end());
  problem.spaces.clear();
  for (const Arena& arena : model.arenas) problem.spaces.push_back({arena.capacity});
  for (const AliasCandidate& candidate : model.candidates.all) problem.candidates.push_back(candidate.merge);
  add_output_scratch(model, &problem);
  return problem;
}

}  // namespace berth::memory

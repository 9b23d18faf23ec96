#include "compiler/memory/make_model.h"

#include "compiler/memory/in_place.h"
#include "compiler/memory/liveness.h"
#include "compiler/memory/output_scratch.h"
#include "compiler/memory/scratch_ports.h"
#include "compiler/memory/sub_buffers.h"

namespace berth::memory {

Expected<MemoryModel> make_model(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                 const IdVector<ir::NodeId, int64_t>& scratch_bytes) {
  BERTH_ASSIGN_OR_RETURN(Liveness live, find_liveness(module, method, options, scratch_bytes));
  AliasCandidates candidates = find_sub_buffers(module, method, options, live);
  append(find_in_place(module, method, options, live), &candidates);
  append(find_scratch_inputs(module, method, options, live), &candidates);
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
  for (const AliasCandidate& candidate : model.candidates.all) problem.candidates.push_back(candidate.buffers);
  add_output_scratch(model, &problem);
  return problem;
}

}  // namespace berth::memory

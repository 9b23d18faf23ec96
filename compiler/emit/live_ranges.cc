#include "compiler/emit/live_ranges.h"

namespace berth::emit {

std::vector<LiveRange> live_ranges(const memory::MethodPlan& plan, const EmittedMethod& emitted) {
  const memory::MemoryModel& model = plan.model;
  const auto instructions = static_cast<int32_t>(emitted.desc.instructions.size());
  const auto instruction = [&](int64_t step) {
    if (step <= 0) return -1;
    if (step > model.steps.read) return instructions + 1;
    const auto& firsts = emitted.first_instruction_of;
    return static_cast<size_t>(step) < firsts.size() ? firsts[step] : instructions;
  };
  IdVector<memory::BufferId, LiveRange> ranges;
  for (const memory::BufferId id : model.buffers.all.ids()) {
    const packing::Buffer& buffer = model.buffers.all[id];
    const int64_t offset = plan.packing.offsets[id.index];
    ranges.push_back({static_cast<uint32_t>(buffer.space) + 1, static_cast<uint64_t>(offset),
                      static_cast<uint64_t>(buffer.size), instruction(buffer.lower), instruction(buffer.upper)});
  }
  for (const memory::BufferId buffer : model.buffers.states) {
    if (buffer.valid()) ranges[buffer].state = true;
  }
  for (const memory::CandidateId id : model.candidates.all.ids()) {
    if (!is_taken(plan.packing, id)) continue;
    const packing::Candidate& taken = model.candidates.all[id].buffers;
    for (const int32_t buffer : {taken.from, taken.to}) ranges[memory::BufferId{buffer}].shared = true;
  }
  return {ranges.begin(), ranges.end()};
}

}  // namespace berth::emit

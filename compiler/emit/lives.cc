#include "compiler/emit/lives.h"

namespace berth::emit {

std::vector<Life> lives_of(const Lifetimes& lifetimes, const plan::Plan& plan, const EmittedMethod& emitted) {
  const int32_t instructions = static_cast<int32_t>(emitted.desc.instructions.size());
  std::vector<Life> lives;
  const auto instruction = [&](int64_t step) {
    if (step <= 0) return -1;
    if (step > lifetimes.read_step) return instructions + 1;
    const auto& firsts = emitted.first_instruction_of;
    return static_cast<size_t>(step) < firsts.size() ? firsts[static_cast<size_t>(step)] : instructions;
  };
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    const plan::Storage& storage = lifetimes.problem.storages[i];
    lives.push_back({static_cast<uint32_t>(storage.space) + 1, static_cast<uint64_t>(plan.offsets[i]),
                     static_cast<uint64_t>(storage.size), instruction(storage.lower), instruction(storage.upper)});
  }
  for (const int32_t storage : lifetimes.states) {
    if (storage >= 0) lives[static_cast<size_t>(storage)].state = true;
  }
  for (size_t i = 0; i < plan.merged.size(); ++i) {
    if (!plan.merged[i]) continue;
    lives[static_cast<size_t>(lifetimes.problem.merges[i].from)].merged = true;
    lives[static_cast<size_t>(lifetimes.problem.merges[i].to)].merged = true;
  }
  return lives;
}

}  // namespace berth::emit

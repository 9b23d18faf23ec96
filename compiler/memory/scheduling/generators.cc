#include "compiler/memory/scheduling/generators.h"

#include <algorithm>

#include "base/splitmix64.h"

namespace berth::scheduling {
Problem wired_stage(uint64_t seed, int32_t nodes, bool mixed) {
  constexpr int64_t kBytes = 64;
  constexpr int32_t kNeighbours = 2;
  SplitMix64 dice(seed);
  Problem problem;
  problem.tasks = nodes + 1;
  for (int32_t t = 0; t < nodes; ++t) {
    const int64_t times = mixed ? 1 + dice.below(3) : 1;
    problem.buffers.push_back({kBytes * times, t, {}, false});
  }
  problem.buffers.push_back({kBytes, nodes, {}, true});
  problem.buffers.push_back({kBytes, -1, {}, false});
  std::vector<bool> has_input(nodes, false);
  for (int32_t t = 0; t < nodes; ++t) {
    for (int32_t k = 1; k <= kNeighbours; ++k) {
      int32_t other = (t + k) % nodes;
      if (dice.below(4) != 0) other = static_cast<int32_t>(dice.below(nodes));
      if (other == t) continue;
      const int32_t reader = std::max(t, other);
      problem.buffers[std::min(t, other)].readers.push_back(reader);
      has_input[reader] = true;
    }
  }
  for (int32_t t = 0; t < nodes; ++t) {
    Buffer& made = problem.buffers[t];
    if (made.readers.empty()) made.readers.push_back(nodes);
    if (!has_input[t]) problem.buffers.back().readers.push_back(t);
  }
  return problem;
}

}  // namespace berth::scheduling

#include "compiler/order/instances.h"

#include <algorithm>

namespace berth::order {
namespace {

/// splitmix64
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  /// In [0, count).
  int32_t below(int32_t count) {
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return static_cast<int32_t>((x ^ (x >> 31)) % static_cast<uint64_t>(count));
  }

 private:
  uint64_t state_;
};

}  // namespace

Problem wired_stage(uint64_t seed, int32_t nodes, bool mixed) {
  constexpr int64_t kBytes = 64;
  constexpr int32_t kNeighbours = 2;
  Dice dice(seed);
  Problem problem;
  problem.tasks = nodes + 1;
  for (int32_t t = 0; t < nodes; ++t) {
    const int64_t times = mixed ? 1 + dice.below(3) : 1;
    problem.buffers.push_back({kBytes * times, t, {}, false});
  }
  problem.buffers.push_back({kBytes, nodes, {}, true});
  problem.buffers.push_back({kBytes, -1, {}, false});
  std::vector<bool> has_input(static_cast<size_t>(nodes), false);
  for (int32_t t = 0; t < nodes; ++t) {
    for (int32_t k = 1; k <= kNeighbours; ++k) {
      int32_t other = (t + k) % nodes;
      if (dice.below(4) != 0) other = dice.below(nodes);
      if (other == t) continue;
      const int32_t reader = std::max(t, other);
      problem.buffers[static_cast<size_t>(std::min(t, other))].readers.push_back(reader);
      has_input[static_cast<size_t>(reader)] = true;
    }
  }
  for (int32_t t = 0; t < nodes; ++t) {
    Buffer& made = problem.buffers[static_cast<size_t>(t)];
    if (made.readers.empty()) made.readers.push_back(nodes);
    if (!has_input[static_cast<size_t>(t)]) problem.buffers.back().readers.push_back(t);
  }
  return problem;
}

}  // namespace berth::order

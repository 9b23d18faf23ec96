#include "compiler/memory/packing/check_fixed.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::packing {
namespace {

struct StepEvent {
  int64_t time;
  bool birth;
  size_t buffer;
};

}  // namespace

Status check_fixed(const Problem& problem) {
  std::vector<StepEvent> events;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.fixed == kAnywhere || buffer.size == 0) continue;
    events.push_back({buffer.lower, true, i});
    events.push_back({buffer.upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const StepEvent& a, const StepEvent& b) {
    return a.time != b.time ? a.time < b.time : a.birth < b.birth;
  });
  std::vector<std::set<std::pair<int64_t, int64_t>>> alive(problem.spaces.size());  // bytes [first, second)
  for (const StepEvent& event : events) {
    const Buffer& buffer = problem.buffers[event.buffer];
    auto& bytes = alive[buffer.space];
    const std::pair<int64_t, int64_t> mine{buffer.fixed, buffer.fixed + buffer.size};
    if (!event.birth) {
      bytes.erase(mine);
      continue;
    }
    auto other = bytes.lower_bound(mine);
    if (other == bytes.end() || other->first >= mine.second) {
      if (other != bytes.begin() && std::prev(other)->second > mine.first) {
        --other;
      } else {
        bytes.insert(mine);
        continue;
      }
    }
    return Failure{Error::kInvalidArgument, "buffer " + std::to_string(event.buffer),
                   "its fixed offset " + std::to_string(buffer.fixed) +
                       " collides with another fixed buffer's bytes [" + std::to_string(other->first) + ", " +
                       std::to_string(other->second) + ")"};
  }
  return Done{};
}

}  // namespace berth::packing

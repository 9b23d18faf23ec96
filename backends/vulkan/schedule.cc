#include "backends/vulkan/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace berth::vulkan {
namespace {

bool conflict(const Accesses& a, const Accesses& b) {
  for (const Access& x : a) {
    for (const Access& y : b) {
      if (x.begin == x.end || y.begin == y.end) continue;
      const bool ordered = (x.writes || y.writes) && !(x.in_any_order && y.in_any_order);
      if (ordered && x.block == y.block && x.begin < y.end && y.begin < x.end) return true;
    }
  }
  return false;
}

}  // namespace

Schedule schedule(Span<const Accesses> steps) {
  std::vector<uint32_t> level(steps.size(), 0);
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t j = i; j-- > 0;) {
      if (level[j] >= level[i] && conflict(steps[j], steps[i])) level[i] = level[j] + 1;
    }
  }
  Schedule made;
  made.order.resize(steps.size());
  std::iota(made.order.begin(), made.order.end(), uint32_t{0});
  std::stable_sort(made.order.begin(), made.order.end(), [&](uint32_t a, uint32_t b) { return level[a] < level[b]; });
  for (uint32_t i = 1; i < made.order.size(); ++i) {
    if (level[made.order[i]] != level[made.order[i - 1]]) made.barriers.push_back(i);
  }
  return made;
}

// Byte by byte, as it were: the steps are walked in their own order, and who last wrote and who has since read each piece
// of memory is kept. Each pair that this gives must be apart in the schedule.
bool keeps_order(Span<const Accesses> steps, const Schedule& schedule, std::string* hazard) {
  std::vector<size_t> stretch(steps.size(), SIZE_MAX);
  size_t next = 0;
  for (uint32_t i = 0, number = 0; i < schedule.order.size(); ++i) {
    while (next < schedule.barriers.size() && schedule.barriers[next] == i) {
      ++number;
      ++next;
    }
    if (schedule.order[i] < steps.size()) stretch[schedule.order[i]] = number;
  }
  const auto problem = [&](const char* what) {
    *hazard = what;
    return false;
  };
  if (schedule.order.size() != steps.size()) return problem("not every step runs once");
  for (size_t s : stretch) {
    if (s == SIZE_MAX) return problem("not every step runs once");
  }
  struct Piece {
    size_t writer = SIZE_MAX;
    std::vector<size_t> readers;
    std::vector<size_t> mixers;  // which write in any order
  };
  // Pieces of each block by where they begin; one reaches to the next.
  std::map<uint64_t, std::map<uint64_t, Piece>> blocks;
  const auto cut = [](std::map<uint64_t, Piece>& pieces, uint64_t at) {
    auto behind = pieces.lower_bound(at);
    if (behind != pieces.end() && behind->first == at) return behind;
    const Piece before = behind == pieces.begin() ? Piece() : std::prev(behind)->second;
    return pieces.emplace(at, before).first;
  };
  const auto apart = [&](size_t earlier, size_t later, const char* verb, const char* other) {
    if (earlier == SIZE_MAX || earlier == later || stretch[earlier] < stretch[later]) return true;
    *hazard =
        "step " + std::to_string(later) + verb + "what step " + std::to_string(earlier) + other + ", without a barrier";
    return false;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Access& access : steps[i]) {
      if (access.begin >= access.end) continue;
      std::map<uint64_t, Piece>& pieces = blocks[access.block];
      const auto first = cut(pieces, access.begin);
      const auto last = cut(pieces, access.end);
      for (auto at = first; at != last; ++at) {
        if (!apart(at->second.writer, i, access.writes ? " writes " : " reads ", " writes")) return false;
        for (size_t reader : at->second.readers) {
          if (access.writes && !apart(reader, i, " writes ", " reads")) return false;
        }
        for (size_t mixer : at->second.mixers) {
          if (access.in_any_order) break;
          if (!apart(mixer, i, access.writes ? " writes " : " reads ", " writes")) return false;
        }
      }
    }
    for (const Access& access : steps[i]) {
      if (access.begin >= access.end) continue;
      std::map<uint64_t, Piece>& pieces = blocks[access.block];
      const auto last = pieces.find(access.end);
      for (auto at = pieces.find(access.begin); at != last; ++at) {
        if (access.in_any_order) {
          at->second.mixers.push_back(i);
        } else if (access.writes) {
          at->second = {i, {}, {}};
        } else if (at->second.writer != i) {
          at->second.readers.push_back(i);
        }
      }
    }
  }
  return true;
}

}  // namespace berth::vulkan

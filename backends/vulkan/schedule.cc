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

// The barriers before each step, in the order of the schedule; SIZE_MAX for a step that does not run.
std::vector<size_t> stretches_of(size_t steps, const Schedule& schedule) {
  std::vector<size_t> stretch(steps, SIZE_MAX);
  size_t barriers = 0;
  for (uint32_t i = 0; i < schedule.order.size(); ++i) {
    while (barriers < schedule.barriers.size() && schedule.barriers[barriers] == i) ++barriers;
    if (schedule.order[i] < steps) stretch[schedule.order[i]] = barriers;
  }
  return stretch;
}

// Byte by byte, as it were: takes the steps in their own order and keeps who last wrote, and who has since read, each
// piece of memory. Each pair that this gives must be separated in the schedule.
class OrderCheck {
 public:
  OrderCheck(const std::vector<size_t>& stretch, std::string* hazard) : stretch_(stretch), hazard_(hazard) {}

  bool add(size_t step, const Accesses& accesses) {
    for (const Access& access : accesses) {
      if (access.begin < access.end && !follows_earlier(step, access)) return false;
    }
    for (const Access& access : accesses) {
      if (access.begin < access.end) note(step, access);
    }
    return true;
  }

 private:
  struct Piece {
    size_t writer = SIZE_MAX;
    std::vector<size_t> readers;
    std::vector<size_t> mixers;  // which write in any order
  };
  using Pieces = std::map<uint64_t, Piece>;  // by where they begin; one reaches to the next

  static Pieces::iterator cut(Pieces& pieces, uint64_t at) {
    const auto behind = pieces.lower_bound(at);
    if (behind != pieces.end() && behind->first == at) return behind;
    const Piece before = behind == pieces.begin() ? Piece() : std::prev(behind)->second;
    return pieces.emplace(at, before).first;
  }

  bool is_apart(size_t earlier, size_t later, const char* verb, const char* other) {
    if (earlier == SIZE_MAX || earlier == later || stretch_[earlier] < stretch_[later]) return true;
    *hazard_ =
        "step " + std::to_string(later) + verb + "what step " + std::to_string(earlier) + other + ", without a barrier";
    return false;
  }

  bool follows_earlier(size_t step, const Access& access) {
    const char* const verb = access.writes ? " writes " : " reads ";
    Pieces& pieces = blocks_[access.block];
    const auto first = cut(pieces, access.begin);
    const auto last = cut(pieces, access.end);
    for (auto at = first; at != last; ++at) {
      if (!is_apart(at->second.writer, step, verb, " writes")) return false;
      for (size_t reader : at->second.readers) {
        if (access.writes && !is_apart(reader, step, verb, " reads")) return false;
      }
      for (size_t mixer : at->second.mixers) {
        if (!access.in_any_order && !is_apart(mixer, step, verb, " writes")) return false;
      }
    }
    return true;
  }

  void note(size_t step, const Access& access) {
    Pieces& pieces = blocks_[access.block];
    const auto last = pieces.find(access.end);
    for (auto at = pieces.find(access.begin); at != last; ++at) {
      if (access.in_any_order) {
        at->second.mixers.push_back(step);
      } else if (access.writes) {
        at->second = {step, {}, {}};
      } else if (at->second.writer != step) {
        at->second.readers.push_back(step);
      }
    }
  }

  const std::vector<size_t>& stretch_;
  std::string* const hazard_;
  std::map<uint64_t, Pieces> blocks_;
};

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

bool keeps_order(Span<const Accesses> steps, const Schedule& schedule, std::string* hazard) {
  const std::vector<size_t> stretch = stretches_of(steps.size(), schedule);
  if (schedule.order.size() != steps.size() || std::count(stretch.begin(), stretch.end(), SIZE_MAX) != 0) {
    *hazard = "not every step runs once";
    return false;
  }
  OrderCheck check(stretch, hazard);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!check.add(i, steps[i])) return false;
  }
  return true;
}

}  // namespace berth::vulkan

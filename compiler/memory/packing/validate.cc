#include "compiler/memory/packing/validate.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/math.h"
#include "compiler/memory/packing/overlaps.h"

namespace berth::packing {
namespace {

Failure fault(const char* what, size_t index, const std::string& message) {
  return {Error::kInternal, what + std::to_string(index), message};
}

std::string text(int64_t number) { return std::to_string(number); }

class Judge {
 public:
  Judge(const Problem& problem, const Plan& plan)
      : problem_(problem), plan_(plan), partners_(problem.buffers.size()), alignments_(problem.buffers.size(), 0) {}

  Status run() {
    for (size_t i = 0; i < plan_.taken.size(); ++i) BERTH_TRY(check_candidate(i));
    for (size_t i = 0; i < partners_.size(); ++i) BERTH_TRY(check_place(i));
    BERTH_TRY(check_overlaps(problem_, plan_, partners_));
    for (size_t s = 0; s < problem_.spaces.size(); ++s) BERTH_TRY(check_space(s));
    return Done{};
  }

 private:
  Status check_candidate(size_t i) {
    const Candidate& c = problem_.candidates[i];
    const bool taken = plan_.taken[i];
    if (std::min(c.from, c.to) < 0 || std::max(c.from, c.to) >= static_cast<int64_t>(partners_.size()))
      return fault("candidate ", i, "a buffer does not exist");
    if (c.all_or_none >= 0 && groups_.emplace(c.all_or_none, taken).first->second != taken)
      return fault("candidate ", i, "a part of its all-or-none group is taken and a part is not");
    if (!taken) return Done{};
    const Buffer& moved = problem_.buffers[c.from];
    if (moved.space != problem_.buffers[c.to].space) return fault("candidate ", i, "its buffers are in two spaces");
    int64_t there = 0;
    if (!checked_add(plan_.offsets[c.to], c.offset, &there) || plan_.offsets[c.from] != there)
      return fault("candidate ", i, "it is taken but does not lie there");
    partners_[c.from].push_back(c.to);
    partners_[c.to].push_back(c.from);
    alignments_[c.from] = std::max(alignments_[c.from], c.alignment > 0 ? c.alignment : moved.alignment);
    return Done{};
  }

  Status check_place(size_t i) const {
    const Buffer& buffer = problem_.buffers[i];
    const int64_t offset = plan_.offsets[i];
    const int64_t alignment = alignments_[i] != 0 ? alignments_[i] : buffer.alignment;
    int64_t end = 0;
    if (buffer.space < 0 || buffer.space >= static_cast<int64_t>(problem_.spaces.size()))
      return fault("buffer ", i, "its space does not exist");
    if (offset < 0 || buffer.size < 0 || !checked_add(offset, buffer.size, &end))
      return fault("buffer ", i, "its offset " + text(offset) + " or its size is negative or overflows");
    if (alignment < 1 || offset % alignment != 0)
      return fault("buffer ", i,
                   "its offset " + text(offset) + " is not a multiple of its alignment " + text(alignment));
    if (buffer.fixed != kAnywhere && offset != buffer.fixed)
      return fault("buffer ", i, "it lies at " + text(offset) + " but is fixed at " + text(buffer.fixed));
    return Done{};
  }

  Status check_space(size_t s) const {
    const SpaceUse& use = plan_.spaces[s];
    int64_t height = 0;
    for (size_t i = 0; i < partners_.size(); ++i) {
      const Buffer& b = problem_.buffers[i];
      if (b.size > 0 && static_cast<size_t>(b.space) == s) height = std::max(height, plan_.offsets[i] + b.size);
    }
    const std::string bytes = "its buffers take " + text(height) + " bytes";
    if (use.height != height) return fault("space ", s, bytes + " but the plan says " + text(use.height));
    const int64_t capacity = problem_.spaces[s].capacity;
    if (height > capacity) return fault("space ", s, bytes + ", over its capacity of " + text(capacity));
    if (height >= use.lower_bound) return Done{};
    return fault("space ", s, bytes + ", fewer than its lower bound of " + text(use.lower_bound));
  }

  const Problem& problem_;
  const Plan& plan_;
  Partners partners_;
  std::vector<int64_t> alignments_;  // of each buffer where a taken candidate says it, else 0
  std::map<int32_t, bool> groups_;
};

}  // namespace

Status validate(const Problem& problem, const Plan& plan) {
  const bool decided = plan.taken.empty() || plan.taken.size() == problem.candidates.size();
  if (plan.offsets.size() == problem.buffers.size() && plan.spaces.size() == problem.spaces.size() && decided)
    return Judge(problem, plan).run();
  return Failure{Error::kInternal, "plan", "it has another number of buffers, spaces or candidates than the problem"};
}

}  // namespace berth::packing

#include "compiler/memory/scheduling/every_schedule.h"

#include <algorithm>

#include "compiler/memory/scheduling/live_cut.h"

namespace berth::scheduling {
namespace {

/// Arcs and tasks that are looked at, in all: some twenty milliseconds.
constexpr int64_t kWork = 8'000'000;
/// Arguments whose bytes a result may take that are tried one by one.
constexpr size_t kMostCandidates = 4;

/// The least that is live while one task runs, over all schedules, for one task after another.
class EveryScheduleBound {
 public:
  EveryScheduleBound(const Problem& problem, const std::vector<Containment>& containments)
      : problem_(problem), graph_(problem), divided_(divide_buffers(problem, containments)), in_place_(problem.tasks) {
    for (const InPlace& candidate : problem.in_place) {
      const int32_t maker = problem.buffers[candidate.to].producer;
      if (maker >= 0 && !divided_.of[candidate.to].empty()) in_place_[maker].push_back(candidate);
    }
  }

  bool needs(int64_t bytes, const std::vector<int32_t>& tasks) {
    if (alive_at_start() >= bytes || alive_at_end() >= bytes) return true;
    if (tasks.empty()) return false;
    const std::vector<int64_t> given = alive_as_given();
    std::vector<int32_t> order;
    for (const int32_t task : tasks) {
      if (given[task] >= bytes) order.push_back(task);
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return given[a] > given[b]; });
    return std::any_of(order.begin(), order.end(), [&](int32_t t) { return work_ > 0 && needed_while(t) >= bytes; });
  }

 private:
  int64_t alive_at_start() const {
    int64_t bytes = 0;
    const auto used = [&](int32_t buffer) { return buffer >= 0 && !problem_.buffers[buffer].readers.empty(); };
    for (const SharedBytes& shared : divided_.bytes) {
      const bool wanted = is_kept(shared) || used(shared.buffers[0]) || used(shared.buffers[1]);
      if (shared.producer < 0 && wanted) bytes += shared.bytes;
    }
    return bytes;
  }

  bool is_kept(const SharedBytes& shared) const {
    const auto kept = [&](int32_t buffer) { return buffer >= 0 && problem_.buffers[buffer].kept; };
    return kept(shared.buffers[0]) || kept(shared.buffers[1]);
  }

  int64_t alive_at_end() const {
    int64_t bytes = 0;
    for (const SharedBytes& shared : divided_.bytes) bytes += is_kept(shared) ? shared.bytes : 0;
    return bytes;
  }

  /// Of each task: what is alive in the order that is given, with nothing in place.
  std::vector<int64_t> alive_as_given() const {
    std::vector<int64_t> bytes(problem_.tasks + 1, 0);
    for (const SharedBytes& shared : divided_.bytes) {
      int32_t end = std::max(shared.producer, 0);
      for (const int32_t buffer : shared.buffers) {
        if (buffer < 0) continue;
        for (const int32_t reader : problem_.buffers[buffer].readers) end = std::max(end, reader);
      }
      if (is_kept(shared)) end = problem_.tasks - 1;
      bytes[std::max(shared.producer, 0)] += shared.bytes;
      bytes[end + 1] -= shared.bytes;
    }
    for (size_t t = 1; t < bytes.size(); ++t) bytes[t] += bytes[t - 1];
    return bytes;
  }

  int64_t needed_while(int32_t task) {
    LiveCut cut(problem_, graph_, divided_, task, &work_);
    const std::vector<InPlace>& candidates = in_place_[task];
    const auto same = [&](const InPlace& other) { return other.to == candidates[0].to; };
    if (candidates.empty()) return cut.least(nullptr);
    if (candidates.size() > kMostCandidates || !std::all_of(candidates.begin(), candidates.end(), same)) {
      return cut.least(nullptr) - most_saved(candidates);
    }
    int64_t bytes = INT64_MAX;
    for (const InPlace& candidate : candidates) bytes = std::min(bytes, cut.least(&candidate));
    return bytes;
  }

  int64_t bytes_of(int32_t buffer) const {
    int64_t bytes = 0;
    for (const int32_t i : divided_.of[buffer]) bytes += divided_.bytes[i].bytes;
    return bytes;
  }

  /// Of candidates for several results, or too many: as if each result took the largest.
  int64_t most_saved(const std::vector<InPlace>& candidates) const {
    int64_t saved = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const auto same = [&](const InPlace& other) { return other.to == candidates[i].to; };
      if (std::any_of(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
      int64_t most = 0;
      for (const InPlace& other : candidates) most = std::max(most, same(other) ? bytes_of(other.from) : 0);
      saved += std::min(most, bytes_of(candidates[i].to));
    }
    return saved;
  }

  const Problem& problem_;
  const TaskGraph graph_;
  const DividedBuffers divided_;
  std::vector<std::vector<InPlace>> in_place_;  // of each task: candidates for what it makes
  int64_t work_ = kWork;
};

}  // namespace

bool every_schedule_needs(const Problem& problem, const std::vector<Containment>& containments,
                          const std::vector<int32_t>& tasks, int64_t bytes) {
  return EveryScheduleBound(problem, containments).needs(bytes, tasks);
}

}  // namespace berth::scheduling

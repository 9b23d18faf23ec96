#include "compiler/memory/scheduling/fastest.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "compiler/memory/scheduling/stretch.h"
#include "compiler/memory/scheduling/task_hash.h"

namespace berth::scheduling {
namespace {

/// The beam has this many beginnings, divided by the number of tasks: each step copies a list of all tasks.
constexpr int64_t kBeginningsWork = 32'000;
constexpr int64_t kLeastBeginnings = 4;
/// And at most this many, divided by the number of ready tasks, all of which each beginning looks at.
constexpr int64_t kCandidatesWork = 4'000;
/// For the deadline: about how many nanoseconds a step takes (FastestOrder::steps).
constexpr int64_t kStepCost = 4;

/// The tasks that were handed out first, in one order.
struct Beginning {
  Walk walk;
  WorkerClocks clocks;
  std::vector<int64_t> left;   // nanoseconds of each worker's tasks to come; of the host, with what it waits for
  std::vector<int32_t> ready;  // tasks that may come next
  int64_t bound = 0;
  int64_t peak = 0;
  uint64_t hash = 0;  // of the set of tasks
  int32_t trace = -1;
};

struct HandOut {
  int64_t bound;
  int64_t clocks;  // their sum: where it is less, less time was spent waiting
  int64_t live;
  int64_t peak;
  uint64_t hash;
  int32_t beginning;
  int32_t task;
  friend bool operator<(const HandOut& a, const HandOut& b) {
    return std::tie(a.bound, a.clocks, a.live, a.hash, a.beginning, a.task) <
           std::tie(b.bound, b.clocks, b.live, b.hash, b.beginning, b.task);
  }
};

struct HandedOut {
  int32_t parent;
  int32_t task;
};

/// Of the tasks of one worker and one other that may come next: the longest chain, and the longest without that task.
struct ReadyGroup {
  int32_t worker;
  int32_t other;
  int32_t longest;
  int64_t chain;
  int64_t second;
};

class FastestSearch {
 public:
  FastestSearch(const Problem& problem, const std::vector<TaskTime>& times, const FastestOptions& options)
      : times_(times),
        most_bytes_(options.most_bytes),
        width_(std::clamp<int64_t>(kBeginningsWork / std::max(1, problem.tasks),
                                   std::min<int64_t>(kLeastBeginnings, options.beam), options.beam)),
        workers_(count_workers(times)),
        chains_(chains_from(problem, times)),
        stretch_(whole(problem)),
        group_of_(static_cast<int64_t>(workers_) * (workers_ + 1), -1),
        clocks_(workers_) {}

  std::optional<FastestOrder> run(Deadline* deadline) {
    std::vector<Beginning> beam = {start()};
    if (stretch_.start > most_bytes_) return std::nullopt;
    for (int32_t step = 0; step < stretch_.size(); ++step) {
      const int64_t before = steps_;
      std::vector<HandOut> candidates;
      int64_t ready = 1;
      for (size_t i = 0; i < beam.size(); ++i) {
        add_candidates(beam[i], static_cast<int32_t>(i), &candidates);
        ready = std::max(ready, static_cast<int64_t>(beam[i].ready.size()));
      }
      if (candidates.empty()) return std::nullopt;
      beam = kept(beam, std::min(width_, std::max<int64_t>(1, kCandidatesWork / ready)), std::move(candidates));
      if (deadline->passed_after(kStepCost * (steps_ - before))) return std::nullopt;
    }
    const auto sooner = [](const Beginning& a, const Beginning& b) { return a.clocks.last() < b.clocks.last(); };
    const Beginning& best = *std::min_element(beam.begin(), beam.end(), sooner);
    return FastestOrder{tasks_to(best.trace), best.clocks.last(), best.peak, exhaustive_, steps_};
  }

 private:
  static Stretch whole(const Problem& problem) {
    std::vector<int32_t> order(problem.tasks);
    std::iota(order.begin(), order.end(), 0);
    return TaskGraph(problem).stretch(order, 0, problem.tasks);
  }

  Beginning start() const {
    Beginning none{Walk(stretch_), WorkerClocks(workers_), std::vector<int64_t>(workers_, 0), {}};
    none.peak = stretch_.start;
    for (int32_t task = 0; task < stretch_.size(); ++task) {
      change_left(task, 1, &none.left);
      if (none.walk.ready(task)) none.ready.push_back(task);
    }
    return none;
  }

  void change_left(int32_t task, int64_t sign, std::vector<int64_t>* left) const {
    const TaskTime& time = times_[task];
    const int64_t taken = sign * std::min(time.nanoseconds, kMostNanoseconds);
    (*left)[time.worker] += taken;
    if (time.other >= 0 && time.holds_other) (*left)[time.other] += taken;
    if (time.worker != kHost && time.host_waits) (*left)[kHost] += taken;
  }

  /// A task of the host that takes no time and no bytes, and waits for nothing, may as well run at once.
  bool is_free(const Beginning& beginning, int32_t task) const {
    return times_[task].worker == kHost && times_[task].nanoseconds == 0 &&
           beginning.walk.during(task) <= beginning.walk.live() && !beginning.clocks.must_wait(times_[task]);
  }

  void add_candidates(const Beginning& beginning, int32_t index, std::vector<HandOut>* out) {
    group(beginning.ready);
    steps_ += static_cast<int64_t>(beginning.ready.size());
    for (const int32_t task : beginning.ready) {
      if (!is_free(beginning, task)) continue;
      out->push_back(candidate(beginning, index, task));
      return;
    }
    for (const int32_t task : beginning.ready) {
      if (beginning.walk.during(task) <= most_bytes_) out->push_back(candidate(beginning, index, task));
    }
  }

  /// Into `groups_`: what candidates need to know of the tasks that may come next, without looking at each of them.
  void group(const std::vector<int32_t>& ready) {
    for (const ReadyGroup& group : groups_) place_of(group.worker, group.other) = -1;
    groups_.clear();
    for (const int32_t task : ready) {
      int32_t& place = place_of(times_[task].worker, times_[task].other);
      if (place < 0) {
        place = static_cast<int32_t>(groups_.size());
        groups_.push_back({times_[task].worker, times_[task].other, -1, -1, -1});
      }
      ReadyGroup& group = groups_[place];
      if (chains_[task] <= group.chain) {
        group.second = std::max(group.second, chains_[task]);
        continue;
      }
      group.second = group.chain;
      group.chain = chains_[task];
      group.longest = task;
    }
  }

  int32_t& place_of(int32_t worker, int32_t other) { return group_of_[worker * (workers_ + 1) + other + 1]; }

  HandOut candidate(const Beginning& beginning, int32_t index, int32_t task) {
    steps_ += 1 + workers_ + static_cast<int64_t>(groups_.size());
    clocks_ = beginning.clocks;
    const int64_t begin = clocks_.hand_out(times_[task]);
    left_ = beginning.left;
    change_left(task, -1, &left_);
    int64_t bound = std::max(beginning.bound, begin + chains_[task]);
    for (int32_t worker = 0; worker < workers_; ++worker) {
      if (left_[worker] == 0) bound = std::max(bound, clocks_.free(worker));
      if (left_[worker] > 0) {
        bound = std::max(bound, std::max(clocks_.free(worker), clocks_.free(kHost)) + left_[worker]);
      }
    }
    for (const ReadyGroup& group : groups_) {
      const int64_t chain = group.longest == task ? group.second : group.chain;
      if (chain < 0) continue;
      int64_t soonest = std::max(clocks_.free(kHost), clocks_.free(group.worker));
      if (group.other >= 0) soonest = std::max(soonest, clocks_.free(group.other));
      bound = std::max(bound, soonest + chain);
    }
    return {bound,
            clocks_.sum(),
            beginning.walk.after(task),
            std::max(beginning.peak, beginning.walk.during(task)),
            beginning.hash ^ hash_of(task),
            index,
            task};
  }

  /// The best of the candidates, `width` at most, as beginnings.
  std::vector<Beginning> kept(const std::vector<Beginning>& beam, int64_t width, std::vector<HandOut> candidates) {
    std::vector<Beginning> next;
    std::unordered_map<uint64_t, std::vector<size_t>> same;  // by the set of tasks
    const auto is_worse = [](const HandOut& a, const HandOut& b) { return b < a; };
    std::make_heap(candidates.begin(), candidates.end(), is_worse);
    while (!candidates.empty()) {
      const HandOut candidate = candidates.front();
      std::pop_heap(candidates.begin(), candidates.end(), is_worse);
      candidates.pop_back();
      WorkerClocks clocks = beam[candidate.beginning].clocks;
      clocks.hand_out(times_[candidate.task]);
      std::vector<size_t>& others = same[candidate.hash];
      const auto beats = [&](size_t other) { return next[other].clocks.are_never_later(clocks); };
      steps_ += 1 + static_cast<int64_t>(others.size());
      if (std::any_of(others.begin(), others.end(), beats)) continue;
      if (static_cast<int64_t>(next.size()) >= width) {
        exhaustive_ = false;
        break;
      }
      others.push_back(next.size());
      next.push_back(follow(beam[candidate.beginning], candidate));
    }
    return next;
  }

  Beginning follow(const Beginning& from, const HandOut& candidate) {
    steps_ += stretch_.size();
    Beginning made = from;
    made.clocks.hand_out(times_[candidate.task]);
    change_left(candidate.task, -1, &made.left);
    made.walk.run(candidate.task);
    made.ready.erase(std::find(made.ready.begin(), made.ready.end(), candidate.task));
    for (const int32_t after : stretch_.tasks[candidate.task].after) {
      if (made.walk.ready(after)) made.ready.push_back(after);
    }
    made.bound = candidate.bound;
    made.peak = candidate.peak;
    made.hash = candidate.hash;
    links_.push_back({from.trace, candidate.task});
    made.trace = static_cast<int32_t>(links_.size()) - 1;
    return made;
  }

  std::vector<int32_t> tasks_to(int32_t trace) const {
    std::vector<int32_t> tasks;
    for (int32_t i = trace; i >= 0; i = links_[i].parent) tasks.push_back(links_[i].task);
    std::reverse(tasks.begin(), tasks.end());
    return tasks;
  }

  const std::vector<TaskTime>& times_;
  const int64_t most_bytes_;
  const int64_t width_;
  const int32_t workers_;
  const std::vector<int64_t> chains_;
  const Stretch stretch_;
  std::vector<HandedOut> links_;
  std::vector<ReadyGroup> groups_;  // of the beginning that is looked at
  std::vector<int32_t> group_of_;   // by worker and other; -1: none
  WorkerClocks clocks_;             // of the candidate that is looked at, as `left_`
  std::vector<int64_t> left_;
  int64_t steps_ = 0;
  bool exhaustive_ = true;
};

}  // namespace

std::optional<FastestOrder> fastest_order(const Problem& problem, const std::vector<TaskTime>& times,
                                          const FastestOptions& options, Deadline* deadline) {
  if (problem.tasks == 0) return FastestOrder{{}, 0, 0, true, 0};
  return FastestSearch(problem, times, options).run(deadline);
}

}  // namespace berth::scheduling

#include "compiler/memory/scheduling/schedule.h"

#include <algorithm>
#include <numeric>

#include "compiler/memory/scheduling/beam.h"
#include "compiler/memory/scheduling/exact.h"
#include "compiler/memory/scheduling/stretch.h"

namespace berth::scheduling {
namespace {

// Above this, the table of who comes before whom would take more than some ten megabytes.
constexpr int32_t kMaxDivided = 16'384;
// The beam copies what it knows of each task for each order that it keeps.
constexpr int64_t kBeamWork = 4'000'000;
constexpr int32_t kWindow = 28;
constexpr int kWindowRounds = 64;

using Neighbours = const std::vector<int32_t>& (TaskGraph::*)(int32_t task) const;

// Of each task: how many others are reached over `next`, whatever the order. `order` has each task behind its next
// ones.
std::vector<int32_t> count_reached(const TaskGraph& graph, Neighbours next, const std::vector<int32_t>& order) {
  const size_t words = (order.size() + 63) / 64;
  std::vector<uint64_t> rows(order.size() * words);
  std::vector<int32_t> counts(order.size());
  for (const int32_t t : order) {
    uint64_t* row = rows.data() + t * words;
    for (const int32_t b : (graph.*next)(t)) {
      const uint64_t* other = rows.data() + b * words;
      for (size_t w = 0; w < words; ++w) row[w] |= other[w];
      row[b / 64] |= uint64_t{1} << (b % 64);
    }
    for (size_t w = 0; w < words; ++w) counts[t] += __builtin_popcountll(row[w]);
  }
  return counts;
}

// Where the given order may be cut so that each part holds the same tasks in every order: after the tasks that every
// other one comes before or after. The first is 0, the last the number of tasks.
std::vector<int32_t> find_cuts(const TaskGraph& graph) {
  std::vector<int32_t> cuts = {0};
  if (graph.tasks() <= kMaxDivided) {
    std::vector<int32_t> order(graph.tasks());
    std::iota(order.begin(), order.end(), 0);
    const std::vector<int32_t> before = count_reached(graph, &TaskGraph::before, order);
    std::reverse(order.begin(), order.end());
    const std::vector<int32_t> after = count_reached(graph, &TaskGraph::after, order);
    for (int32_t t = 0; t + 1 < graph.tasks(); ++t) {
      if (before[t] + after[t] + 1 == graph.tasks()) cuts.push_back(t + 1);
    }
  }
  if (graph.tasks() > 0) cuts.push_back(graph.tasks());
  return cuts;
}

int64_t peak_of(const TaskGraph& graph, const std::vector<int32_t>& order) {
  const Stretch whole = graph.stretch(order, 0, graph.tasks());
  std::vector<int32_t> own(order.size());
  std::iota(own.begin(), own.end(), 0);
  return stretch_peak(whole, own);
}

// A stretch of the given order that holds the same tasks in every order.
struct IndependentPart {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t peak = 0;  // in the given order
};

class Scheduler {
 public:
  Scheduler(const TaskGraph& graph, const Options& options, const Deadline& deadline)
      : graph_(graph), options_(options), deadline_(deadline) {
    result_.tasks.resize(graph.tasks());
    std::iota(result_.tasks.begin(), result_.tasks.end(), 0);
  }

  Schedule run() {
    const std::vector<IndependentPart> parts = divide();
    for (const IndependentPart& part : parts) {
      if (part.end - part.begin == 1) raise_bound(part.peak);
    }
    // The worst first: what it needs, the others may need too, and most of them then need no search.
    for (const IndependentPart& part : parts) {
      if (part.peak <= result_.lower_bound) continue;
      if (deadline_.passed()) break;
      solve(part);
    }
    repair_windows();
    result_.peak = peak_of(graph_, result_.tasks);
    if (result_.peak >= result_.given_peak) {
      std::iota(result_.tasks.begin(), result_.tasks.end(), 0);
      result_.peak = result_.given_peak;
    }
    result_.lower_bound = std::min(result_.lower_bound, result_.peak);
    result_.truncated = deadline_.was_passed();
    return std::move(result_);
  }

 private:
  void raise_bound(int64_t bytes) { result_.lower_bound = std::max(result_.lower_bound, bytes); }

  // By falling peak.
  std::vector<IndependentPart> divide() {
    const Stretch whole = graph_.stretch(result_.tasks, 0, graph_.tasks());
    raise_bound(whole.start);
    Walk walk(whole);
    std::vector<IndependentPart> parts;
    const std::vector<int32_t> cuts = find_cuts(graph_);
    result_.given_peak = whole.start;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      IndependentPart part = {cuts[i], cuts[i + 1], 0};
      for (int32_t t = part.begin; t < part.end; ++t) {
        part.peak = std::max(part.peak, walk.during(t));
        walk.run(t);
      }
      result_.given_peak = std::max(result_.given_peak, part.peak);
      parts.push_back(part);
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const IndependentPart& a, const IndependentPart& b) { return a.peak > b.peak; });
    return parts;
  }

  // Puts `order`, in the numbers of the stretch that starts at `begin`, into the result.
  void take(const Stretch& stretch, int32_t begin, const std::vector<int32_t>& order) {
    for (size_t i = 0; i < order.size(); ++i) result_.tasks[begin + i] = stretch.names[order[i]];
  }

  void solve(const IndependentPart& part) {
    const Stretch stretch = graph_.stretch(result_.tasks, part.begin, part.end);
    const int64_t limit = std::min(options_.states, options_.total_states - result_.states);
    const ExactResult exact = search_exactly(stretch, result_.lower_bound, part.peak, limit, &deadline_);
    result_.states += exact.states;
    raise_bound(exact.bound);
    if (exact.complete) return take(stretch, part.begin, exact.order);
    const int64_t n = stretch.size();
    const int64_t width = std::min<int64_t>(options_.beam, kBeamWork / std::max<int64_t>(1, n * n));
    if (width >= 1) take(stretch, part.begin, search_beam(stretch, part.peak, static_cast<int32_t>(width), &deadline_));
  }

  // The step at which the most bytes are alive, the first of them.
  int32_t peak_step(int64_t* peak) const {
    const Stretch whole = graph_.stretch(result_.tasks, 0, graph_.tasks());
    Walk walk(whole);
    int32_t best = 0;
    *peak = whole.start;
    for (int32_t t = 0; t < whole.size(); ++t) {
      const int64_t bytes = walk.during(t);
      if (bytes > *peak) {
        *peak = bytes;
        best = t;
      }
      walk.run(t);
    }
    return best;
  }

  void repair_windows() {
    for (int round = 0; round < kWindowRounds && graph_.tasks() > 0; ++round) {
      int64_t peak = 0;
      const int32_t step = peak_step(&peak);
      if (peak <= result_.lower_bound || deadline_.passed() || !repair_around(step, peak)) return;
    }
  }

  // Solves windows that hold `step`, early ones first, until one lowers its peak.
  bool repair_around(int32_t step, int64_t peak) {
    for (int32_t shift = 3 * kWindow / 4; shift > 0; shift -= kWindow / 4) {
      const int32_t begin = std::max(0, step - shift);
      const int32_t end = std::min(graph_.tasks(), begin + kWindow);
      const int64_t limit = std::min(options_.states / 8, options_.total_states - result_.states);
      if (limit <= 0) return false;
      const Stretch stretch = graph_.stretch(result_.tasks, begin, end);
      const ExactResult exact = search_exactly(stretch, result_.lower_bound, peak, limit, &deadline_);
      result_.states += exact.states;
      if (exact.order.empty()) continue;
      take(stretch, begin, exact.order);
      return true;
    }
    return false;
  }

  const TaskGraph& graph_;
  const Options& options_;
  Deadline deadline_;
  Schedule result_;
};

}  // namespace

int64_t peak_of(const Problem& problem, const std::vector<int32_t>& tasks) {
  return peak_of(TaskGraph(problem), tasks);
}

Expected<Schedule> best_schedule(const Problem& problem, const Options& options) {
  Deadline deadline = options.time_limit > 0 ? Deadline(options.time_limit, options.clock) : Deadline();
  deadline.follow(options.watch);
  BERTH_TRY(check(problem));
  const TaskGraph graph(problem);
  return Scheduler(graph, options, deadline).run();
}

}  // namespace berth::scheduling

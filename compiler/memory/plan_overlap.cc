#include "compiler/memory/plan_overlap.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/stopwatch.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/text.h"
#include "compiler/memory/await_copies.h"
#include "compiler/memory/banks.h"
#include "compiler/memory/schedule_problem.h"
#include "compiler/memory/scheduling/fastest.h"

namespace berth::memory {
namespace {

/// The most orders that are planned, each with a lower peak than the one before.
constexpr int kMostOrders = 8;

class OverlapSearch {
 public:
  OverlapSearch(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                const IdVector<ir::NodeId, int64_t>& scratch_bytes, MethodPlan least)
      : module_(module),
        scratch_bytes_(scratch_bytes),
        options_(options),
        time_(options.overlap.time),
        given_(least.scheduled(method)),
        problem_(schedule_problem(module, given_, least.model, options.in_place_set, CopyOrder::kFree)),
        least_bytes_(least.packing.bytes()),
        best_(std::move(least)) {
    for (const ir::NodeId id : given_.body.nodes) times_.push_back(time_(given_, given_.node(id)));
    await_copies(given_, &times_);
    bounds_ = scheduling::time_bounds(problem_, without_holding(times_));
    order_.resize(times_.size());
    std::iota(order_.begin(), order_.end(), 0);
    options_.reorder = false;
    options_.overlap = {};
    options_.time_limit = seconds_left(options.time_limit, best_.cost);
  }

  Expected<MethodPlan> run(const OverlapOptions& overlap) {
    const int64_t percent = least_bytes_ / 100 * overlap.percent + least_bytes_ % 100 * overlap.percent / 100;
    const int64_t allowed = least_bytes_ + percent + overlap.bytes;
    const int64_t before = timeline_of(times_, order_).nanoseconds;
    // At first what copies between devices read is kept until they are done; where memory does not allow it, the device
    // that has it waits.
    const std::vector<scheduling::TaskTime> held = times_;
    times_ = without_holding(held);
    BERTH_ASSIGN_OR_RETURN(bool taken, take_fastest(before, allowed));
    if (!taken) {
      times_ = held;
      BERTH_ASSIGN_OR_RETURN(taken, take_fastest(before, allowed));
    }
    return timed(before);
  }

 private:
  static std::vector<scheduling::TaskTime> without_holding(std::vector<scheduling::TaskTime> times) {
    for (scheduling::TaskTime& time : times) time.holds_other = false;
    return times;
  }

  /// Takes the first order that takes less time than `before` and no more than the bytes that are allowed. An order
  /// that cannot be planned is not taken, as one that takes too many.
  Expected<bool> take_fastest(int64_t before, int64_t allowed) {
    if (before <= scheduling::time_bounds(problem_, times_).least()) return false;
    scheduling::FastestOptions options;
    for (int tried = 0; tried < kMostOrders; ++tried) {
      const auto found = fastest(options);
      if (!found.has_value() || found->nanoseconds >= before) break;
      ir::Method other = reordered(found->tasks);
      auto plan = planned(other, in_use(found->tasks));
      if (!plan.ok() && options_.watch != nullptr && options_.watch->ended()) return plan.error();
      const int64_t bytes = plan.ok() ? plan->packing.bytes() : allowed + 1;
      if (bytes <= allowed) {
        take(std::move(*plan), std::move(other), found->tasks, bytes);
        return true;
      }
      options.most_bytes = std::min(found->peak, options.most_bytes) - std::max<int64_t>(1, bytes - allowed);
    }
    return false;
  }

  /// What copies between devices still read, by the nodes that their source's device runs meanwhile.
  std::map<ir::NodeId, std::vector<ir::ValueId>> in_use(const std::vector<int32_t>& tasks) const {
    std::map<ir::NodeId, std::vector<ir::ValueId>> used;
    const scheduling::Timeline timeline = scheduling::timeline_of(times_, tasks);
    for (size_t i = 0; i < tasks.size(); ++i) {
      const scheduling::TaskTime& copy = times_[tasks[i]];
      if (copy.other < 0 || copy.holds_other) continue;
      const ir::Node& node = given_.node(given_.body.nodes[tasks[i]]);
      for (size_t later = i + 1; later < tasks.size(); ++later) {
        const scheduling::TaskTime& time = times_[tasks[later]];
        const ir::NodeId id = given_.body.nodes[tasks[later]];
        if (timeline.begin[tasks[later]] >= timeline.end[tasks[i]]) continue;
        if (time.worker != copy.other && time.other != copy.other && !uses(given_.node(id), copy.other)) continue;
        used[id].push_back(std::get<ir::ValueId>(node.args[arg::device_copy::self]));
      }
    }
    return used;
  }

  /// Whether something in the branches or the loop of `node` runs on the worker.
  bool uses(const ir::Node& node, int32_t worker) const {
    if (node.is(ir::OpId::delegate)) return false;
    for (const ir::Graph& region : node.regions) {
      for (const ir::NodeId id : region.nodes) {
        const ir::Node& inner = given_.node(id);
        const scheduling::TaskTime time = time_(given_, inner);
        if (time.worker == worker || time.other == worker || uses(inner, worker)) return true;
      }
    }
    return false;
  }

  std::optional<scheduling::FastestOrder> fastest(const scheduling::FastestOptions& options) {
    const Stopwatch watch;
    const bool limited = options_.time_limit > 0;
    Deadline deadline = limited ? Deadline(seconds_left(options_.time_limit, cost_)) : Deadline();
    deadline.follow(options_.watch);
    auto found = scheduling::fastest_order(problem_, times_, options, &deadline);
    cost_.ms += watch.milliseconds();
    cost_.truncated |= deadline.was_passed();
    return found;
  }

  ir::Method reordered(const std::vector<int32_t>& tasks) const {
    ir::Method method = given_;
    for (size_t i = 0; i < tasks.size(); ++i) method.body.nodes[i] = given_.body.nodes[tasks[i]];
    return method;
  }

  /// With the nodes as they are.
  Expected<MethodPlan> planned(const ir::Method& method, std::map<ir::NodeId, std::vector<ir::ValueId>> in_use) {
    MemoryOptions own = options_;
    own.in_use = std::move(in_use);
    own.time_limit = seconds_left(options_.time_limit, cost_);
    BERTH_ASSIGN_OR_RETURN(MethodPlan plan, plan_schedule(module_, method, own, scratch_bytes_));
    cost_ += plan.cost;
    return plan;
  }

  void take(MethodPlan plan, ir::Method method, std::vector<int32_t> order, int64_t bytes) {
    plan.rescheduled = std::move(method);
    plan.saved_by_schedule = best_.saved_by_schedule - (bytes - least_bytes_);
    plan.schedule_optimal = best_.schedule_optimal && bytes <= least_bytes_;
    plan.cost = best_.cost;
    best_ = std::move(plan);
    order_ = std::move(order);
  }

  MethodPlan timed(int64_t before) {
    RunTime time;
    for (const int32_t task : order_) time.times.push_back(times_[task]);
    std::vector<int32_t> in_turn(order_.size());
    std::iota(in_turn.begin(), in_turn.end(), 0);
    time.timeline = scheduling::timeline_of(time.times, in_turn);
    time.bounds = bounds_;
    time.least_memory = before;
    time.bytes = best_.packing.bytes() - least_bytes_;
    best_.run_time = std::move(time);
    best_.cost += cost_;
    return std::move(best_);
  }

  const ir::Module& module_;
  const IdVector<ir::NodeId, int64_t>& scratch_bytes_;
  MemoryOptions options_;
  const NodeTime time_;
  const ir::Method given_;  // in the order of the least memory
  const scheduling::Problem problem_;
  const int64_t least_bytes_;
  MethodPlan best_;
  std::vector<scheduling::TaskTime> times_;  // of the nodes of `given_`
  scheduling::TimeBounds bounds_;            // of all orders, also those in which the sources' devices go on
  std::vector<int32_t> order_;               // of them in `best_`
  PlanningCost cost_;
};

}  // namespace

Expected<OverlapOptions> parse_overlap(std::string_view text) {
  OverlapOptions overlap;
  if (text == "0") return overlap;
  if (!text.empty() && text.back() == '%') {
    const char* end = text.data() + text.size() - 1;
    const auto read = std::from_chars(text.data(), end, overlap.percent);
    if (read.ec == std::errc() && read.ptr == end && overlap.percent >= 0 && overlap.percent <= kMostOverlapPercent) {
      return overlap;
    }
  } else {
    overlap.bytes = parse_bytes(text);
    if (overlap.bytes > 0) return overlap;
  }
  return Failure{Error::kInvalidArgument, "overlap " + ir::quoted(text),
                 "expected how much memory it may cost: bytes, with K, M or G behind them where you like, such as 64K, "
                 "or a part of the arenas from 0% to " +
                     std::to_string(kMostOverlapPercent) + "%, such as 25%"};
}

Expected<MethodPlan> plan_overlap(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                  const IdVector<ir::NodeId, int64_t>& scratch_bytes, MethodPlan least) {
  return OverlapSearch(module, method, options, scratch_bytes, std::move(least)).run(options.overlap);
}

}  // namespace berth::memory

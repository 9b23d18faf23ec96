#include "compiler/memory/scheduling/fastest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/splitmix64.h"
#include "compiler/memory/scheduling/schedule.h"

namespace berth::scheduling {
namespace {

struct Timed {
  Problem problem;
  std::vector<TaskTime> times;
};

// A graph of `tasks` on the host and `devices`, each reading what was made before, and copies where that is elsewhere.
class RandomGraph {
 public:
  RandomGraph(SplitMix64& dice, int32_t tasks, int32_t devices) : dice_(dice) {
    while (made_.problem.tasks < tasks) {
      const int32_t worker = number(devices + 1);
      std::vector<int32_t> reads;
      for (int64_t i = dice_.below(3); i > 0 && made_.problem.tasks > 0; --i)
        reads.push_back(number(made_.problem.tasks));
      for (int32_t& from : reads) from = brought_to(worker, from, tasks);
      if (made_.problem.tasks < tasks) add({dice_.below(20), worker}, reads);
    }
  }

  Timed made() const { return made_; }

 private:
  int32_t number(int32_t below) { return static_cast<int32_t>(dice_.below(below)); }

  int32_t add(const TaskTime& time, const std::vector<int32_t>& reads) {
    const int32_t task = made_.problem.tasks++;
    made_.problem.buffers.push_back({1 + dice_.below(9), task, {}, dice_.below(4) == 0});
    made_.times.push_back(time);
    for (const int32_t from : reads) {
      made_.problem.buffers[from].readers.push_back(task);
      if (made_.times[from].arrival >= 0) made_.times[task].awaits.push_back(made_.times[from].arrival);
    }
    return task;
  }

  // The task that has it there; copies directly, or through the host.
  int32_t brought_to(int32_t worker, int32_t from, int32_t tasks) {
    const int32_t home = to_host_.count(from) != 0 ? kHost : made_.times[from].worker;
    if (home == worker || made_.problem.tasks >= tasks) return from;
    if (home == kHost) return add({dice_.below(9), worker, -1, true}, {from});
    if (worker != kHost && dice_.below(2) == 0) {
      return add({dice_.below(9), worker, home, false, dice_.below(2) == 0}, {from});
    }
    TaskTime copy{dice_.below(9), home, -1, dice_.below(2) == 0};
    if (!copy.host_waits) copy.arrival = static_cast<int32_t>(to_host_.size());
    const int32_t on_host = add(copy, {from});
    to_host_.insert(on_host);
    return brought_to(worker, on_host, tasks);
  }

  SplitMix64& dice_;
  Timed made_;
  std::set<int32_t> to_host_;  // copies whose result the host has
};

Timed random_graph(SplitMix64& dice, int32_t tasks, int32_t devices) {
  return RandomGraph(dice, tasks, devices).made();
}

// By the words of timing.h, with a list of what each worker has done instead of clocks.
int64_t defined_time(const std::vector<TaskTime>& times, const std::vector<int32_t>& order) {
  int64_t host = 0;
  int64_t last = 0;
  struct End {
    int32_t worker;
    int64_t end;
    int32_t told_to_wait;  // the owner of a copy, that was not told yet; -1: none
  };
  std::vector<End> ends;
  std::vector<int64_t> arrived(times.size(), 0);  // by a copy's number
  const auto mark = [&](int32_t stream) {
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].worker != stream || ends[i].told_to_wait < 0) continue;
      const End waits{ends[i].told_to_wait, ends[i].end, -1};
      ends[i].told_to_wait = -1;
      ends.push_back(waits);
    }
  };
  for (const int32_t task : order) {
    const TaskTime& time = times[task];
    for (const int32_t copy : time.awaits) host = std::max(host, arrived[copy]);
    if (time.other >= 0) mark(time.other);
    int64_t begin = host;
    for (const End& end : ends) {
      if (end.worker == time.worker || end.worker == time.other) begin = std::max(begin, end.end);
    }
    const int64_t end = begin + time.nanoseconds;
    if (time.other >= 0) mark(time.worker);
    ends.push_back({time.worker, end, time.other >= 0 && !time.holds_other ? time.other : -1});
    if (time.other >= 0 && time.holds_other) ends.push_back({time.other, end, -1});
    if (time.worker == kHost || time.host_waits) host = end;
    if (time.arrival >= 0) arrived[time.arrival] = end;
    last = std::max(last, end);
  }
  return last;
}

bool is_readers_last(const Problem& problem, const std::vector<int32_t>& order) {
  std::vector<int32_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int32_t>(i);
  for (const Buffer& buffer : problem.buffers) {
    for (const int32_t reader : buffer.readers) {
      if (place[buffer.producer] >= place[reader]) return false;
    }
  }
  return true;
}

// The least time of all orders that keep to `most_bytes`; -1 when there is none.
int64_t best_of_all(const Timed& timed, int64_t most_bytes) {
  std::vector<int32_t> order(timed.problem.tasks);
  std::iota(order.begin(), order.end(), 0);
  int64_t best = -1;
  do {
    if (!is_readers_last(timed.problem, order) || peak_of(timed.problem, order) > most_bytes) continue;
    const int64_t time = defined_time(timed.times, order);
    if (best < 0 || time < best) best = time;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Fastest, NoOrderOfASmallGraphIsFaster) {
  const uint64_t seed = 18;
  SplitMix64 dice(seed);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    const Timed timed = random_graph(dice, 7, 3);
    Deadline never;
    const auto found = fastest_order(timed.problem, timed.times, {INT64_MAX, 5040}, &never);
    ASSERT_TRUE(found.has_value());
    ASSERT_TRUE(is_readers_last(timed.problem, found->tasks));
    EXPECT_TRUE(found->exhaustive);
    EXPECT_EQ(found->nanoseconds, defined_time(timed.times, found->tasks));
    EXPECT_EQ(found->nanoseconds, best_of_all(timed, INT64_MAX));
    EXPECT_EQ(found->peak, peak_of(timed.problem, found->tasks));
    EXPECT_GE(found->nanoseconds, time_bounds(timed.problem, timed.times).least());
  }
}

TEST(Fastest, NoOrderWithFewerBytesIsFaster) {
  const uint64_t seed = 19;
  SplitMix64 dice(seed);
  int refused = 0;
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    const Timed timed = random_graph(dice, 6, 2);
    std::vector<int32_t> given(6);
    std::iota(given.begin(), given.end(), 0);
    const int64_t most = peak_of(timed.problem, given) - static_cast<int64_t>(dice.below(4));
    Deadline never;
    const auto found = fastest_order(timed.problem, timed.times, {most, 720}, &never);
    const int64_t best = best_of_all(timed, most);
    ASSERT_EQ(found.has_value(), best >= 0);
    refused += best < 0 ? 1 : 0;
    if (!found.has_value()) continue;
    EXPECT_LE(peak_of(timed.problem, found->tasks), most);
    EXPECT_EQ(found->nanoseconds, best);
  }
  EXPECT_GT(refused, 0);
}

TEST(Fastest, ANarrowBeamComesNearTheBoundOfManyParts) {
  // Four chains of a copy in, work and a copy out, on two devices, listed one behind the other.
  Timed timed;
  for (int32_t part = 0; part < 4; ++part) {
    const int32_t device = 1 + part / 2;
    for (int32_t k = 0; k < 3; ++k) {
      const int32_t task = timed.problem.tasks++;
      timed.problem.buffers.push_back({64, task, {}, k == 2});
      if (k > 0) timed.problem.buffers[task - 1].readers = {task};
      timed.times.push_back(k == 1 ? TaskTime{1000, device} : TaskTime{10, device, -1, true});
    }
  }
  std::vector<int32_t> given(12);
  std::iota(given.begin(), given.end(), 0);
  EXPECT_EQ(defined_time(timed.times, given), 4 * 1020);
  Deadline never;
  const auto found = fastest_order(timed.problem, timed.times, {INT64_MAX, 8}, &never);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(time_bounds(timed.problem, timed.times).least(), 2040);
  EXPECT_LE(found->nanoseconds, 2060);
}

TEST(Fastest, SomethingIsFoundForGraphsOfThousands) {
  Timed timed;
  timed.problem.tasks = 3000;
  for (int32_t task = 0; task < 3000; ++task) {
    timed.problem.buffers.push_back({64, task, {}, false});
    if (task >= 2) timed.problem.buffers[task - 2].readers = {task};
    timed.times.push_back({10, 1 + task % 2});
  }
  Deadline never;
  const auto found = fastest_order(timed.problem, timed.times, {}, &never);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->nanoseconds, 15'000);
}

// Tasks of which each may come next, on the host and two devices.
Timed wide_graph(int32_t tasks) {
  Timed timed;
  timed.problem.tasks = tasks;
  for (int32_t task = 0; task < tasks; ++task) {
    timed.problem.buffers.push_back({64, task, {}, false});
    timed.times.push_back({1 + task % 7, task % 3});
  }
  return timed;
}

TEST(Fastest, WideGraphsOfThousandsTakeStepsThatGrowWithTheSquareAtMost) {
  constexpr int64_t kStepsOfAPair = 60;
  for (const int64_t tasks : {200, 800, 2500}) {
    SCOPED_TRACE(tasks);
    const Timed timed = wide_graph(static_cast<int32_t>(tasks));
    Deadline never;
    const auto found = fastest_order(timed.problem, timed.times, {}, &never);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->nanoseconds, time_bounds(timed.problem, timed.times).least());
    EXPECT_LT(found->steps, kStepsOfAPair * tasks * tasks + 5'000'000);
  }
}

TEST(Fastest, TheDeadlineEndsTheSearch) {
  SplitMix64 dice(20);
  const Timed timed = random_graph(dice, 40, 3);
  Deadline passed(0);
  EXPECT_FALSE(fastest_order(timed.problem, timed.times, {INT64_MAX, 100'000}, &passed).has_value());
}

}  // namespace
}  // namespace berth::scheduling

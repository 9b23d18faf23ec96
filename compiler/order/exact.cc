#include "compiler/order/exact.h"

#include <algorithm>
#include <queue>

namespace berth::order {
namespace {

size_t at(int32_t index) { return static_cast<size_t>(index); }

// A set of tasks that are done, and the least peak with which the search came to it.
struct State {
  int64_t peak = 0;
  int64_t live = 0;
  int32_t parent = -1;
  int32_t task = -1;  // that was run last
  int32_t done = 0;
};

struct Waiting {
  int64_t peak;
  int32_t done;
  int32_t state;
  // The least peak first; of equal ones the one that is furthest, so that one dive ends the search at the bound.
  friend bool operator<(const Waiting& a, const Waiting& b) {
    if (a.peak != b.peak) return a.peak > b.peak;
    if (a.done != b.done) return a.done < b.done;
    return a.state > b.state;
  }
};

class Search {
 public:
  Search(const Segment& segment, int64_t floor, int64_t below, int64_t limit)
      : segment_(segment),
        words_((at(segment.size()) + 63) / 64),
        below_(below),
        limit_(limit),
        bound_(std::max(floor, segment_bound(segment))) {
    for (int32_t t = 0; t < segment.size(); ++t) {
      made_.push_back(made_bytes(segment, t));
      staying_.push_back(staying_bytes(segment, t));
    }
  }

  ExactResult run() {
    ExactResult result;
    result.complete = true;
    add_root();
    while (!queue_.empty()) {
      const Waiting next = queue_.top();
      queue_.pop();
      if (next.peak > states_[at(next.state)].peak) continue;  // it was reached better since
      if (next.done == segment_.size()) {
        finish(next.state, &result);
        break;
      }
      if (!expand(next.state)) {
        result.complete = false;
        break;
      }
    }
    result.states = static_cast<int64_t>(states_.size());
    return result;
  }

 private:
  struct Step {
    int32_t task;
    int64_t peak;
    int64_t live;
  };

  const uint64_t* bits(int32_t state) const { return bits_.data() + at(state) * words_; }
  static bool has(const uint64_t* set, int32_t task) { return (set[task / 64] >> (task % 64) & 1) != 0; }

  void add_root() {
    states_.push_back({std::max(bound_, segment_.start), segment_.start, -1, -1, 0});
    bits_.resize(words_);
    if (states_[0].peak < below_) queue_.push({states_[0].peak, 0, 0});
  }

  bool ready(const uint64_t* set, int32_t task) const {
    for (int32_t other : segment_.tasks[at(task)].before) {
      if (!has(set, other)) return false;
    }
    return true;
  }

  bool dies(const uint64_t* set, int32_t buffer, int32_t task) const {
    const SegmentBuffer& b = segment_.buffers[at(buffer)];
    if (b.kept) return false;
    for (int32_t reader : b.readers) {
      if (reader != task && !has(set, reader)) return false;
    }
    return true;
  }

  Step step(int32_t from, const uint64_t* set, int32_t task) const {
    const State& state = states_[at(from)];
    const SegmentTask& t = segment_.tasks[at(task)];
    int64_t freed = 0;
    for (int32_t buffer : t.reads) freed += dies(set, buffer, task) ? segment_.buffers[at(buffer)].bytes : 0;
    const int64_t saved = saved_by(t, set, task);
    return {task, std::max(state.peak, state.live + made_[at(task)] - saved), state.live + staying_[at(task)] - freed};
  }

  int64_t saved_by(const SegmentTask& t, const uint64_t* set, int32_t task) const {
    return saved_bytes(segment_, t, [&](int32_t buffer) { return dies(set, buffer, task); });
  }

  // False when the limit is met.
  bool expand(int32_t from) {
    set_.assign(bits(from), bits(from) + words_);
    steps_.clear();
    const int64_t live = states_[at(from)].live;
    const int64_t peak = states_[at(from)].peak;
    for (int32_t task = 0; task < segment_.size(); ++task) {
      if (has(set_.data(), task) || !ready(set_.data(), task)) continue;
      const Step next = step(from, set_.data(), task);
      if (next.peak == peak && next.live <= live) return add(from, next);  // nothing is lost by running it now
      if (next.peak < below_) steps_.push_back(next);
    }
    for (const Step& next : steps_) {
      if (!add(from, next)) return false;
    }
    return true;
  }

  bool add(int32_t from, const Step& step) {
    next_set_ = set_;
    next_set_[at(step.task) / 64] |= uint64_t{1} << (step.task % 64);
    const int32_t done = states_[at(from)].done + 1;
    int32_t& slot = find(next_set_);
    if (slot >= 0) {
      State& known = states_[at(slot)];
      if (known.peak <= step.peak) return true;
      known.peak = step.peak;
      known.parent = from;
      known.task = step.task;
      queue_.push({step.peak, done, slot});
      return true;
    }
    if (static_cast<int64_t>(states_.size()) >= limit_) return false;
    slot = static_cast<int32_t>(states_.size());
    states_.push_back({step.peak, step.live, from, step.task, done});
    bits_.insert(bits_.end(), next_set_.begin(), next_set_.end());
    queue_.push({step.peak, done, slot});
    return true;
  }

  // The table's entry for a set: a state, or -1 for a new one.
  int32_t& find(const std::vector<uint64_t>& set) {
    if ((states_.size() + 1) * 2 > table_.size()) grow();
    for (size_t i = hash(set.data()) & (table_.size() - 1);; i = (i + 1) & (table_.size() - 1)) {
      if (table_[i] < 0 || std::equal(set.begin(), set.end(), bits(table_[i]))) return table_[i];
    }
  }

  void grow() {
    table_.assign(std::max<size_t>(1024, table_.size() * 2), -1);
    for (size_t s = 0; s < states_.size(); ++s) {
      size_t i = hash(bits(static_cast<int32_t>(s))) & (table_.size() - 1);
      while (table_[i] >= 0) i = (i + 1) & (table_.size() - 1);
      table_[i] = static_cast<int32_t>(s);
    }
  }

  size_t hash(const uint64_t* set) const {
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < words_; ++i) {
      h ^= set[i];
      h *= 0xBF58476D1CE4E5B9u;
      h ^= h >> 29;
    }
    return static_cast<size_t>(h);
  }

  void finish(int32_t state, ExactResult* result) const {
    result->peak = states_[at(state)].peak;
    for (int32_t s = state; states_[at(s)].task >= 0; s = states_[at(s)].parent) {
      result->order.push_back(states_[at(s)].task);
    }
    std::reverse(result->order.begin(), result->order.end());
  }

  const Segment& segment_;
  const size_t words_;
  const int64_t below_;
  const int64_t limit_;
  const int64_t bound_;
  std::vector<int64_t> made_;
  std::vector<int64_t> staying_;
  std::vector<State> states_;
  std::vector<uint64_t> bits_;  // words_ a state
  std::vector<int32_t> table_;  // open addressing
  std::priority_queue<Waiting> queue_;
  std::vector<uint64_t> set_;
  std::vector<uint64_t> next_set_;
  std::vector<Step> steps_;
};

}  // namespace

ExactResult search_exactly(const Segment& segment, int64_t floor, int64_t below, int64_t limit) {
  return Search(segment, floor, below, limit).run();
}

}  // namespace berth::order

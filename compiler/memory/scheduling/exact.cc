#include "compiler/memory/scheduling/exact.h"

#include <algorithm>

#include "compiler/memory/scheduling/needs.h"
#include "compiler/memory/scheduling/states.h"

namespace berth::scheduling {
namespace {

/// Larger stretches are not searched: their tables of who comes before whom would take more than some ten megabytes.
constexpr int32_t kMostTasks = 4096;
/// Sets that the two searches look at in turn.
constexpr int kTurn = 64;
/// Nanoseconds, more or less, for the deadline: of a set for each word of it.
constexpr int64_t kSetCost = 300;

struct Waiting {
  int64_t peak;
  int32_t done;
  int32_t state;
  friend bool operator<(const Waiting& a, const Waiting& b) {
    if (a.peak != b.peak) return a.peak > b.peak;
    if (a.done != b.done) return a.done < b.done;
    return a.state > b.state;
  }
};

enum class End : uint8_t { kNotYet, kFound, kNothing };

/// A search from one end of the stretch, forward or backward. kWords is how many words a set takes, or 0 where it is
/// more than one. A set holds the tasks that have run, or, backward, those of which it is settled that they run last.
template <size_t kWords, bool kForward>
class Search {
 public:
  /// No order has a peak below `bound`.
  Search(const Stretch& stretch, int64_t bound, int64_t below)
      : stretch_(stretch),
        many_words_((stretch.tasks.size() + 63) / 64),
        below_(below),
        bound_(bound),
        states_(many_words_),
        set_(many_words_),
        next_set_(many_words_),
        next_ready_(many_words_) {
    for (int32_t t = 0; t < stretch.size(); ++t) {
      made_.push_back(made_bytes(stretch, t));
      staying_.push_back(staying_bytes(stretch, t));
      add_mask(first(t), &first_);
    }
    for (const StretchBuffer& buffer : stretch.buffers) add_mask(buffer.readers, &readers_);
    for (int32_t t = 0; t < stretch.size(); ++t) {
      if (first(t).empty()) next_ready_[t / 64] |= bit(t);
    }
    states_.add({bound, live_at_start(), -1, -1, 0}, set_.data(), next_ready_.data());
    push({bound, 0, 0});
  }

  /// Looks at some sets more.
  End advance() {
    for (int turn = 0; turn < kTurn; ++turn) {
      if (queue_.empty()) return End::kNothing;
      const Waiting next = pop();
      if (next.peak > std::max(bound_, states_[next.state].peak)) continue;  // it was reached better since
      bound_ = next.peak;                                                    // every order is a way over one that waits
      if (next.done == stretch_.size()) {
        goal_ = next.state;
        return End::kFound;
      }
      expand(next.state);
    }
    return End::kNotYet;
  }

  /// No order has a lower peak.
  int64_t bound() const { return bound_; }
  void raise_bound(int64_t bound) {
    if (bound <= bound_) return;
    bound_ = bound;
    for (Waiting& waiting : queue_) waiting.peak = std::max(waiting.peak, bound);
    std::make_heap(queue_.begin(), queue_.end());
  }

  int64_t states() const { return static_cast<int64_t>(states_.size()); }

  /// The order that was found.
  std::vector<int32_t> order() const {
    std::vector<int32_t> order;
    for (int32_t s = goal_; states_[s].task >= 0; s = states_[s].parent) order.push_back(states_[s].task);
    if (kForward) std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  struct Step {
    int32_t task;
    int64_t peak;
    int64_t live;
  };

  size_t words() const { return kWords > 0 ? kWords : many_words_; }
  static uint64_t bit(int32_t task) { return uint64_t{1} << (task % 64); }

  /// Those that a task of the stretch waits for, and that wait for it, in this direction.
  const std::vector<int32_t>& first(int32_t t) const {
    return kForward ? stretch_.tasks[t].before : stretch_.tasks[t].after;
  }
  const std::vector<int32_t>& then(int32_t t) const {
    return kForward ? stretch_.tasks[t].after : stretch_.tasks[t].before;
  }

  void add_mask(const std::vector<int32_t>& tasks, std::vector<uint64_t>* masks) const {
    masks->resize(masks->size() + words());
    uint64_t* const mask = masks->data() + masks->size() - words();
    for (const int32_t task : tasks) mask[task / 64] |= bit(task);
  }

  int64_t live_at_start() const {
    if (kForward) return stretch_.start;
    int64_t bytes = stretch_.base;
    for (const StretchBuffer& buffer : stretch_.buffers) {
      if (buffer.kept && buffer.producer >= 0) bytes += buffer.bytes;
    }
    return bytes;
  }

  bool holds_all(const uint64_t* set, const uint64_t* mask) const {
    uint64_t missing = 0;
    for (size_t w = 0; w < words(); ++w) missing |= mask[w] & ~set[w];
    return missing == 0;
  }

  /// Whether `task`, which runs next, or, backward, right before those of the set, is the last to read a buffer.
  bool dies(int32_t buffer, int32_t task) const {
    if (stretch_.buffers[buffer].kept) return false;
    const uint64_t* const readers = readers_.data() + buffer * words();
    uint64_t later = 0;
    for (size_t w = 0; w < words(); ++w) {
      const uint64_t mine = static_cast<size_t>(task) / 64 == w ? bit(task) : 0;
      later |= kForward ? readers[w] & ~set_[w] & ~mine : readers[w] & set_[w];
    }
    return later == 0;
  }

  Step step(int64_t peak, int64_t live, int32_t task) const {
    const StretchTask& t = stretch_.tasks[task];
    int64_t freed = 0;
    for (const int32_t buffer : t.reads) freed += dies(buffer, task) ? stretch_.buffers[buffer].bytes : 0;
    const int64_t saved =
        t.in_place.empty() ? 0 : saved_bytes(stretch_, t, [&](int32_t buffer) { return dies(buffer, task); });
    const int64_t change = staying_[task] - freed;
    const int64_t before = kForward ? live : live - change;
    return {task, std::max(peak, before + made_[task] - saved), kForward ? live + change : before};
  }

  /// Moving a task to this end then never hurts: no matter who has run, it adds no fewer bytes than it does when it is
  /// the last to run, and no more than when it is the first. Where others lose the bytes that they would work in, as it
  /// now reads them last, those are among the bytes that it frees.
  static bool loses_nothing(const Step& step, int64_t peak, int64_t live) {
    return step.peak == peak && step.live <= live;
  }

  void expand(int32_t from) {
    std::copy(states_.set(from), states_.set(from) + words(), set_.begin());
    const int64_t live = states_[from].live;
    steps_.clear();
    for (size_t w = 0; w < words(); ++w) {
      for (uint64_t left = states_.ready(from)[w]; left != 0; left &= left - 1) {
        const Step next = step(bound_, live, static_cast<int32_t>(64 * w) + __builtin_ctzll(left));
        if (loses_nothing(next, bound_, live)) return add(from, next);
        if (next.peak < below_) steps_.push_back(next);
      }
    }
    for (const Step& next : steps_) add(from, next);
  }

  void add(int32_t from, const Step& step) {
    std::copy(set_.begin(), set_.end(), next_set_.begin());
    next_set_[step.task / 64] |= bit(step.task);
    int32_t& slot = states_.find(next_set_.data());
    if (slot < 0) {
      std::copy(states_.ready(from), states_.ready(from) + words(), next_ready_.begin());
      next_ready_[step.task / 64] &= ~bit(step.task);
      for (const int32_t other : then(step.task)) {
        if (holds_all(next_set_.data(), first_.data() + other * words())) next_ready_[other / 64] |= bit(other);
      }
      slot = states_.add({step.peak, step.live, from, step.task, states_[from].done + 1}, next_set_.data(),
                         next_ready_.data());
    } else if (states_[slot].peak > step.peak) {
      states_[slot].peak = step.peak;
      states_[slot].parent = from;
      states_[slot].task = step.task;
    } else {
      return;
    }
    push({step.peak, states_[slot].done, slot});
  }

  void push(const Waiting& waiting) {
    queue_.push_back(waiting);
    std::push_heap(queue_.begin(), queue_.end());
  }

  Waiting pop() {
    std::pop_heap(queue_.begin(), queue_.end());
    const Waiting last = queue_.back();
    queue_.pop_back();
    return last;
  }

  const Stretch& stretch_;
  const size_t many_words_;
  const int64_t below_;
  int64_t bound_;
  int32_t goal_ = 0;
  std::vector<int64_t> made_;
  std::vector<int64_t> staying_;
  std::vector<uint64_t> first_;    // of each task: those that it waits for
  std::vector<uint64_t> readers_;  // of each buffer
  States states_;
  std::vector<Waiting> queue_;  // a heap
  std::vector<uint64_t> set_;
  std::vector<uint64_t> next_set_;
  std::vector<uint64_t> next_ready_;
  std::vector<Step> steps_;
};

template <size_t kWords>
ExactResult search_from_both_ends(const Stretch& stretch, int64_t bound, int64_t below, int64_t limit,
                                  Deadline* deadline) {
  Search<kWords, true> forward(stretch, bound, below);
  Search<kWords, false> backward(stretch, bound, below);
  const int64_t cost = 2 * kTurn * kSetCost * (1 + stretch.size() / 64);
  ExactResult result;
  const auto turn = [&](auto& mine, auto& other) {
    const End end = mine.advance();
    other.raise_bound(mine.bound());
    result.bound = end == End::kNothing ? below : mine.bound();
    result.complete = end != End::kNotYet;
    if (end == End::kFound) result.order = mine.order();
    return result.complete;
  };
  while (forward.states() + backward.states() < limit && !deadline->passed_after(cost)) {
    if (turn(forward, backward) || turn(backward, forward)) break;
  }
  result.states = forward.states() + backward.states();
  return result;
}

}  // namespace

ExactResult search_exactly(const Stretch& stretch, int64_t floor, int64_t below, int64_t limit, Deadline* deadline) {
  ExactResult result;
  const bool large = stretch.size() > kMostTasks;
  result.bound = std::min(below, std::max(floor, large ? stretch_bound(stretch) : needed_by_any_order(stretch)));
  result.complete = result.bound >= below;
  if (result.complete || large || deadline->passed()) return result;
  if (stretch.size() <= 64) return search_from_both_ends<1>(stretch, result.bound, below, limit, deadline);
  return search_from_both_ends<0>(stretch, result.bound, below, limit, deadline);
}

}  // namespace berth::scheduling

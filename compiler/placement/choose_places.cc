#include "compiler/placement/choose_places.h"

#include <algorithm>

namespace berth::placement {
namespace {

using Places = std::vector<int32_t>;

// Divides the items at two places between these anew.
class Swap {
 public:
  Swap(const PlaceProblem& problem, int32_t first, int32_t second, const Places& at)
      : problem_(problem), first_(first), second_(second), at_(at), vertex_(at.size(), -1) {}

  Places run() {
    for (size_t i = 0; i < at_.size(); ++i) {
      if (at_[i] != first_ && at_[i] != second_) continue;
      vertex_[i] = network_.add_node();
      cost_on_first(vertex_[i], problem_.items[i].costs[first_]);
      cost_on_second(vertex_[i], problem_.items[i].costs[second_]);
    }
    for (const PlaceProblem::Flow& flow : problem_.flows) add(flow);
    int64_t work = INT64_MAX;
    network_.push(&work);
    Places now = at_;
    for (size_t i = 0; i < now.size(); ++i) {
      if (vertex_[i] >= 0) now[i] = network_.is_with_source(vertex_[i]) ? second_ : first_;
    }
    return now;
  }

 private:
  // The second place is the source's side, so that what costs the same at both is at the first.
  void cost_on_first(int32_t vertex, int64_t cost) { add_arc(FlowNetwork::kSource, vertex, cost); }
  void cost_on_second(int32_t vertex, int64_t cost) { add_arc(vertex, FlowNetwork::kSink, cost); }
  // What it costs that `one` is at the first place and `other` at the second.
  void cost_apart(int32_t one, int32_t other, int64_t cost) { add_arc(other, one, cost); }

  void add_arc(int32_t from, int32_t to, int64_t cost) {
    if (cost > 0 && from != to) network_.add_arc(from, to, cost);
  }

  void add(const PlaceProblem::Flow& flow) {
    const auto cost = [&](int32_t from, int32_t to) { return flow.costs[from * problem_.places + to]; };
    const int32_t maker = vertex_[flow.maker];
    std::vector<int32_t> readers;             // that may move
    std::vector<bool> read(problem_.places);  // where those that do not move are
    for (const int32_t reader : flow.readers) {
      if (vertex_[reader] >= 0) {
        readers.push_back(vertex_[reader]);
      } else {
        read[at_[reader]] = true;
      }
    }
    if (maker < 0) {
      if (readers.empty()) return;
      cost_on_first(any_on_first(readers), cost(at_[flow.maker], first_));
      cost_on_second(any_on_second(readers), cost(at_[flow.maker], second_));
      return;
    }
    for (int32_t place = 0; place < problem_.places; ++place) {
      if (!read[place]) continue;
      cost_on_first(maker, cost(first_, place));
      cost_on_second(maker, cost(second_, place));
    }
    if (readers.empty()) return;
    cost_apart(maker, any_on_second(readers), cost(first_, second_));
    cost_apart(any_on_first(readers), maker, cost(second_, first_));
  }

  // An item that is on the first side if one of `some` is.
  int32_t any_on_first(const std::vector<int32_t>& some) {
    if (some.size() == 1) return some[0];
    const int32_t any = network_.add_node();
    for (const int32_t one : some) cost_apart(one, any, kNever);
    return any;
  }

  int32_t any_on_second(const std::vector<int32_t>& some) {
    if (some.size() == 1) return some[0];
    const int32_t any = network_.add_node();
    for (const int32_t one : some) cost_apart(any, one, kNever);
    return any;
  }

  const PlaceProblem& problem_;
  int32_t first_;
  int32_t second_;
  const Places& at_;
  std::vector<int32_t> vertex_;  // of each item; -1: stays where it is
  FlowNetwork network_;
};

int32_t cheapest(const PlaceProblem::Item& item) {
  return static_cast<int32_t>(std::min_element(item.costs.begin(), item.costs.end()) - item.costs.begin());
}

}  // namespace

int64_t cost_of(const PlaceProblem& problem, const std::vector<int32_t>& at) {
  int64_t sum = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t cost = problem.items[i].costs[at[i]];
    if (cost >= kNever) return kNever;
    sum += cost;
  }
  for (const PlaceProblem::Flow& flow : problem.flows) {
    std::vector<bool> read(problem.places);
    for (const int32_t reader : flow.readers) read[at[reader]] = true;
    for (int32_t place = 0; place < problem.places; ++place) {
      if (read[place]) sum += flow.costs[at[flow.maker] * problem.places + place];
    }
  }
  return sum;
}

std::vector<int32_t> all_at(const PlaceProblem& problem, int32_t place) {
  Places at;
  for (const PlaceProblem::Item& item : problem.items) {
    at.push_back(item.costs[place] < kNever ? place : cheapest(item));
  }
  return at;
}

std::vector<int32_t> choose_places(const PlaceProblem& problem) {
  Places best = all_at(problem, 0);
  int64_t least = cost_of(problem, best);
  const auto take = [&](Places at) {
    const int64_t cost = cost_of(problem, at);
    if (cost >= least) return false;
    least = cost;
    best = std::move(at);
    return true;
  };
  for (int32_t place = 1; place < problem.places; ++place) take(all_at(problem, place));
  const auto for_each_pair = [&](auto&& visit) {
    bool any = false;
    for (int32_t first = 0; first < problem.places; ++first) {
      for (int32_t second = first + 1; second < problem.places; ++second) any = visit(first, second) || any;
    }
    return any;
  };
  for_each_pair([&](int32_t first, int32_t second) {
    // What cannot be at the first is at the second if it can, so that it may come back.
    Places at = all_at(problem, first);
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] != first && problem.items[i].costs[second] < kNever) at[i] = second;
    }
    return take(Swap(problem, first, second, at).run());
  });
  if (problem.places <= 2) return best;
  while (for_each_pair([&](int32_t first, int32_t second) { return take(Swap(problem, first, second, best).run()); })) {
  }
  return best;
}

}  // namespace berth::placement

#include "compiler/order/flow.h"

#include <algorithm>

namespace berth::order {
namespace {

size_t at(int32_t index) { return static_cast<size_t>(index); }

}  // namespace

void FlowNetwork::add_arc(int32_t from, int32_t to, int64_t cost) {
  arcs_.push_back({to, first_[at(from)], cost});
  first_[at(from)] = static_cast<int32_t>(arcs_.size()) - 1;
  arcs_.push_back({from, first_[at(to)], 0});
  first_[at(to)] = static_cast<int32_t>(arcs_.size()) - 1;
}

int64_t FlowNetwork::push(int64_t* work) {
  int64_t flow = 0;
  while (find_levels(work)) {
    current_ = first_;
    while (const int64_t more = push_one_way(work)) flow += more;
  }
  return flow;
}

bool FlowNetwork::find_levels(int64_t* work) {
  level_.assign(first_.size(), -1);
  level_[kSource] = 0;
  std::vector<int32_t> queue = {kSource};
  for (size_t i = 0; i < queue.size() && *work > 0; ++i) {
    for (int32_t a = first_[at(queue[i])]; a >= 0; a = arcs_[at(a)].next) {
      --*work;
      const Arc& arc = arcs_[at(a)];
      if (arc.left == 0 || level_[at(arc.to)] >= 0) continue;
      level_[at(arc.to)] = level_[at(queue[i])] + 1;
      queue.push_back(arc.to);
    }
  }
  return *work > 0 && level_[kSink] >= 0;
}

int64_t FlowNetwork::push_one_way(int64_t* work) {
  std::vector<int32_t> way;  // arcs from the source to `node`
  int32_t node = kSource;
  while (node != kSink && *work > 0) {
    --*work;
    int32_t& a = current_[at(node)];
    if (a < 0) {  // a dead end
      if (way.empty()) return 0;
      node = arcs_[at(way.back() ^ 1)].to;
      way.pop_back();
      current_[at(node)] = arcs_[at(current_[at(node)])].next;
    } else if (arcs_[at(a)].left > 0 && level_[at(arcs_[at(a)].to)] == level_[at(node)] + 1) {
      way.push_back(a);
      node = arcs_[at(a)].to;
    } else {
      a = arcs_[at(a)].next;
    }
  }
  if (node != kSink) return 0;
  int64_t bytes = FlowNetwork::kNoCut;
  for (const int32_t a : way) bytes = std::min(bytes, arcs_[at(a)].left);
  for (const int32_t a : way) {
    arcs_[at(a)].left -= bytes;
    arcs_[at(a ^ 1)].left += bytes;
  }
  return bytes;
}

}  // namespace berth::order

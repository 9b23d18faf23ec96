#include "base/flow_network.h"

#include <algorithm>

namespace berth {

void FlowNetwork::add_arc(int32_t from, int32_t to, int64_t cost) {
  arcs_.push_back({to, first_[from], cost});
  first_[from] = static_cast<int32_t>(arcs_.size()) - 1;
  arcs_.push_back({from, first_[to], 0});
  first_[to] = static_cast<int32_t>(arcs_.size()) - 1;
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
    for (int32_t a = first_[queue[i]]; a >= 0; a = arcs_[a].next) {
      --*work;
      const Arc& arc = arcs_[a];
      if (arc.left == 0 || level_[arc.to] >= 0) continue;
      level_[arc.to] = level_[queue[i]] + 1;
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
    int32_t& a = current_[node];
    if (a < 0) {  // a dead end
      if (way.empty()) return 0;
      node = arcs_[way.back() ^ 1].to;
      way.pop_back();
      current_[node] = arcs_[current_[node]].next;
    } else if (arcs_[a].left > 0 && level_[arcs_[a].to] == level_[node] + 1) {
      way.push_back(a);
      node = arcs_[a].to;
    } else {
      a = arcs_[a].next;
    }
  }
  if (node != kSink) return 0;
  int64_t bytes = FlowNetwork::kNoCut;
  for (const int32_t a : way) bytes = std::min(bytes, arcs_[a].left);
  for (const int32_t a : way) {
    arcs_[a].left -= bytes;
    arcs_[a ^ 1].left += bytes;
  }
  return bytes;
}

}  // namespace berth

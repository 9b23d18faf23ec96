#include "compiler/placement/clusters.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace berth::placement {
namespace {

// A set of groups; as long as it has to be.
class GroupSet {
 public:
  bool contains(int32_t group) const {
    const size_t word = group / 64;
    return word < words_.size() && ((words_[word] >> (group % 64)) & 1) != 0;
  }
  void add(int32_t group) {
    const size_t word = group / 64;
    if (words_.size() <= word) words_.resize(word + 1);
    words_[word] |= uint64_t{1} << (group % 64);
  }
  void remove(int32_t group) {
    if (contains(group)) words_[group / 64] &= ~(uint64_t{1} << (group % 64));
  }
  void add(const GroupSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool contains(const GroupSet& other) const {
    for (size_t i = 0; i < other.words_.size(); ++i) {
      if ((other.words_[i] & ~(i < words_.size() ? words_[i] : 0)) != 0) return false;
    }
    return true;
  }

 private:
  std::vector<uint64_t> words_;
};

class ClusterFinder {
 public:
  ClusterFinder(const std::vector<std::vector<int32_t>>& reads, const std::vector<int32_t>& colours)
      : reads_(reads), colours_(colours), above_node_(reads.size()) {
    out_.of.assign(reads.size(), -1);
  }

  Clusters run() {
    for (size_t i = 0; i < reads_.size(); ++i) {
      if (colours_[i] < 0) {
        above_node_[i] = above(i, -1);
      } else {
        place(i);
      }
    }
    order();
    return std::move(out_);
  }

 private:
  int32_t group_of(int32_t node) const { return out_.of[node]; }

  // The groups that `node` or its group comes after.
  const GroupSet& above_of(int32_t node) const {
    const int32_t group = group_of(node);
    return group < 0 ? above_node_[node] : above_group_[group];
  }

  // The groups that node `i` comes after, but `group`, its own.
  GroupSet above(size_t i, int32_t group) const {
    GroupSet set;
    for (int32_t read : reads_[i]) {
      set.add(above_of(read));
      if (group_of(read) >= 0) set.add(group_of(read));
    }
    if (group >= 0) set.remove(group);
    return set;
  }

  // Whether no path leads from `group` through something else to node `i`.
  bool may_join(size_t i, int32_t group) const {
    return std::none_of(reads_[i].begin(), reads_[i].end(),
                        [&](int32_t read) { return group_of(read) != group && above_of(read).contains(group); });
  }

  int32_t find_group(size_t i) const {
    int32_t best = -1;
    for (int32_t read : reads_[i]) {
      const int32_t group = group_of(read);
      if (group > best && colours_[read] == colours_[i] && may_join(i, group)) best = group;
    }
    if (best >= 0) return best;
    const auto found = groups_of_.find(colours_[i]);
    if (found == groups_of_.end()) return -1;
    size_t tried = 0;
    for (auto group = found->second.rbegin(); group != found->second.rend() && tried < kMostTried; ++group, ++tried) {
      if (may_join(i, *group)) return *group;
    }
    return -1;
  }

  void place(size_t i) {
    int32_t group = find_group(i);
    if (group < 0) {
      group = out_.count++;
      groups_of_[colours_[i]].push_back(group);
      above_group_.emplace_back();
    }
    out_.of[i] = group;
    const GroupSet set = above(i, group);
    GroupSet& known = above_group_[group];
    if (known.contains(set)) return;
    known.add(set);
    // Whatever comes after the group comes after these, too.
    const GroupSet now = known;
    for (GroupSet& other : above_group_) {
      if (other.contains(group)) other.add(now);
    }
    for (size_t n = 0; n < i; ++n) {
      if (above_node_[n].contains(group)) above_node_[n].add(now);
    }
  }

  // Groups and nodes without one, by number: groups behind all nodes.
  size_t item_of(size_t node) const { return out_.of[node] < 0 ? node : reads_.size() + out_.of[node]; }

  void order() {
    const size_t nodes = reads_.size();
    const size_t items = nodes + out_.count;
    std::vector<std::vector<size_t>> readers(items);
    std::vector<size_t> missing(items);
    std::vector<size_t> first(items, nodes);
    for (size_t i = 0; i < nodes; ++i) {
      const size_t item = item_of(i);
      first[item] = std::min(first[item], i);
      for (int32_t read : reads_[i]) {
        const size_t other = item_of(read);
        if (other == item) continue;
        readers[other].push_back(item);
        ++missing[item];
      }
    }
    using Ready = std::pair<size_t, size_t>;  // the earliest node, the item
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (size_t item = 0; item < items; ++item) {
      if (first[item] < nodes && missing[item] == 0) ready.emplace(first[item], item);
    }
    while (!ready.empty()) {
      const size_t item = ready.top().second;
      ready.pop();
      out_.order.push_back(item < nodes ? static_cast<int32_t>(item) : ~static_cast<int32_t>(item - nodes));
      for (size_t reader : readers[item]) {
        if (--missing[reader] == 0) ready.emplace(first[reader], reader);
      }
    }
  }

  const std::vector<std::vector<int32_t>>& reads_;
  const std::vector<int32_t>& colours_;
  Clusters out_;
  std::vector<GroupSet> above_node_;  // of nodes without a colour
  std::vector<GroupSet> above_group_;
  std::map<int32_t, std::vector<int32_t>> groups_of_;  // by colour
};

}  // namespace

Clusters find_clusters(const std::vector<std::vector<int32_t>>& reads, const std::vector<int32_t>& colours) {
  return ClusterFinder(reads, colours).run();
}

}  // namespace berth::placement

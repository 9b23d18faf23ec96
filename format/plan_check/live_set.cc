#include "format/plan_check/live_set.h"

#include <algorithm>

namespace berth::format::plan_check {
namespace {

size_t leaf_count(size_t count) {
  size_t leaves = 1;
  while (leaves < count) leaves *= 2;
  return leaves;
}

}  // namespace

size_t LiveSet::tree_size(size_t count) { return 2 * leaf_count(count); }

LiveSet::LiveSet(Span<const uint64_t> begins, Span<const uint64_t> ends, Span<int32_t> order, Span<int32_t> rank,
                 Span<uint64_t> tree, Span<uint64_t> words)
    : begins_(begins),
      ends_(ends),
      order_(order),
      rank_(rank),
      tree_(tree),
      words_(words),
      leaves_(leaf_count(begins.size())) {
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const uint64_t first = begins[a];
    const uint64_t second = begins[b];
    return first != second ? first < second : a < b;
  });
  for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int32_t>(i);
  std::fill(tree.begin(), tree.end(), uint64_t{0});
  std::fill(words.begin(), words.end(), uint64_t{0});
}

void LiveSet::set(uint32_t range, uint64_t end) {
  size_t node = leaves_ + rank_[range];
  tree_[node] = end;
  for (node /= 2; node >= 1; node /= 2) {
    const uint64_t largest = std::max(tree_[2 * node], tree_[2 * node + 1]);
    if (tree_[node] == largest) break;
    tree_[node] = largest;
  }
}

void LiveSet::insert(uint32_t range) {
  if (contains(range)) return;
  words_[range / 64] |= uint64_t{1} << (range % 64);
  set(range, ends_[range]);
}

void LiveSet::remove(uint32_t range) {
  if (!contains(range)) return;
  words_[range / 64] &= ~(uint64_t{1} << (range % 64));
  set(range, 0);
}

void LiveSet::change(Span<const uint64_t> words, bool remove_others) {
  for (size_t w = 0; w < words_.size(); ++w) {
    uint64_t different = words_[w] ^ words[w];
    if (!remove_others) different &= words[w];
    for (; different != 0; different &= different - 1) {
      const int bit = __builtin_ctzll(different);
      const uint32_t range = static_cast<uint32_t>(64 * w) + bit;
      if ((words[w] >> bit & 1) != 0) {
        insert(range);
      } else {
        remove(range);
      }
    }
  }
}

int64_t LiveSet::find(uint64_t begin, uint64_t end, int64_t from) const {
  if (static_cast<size_t>(from) >= order_.size()) return -1;
  // From the leaf to the next stretch on the right, as long as nothing in the stretch reaches beyond `begin`.
  size_t node = leaves_ + from;
  while (tree_[node] <= begin) {
    while (node % 2 == 1) node /= 2;
    if (node == 0) return -1;
    ++node;
  }
  while (node < leaves_) node = tree_[2 * node] > begin ? 2 * node : 2 * node + 1;
  const size_t position = node - leaves_;
  // Sorted by start: what comes later starts later.
  return begins_[order_[position]] < end ? static_cast<int64_t>(position) : -1;
}

}  // namespace berth::format::plan_check

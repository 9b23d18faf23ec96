// Sorting keys with their indices, best first, in two outputs: without temporary memory.
//
// Introsort (Musser, 1997): quicksort, heapsort where the pivots are bad, insertion sort of what is left. A file may
// have laid the memories over one another, so that elements change while they are sorted: each loop ends at the bounds.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace berth::portable {

/// Larger keys are better; of equal ones that with the smaller index is.
template <typename Key>
struct Ranked {
  Key key;
  int64_t index;

  bool before(const Ranked& other) const { return key != other.key ? key > other.key : index < other.index; }
};

/// Slots of two arrays. Strides are in elements. A key lies where an output has an element of the same size.
template <typename Key>
struct RankedSlots {
  void* keys;
  int64_t key_stride;
  int64_t* indices;
  int64_t index_stride;

  Key key(int64_t slot) const {
    Key key;
    std::memcpy(&key, static_cast<const Key*>(keys) + slot * key_stride, sizeof key);
    return key;
  }
  int64_t index(int64_t slot) const { return indices[slot * index_stride]; }
  Ranked<Key> at(int64_t slot) const { return {key(slot), index(slot)}; }
  void put(int64_t slot, const Ranked<Key>& element) const {
    std::memcpy(static_cast<Key*>(keys) + slot * key_stride, &element.key, sizeof element.key);
    indices[slot * index_stride] = element.index;
  }
  /// Whether the element in a slot is better than `other`, or worse.
  bool before(int64_t slot, const Ranked<Key>& other) const {
    const Key own = key(slot);
    return own != other.key ? own > other.key : index(slot) < other.index;
  }
  bool after(int64_t slot, const Ranked<Key>& other) const {
    const Key own = key(slot);
    return own != other.key ? own < other.key : index(slot) > other.index;
  }
};

/// Puts `element` into the heap [first, first + count), whose root is the worst, from `slot` of it downwards, where
/// slots count from `first`.
template <typename Key>
void sink(RankedSlots<Key> slots, int64_t first, int64_t count, int64_t slot, const Ranked<Key>& element) {
  while (true) {
    int64_t child = 2 * slot + 1;
    if (child >= count) break;
    Ranked<Key> worse = slots.at(first + child);
    if (child + 1 < count) {
      const Ranked<Key> other = slots.at(first + child + 1);
      if (worse.before(other)) {
        worse = other;
        ++child;
      }
    }
    if (!element.before(worse)) break;
    slots.put(first + slot, worse);
    slot = child;
  }
  slots.put(first + slot, element);
}

template <typename Key>
void make_heap(RankedSlots<Key> slots, int64_t first, int64_t count) {
  for (int64_t i = count / 2 - 1; i >= 0; --i) sink(slots, first, count, i, slots.at(first + i));
}

template <typename Key>
void heap_sort(RankedSlots<Key> slots, int64_t begin, int64_t end) {
  make_heap(slots, begin, end - begin);
  for (int64_t last = end - 1; last > begin; --last) {
    const Ranked<Key> element = slots.at(last);
    slots.put(last, slots.at(begin));
    sink(slots, begin, last - begin, 0, element);
  }
}

template <typename Key>
void insertion_sort(RankedSlots<Key> slots, int64_t begin, int64_t end) {
  for (int64_t i = begin + 1; i < end; ++i) {
    const Ranked<Key> element = slots.at(i);
    int64_t slot = i;
    for (; slot > begin && slots.after(slot - 1, element); --slot) slots.put(slot, slots.at(slot - 1));
    slots.put(slot, element);
  }
}

/// The middle one of three elements of [begin, end).
template <typename Key>
Ranked<Key> pivot_of(RankedSlots<Key> slots, int64_t begin, int64_t end) {
  Ranked<Key> a = slots.at(begin), b = slots.at(begin + (end - begin) / 2), c = slots.at(end - 1);
  if (b.before(a)) std::swap(a, b);
  if (c.before(b)) std::swap(b, c);
  return b.before(a) ? a : b;
}

/// Divides [begin, end): none before the result is worse than the pivot, and none from there on is better.
template <typename Key>
int64_t partition(RankedSlots<Key> slots, int64_t begin, int64_t end) {
  const Ranked<Key> pivot = pivot_of(slots, begin, end);
  int64_t low = begin, high = end - 1;
  while (true) {
    while (low < high && slots.before(low, pivot)) ++low;
    while (low < high && slots.after(high, pivot)) --high;
    if (low > high) return low;
    if (low == high) return slots.before(low, pivot) ? low + 1 : low;
    const Ranked<Key> element = slots.at(low);
    slots.put(low++, slots.at(high));
    slots.put(high--, element);
  }
}

/// `depth` times the range is divided; then it is a heap.
template <typename Key>
void sort_slots(RankedSlots<Key> slots, int64_t begin, int64_t end, int depth) {
  constexpr int64_t kShort = 16;
  while (end - begin > kShort) {
    if (depth-- == 0) return heap_sort(slots, begin, end);
    const int64_t middle = partition(slots, begin, end);
    // The shorter part first: so the stack holds at most one range for each halving.
    if (middle - begin < end - middle) {
      sort_slots(slots, begin, middle, depth);
      begin = middle;
    } else {
      sort_slots(slots, middle, end, depth);
      end = middle;
    }
  }
  insertion_sort(slots, begin, end);
}

/// The slots [0, count), best first.
template <typename Key>
void sort_slots(RankedSlots<Key> slots, int64_t count) {
  int depth = 0;
  for (int64_t left = count; left > 1; left /= 2) depth += 2;
  sort_slots(slots, 0, count, depth);
}

}  // namespace berth::portable

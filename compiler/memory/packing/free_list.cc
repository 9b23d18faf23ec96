#include "compiler/memory/packing/free_list.h"

#include <algorithm>

#include "base/math.h"

namespace berth::packing {
namespace {

int64_t aligned(int64_t offset, int64_t alignment, int64_t residue) {
  return align_up(std::max<int64_t>(offset - residue, 0), alignment) + residue;
}

}  // namespace

FreeList::FreeList(std::vector<std::pair<int64_t, int64_t>> taken) {
  std::sort(taken.begin(), taken.end());
  for (const auto& [begin, end] : taken) {
    if (begin > top_) by_begin_.push_back({top_, begin - top_});
    top_ = end;
  }
  by_size_ = by_begin_;
  std::sort(by_size_.begin(), by_size_.end(), smaller);
}

int64_t FreeList::take(int64_t size, int64_t alignment, int64_t residue) {
  // Alignment may spoil a run that is large enough, but not one that is larger by it.
  auto it = std::lower_bound(by_size_.begin(), by_size_.end(), Run{0, size}, smaller);
  for (; it != by_size_.end(); ++it) {
    const Run run = *it;
    const int64_t offset = aligned(run.begin, alignment, residue);
    if (offset + size > run.begin + run.length) continue;
    remove(run);
    add({run.begin, offset - run.begin});
    add({offset + size, run.begin + run.length - offset - size});
    return offset;
  }
  const int64_t offset = aligned(top_, alignment, residue);
  add({top_, offset - top_});
  top_ = offset + size;
  return offset;
}

void FreeList::give_back(int64_t begin, int64_t size) {
  auto next = std::lower_bound(by_begin_.begin(), by_begin_.end(), Run{begin, 0}, earlier);
  if (next != by_begin_.end() && next->begin == begin + size) {
    const Run run = *next;
    size += run.length;
    remove(run);
    next = std::lower_bound(by_begin_.begin(), by_begin_.end(), Run{begin, 0}, earlier);
  }
  if (next != by_begin_.begin() && std::prev(next)->begin + std::prev(next)->length == begin) {
    const Run run = *std::prev(next);
    begin = run.begin;
    size += run.length;
    remove(run);
  }
  if (begin + size == top_) {
    top_ = begin;
  } else {
    add({begin, size});
  }
}

void FreeList::add(const Run& run) {
  if (run.length == 0) return;
  by_begin_.insert(std::lower_bound(by_begin_.begin(), by_begin_.end(), run, earlier), run);
  by_size_.insert(std::lower_bound(by_size_.begin(), by_size_.end(), run, smaller), run);
}

void FreeList::remove(const Run& run) {
  by_begin_.erase(std::lower_bound(by_begin_.begin(), by_begin_.end(), run, earlier));
  by_size_.erase(std::lower_bound(by_size_.begin(), by_size_.end(), run, smaller));
}

}  // namespace berth::packing

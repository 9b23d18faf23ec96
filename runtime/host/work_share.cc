#include "runtime/host/work_share.h"

#include <algorithm>

namespace berth {
namespace {

// The beginning of part `k` of `parts` of [begin, end), computed without overflow.
int64_t cut_at(int64_t begin, int64_t end, int64_t parts, int64_t k) {
  const int64_t size = end - begin;
  return begin + size / parts * k + std::min(size % parts, k);
}

}  // namespace

WorkCut WorkCut::of(int64_t count, int64_t grain, int threads) {
  const int64_t parts = std::clamp<int64_t>(count / grain, 1, threads);
  return {parts, std::clamp<int64_t>(count / parts / grain, 1, kMostRanges)};
}

void WorkShare::set(uint32_t job, const WorkCut& cut, int64_t index, int64_t count, ParallelBody body) {
  body_ = body;
  begin_ = cut_at(0, count, cut.parts, index);
  end_ = cut_at(0, count, cut.parts, index + 1);
  ranges_ = cut.ranges;
  left_ = static_cast<uint64_t>(job) << 32 | static_cast<uint64_t>(cut.ranges);
}

bool WorkShare::do_one(bool first, uint32_t* job) {
  uint64_t word = left_.load(std::memory_order_acquire);
  uint64_t next = 0;
  int64_t taken = 0;
  do {
    const uint64_t begin = word >> 16 & 0xFFFF;
    const uint64_t end = word & 0xFFFF;
    if (begin == end) return false;
    taken = static_cast<int64_t>(first ? begin : end - 1);
    next = first ? word + (uint64_t{1} << 16) : word - 1;
  } while (!left_.compare_exchange_weak(word, next, std::memory_order_acq_rel, std::memory_order_acquire));
  *job = static_cast<uint32_t>(word >> 32);
  body_.call(body_.context, cut_at(begin_, end_, ranges_, taken), cut_at(begin_, end_, ranges_, taken + 1));
  return true;
}

}  // namespace berth

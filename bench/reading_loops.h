// Loops that read a buffer and do nothing else: what other figures of memory are compared with. Compilers' flags alone
// make 8 or 25 GB/s of one loop, so there are several, and the best of them counts.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/huge_page_buffer.h"
#include "runtime/kernel.h"

namespace berth::bench {

using Line [[gnu::vector_size(64)]] = uint64_t;

// kStreams streams side by side, each with as many sums as fit; what lies kAhead bytes ahead is fetched.
template <int kStreams, int kAhead>
[[gnu::target_clones("arch=x86-64-v4", "avx2", "default")]] uint64_t read_lines(const Line* lines, int64_t count) {
  constexpr int kSums = 8 / kStreams;
  const int64_t each = count / kStreams;
  Line sum[8] = {};
  for (int64_t i = 0; i + kSums <= each; i += kSums) {
    for (int s = 0; s < kStreams; ++s) {
      for (int j = 0; j < kSums; ++j) {
        const Line* line = lines + s * each + i + j;
        if (kAhead > 0) __builtin_prefetch(reinterpret_cast<const char*>(line) + kAhead);
        sum[s * kSums + j] ^= *line;
      }
    }
  }
  uint64_t all = 0;
  for (const Line& line : sum) {
    for (int j = 0; j < 8; ++j) all ^= line[j];
  }
  return all;
}

struct Reading {
  const char* name;
  uint64_t (*read)(const Line*, int64_t);
};

constexpr Reading kReadings[] = {{"1 stream", read_lines<1, 0>},
                                 {"2 streams", read_lines<2, 0>},
                                 {"4 streams", read_lines<4, 0>},
                                 {"1 stream, 4 KiB ahead", read_lines<1, 4096>},
                                 {"1 stream, 8 KiB ahead", read_lines<1, 8192>}};

/// A buffer in large pages that is read, with a part for each thread: its own, or one that is used and kept elsewhere.
class ReadBuffer {
 public:
  ReadBuffer(const HugePageBuffer& other, ThreadPool* pool, int threads)
      : lines_(static_cast<int64_t>(other.size() / sizeof(Line))),
        data_(reinterpret_cast<const Line*>(other.data())),
        pool_(pool),
        threads_(threads) {}
  ReadBuffer(int64_t bytes, ThreadPool* pool, int threads)
      : lines_(bytes / static_cast<int64_t>(sizeof(Line))), pool_(pool), threads_(threads) {
    if (!memory_.allocate(lines_ * sizeof(Line))) std::abort();
    std::memset(memory_.data(), 1, memory_.size());
    data_ = memory_.as<Line>();
  }

  void read(const Reading& reading) {
    KernelContext context({}, pool_);
    context.parallel_for(threads_, 1, [&](int64_t first, int64_t last) {
      for (int64_t t = first; t < last; ++t) {
        const int64_t begin = t * lines_ / threads_;
        const uint64_t all = reading.read(data_ + begin, (t + 1) * lines_ / threads_ - begin);
        __atomic_fetch_xor(&sink_, all, __ATOMIC_RELAXED);
      }
    });
  }
  int64_t bytes() const { return lines_ * static_cast<int64_t>(sizeof(Line)); }
  /// What was read; a program that never looks at it need not read.
  uint64_t sink() const { return sink_; }

 private:
  int64_t lines_;
  HugePageBuffer memory_;
  const Line* data_;
  ThreadPool* pool_;
  int64_t threads_;
  uint64_t sink_ = 0;
};

}  // namespace berth::bench

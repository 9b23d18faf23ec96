#include "tools/roofline.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/stopwatch.h"
#include "kernels/portable/multiversion.h"

namespace berth::tool {
namespace {

constexpr int kLanes = 16, kChains = 12;  // enough independent chains for the units of any core of today

// `rounds` of a multiplication and an addition on each of kChains independent vectors.
BERTH_MULTIVERSION void multiply_add(float* lanes, int64_t rounds) {
  float sums[kChains][kLanes];
  for (int c = 0; c < kChains; ++c) {
    for (int i = 0; i < kLanes; ++i) sums[c][i] = lanes[i];
  }
  const float scale = lanes[0];
  for (int64_t round = 0; round < rounds; ++round) {
    for (auto& sum : sums) {
      BERTH_SIMD
      for (int i = 0; i < kLanes; ++i) sum[i] = sum[i] * scale + 1.0f;
    }
  }
  for (auto& sum : sums) {
    for (int i = 0; i < kLanes; ++i) lanes[i] += sum[i];
  }
}

BERTH_MULTIVERSION float sum_of(const float* x, int64_t count) {
  float sums[64] = {};
  for (int64_t at = 0; at + 64 <= count; at += 64) {
    BERTH_SIMD
    for (int i = 0; i < 64; ++i) sums[i] += x[at + i];
  }
  float sum = 0;
  for (float s : sums) sum += s;
  return sum;
}

// The best of a few times, since disturbances only add time.
template <typename Body>
double best_seconds(ThreadPool* pool, Body&& body) {
  const int threads = pool == nullptr ? 1 : pool->size();
  double best = 1e9;
  for (int turn = 0; turn < 8; ++turn) {
    const Stopwatch watch;
    KernelContext({}, pool).parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; ++thread) body(thread);
    });
    best = std::min(best, watch.seconds());
  }
  return best;
}

}  // namespace

double Roofline::seconds(double flop, double bytes) const {
  constexpr double kMiB = 1 << 20;
  const double rate = bytes <= kMiB * threads ? core_bytes : bytes <= 16 * kMiB ? shared_bytes : memory_bytes;
  return std::max(flop / flops, bytes / rate);
}

namespace {

// Bytes per second when each thread reads its part of `floats` repeatedly.
double read_rate(ThreadPool* pool, size_t floats, int passes) {
  const size_t threads = pool == nullptr ? 1 : pool->size();
  const size_t share = floats / threads;
  const std::vector<float> data(share * threads, 1.0f);
  std::vector<float> sums(threads * kLanes);  // a line of cache for each, and kept, so that no sum is left out
  const double seconds = best_seconds(pool, [&](size_t t) {
    for (int pass = 0; pass < passes; ++pass) {
      sums[t * kLanes] += sum_of(data.data() + t * share, static_cast<int64_t>(share));
    }
  });
  return static_cast<double>(share * threads * sizeof(float)) * passes / seconds;
}

}  // namespace

Roofline measure_roofline(ThreadPool* pool) {
  Roofline roof;
  roof.threads = pool == nullptr ? 1 : pool->size();
  const size_t threads = roof.threads;
  std::vector<std::vector<float>> lanes(threads, std::vector<float>(kLanes, 0.5f));
  constexpr int64_t kRounds = 200'000;
  roof.flops = static_cast<double>(threads) * 2.0 * kChains * kLanes * kRounds /
               best_seconds(pool, [&](size_t t) { multiply_add(lanes[t].data(), kRounds); });
  roof.core_bytes = read_rate(pool, threads * (size_t{64} << 10), 40);
  roof.shared_bytes = read_rate(pool, size_t{1} << 20, 8);
  roof.memory_bytes = read_rate(pool, size_t{16} << 20, 1);
  return roof;
}

}  // namespace berth::tool

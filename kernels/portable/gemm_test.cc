#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>

#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/gemm_tile.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

// A 3 x 3 convolution with a stride, padding and a dilation, big enough for several blocks of everything.
Product patches(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c) {
  Product p;
  p.rows = 37;
  p.channels = 70;
  p.row_a = p.channels * 9;
  p.channel_a = 9;
  p.channel_b = 30 * 41;
  p.axis[1] = {28, 30, 1, -2, 3, 2, 3, 41, 20};
  p.axis[2] = {20, 41, 2, -1, 3, 1, 1, 1, 1};
  p.row_c = 28 * 20;
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  return p;
}

std::vector<float> reals(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  std::vector<float> values(count);
  for (float& x : values) x = draw(random);
  return values;
}

std::vector<float> run_on(const TileSet& tiles, Product p, std::vector<float>& c) {
  std::fill(c.begin(), c.end(), -1.0f);
  KernelContext context({}, nullptr);
  std::vector<uint8_t> scratch(internal::tiled_scratch_bytes(p, 1, tiles));
  internal::run_tiled_product(context, p, tiles, scratch.data());
  return c;
}

// What every way of adding must be close to.
std::vector<float> plain(Product p, std::vector<float>& c) {
  KernelContext context({}, nullptr);
  std::vector<uint64_t> scratch(internal::plain_scratch_bytes(p, 1) / 8);
  internal::run_plain_product(context, p, scratch.data());
  return c;
}

TEST(Gemm, AllTileSetsOfThisProcessorAgree) {
  const std::vector<float> a = reals(37 * 70 * 9, 1);
  const std::vector<float> b = reals(size_t{70} * 30 * 41, 2);
  std::vector<float> c(size_t{37} * 28 * 20);
  for (const bool matrix : {false, true}) {
    for (const int64_t rows : {1, 2, 5, 14, 37}) {
      Product p = matrix ? matrix_product(rows, 500, 70, a.data(), 70, 1, b.data(), 1230, 1, c.data(), 560, 1)
                         : patches(a, b, c);
      p.rows = rows;
      const std::vector<float> expected = plain(p, c);
      const TileSet* sets[3];
      const int count = available_tile_sets(sets);
      std::vector<float> fused;
      for (int i = 0; i < count; ++i) {
        SCOPED_TRACE(std::string(sets[i]->name) + (matrix ? " matrix " : " patches ") + std::to_string(rows));
        const std::vector<float> found = run_on(*sets[i], p, c);
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t column = 0; column < p.columns(); ++column) {
            const auto at = static_cast<size_t>(row * p.row_c + column);
            ASSERT_NEAR(found[at], expected[at], 1e-3) << row << " " << column;
          }
        }
        if (i == 0) continue;
        // Both that fuse multiplication and addition add in the same order.
        if (!fused.empty()) {
          ASSERT_EQ(std::memcmp(fused.data(), found.data(), fused.size() * sizeof(float)), 0);
        }
        fused = found;
      }
    }
  }
}

TEST(Gemm, AllTileSetsAgreeOnWindows) {
  const std::vector<float> in = reals(4096, 3);
  const int64_t offsets[] = {0, 1, 2, 77, 500, 1001};
  const float weights[] = {1, -2, 3, 0.5, 0.25, -1};
  const TileSet* sets[3];
  const int count = available_tile_sets(sets);
  for (int i = 0; i < count; ++i) {
    for (const int64_t n : {1, 63, 64, 65, 1000}) {
      std::vector<float> sum(static_cast<size_t>(n) + kMaxTileColumns);
      std::vector<float> most = sum;
      sets[i]->window_sum(in.data(), offsets, weights, 6, 0.5f, n, sum.data());
      sets[i]->window_max(in.data(), offsets, 6, n, most.data());
      for (size_t j = 0; j < static_cast<size_t>(n); ++j) {
        double expected = 0.5;
        float largest = in[j];
        for (size_t t = 0; t < 6; ++t) {
          const float x = in[j + offsets[t]];
          expected += double{weights[t]} * double{x};
          largest = std::max(largest, x);
        }
        ASSERT_NEAR(sum[j], expected, 1e-5) << sets[i]->name << " " << j;
        ASSERT_EQ(most[j], largest) << sets[i]->name << " " << j;
      }
    }
  }
}

// Rows and columns of every stride, depths that four do not divide, results between others' elements.
TEST(Gemm, ManySmallProductsAreThoseOfThePlainWay) {
  const std::vector<float> a = reals(40000, 3), b = reals(40000, 4);
  std::mt19937 random(5);
  const auto whole = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int turn = 0; turn < 300; ++turn) {
    const int64_t m = whole(1, 8), n = turn % 3 == 0 ? 1 : whole(1, 16), k = whole(1, 512 / (m * n));
    const bool a_turned = whole(0, 1) == 0, b_turned = whole(0, 1) == 0, c_turned = whole(0, 1) == 0;
    std::vector<float> c(size_t{12} * m * n * 3);
    Product p = matrix_product(m, n, k, a.data(), a_turned ? 1 : k, a_turned ? m : 1, b.data(), b_turned ? 1 : n,
                               b_turned ? k : 1, c.data(), c_turned ? 1 : 2 * n, c_turned ? m : 2);
    p.batch[0] = {3, 4 * m * k, whole(0, 1) * 4 * k * n, 4 * m * n * 2};
    p.batch[1] = {4, m * k, k * n, m * n * 2};
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
    ASSERT_TRUE(internal::are_small_products(p));
    c.assign(c.size(), -1);
    const std::vector<float> expected = plain(p, c);
    c.assign(c.size(), -1);
    KernelContext context({}, nullptr);
    internal::run_small_products(context, p);
    for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], expected[i], 1e-4) << "element " << i;
  }
}

TEST(Gemm, SmallProductsAreManyAndSmallAndNothingElse) {
  const std::vector<float> a(4096), b(4096);
  std::vector<float> c(4096);
  Product small = matrix_product(4, 4, 4, a.data(), 4, 1, b.data(), 4, 1, c.data(), 4, 1);
  EXPECT_FALSE(internal::are_small_products(small)) << "one";
  small.batch[1] = {16, 16, 16, 16};
  EXPECT_TRUE(internal::are_small_products(small));
  Product other = small;
  other.start = c.data();
  EXPECT_FALSE(internal::are_small_products(other)) << "a sum that begins with something";
  other = small;
  other.a_scale.real = 2;
  EXPECT_FALSE(internal::are_small_products(other)) << "a factor";
  other = small;
  other.axis[2].taps = 3;
  EXPECT_FALSE(internal::are_small_products(other)) << "a window";
  other = small;
  other.channels = 1 << 20;
  EXPECT_FALSE(internal::are_small_products(other)) << "a deep one";
  other = small;
  other.dtype = DType::kF16;
  EXPECT_FALSE(internal::are_small_products(other)) << "another type";
}

TEST(Gemm, EachItemRunsOnceInASlot) {
  for (const int threads : {1, 2, 7}) {
    berth::testing::TestPool pool(threads);
    KernelContext context({}, threads > 1 ? &pool : nullptr);
    for (const int64_t items : {1, 2, 3, 100, 1001}) {
      std::vector<std::atomic<int>> seen(items);
      std::vector<std::atomic<int>> busy(64);
      for_each_item(
          context, slots_for(threads, items, 1e9, 1), items,
          [&](int64_t slot, int64_t item) {
            EXPECT_EQ(busy[slot].fetch_add(1), 0) << "two threads share a slot";
            seen[item].fetch_add(1);
            busy[slot].fetch_sub(1);
          },
          [](int64_t slot) { return slot; });
      for (const auto& times : seen) EXPECT_EQ(times.load(), 1);
    }
  }
}

// Runs the ranges one after another, the last first.
class BackwardPool : public ThreadPool {
 public:
  explicit BackwardPool(int threads) : threads_(threads) {}
  int size() const override { return threads_; }
  void run(int64_t count, int64_t, ParallelBody body) override {
    for (int64_t i = count - 1; i >= 0; --i) body.call(body.context, i, i + 1);
  }

 private:
  int threads_;
};

TEST(Gemm, ASlotBeginsWithItsOwnPartOfTheItems) {
  for (const int slots : {1, 2, 3, 7}) {
    BackwardPool pool(slots);
    KernelContext context({}, &pool);
    for (const int64_t items : {7, 100, 1001}) {
      std::vector<int64_t> order;
      for_each_item(
          context, slots, items, [&](int64_t, int64_t item) { order.push_back(item); },
          [](int64_t slot) { return slot; });
      // The last slot has its own part, then all others': from the first, as they follow it.
      const int64_t own = items * (slots - 1) / slots;
      for (int64_t i = 0; i < items; ++i) ASSERT_EQ(order.at(i), (own + i) % items) << slots << " slots, item " << i;
    }
  }
}

}  // namespace
}  // namespace berth::portable

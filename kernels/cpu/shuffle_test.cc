// Images joined, shuffled and taken apart, against the portable kernel, which kernels/portable/fused_test.cc holds to
// single numbers. The fears: the streams swapped, results that begin within a register, rows written past their end.
#include "kernels/cpu/shuffle.h"

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

// Two parts of `channels` each, in `order`; results of `sizes`.
void check(int32_t channels, std::vector<int64_t> sizes, int64_t groups = 2, std::vector<uint8_t> order = kLast) {
  SCOPED_TRACE(std::to_string(channels) + " channels");
  std::mt19937 random(static_cast<unsigned>(channels));
  const Array a = random_array(random, {2, channels, 5, 7}, order);
  const Array b = random_array(random, {2, channels, 5, 7}, order);
  const auto outs = [&] {
    std::vector<Array> made;
    for (const int64_t size : sizes)
      made.push_back(Array(DType::kF32, {2, static_cast<int32_t>(size), 5, 7}, {}, order));
    return made;
  };
  const std::vector<Array> expected = outs();
  const std::vector<Arg> args = {Arg::list({a, b}), groups, sizes};
  const auto run = [&](KernelTable table, const std::vector<Array>& into, int threads) {
    std::vector<Arg> all = args;
    all.push_back(Arg::list({into.begin(), into.end()}));
    return call(kernel_of(table, "berth::shuffle.out"), all, {}, threads).error;
  };
  ASSERT_EQ(run(portable::kernels(), expected, 1), Error::kOk);
  for_each_simd_target([&](const char* target) {
    SCOPED_TRACE(target);
    for (const int threads : {1, 3}) {
      const std::vector<Array> ours = outs();
      ASSERT_EQ(run(kernels(), ours, threads), Error::kOk);
      for (size_t i = 0; i < ours.size(); ++i) expect_close(expected[i], ours[i], 0);
    }
  });
}

TEST(Shuffle, TwoImagesIntoOneOrTwo) {
  for (const int32_t channels : {1, 2, 7, 8, 15, 16, 17, 29, 58, 116}) {
    check(channels, {2 * channels});
    if (channels % 2 == 0) check(channels, {channels, channels});
    if (channels > 2) check(channels, {2, 2 * channels - 6, 4});
  }
}

TEST(Shuffle, OtherGroupsThanTwo) {
  check(6, {12}, 3);
  check(6, {5, 7});
  check(6, {6, 6}, 2, {0, 1, 2, 3});
  check(8, {0, 16});
}

TEST(Shuffle, RefusesInconsistentSizes) {
  const Array a = testing::f32({1, 3, 2, 2});
  const Array six = testing::f32({1, 6, 2, 2});
  const auto refused = [&](const Array& b, int64_t groups, std::vector<int64_t> sizes, const Array& out) {
    return testing::run(shuffle_out, {Arg::list({a, b}), groups, std::move(sizes), Arg::list({out})}) ==
           Error::kInvalidArgument;
  };
  EXPECT_FALSE(refused(a, 2, {6}, six));
  EXPECT_TRUE(refused(testing::f32({1, 3, 2, 1}), 2, {6}, six));
  EXPECT_TRUE(refused(a, 4, {6}, six));
  EXPECT_TRUE(refused(a, 0, {6}, six));
  EXPECT_TRUE(refused(a, 2, {5}, six));
  EXPECT_TRUE(refused(a, 2, {7}, six));
  EXPECT_TRUE(refused(a, 2, {3, 3}, six));
}

}  // namespace
}  // namespace berth::cpu

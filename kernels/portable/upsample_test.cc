// The expected figures are PyTorch's.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using namespace berth::testing;
using List = std::vector<int64_t>;
using Reals = std::vector<double>;

constexpr size_t kUpsampleTemp = 1 << 16;

Array image(DType dtype = DType::kF32, std::vector<uint8_t> order = {}) {
  return Array(dtype, {1, 1, 2, 3}, {1, 4, -2, 0.5, 3, 8}, std::move(order));
}

void expect_bilinear(const Arg& size, bool align_corners, const Arg& factors, int32_t height, int32_t width,
                     const Reals& expected) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{}, std::vector<uint8_t>{0, 2, 3, 1}}) {
      const Array y(dtype, {1, 1, height, width}, {}, order);
      ASSERT_EQ(run(upsample_bilinear2d_vec_out, {image(dtype, order), size, align_corners, factors, y}, kUpsampleTemp),
                Error::kOk);
      const Reals found = y.values();
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], dtype == DType::kF16 ? 5e-3 : 3e-6) << to_string(dtype) << " " << i;
      }
    }
  }
}

TEST(UpsampleBilinear, EqualsPyTorch) {
  expect_bilinear(List{4, 5}, false, nullptr, 4, 5,
                  {1.0,   2.20000005, 4.0,  0.399999142, -2.0, 0.875, 2.0250001,  3.75, 1.79999948, 0.5,
                   0.625, 1.67499995, 3.25, 4.60000038,  5.5,  0.5,   1.50000012, 3.0,  6.00000048, 8.0});
  expect_bilinear(List{4, 5}, true, nullptr, 4, 5,
                  {1.0,         2.5, 4.0,        1.0, -2.0,       0.833333313, 2.25, 3.66666651, 2.5, 1.33333349,
                   0.666666627, 2.0, 3.33333325, 4.0, 4.66666698, 0.5,         1.75, 3.0,        5.5, 8.0});
  expect_bilinear(
      nullptr, false, Reals{1.7, 2.3}, 3, 6,
      {1.0, 1.45652175, 2.7608695, 3.86956525, 1.26087022, -1.34782553, 0.808823526, 1.23625326, 2.45748091, 3.57864451,
       2.79859376, 2.01854277, 0.514705837, 0.897378445, 1.99072886, 3.13107419, 5.1643219, 7.19757032});
  expect_bilinear(List{1, 1}, true, nullptr, 1, 1, {1});
  expect_bilinear(List{1, 2}, false, nullptr, 1, 2, {1.4375, 3.125});
}

TEST(UpsampleNearest, EqualsPyTorch) {
  const auto expect = [](const Arg& size, const Arg& factors, int32_t height, int32_t width, const Reals& expected) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
      for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{}, std::vector<uint8_t>{0, 2, 3, 1}}) {
        const Array y(dtype, {1, 1, height, width}, {}, order);
        ASSERT_EQ(run(upsample_nearest2d_vec_out, {image(dtype, order), size, factors, y}, kUpsampleTemp), Error::kOk);
        EXPECT_EQ(y.values(), expected);
        EXPECT_TRUE(y.intact());
      }
    }
  };
  expect(List{3, 7}, nullptr, 3, 7, {1, 1, 1, 4, 4, -2, -2, 1, 1, 1, 4, 4, -2, -2, 0.5, 0.5, 0.5, 3, 3, 8, 8});
  expect(nullptr, Reals{1.7, 2.6}, 3, 7, {1, 1, 1, 4, 4, 4, -2, 1, 1, 1, 4, 4, 4, -2, 0.5, 0.5, 0.5, 3, 3, 3, 8});
  expect(List{4, 6}, nullptr, 4, 6,
         {1, 1, 4, 4, -2, -2, 1, 1, 4, 4, -2, -2, 0.5, 0.5, 3, 3, 8, 8, 0.5, 0.5, 3, 3, 8, 8});
  expect(List{1, 2}, nullptr, 1, 2, {1, 4});
}

TEST(Upsample, ChannelsAndThreadsDoNotMix) {
  const Array x = f32({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const int threads : {1, 3}) {
    const Array y = f32({2, 2, 1, 4});
    ASSERT_EQ(run_with(upsample_nearest2d_vec_out, {x, List{1, 4}, nullptr, y}, threads, kUpsampleTemp).error,
              Error::kOk);
    EXPECT_EQ(y.values(), (Reals{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8}));
    ASSERT_EQ(run_with(upsample_bilinear2d_vec_out, {x, List{1, 4}, true, nullptr, y}, threads, kUpsampleTemp).error,
              Error::kOk);
    EXPECT_NEAR(y.values()[1], 4.0 / 3, 1e-6);
    EXPECT_NEAR(y.values()[15], 8, 1e-6);
  }
}

// The numbers come from a file, which may say anything.
TEST(Upsample, RefusesImpossibleNumbers) {
  const Array y = f32({1, 1, 4, 6});
  const auto nearest = [&](const Arg& size, const Arg& factors) {
    return run(upsample_nearest2d_vec_out, {image(), size, factors, y}, kUpsampleTemp);
  };
  ASSERT_EQ(nearest(List{4, 6}, nullptr), Error::kOk);
  EXPECT_NE(nearest(nullptr, nullptr), Error::kOk);
  EXPECT_NE(nearest(List{4, 6}, Reals{2, 2}), Error::kOk);
  EXPECT_NE(nearest(List{4}, nullptr), Error::kOk);
  EXPECT_NE(nearest(nullptr, Reals{2}), Error::kOk);
  for (const int64_t bad : {int64_t{0}, int64_t{-4}, int64_t{1} << 31, INT64_MAX, INT64_MIN, int64_t{5}}) {
    EXPECT_NE(nearest(List{bad, 6}, nullptr), Error::kOk);
  }
  for (const double bad : {0.0, -2.0, 1e300, std::nan(""), double{INFINITY}, 1e-9, 3.0}) {
    EXPECT_NE(nearest(nullptr, Reals{2, bad}), Error::kOk);
    EXPECT_NE(run(upsample_bilinear2d_vec_out, {image(), nullptr, false, Reals{bad, 2}, y}, kUpsampleTemp), Error::kOk);
  }
  EXPECT_EQ(run(upsample_nearest2d_vec_out, {image(), List{4, 6}, nullptr, y}, 0), Error::kMemoryAllocationFailed);
  EXPECT_NE(run(upsample_nearest2d_vec_out, {f32({2, 3}), List{4, 6}, nullptr, f32({4, 6})}, kUpsampleTemp),
            Error::kOk);
}

}  // namespace
}  // namespace berth::portable

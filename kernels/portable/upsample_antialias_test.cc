#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What PyTorch 2.15 gives for one image of 5 by 7.
const Values kSmallImage = {4.625,  0.125,  -0.75, -2,     3.25,   -2.375, 2.625,  -1.5,  4.125, -0.375, 2.5,   3.875,
                            -4.25,  -0.375, 3.5,   0.25,   -1.375, -4.375, 2.5,    -2.75, 3,     -2.625, 2.375, 2.875,
                            -3.125, 4.125,  0.5,   -3.375, 2.125,  -2.25,  -3.625, 1.375, 3.625, -2.5,   -0.625};

Array resized(int32_t height, int32_t width, bool align_corners, const Arg& scale) {
  const Array out = f32({1, 1, height, width});
  EXPECT_EQ(run(upsample_bilinear2d_aa_out, {f32({1, 1, 5, 7}, kSmallImage), std::vector<int64_t>{height, width},
                                             align_corners, scale, scale, out}),
            Error::kOk);
  return out;
}

TEST(UpsampleAntialias, MatchesPyTorchSmallerAndLarger) {
  expect_near(resized(2, 3, false, nullptr), {1.235795, 0.2794117, -0.1716721, 0.2662337, 0.009023948, -0.1623375});
  expect_near(resized(7, 9, false, nullptr),
              {4.625,       1.625,      -0.2638889, -1.027778,  -2,        2.083333,  0.1249985,  -0.7083326, 2.625,
               1.125,       1.982143,   1.10119,    -0.2896824, 0.5714284, 2.932539,  -0.3115098, -1.994047,  0.9107144,
               -0.07142806, 1.988095,   1.382936,   -0.3948414, 0.5357136, 2.82738,   -0.5753988, -2.351189,  0.5892861,
               3.5,         1.333333,   -0.4722222, -2.041667,  -4.375,    0.9722215, -0.4166681, -0.8333324, 3,
               -0.8750008,  0.8869049,  1.720239,   0.517857,   -3.482143, 2.073412,  1.388888,   -0.8035716, -1.553572,
               -0.5892855,  0.06547622, 0.2579364,  -0.1964289, -1.196428, 2.775793,  1.301586,   -1.255953,  -2.196429,
               2.125,       -0.791667,  -2.861111,  -2.513888,  1.375,     3.125,     0.2222207,  -1.875,     -0.625});
  expect_near(resized(2, 3, false, 0.5), {1.487245, 0.25, 0.1897321, 0.7053571, -0.2695312, 0.3261719});
}

TEST(UpsampleAntialias, MatchesPyTorchWithAlignedCorners) {
  expect_near(resized(2, 3, true, nullptr), {0.5104166, 0.3143006, -0.4984568, -0.3854167, 0.4521607, -1.268519});
  expect_near(
      resized(3, 10, true, nullptr),
      {1.839286, 1.848214,  1.434524,  -0.2559528, -0.5446429, 0.2261908, 2.77381,  0.08928572, -2.461308, 0.6220245,
       0.40625,  0.8125,    1.026042,  0.2552081,  -1.132812,  -1.369791, 2.463542, 0.8671875,  -1.450521, -0.5026039,
       0.9375,   -0.078125, -1.244792, -1.848958,  -0.875,     0.8333336, 3.166667, 1,          -1.677083, -1.385417});
}

TEST(UpsampleAntialias, FollowsTheLayout) {
  for (const Order& order : orders(4)) {
    const Array image(DType::kF64, {1, 1, 5, 7}, kSmallImage, order);
    const Array out(DType::kF64, {1, 1, 2, 3}, {}, order);
    ASSERT_EQ(run(upsample_bilinear2d_aa_out, {image, std::vector<int64_t>{2, 3}, false, nullptr, nullptr, out}),
              Error::kOk);
    expect_near(out, {1.235795, 0.2794117, -0.1716721, 0.2662337, 0.009023948, -0.1623375});
  }
}

TEST(UpsampleAntialias, RefusesWhatDoesNotFit) {
  const Array image = f32({1, 1, 5, 7});
  const Array out = f32({1, 1, 2, 3});
  const auto resize = [&](const Arg& size, const Arg& scale) {
    return run(upsample_bilinear2d_aa_out, {image, size, false, scale, scale, out});
  };
  EXPECT_EQ(resize(std::vector<int64_t>{2}, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(resize(std::vector<int64_t>{0, 3}, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(resize(std::vector<int64_t>{2, 4}, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(resize(std::vector<int64_t>{2, 3}, 1e-300), Error::kInvalidArgument);
  const Array wide = f32({1, 1, 1, 4096});
  EXPECT_EQ(run(upsample_bilinear2d_aa_out, {wide, std::vector<int64_t>{1, 4096}, false, 1.0, 1e-6, wide}),
            Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable

// roi_align, of images whose values are a plane: between pixels they are what the plane says.
#include <gtest/gtest.h>

#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// Image n, channel c: a plane over x and y.
double plane(int n, int c, double y, double x) { return n + 2 * c + 3 * y + 5 * x; }

Array planes(int images, int channels, int height, int width) {
  std::vector<double> numbers;
  for (int n = 0; n < images; ++n) {
    for (int c = 0; c < channels; ++c) {
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) numbers.push_back(plane(n, c, y, x));
      }
    }
  }
  return f32({images, channels, height, width}, numbers);
}

// More than are pooled together, the last of them fewer.
constexpr int kChannels = 67;

TEST(RoiAlign, TheMeanOfABinOfAPlaneIsItsCentre) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> low(1, 3);
  std::uniform_real_distribution<double> length(1, 4);
  const Array images = planes(2, kChannels, 10, 12);
  for (const bool half_pixel : {true, false}) {
    for (const int samples : {0, 1, 2, 3}) {
      const double x = low(random);
      const double y = low(random);
      const double width = length(random);
      const double height = length(random);
      const Array rois = f32({2, 4}, {2 * x, 2 * y, 2 * (x + width), 2 * (y + height), 2, 2, 6, 6});
      const Array out = f32({2, kChannels, 2, 3});
      ASSERT_EQ(run(roi_align_out, {images, rois, i64({2}, {1, 0}), 2, 3, samples, 0.5, false, half_pixel, out}),
                Error::kOk);
      for (int c = 0; c < kChannels; ++c) {
        for (int i = 0; i < 2; ++i) {
          for (int j = 0; j < 3; ++j) {
            const double half = half_pixel ? 0.5 : 0;
            const double centre_y = y - half + height * (i + 0.5) / 2;
            const double centre_x = x - half + width * (j + 0.5) / 3;
            EXPECT_NEAR(out.values()[(c * 2 + i) * 3 + j], plane(1, c, centre_y, centre_x), 1e-4) << "seed 3";
          }
        }
      }
    }
  }
}

// Four samples a bin; of each the largest of its four pixels, times its weight.
TEST(RoiAlign, TheLargestIsOfPixelsTimesTheirWeights) {
  const Array image = f32({1, 1, 2, 2}, {1, 2, 3, 8});
  const Array out = f32({1, 1, 1, 1});
  ASSERT_EQ(run(roi_align_out, {image, f32({1, 4}, {0, 0, 1, 1}), i64({1}, {0}), 1, 1, 2, 1.0, true, false, out}),
            Error::kOk);
  EXPECT_NEAR(out.values()[0], 8 * 0.75 * 0.75, 1e-6);
}

TEST(RoiAlign, RefusesAnImageThatIsNotThere) {
  for (const double image : {-1.0, 2.0}) {
    EXPECT_NE(run(roi_align_out, {planes(2, 1, 4, 4), f32({1, 4}, {0, 0, 2, 2}), i64({1}, {image}), 1, 1, 1, 1.0, false,
                                  true, f32({1, 1, 1, 1})}),
              Error::kOk);
  }
}

// A size that is not a number, or beyond all bounds, ends.
TEST(RoiAlign, RegionsOfAnySizeEnd) {
  for (const double end : {1e30, -1e30, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(run(roi_align_out, {planes(1, 1, 4, 4), f32({1, 4}, {0, 0, end, end}), i64({1}, {0}), 1, 1, 0, 1.0, false,
                                  true, f32({1, 1, 1, 1})}),
              Error::kOk);
  }
}

}  // namespace
}  // namespace berth::portable

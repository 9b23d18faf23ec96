#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What PyTorch 2.15 gives for one image of two channels and places inside, on the edge and far outside.
const Values kImage = {-1.5,  1.25,  0.625, 4.25,  -3.25, -0.75, 2,   -1,  1.5,    -4.875, -4.625, 0.5,
                       1.625, -1.75, 1.25,  3.875, 3.75,  -4.75, 0.5, 1.5, -4.625, -2.375, -4.125, -4};
const Values kGrid = {-1.3, -1, -0.6, 0.2, 0, 0, 0.5, -0.9, 1, 1, 1.8, 0.4, -2.7, 2.2, 0.25, -0.25};

struct GridCase {
  int64_t interpolation;
  int64_t padding;
  bool align_corners;
  Values want;
};

const GridCase kGridCases[] = {
    {0,
     0,
     false,
     {0, -1.87375, 0.625, 1.584375, 0.125, 0, 0, 1.484375, 0, -0.3450001, -2.125, 1.665625, -1, 0, 0, 0.78125}},
    {0,
     0,
     true,
     {-0.8250001, -1.865, 0.625, 1.503125, 0.5, 0, 0, 1.417969, 0.8937501, -1.735, -2.125, 1.790625, -4, 0, 0,
      0.1015625}},
    {0,
     1,
     false,
     {-1.5, -1.87375, 0.625, 2.4375, 0.5, -0.1000001, 1.5, 1.484375, 1.625, -0.3450001, -2.125, 2.5625, -4, -1.799999,
      -4.625, 0.78125}},
    {0,
     1,
     true,
     {-1.5, -1.865, 0.625, 1.503125, 0.5, -0.4, 1.5, 1.417969, 1.625, -1.735, -2.125, 1.790625, -4, -0.6999999, -4.625,
      0.1015625}},
    {0,
     2,
     false,
     {-1.225, -1.87375, 0.625, 2.4375, 0.5, -2.099999, 0.6762508, 1.484375, 1.2875, -0.3450001, -2.125, 2.5625, -4,
      -2.379999, 2.063751, 0.78125}},
    {0,
     2,
     true,
     {-0.2625002, -1.865, 0.625, 1.503125, 0.5, -0.9999995, 0.8037497, 1.417969, 0.1062503, -1.735, -2.125, 1.790625,
      -4, -1.839999, 1.37875, 0.1015625}},
    {1, 0, false, {0, -3.25, 2, 0.625, 0, 0, 0, 2, 0, 3.75, 0.5, 1.25, 0, 0, 0, 0.5}},
    {1, 0, true, {-1.5, -0.75, 2, 0.625, 0.5, 0, 0, 2, 1.625, -4.75, 0.5, 1.25, -4, 0, 0, 0.5}},
    {1, 1, false, {-1.5, -3.25, 2, 0.625, 0.5, 0.5, 1.5, 2, 1.625, 3.75, 0.5, 1.25, -4, -4, -4.625, 0.5}},
    {1, 1, true, {-1.5, -0.75, 2, 0.625, 0.5, -1, 1.5, 2, 1.625, -4.75, 0.5, 1.25, -4, 1.5, -4.625, 0.5}},
    {1, 2, false, {-1.5, -3.25, 2, 0.625, 0.5, -4.625, -1, 2, 1.625, 3.75, 0.5, 1.25, -4, -4.125, 1.5, 0.5}},
    {1, 2, true, {-1.5, -0.75, 2, 0.625, 0.5, 2, -1, 2, 1.625, -4.75, 0.5, 1.25, -4, 0.5, 1.5, 0.5}},
    {2,
     0,
     false,
     {0.03559557, -2.472663, 1.140625, 2.087039, 0.506958, 0, 0, 2.27356, -0.0372567, -0.2396027, -3.015625, 2.313882,
      -1.259644, 0, 0, 1.360779}},
    {2,
     0,
     true,
     {-1.115039, -2.5487, 1.140625, 1.66016, 0.5, 0.09110398, 0, 2.373232, 1.248372, -2.22532, -3.015625, 2.396696, -4,
      0.1131359, 0, 0.4186318}},
    {2,
     1,
     false,
     {-1.335938, -2.233279, 1.140625, 2.558696, 1.192505, -0.4600005, 1.5, 2.232361, 1.425781, -0.2121973, -3.015625,
      2.993647, -4.511597, -2.036998, -4.625001, 1.278381}},
    {2,
     1,
     true,
     {-1.780758, -2.307105, 1.140625, 1.433302, 0.5, -0.9850004, 1.500001, 2.35712, 1.969567, -2.322473, -3.015625,
      2.126442, -4, -0.8904989, -4.625003, 0.3935478}},
    {2,
     2,
     false,
     {-0.9340416, -2.233279, 1.140625, 2.655506, 2.027832, -2.186225, 0.481331, 2.232361, 1.011207, -0.2121973,
      -3.015625, 3.074361, -5.038574, -2.513563, 2.678325, 1.278381}},
    {2,
     2,
     true,
     {-0.5080667, -2.367453, 1.140625, 1.539895, 0.5, -1.285492, 0.9382942, 2.30455, 0.2211066, -1.854808, -3.015625,
      2.271233, -4, -2.247663, 2.478602, 0.4259274}},
};

TEST(GridSampler, MatchesPyTorchForEveryModeAndLayout) {
  for (const GridCase& c : kGridCases) {
    for (const Order& order : orders(4)) {
      SCOPED_TRACE(::testing::Message() << c.interpolation << c.padding << c.align_corners);
      const Array image(DType::kF32, {1, 2, 3, 4}, kImage, order);
      const Array grid(DType::kF32, {1, 2, 4, 2}, kGrid, order);
      const Array out(DType::kF32, {1, 2, 2, 4}, {}, order);
      const Outcome outcome =
          run_with(grid_sampler_2d_out, {image, grid, c.interpolation, c.padding, c.align_corners, out}, 2);
      ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
      expect_near(out, c.want, 2e-5);
    }
  }
}

TEST(GridSampler, AcceptsDoublesAndHalves) {
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    const Array out(dtype, {1, 1, 1, 2});
    // The centre of four pixels, and the last one.
    const Array image(dtype, {1, 1, 2, 2}, {1, 2, 3, 4});
    const Array grid(dtype, {1, 1, 2, 2}, {0, 0, 1, 1});
    ASSERT_EQ(run(grid_sampler_2d_out, {image, grid, 0, 0, true, out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{2.5, 4}));
  }
}

TEST(GridSampler, DoesNotReadOutsideForNaNAndInfinity) {
  const Array image = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  const Array grid = f32({1, 1, 3, 2}, {NAN, 0, INFINITY, -INFINITY, 1e30, -1e30});
  for (int64_t mode = 0; mode < 3; ++mode) {
    for (int64_t padding = 0; padding < 3; ++padding) {
      const Array out = f32({1, 1, 1, 3});
      ASSERT_EQ(run(grid_sampler_2d_out, {image, grid, mode, padding, false, out}), Error::kOk);
      EXPECT_TRUE(out.intact());
    }
  }
}

TEST(GridSampler, RefusesWhatDoesNotFit) {
  const Array image = f32({1, 2, 3, 4});
  const Array grid = f32({1, 2, 4, 2});
  const Array out = f32({1, 2, 2, 4});
  EXPECT_EQ(run(grid_sampler_2d_out, {image, grid, 3, 0, false, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_2d_out, {image, grid, 0, -1, false, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_2d_out, {image, f32({1, 2, 4, 3}), 0, 0, false, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_2d_out, {image, f32({2, 2, 4, 2}), 0, 0, false, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_2d_out, {f32({1, 2, 0, 4}), grid, 0, 0, false, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_2d_out, {image, grid, 0, 0, false, f32({1, 2, 2, 5})}), Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_2d_out, {i64({1, 2, 3, 4}), i64({1, 2, 4, 2}), 0, 0, false, i64({1, 2, 2, 4})}),
            Error::kInvalidArgument);
}

// The same of a volume: what PyTorch 2.15 gives for places inside and outside.
const Values kVolume = {-1.75, -4, 2.125, 3.375, 0, 0, -5, -4.375, 2.625, -2.625, 4.25, -3.625};
const Values kVolumePlaces = {-1.5, 0.25,   -0.125, 1.5,  -1.5, 0.25,  0.375, -0.375, -0.75,
                              -1,   -1.375, -0.75,  1.25, 0.75, -1.25, 0.25,  0.875,  1};
const GridCase kVolumes[] = {
    {0, 0, false, {0, 0, -0.5126953, 0, 0, -0.5693359}},
    {0, 0, true, {1.666992, -1.587891, 0.2591553, -1.347656, 0.6459961, -0.6699219}},
    {0, 1, false, {2.042969, -4.28125, -0.6835938, -1.75, 0, -1.65625}},
    {0, 1, true, {2.222656, -4.234375, 0.2591553, -2.15625, 0.84375, -0.6699219}},
    {0, 2, false, {2.042969, -3.492188, -0.6835938, -1.507812, 0, -1.65625}},
    {0, 2, true, {1.708496, -1.896484, 0.2591553, -0.5273438, 0.3950195, -0.6699219}},
    {1, 0, false, {0, 0, -4, 0, 0, 0}},
    {1, 0, true, {2.125, -4.375, 3.375, -1.75, 0, -3.625}},
    {1, 1, false, {2.125, -4.375, -4, -1.75, 0, -3.625}},
    {1, 1, true, {2.125, -4.375, 3.375, -1.75, 0, -3.625}},
    {1, 2, false, {2.125, -4.375, -4, -1.75, 0, -3.625}},
    {1, 2, true, {2.125, -4.375, 3.375, -1.75, 0, -3.625}},
};

TEST(GridSampler, MatchesPyTorchInVolumes) {
  for (const GridCase& c : kVolumes) {
    for (const Order& order : orders(5)) {
      SCOPED_TRACE(::testing::Message() << c.interpolation << c.padding << c.align_corners);
      const Array volume(DType::kF32, {1, 1, 2, 3, 2}, kVolume, order);
      const Array grid(DType::kF32, {1, 1, 2, 3, 3}, kVolumePlaces, order);
      const Array out(DType::kF32, {1, 1, 1, 2, 3}, {}, order);
      ASSERT_EQ(run(grid_sampler_3d_out, {volume, grid, c.interpolation, c.padding, c.align_corners, out}), Error::kOk);
      expect_near(out, c.want, 2e-5);
    }
  }
}

TEST(GridSampler, RefusesVolumesThatDoNotFit) {
  const Array volume = f32({1, 1, 2, 3, 2}, kVolume);
  const Array out = f32({1, 1, 1, 2, 3});
  EXPECT_EQ(run(grid_sampler_3d_out, {volume, f32({1, 1, 2, 3, 2}), 0, 0, false, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_3d_out, {volume, f32({1, 1, 2, 3, 3}, kVolumePlaces), 2, 0, false, out}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(grid_sampler_3d_out, {f32({1, 1, 0, 3, 2}), f32({1, 1, 2, 3, 3}, kVolumePlaces), 0, 0, false, out}),
            Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable

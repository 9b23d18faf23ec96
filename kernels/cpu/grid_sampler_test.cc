// Images read at the places of a grid, against the portable kernel. The fears: places between the border's pixels and
// those outside, far away or NaN, infinite pixels that nothing reads, places past the last whole register or the last
// whole run, channels and images taken for one another.

#include "kernels/cpu/grid_sampler.h"

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

// Places from within to beyond the borders, now and then at a corner, far away, infinite or NaN.
Array random_places(std::mt19937& random, const std::vector<int32_t>& sizes) {
  const Array grid = random_array(random, sizes);
  std::uniform_real_distribution<float> near(-1.4f, 1.4f);
  const float odd[] = {-1, 1, 0, 1e9f, -1e30f, INFINITY, -INFINITY, NAN};
  for (int64_t i = 0; i < grid.tensor().numel(); ++i) {
    grid.tensor().data<float>()[i] = random() % 8 == 0 ? odd[random() % 8] : near(random);
  }
  return grid;
}

TEST(GridSampler, RandomPlacesInsideAndOutside) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  const auto one_of = [&](int32_t n) { return 1 + static_cast<int32_t>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 120; ++i) {
    const int32_t batch = one_of(3), channels = one_of(5), height = one_of(13), width = one_of(20);
    const std::vector<int32_t> in = {batch, channels, height, width};
    const Array image = random_array(random, in, {}, i % 4 == 0);
    const std::vector<int32_t> places = {batch, one_of(9), one_of(30), 2};
    const int64_t padding = i % 3, interpolation = i % 10 == 0 ? 2 : 0;
    expect_same_as_portable("aten::grid_sampler_2d.out",
                            {image, random_places(random, places), interpolation, padding, i % 2 == 0},
                            {testing::f32({batch, channels, places[1], places[2]})}, 2e-5);
  }
}

// The last pixel of so long an axis is not a float, and was counted as outside.
TEST(GridSampler, TheBorderOfAVeryLongRowIsItsLastPixel) {
  constexpr int32_t kWidth = (1 << 25) - 1;
  const Array image(DType::kF32, {1, 1, 1, kWidth});
  image.tensor().data<float>()[kWidth - 1] = 5;
  expect_same_as_portable("aten::grid_sampler_2d.out", {image, testing::f32({1, 1, 2, 2}, {1, 0, 3, 0}), 0, 1, true},
                          {testing::f32({1, 1, 1, 2})});
}

TEST(GridSampler, WithoutPlacesOrChannelsNothingIsRead) {
  std::mt19937 random(3);
  for (const std::vector<int32_t>& sizes : {std::vector<int32_t>{1, 2, 0, 5}, {1, 0, 3, 5}, {0, 2, 3, 5}}) {
    const Array image = random_array(random, {sizes[0], sizes[1], 4, 4});
    const Array grid = random_places(random, {sizes[0], sizes[2], sizes[3], 2});
    expect_same_as_portable("aten::grid_sampler_2d.out", {image, grid, 0, 0, false}, {testing::f32(sizes)});
  }
}

TEST(GridSampler, RefusesWhatThePortableKernelRefuses) {
  std::mt19937 random(4);
  const Array image = random_array(random, {1, 2, 4, 4});
  for (const std::vector<int32_t>& places : {std::vector<int32_t>{1, 3, 3, 3}, {2, 3, 3, 2}}) {
    expect_same_as_portable("aten::grid_sampler_2d.out", {image, random_array(random, places), 0, 0, false},
                            {testing::f32({1, 2, 3, 3})});
  }
  expect_same_as_portable("aten::grid_sampler_2d.out", {image, random_array(random, {1, 3, 3, 2}), 0, 0, false},
                          {testing::f32({1, 2, 3, 4})});
}

}  // namespace
}  // namespace berth::cpu

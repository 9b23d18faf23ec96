// Layer norm, group norm and softmax against the portable kernels. The fears: ends of rows, a mean far from 0, weights
// that are not there, numbers beyond the exponential's range, an output that is the input.

#include <gtest/gtest.h>

#include <array>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;

TEST(LayerNorm, RowsOfEveryLength) {
  std::mt19937 random(1);
  for (const int32_t n : {1, 2, 15, 16, 17, 64, 65, 100, 384, 1000}) {
    const Array x = random_array(random, {2, 3, n});
    const Array weight = random_array(random, {n});
    const Array bias = random_array(random, {n});
    for (int given = 0; given < 4; ++given) {
      const Arg w = (given & 1) != 0 ? Arg(weight) : Arg(nullptr);
      const Arg b = (given & 2) != 0 ? Arg(bias) : Arg(nullptr);
      expect_same_as_portable("aten::native_layer_norm.out", {x, std::vector<int64_t>{n}, w, b, 1e-5},
                              {f32({2, 3, n}), f32({2, 3, 1}), f32({2, 3, 1})});
    }
  }
}

TEST(LayerNorm, SeveralDimensionsAndAMeanFarFromZero) {
  std::mt19937 random(2);
  const Array x = random_array(random, {4, 6, 10});
  for (int64_t i = 0; i < x.tensor().numel(); ++i) x.tensor().data<float>()[i] += 1000;
  expect_same_as_portable("aten::native_layer_norm.out",
                          {x, std::vector<int64_t>{6, 10}, random_array(random, {6, 10}), nullptr, 1e-5},
                          {f32({4, 6, 10}), f32({4, 1, 1}), f32({4, 1, 1})}, 1e-3);
}

TEST(GroupNorm, ImagesOfEverySize) {
  std::mt19937 random(5);
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  for (const auto& [batch, channels, height, width] : {std::array<int32_t, 4>{1, 6, 1, 1},
                                                       {2, 12, 1, 7},
                                                       {1, 48, 5, 9},
                                                       {2, 100, 16, 3},
                                                       {1, 24, 1, 3000},
                                                       {2, 96, 40, 33}}) {
    const Array x = random_array(random, {batch, channels, height, width}, last);
    const Array weight = random_array(random, {channels});
    const Array bias = random_array(random, {channels});
    for (const int32_t groups : {1, 3, channels}) {
      for (int given = 0; given < 4; ++given) {
        const Arg w = (given & 1) != 0 ? Arg(weight) : Arg(nullptr);
        const Arg b = (given & 2) != 0 ? Arg(bias) : Arg(nullptr);
        expect_same_as_portable("aten::native_group_norm.out", {x, w, b, batch, channels, height * width, groups, 1e-5},
                                {array_like(x), f32({batch, groups}), f32({batch, groups})});
      }
    }
  }
}

TEST(GroupNorm, AMeanFarFromZeroInAnotherOrderAndInPlace) {
  std::mt19937 random(6);
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const Array x = random_array(random, {1, 32, 30, 40}, last);
  for (int64_t i = 0; i < x.tensor().numel(); ++i) x.tensor().data<float>()[i] += 1000;
  const std::vector<Array> moments = {f32({1, 4}), f32({1, 4})};
  expect_same_as_portable("aten::native_group_norm.out", {x, nullptr, nullptr, 1, 32, 1200, 4, 1e-5},
                          {array_like(x), moments[0], moments[1]}, 1e-3);
  expect_same_as_portable("aten::native_group_norm.out", {x, nullptr, nullptr, 1, 32, 1200, 4, 1e-5},
                          {f32({1, 32, 30, 40}), moments[0], moments[1]}, 1e-3);
  const std::vector<Arg> args = {x, nullptr, nullptr, 1, 32, 1200, 4, 1e-5};
  const Array y = array_like(x);
  ASSERT_EQ(call(kernel_of(kernels(), "aten::native_group_norm.out"), args, {y, moments[0], moments[1]}, 3).error,
            Error::kOk);
  ASSERT_EQ(call(kernel_of(kernels(), "aten::native_group_norm.out"), args, {x, moments[0], moments[1]}, 3).error,
            Error::kOk);
  EXPECT_EQ(x.values(), y.values());
}

TEST(GroupNorm, WrongSizesAreRefusedAsByThePortableKernel) {
  std::mt19937 random(7);
  const Array x = random_array(random, {1, 6, 4, 5}, {0, 2, 3, 1});
  for (const int32_t groups : {0, -2, 4}) {
    expect_same_as_portable("aten::native_group_norm.out", {x, nullptr, nullptr, 1, 6, 20, groups, 1e-5},
                            {array_like(x), f32({1, 2}), f32({1, 2})});
  }
  expect_same_as_portable("aten::native_group_norm.out", {x, random_array(random, {5}), nullptr, 1, 6, 20, 2, 1e-5},
                          {array_like(x), f32({1, 2}), f32({1, 2})});
}

TEST(Softmax, RowsOfEveryLengthAndEveryNumber) {
  std::mt19937 random(3);
  for (const int32_t n : {1, 2, 3, 5, 8, 9, 12, 16, 17, 33, 197, 1000}) {
    for (const int32_t rows : {1, 7, 16, 37}) {
      for (const bool special : {false, true}) {
        const Array x = random_array(random, {rows, n}, {}, special);
        x.tensor().data<float>()[0] = 300;
        expect_same_as_portable("aten::_softmax.out", {x, -1, false}, {f32({rows, n})}, 2e-6);
        expect_same_as_portable("aten::_log_softmax.out", {x, 1, false}, {f32({rows, n})}, 2e-6);
      }
    }
  }
  expect_same_as_portable("aten::_softmax.out", {random_array(random, {4, 5}), 0, false}, {f32({4, 5})});
  const std::vector<uint8_t> order = {0, 2, 3, 1};
  const Array image = random_array(random, {2, 21, 4, 5}, order);
  for (const int dim : {1, 2, -3, 5}) {
    expect_same_as_portable("aten::_softmax.out", {image, dim, false}, {array_like(image)});
    expect_same_as_portable("aten::_softmax.out", {image, dim, false}, {f32({2, 21, 4, 5})});
  }
}

TEST(Softmax, TheOutputMayBeTheInput) {
  std::mt19937 random(4);
  for (const int32_t n : {3, 50}) {
    const Array x = random_array(random, {33, n});
    const Array y = f32({33, n});
    ASSERT_EQ(call(kernel_of(portable::kernels(), "aten::_softmax.out"), {x, 1, false}, {y}, 1).error, Error::kOk);
    ASSERT_EQ(call(kernel_of(kernels(), "aten::_softmax.out"), {x, 1, false}, {x}, 1).error, Error::kOk);
    expect_close(y, x, 1e-6);
  }
}

}  // namespace
}  // namespace berth::cpu

// Layer norm and softmax against the portable kernels. The fears: ends of rows, a mean far from 0, weights that are not
// there, numbers beyond the exponential's range, an output that is the input.

#include <gtest/gtest.h>

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

TEST(Softmax, RowsOfEveryLengthAndEveryNumber) {
  std::mt19937 random(3);
  for (const int32_t n : {1, 2, 12, 16, 17, 33, 197, 1000}) {
    for (const bool special : {false, true}) {
      const Array x = random_array(random, {7, n}, {}, special);
      x.tensor().data<float>()[0] = 300;
      expect_same_as_portable("aten::_softmax.out", {x, -1, false}, {f32({7, n})}, 2e-6);
      expect_same_as_portable("aten::_log_softmax.out", {x, 1, false}, {f32({7, n})}, 2e-6);
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
  const Array x = random_array(random, {3, 50});
  const Array y = f32({3, 50});
  ASSERT_EQ(call(kernel_of(portable::kernels(), "aten::_softmax.out"), {x, 1, false}, {y}, 1).error, Error::kOk);
  ASSERT_EQ(call(kernel_of(kernels(), "aten::_softmax.out"), {x, 1, false}, {x}, 1).error, Error::kOk);
  expect_close(y, x, 1e-6);
}

}  // namespace
}  // namespace berth::cpu

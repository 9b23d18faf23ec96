// Dynamic quantisation against the portable kernel. The fears: a part of the tensor whose range is not seen, NaN that
// is lost between registers or threads, the last elements.

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

void expect_same(const Array& x) {
  const Tensor& t = x.tensor();
  const std::vector<uint8_t> order = {t.dim_order().begin(), t.dim_order().end()};
  expect_same_as_portable("berth::dynamic_quantize.out", {x},
                          {Array(DType::kU8, x.sizes(), {}, order), testing::f32({}), Array(DType::kU8, {})}, 0);
}

TEST(DynamicQuantize, RandomTensors) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  const int32_t sizes[] = {1, 2, 15, 17, 63, 64, 65, 129, 1000, 70001};
  for (int i = 0; i < 60; ++i) {
    const int32_t size = sizes[random() % 10];
    const Array x = random_array(random, {size}, {}, i % 4 == 3);
    if (i % 3 == 1) {
      for (int32_t k = 0; k < size; ++k) x.tensor().data<float>()[k] = std::fabs(x.tensor().data<float>()[k]);
    }
    expect_same(x);
  }
  expect_same(random_array(random, {2, 17, 20, 31}, {0, 2, 3, 1}));
}

// The largest, the smallest and NaN in every place.
TEST(DynamicQuantize, EveryPlaceCounts) {
  for (const float extreme : {100.0f, -100.0f, NAN}) {
    for (int32_t at = 0; at < 150; ++at) {
      std::mt19937 random(3);
      const Array x = random_array(random, {150});
      x.tensor().data<float>()[at] = extreme;
      const Array out(DType::kU8, {150});
      const Array scale = testing::f32({});
      const KernelEntry& entry = kernel_of(kernels(), "berth::dynamic_quantize.out");
      ASSERT_EQ(call(entry, {x}, {out, scale, Array(DType::kU8, {})}, 1).error, Error::kOk);
      if (std::isnan(extreme)) {
        ASSERT_TRUE(std::isnan(scale.values()[0])) << at;
      } else {
        ASSERT_EQ(out.values()[at], extreme > 0 ? 255 : 0) << at;
        ASSERT_GT(scale.values()[0], 100.0 / 255) << at;
      }
    }
  }
}

TEST(DynamicQuantize, PartsOfThreadsAreOneRange) {
  std::mt19937 random(4);
  for (const int32_t at : {0, 99'999, 100'000, 299'999}) {
    for (const float extreme : {50.0f, -50.0f, NAN}) {
      const Array x = random_array(random, {300'000});
      x.tensor().data<float>()[at] = extreme;
      expect_same(x);
    }
  }
}

TEST(DynamicQuantize, AnotherOrderOfTheResult) {
  std::mt19937 random(5);
  const Array x = random_array(random, {2, 5, 4, 3});
  expect_same_as_portable("berth::dynamic_quantize.out", {x},
                          {Array(DType::kU8, {2, 5, 4, 3}, {}, {0, 2, 3, 1}), testing::f32({}), Array(DType::kU8, {})},
                          0);
}

}  // namespace
}  // namespace berth::cpu

// Quotients from products. The fears: one that is rounded to another number than a division's, near a half or far from
// all; a scale that has none.
#include "kernels/cpu/quantized_quotient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/seeds_testing.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/quantized_tile.h"
#include "kernels/portable/quantized_testing.h"

namespace berth::cpu {
namespace {

using testing::Array;
using testing::QuantizedCase;

constexpr size_t kWeight = 3;

TEST(QuantizedQuotient, AScaleThatIsNoUsualNumberHasNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float scale : {0.0f, -1.5f, kInfinity, -kInfinity, std::nanf(""), 1e-38f, 1e30f}) {
    EXPECT_FALSE(quotient_by(scale).exact) << scale;
  }
}

// A product of nothing, so that its bias alone is rounded: numbers about halfway between two, and any others.
QuantizedCase bias_case(std::mt19937& random, float scale, int32_t columns) {
  QuantizedCase c;
  c.input = Array(DType::kU8, {3, 4});
  c.weight = Array(DType::kI8, {4, columns});
  for (const Array* array : {&c.input, &c.weight}) std::memset(array->tensor().raw(), 0, array->tensor().nbytes());
  c.scale = testing::f32({1}, {1});
  c.out = Array(DType::kI8, {3, columns});
  std::vector<double> bias;
  for (int32_t i = 0; i < columns; ++i) {
    const double half = std::uniform_int_distribution<int>(-140, 140)(random) + 0.5;
    float number = static_cast<float>(half * scale);
    const int steps = std::uniform_int_distribution<int>(-2, 2)(random);
    for (int k = 0; k < std::abs(steps); ++k) number = std::nextafter(number, steps < 0 ? -1e30f : 1e30f);
    if (i % 16 == 0) number = std::ldexp(number, std::uniform_int_distribution<int>(-30, 30)(random));
    bias.push_back(number);
  }
  c.bias = testing::f32({columns}, bias);
  c.out_scale = scale;
  c.out_min = -128;
  c.out_max = 127;
  return c;
}

TEST(QuantizedQuotient, QuotientsAreThoseOfADivision) {
  testing::for_each_seed(200, [](unsigned seed) {
    std::mt19937 random(seed);
    const float scale = std::ldexp(std::uniform_real_distribution<float>(1, 2)(random),
                                   std::uniform_int_distribution<int>(-20, 20)(random));
    const QuantizedCase c = bias_case(random, scale, 512);
    ASSERT_EQ(call(kernel_of(portable::kernels(), "berth::quantized_linear.out"), c.args(), {}, 1).message, "");
    const QuantizedFunctions* functions[kMostQuantizedFunctions];
    const int sets = all_quantized_functions(functions);
    for (int i = 0; i < sets; ++i) {
      set_quantized_functions(functions[i]);
      const Array out(DType::kI8, {3, 512});
      GuardedMemory memory(random);
      const auto outcome = call_guarded("berth::quantized_linear.out", c.args(out, c.weight, ""), {kWeight}, 1, memory);
      set_quantized_functions(nullptr);
      ASSERT_EQ(outcome.message, "");
      ASSERT_EQ(testing::first_difference(c.out, out), "") << functions[i]->name << ", scale " << scale;
    }
  });
}

}  // namespace
}  // namespace berth::cpu

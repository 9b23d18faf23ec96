#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Glu, GatesTheFirstHalfWithTheSecond) {
  const Shape shape{4, 6, 10};
  Values values(240);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i)) * 8;
  for (int dim = 0; dim < 3; ++dim) {
    const auto along = static_cast<size_t>(dim);
    Shape result = shape;
    result[along] /= 2;
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::kF32, 1e-6}, {DType::kF64, 1e-14}, {DType::kF16, 1e-2}, {DType::kBF16, 1e-1}}) {
      for (const Order& order : orders(3)) {
        const Array self(dtype, shape, values, order);
        const Values stored = self.values();
        const Array out(dtype, result);
        ASSERT_EQ(run_with(glu_out, {self, dim - 3, out}, 3).error, Error::kOk);
        const Values got = out.values();
        for (size_t i = 0; i < got.size(); ++i) {
          Ints at = coordinates(result, static_cast<int64_t>(i));
          const double a = stored[flat(shape, at)];
          at[along] += result[along];
          EXPECT_NEAR(got[i], a / (1 + std::exp(-stored[flat(shape, at)])), tolerance);
        }
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST(Glu, RefusesOddDimensions) {
  EXPECT_EQ(run(glu_out, {f32({3}), 0, f32({1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(glu_out, {f32({}), 0, f32({})}), Error::kInvalidArgument);
  EXPECT_EQ(run(glu_out, {i64({4}), 0, i64({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(glu_out, {f32({4}), 1, f32({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(glu_out, {f32({0, 4}), 0, f32({0, 4})}), Error::kOk);
}

}  // namespace
}  // namespace berth::portable

#include "base/dtype.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr DType kWhole[] = {DType::kU8,  DType::kI8,  DType::kI16, DType::kI32,
                            DType::kI64, DType::kU16, DType::kU32, DType::kU64};
constexpr DType kReal[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

// The figures are torch.result_type's, for tensors of dimensions.
TEST(Dtype, ANumberTakesTheTensorsTypeWhenItsKindIsNotHigher) {
  for (const DType t : kReal) {
    for (const DType number : {DType::kBool, DType::kI64, DType::kF64, DType::kF32}) {
      EXPECT_EQ(number_type(number, t), t) << to_string(number) << " beside " << to_string(t);
    }
  }
  for (const DType t : kWhole) {
    EXPECT_EQ(number_type(DType::kBool, t), t) << to_string(t);
    EXPECT_EQ(number_type(DType::kI64, t), t) << to_string(t);
  }
  EXPECT_EQ(number_type(DType::kBool, DType::kBool), DType::kBool);
  EXPECT_EQ(number_type(DType::kF64, DType::kComplex64), DType::kComplex64);
}

TEST(Dtype, ANumberOfAHigherKindTakesTheKindsUsualType) {
  EXPECT_EQ(number_type(DType::kI64, DType::kBool), DType::kI64);
  EXPECT_EQ(number_type(DType::kF64, DType::kBool), DType::kF32);
  for (const DType t : kWhole) EXPECT_EQ(number_type(DType::kF64, t), DType::kF32) << to_string(t);
  EXPECT_EQ(number_type(DType::kComplex128, DType::kF32), DType::kComplex64);
  EXPECT_EQ(number_type(DType::kComplex128, DType::kF64), DType::kComplex128);
}

}  // namespace
}  // namespace berth

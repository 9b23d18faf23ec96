#include "base/dtype.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(Dtype, EveryNameIsReadBack) {
  int types = 0;
  for (int number = -1; number < 128; ++number) {
    if (!is_valid_dtype(number)) continue;
    ++types;
    EXPECT_LE(number, kMaxDTypeNumber);
    const std::string name = to_string(static_cast<DType>(number));
    DType read = DType::kF32;
    ASSERT_TRUE(parse_dtype(name.data(), name.size(), &read)) << name;
    EXPECT_EQ(static_cast<int>(read), number) << name;
    EXPECT_FALSE(parse_dtype(name.data(), name.size() - 1, &read) && static_cast<int>(read) == number) << name;
  }
  EXPECT_EQ(types, 36);
}

// ATen's ScalarType: programs that it or ExecuTorch reads mean these types by these numbers.
TEST(Dtype, NumbersAreATens) {
  EXPECT_EQ(static_cast<int>(DType::kF8E5M2), 23);
  EXPECT_EQ(static_cast<int>(DType::kF8E4M3), 24);
  EXPECT_EQ(static_cast<int>(DType::kF8E5M2Fnuz), 25);
  EXPECT_EQ(static_cast<int>(DType::kF8E4M3Fnuz), 26);
  EXPECT_EQ(static_cast<int>(DType::kU2), 31);
  EXPECT_EQ(static_cast<int>(DType::kU4), 33);
  EXPECT_EQ(static_cast<int>(DType::kI2), 38);
  EXPECT_EQ(static_cast<int>(DType::kI4), 40);
  EXPECT_EQ(static_cast<int>(DType::kF8E8M0), 44);
}

TEST(Dtype, NarrowTypesAreNotComputedWith) {
  for (int number = 0; number <= kMaxDTypeNumber; ++number) {
    const DType dtype = static_cast<DType>(number);
    if (!is_valid_dtype(number) || !is_narrow(dtype)) continue;
    EXPECT_FALSE(is_real(dtype) || is_complex(dtype)) << to_string(dtype);
    EXPECT_EQ(element_size(dtype), 1u);
  }
}

}  // namespace
}  // namespace berth

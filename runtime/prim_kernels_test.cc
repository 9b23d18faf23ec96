// Expected numbers: Python 3's operators on the same numbers, and the table of the operators in docs/format.md.
// Holds row 225.

#include "runtime/prim_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/signature.h"

namespace berth {
namespace {

const KernelEntry* find(const char* name) {
  for (const KernelEntry& entry : prim_kernels()) {
    if (std::strcmp(entry.name, name) == 0) return &entry;
  }
  return nullptr;
}

struct CallOutcome {
  Error error;
  EValue value;
};

CallOutcome call(const char* name, std::vector<EValue> values) {
  const KernelEntry* entry = find(name);
  if (entry == nullptr) return {Error::kNotFound, EValue()};
  values.emplace_back(int64_t{0});
  std::vector<EValue*> args;
  for (EValue& value : values) args.push_back(&value);
  KernelContext context({}, nullptr);
  const Error error = entry->call(context, {args.data(), args.size()});
  return {error, values.back()};
}

EValue i(int64_t x) { return EValue(x); }
EValue d(double x) { return EValue(x); }
EValue b(bool x) { return EValue(x); }

void expect_int(const char* name, std::vector<EValue> args, int64_t expected) {
  const CallOutcome outcome = call(name, args);
  ASSERT_EQ(outcome.error, Error::kOk) << name;
  ASSERT_TRUE(outcome.value.is_int()) << name;
  EXPECT_EQ(outcome.value.to_int(), expected) << name;
}

void expect_double(const char* name, std::vector<EValue> args, double expected) {
  const CallOutcome outcome = call(name, args);
  ASSERT_EQ(outcome.error, Error::kOk) << name;
  ASSERT_TRUE(outcome.value.is_double()) << name;
  EXPECT_EQ(outcome.value.to_double(), expected) << name;
}

void expect_bool(const char* name, std::vector<EValue> args, bool expected) {
  const CallOutcome outcome = call(name, args);
  ASSERT_EQ(outcome.error, Error::kOk) << name;
  ASSERT_TRUE(outcome.value.is_bool()) << name;
  EXPECT_EQ(outcome.value.to_bool(), expected) << name;
}

void expect_error(const char* name, std::vector<EValue> args, Error expected) {
  EXPECT_EQ(call(name, args).error, expected) << name;
}

TEST(PrimKernels, IntegersStayIntegersAndMixturesBecomeDoubles) {
  expect_int("executorch_prim::add.Scalar", {i(2), i(-5)}, -3);
  expect_int("executorch_prim::sub.Scalar", {i(2), i(-5)}, 7);
  expect_int("executorch_prim::mul.Scalar", {i(-4), i(6)}, -24);
  expect_double("executorch_prim::add.Scalar", {i(2), d(0.5)}, 2.5);
  expect_double("executorch_prim::mul.Scalar", {d(1.5), i(2)}, 3.0);
  expect_double("executorch_prim::truediv.Scalar", {i(7), i(2)}, 3.5);
}

TEST(PrimKernels, OverflowWrapsInsteadOfBeingUndefined) {
  expect_int("executorch_prim::add.Scalar", {i(INT64_MAX), i(1)}, INT64_MIN);
  expect_int("executorch_prim::mul.Scalar", {i(INT64_MIN), i(-1)}, INT64_MIN);
  expect_int("executorch_prim::neg.Scalar", {i(INT64_MIN)}, INT64_MIN);
}

TEST(PrimKernels, FloorDivisionRoundsDownAndTruncDivisionTowardsZero) {
  expect_int("executorch_prim::floordiv.Scalar", {i(7), i(2)}, 3);
  expect_int("executorch_prim::floordiv.Scalar", {i(-7), i(2)}, -4);
  expect_int("executorch_prim::floordiv.Scalar", {i(7), i(-2)}, -4);
  expect_int("executorch_prim::floordiv.Scalar", {i(-6), i(2)}, -3);
  expect_int("executorch_prim::floordiv.int", {i(-7), i(2)}, -3);
  expect_double("executorch_prim::floordiv.Scalar", {d(-7.0), i(2)}, -4.0);
  expect_double("executorch_prim::floordiv.Scalar", {d(1.0), d(0.1)}, 9.0);
  expect_double("executorch_prim::floordiv.Scalar", {d(5.5), d(-2.0)}, -3.0);
  expect_double("executorch_prim::floordiv.Scalar", {d(-1.0), d(0.0)}, -HUGE_VAL);
  expect_int("executorch_prim::mod.Scalar", {i(-7), i(3)}, -1);
  expect_int("executorch_prim::mod.int", {i(7), i(3)}, 1);
}

TEST(PrimKernels, DivisionsWithoutAResultAreErrors) {
  for (const char* name : {"executorch_prim::floordiv.Scalar", "executorch_prim::floordiv.int",
                           "executorch_prim::mod.Scalar", "executorch_prim::mod.int"}) {
    expect_error(name, {i(1), i(0)}, Error::kInvalidArgument);
    expect_error(name, {i(INT64_MIN), i(-1)}, Error::kInvalidArgument);
  }
}

TEST(PrimKernels, ComparisonsTakeNumbersOrTwoBooleans) {
  expect_bool("executorch_prim::eq.Scalar", {i(2), d(2.0)}, true);
  expect_bool("executorch_prim::gt.Scalar", {i(2), i(3)}, false);
  expect_bool("executorch_prim::lt.Scalar", {i(2), i(3)}, true);
  expect_bool("executorch_prim::ge.Scalar", {d(3.5), i(3)}, true);
  expect_bool("executorch_prim::le.Scalar", {b(false), b(true)}, true);
  // Above 2^53 a comparison by way of doubles would call these equal.
  expect_bool("executorch_prim::eq.Scalar", {i(9007199254740993), i(9007199254740992)}, false);
  expect_error("executorch_prim::eq.Scalar", {b(true), i(1)}, Error::kInvalidType);
}

TEST(PrimKernels, RoundingIsHalfToEvenAndGivesIntegers) {
  expect_int("executorch_prim::round.Scalar", {d(2.5)}, 2);
  expect_int("executorch_prim::round.Scalar", {d(3.5)}, 4);
  expect_int("executorch_prim::round.Scalar", {d(-2.5)}, -2);
  expect_int("executorch_prim::round.Scalar", {d(-0.5)}, 0);
  expect_int("executorch_prim::round.Scalar", {d(2.51)}, 3);
  expect_int("executorch_prim::ceil.Scalar", {d(-1.5)}, -1);
  expect_int("executorch_prim::trunc.Scalar", {d(-1.5)}, -1);
  expect_int("executorch_prim::trunc.Scalar", {d(1.9)}, 1);
  expect_int("executorch_prim::sym_int.Scalar", {d(-2.9)}, -2);
  expect_int("executorch_prim::sym_int.Scalar", {b(true)}, 1);
  expect_double("executorch_prim::sym_float.Scalar", {i(3)}, 3.0);
}

TEST(PrimKernels, NumbersThatAreNotIntegersAreErrors) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {infinity, -infinity, std::nan(""), 9223372036854775808.0, 1e300}) {
    expect_error("executorch_prim::round.Scalar", {d(x)}, Error::kInvalidArgument);
    expect_error("executorch_prim::sym_int.Scalar", {d(x)}, Error::kInvalidArgument);
  }
  expect_int("executorch_prim::sym_int.Scalar", {d(-9223372036854775808.0)}, INT64_MIN);
}

TEST(PrimKernels, SelectTakesTheRightSide) {
  expect_int("executorch_prim::sym_max.Scalar", {i(-3), i(4)}, 4);
  expect_int("executorch_prim::sym_min.Scalar", {i(-3), i(4)}, -3);
  expect_bool("executorch_prim::sym_not.Scalar", {b(true)}, false);
  expect_int("executorch_prim::sym_ite.Scalar", {b(true), i(1), i(2)}, 1);
  expect_double("executorch_prim::sym_ite.Scalar", {b(false), i(1), d(2.5)}, 2.5);
}

TEST(PrimKernels, WrongKindsAreErrors) {
  for (const KernelEntry& entry : prim_kernels()) {
    Signature signature;
    ASSERT_TRUE(Signature::parse(entry.signature, &signature)) << entry.name;
    const std::vector<EValue> texts(signature.parameters().size() - 1, EValue(StringRef{"x", 1}));
    EXPECT_EQ(call(entry.name, texts).error, Error::kInvalidType) << entry.name;
  }
  expect_error("executorch_prim::round.Scalar", {i(1)}, Error::kInvalidType);
  expect_error("executorch_prim::sym_not.Scalar", {i(1)}, Error::kInvalidType);
  expect_error("executorch_prim::sym_max.Scalar", {i(1), d(1)}, Error::kInvalidType);
}

struct FloatTensor {
  FloatTensor(std::vector<int32_t> of_sizes, std::vector<float> of_data,
              ShapeDynamism dynamism = ShapeDynamism::kStatic)
      : sizes(std::move(of_sizes)), strides(sizes.size()), data(std::move(of_data)) {
    for (size_t n = 0; n < sizes.size(); ++n) order.push_back(static_cast<uint8_t>(n));
    tensor = Tensor(DType::kF32, static_cast<int>(sizes.size()), sizes.data(), order.data(), strides.data(),
                    data.data(), dynamism);
  }
  std::vector<int32_t> sizes;
  std::vector<uint8_t> order;
  std::vector<int64_t> strides;
  std::vector<float> data;
  Tensor tensor;
};

TEST(PrimKernels, SizesAreIndexedFromBothEnds) {
  FloatTensor x({2, 3}, std::vector<float>(6));
  expect_int("aten::sym_size.int", {EValue(&x.tensor), i(1)}, 3);
  expect_int("aten::sym_size.int", {EValue(&x.tensor), i(-2)}, 2);
  expect_error("aten::sym_size.int", {EValue(&x.tensor), i(2)}, Error::kInvalidArgument);
  expect_error("aten::sym_size.int", {EValue(&x.tensor), i(-3)}, Error::kInvalidArgument);
  expect_int("aten::sym_numel", {EValue(&x.tensor)}, 6);
}

TEST(PrimKernels, AnElementIsReadByItsType) {
  FloatTensor x({1}, {2.5f});
  expect_double("aten::_local_scalar_dense", {EValue(&x.tensor)}, 2.5);
  int64_t number = -9;
  Tensor integer(DType::kI64, 0, nullptr, nullptr, nullptr, &number);
  expect_int("aten::_local_scalar_dense", {EValue(&integer)}, -9);
  uint8_t truth = 1;
  Tensor boolean(DType::kBool, 0, nullptr, nullptr, nullptr, &truth);
  expect_bool("aten::_local_scalar_dense", {EValue(&boolean)}, true);
  uint16_t half = 0xc100;  // -2.5
  Tensor halves(DType::kF16, 0, nullptr, nullptr, nullptr, &half);
  expect_double("aten::_local_scalar_dense", {EValue(&halves)}, -2.5);
  Tensor nowhere(DType::kF32, 0, nullptr, nullptr, nullptr, nullptr);
  expect_error("aten::_local_scalar_dense", {EValue(&nowhere)}, Error::kInvalidArgument);
  FloatTensor empty({0}, {});
  expect_error("aten::_local_scalar_dense", {EValue(&empty.tensor)}, Error::kInvalidArgument);
}

Error view(Tensor& self, std::vector<int64_t> sizes, Tensor& out) {
  std::vector<EValue> numbers;
  for (const int64_t size : sizes) numbers.emplace_back(size);
  std::vector<EValue*> items;
  for (EValue& number : numbers) items.push_back(&number);
  EValue a(&self), list = EValue::int_list({items.data(), items.size()}), o(&out);
  EValue* args[] = {&a, &list, &o};
  KernelContext context({}, nullptr);
  return find("executorch_prim::et_view.default")->call(context, {args, 3});
}

TEST(PrimKernels, AViewTakesTheMemoryAndTheOpenSize) {
  FloatTensor x({2, 6}, std::vector<float>(12, 1));
  FloatTensor out({4, 4, 1}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(view(x.tensor, {3, -1, 2}, out.tensor), Error::kOk);
  EXPECT_EQ(out.tensor.raw(), x.tensor.raw());
  EXPECT_EQ(out.tensor.size(1), 2);
  EXPECT_EQ(view(x.tensor, {5, -1, 1}, out.tensor), Error::kInvalidArgument);
  EXPECT_EQ(view(x.tensor, {-1, -1, 1}, out.tensor), Error::kInvalidArgument);
  EXPECT_EQ(view(x.tensor, {12, 1}, out.tensor), Error::kInvalidArgument);
  EXPECT_EQ(view(x.tensor, {0, -1, 1}, out.tensor), Error::kInvalidArgument);
  EXPECT_EQ(view(x.tensor, {INT64_MAX, INT64_MAX, 1}, out.tensor), Error::kInvalidArgument);
}

TEST(PrimKernels, AViewLargerThanItsOutputIsRefused) {
  FloatTensor x({20}, std::vector<float>(20));
  FloatTensor out({4, 4}, {}, ShapeDynamism::kBounded);
  EXPECT_EQ(view(x.tensor, {4, 5}, out.tensor), Error::kInvalidArgument);
}

Error stack(Tensor& to, Tensor& from, int64_t index) {
  EValue a(&to), b(&from), c(index);
  EValue* args[] = {&a, &b, &c};
  KernelContext context({}, nullptr);
  return find("executorch_prim::et_copy_index.tensor")->call(context, {args, 3});
}

TEST(PrimKernels, RowsAreStackedOneAfterTheOther) {
  FloatTensor to({3, 2}, std::vector<float>(6, -1), ShapeDynamism::kBounded);
  FloatTensor from({2}, {5, 6});
  ASSERT_EQ(stack(to.tensor, from.tensor, 0), Error::kOk);
  EXPECT_EQ(to.tensor.size(0), 1);
  from.data = {7, 8};
  FloatTensor second({2}, {7, 8});
  ASSERT_EQ(stack(to.tensor, second.tensor, 1), Error::kOk);
  EXPECT_EQ(to.data, (std::vector<float>{5, 6, 7, 8, -1, -1}));
  EXPECT_EQ(stack(to.tensor, second.tensor, 3), Error::kInvalidArgument);
  EXPECT_EQ(stack(to.tensor, second.tensor, -1), Error::kInvalidArgument);
  EXPECT_EQ(stack(to.tensor, second.tensor, INT64_MAX), Error::kInvalidArgument);
  FloatTensor wide({3}, {1, 2, 3});
  EXPECT_EQ(stack(to.tensor, wide.tensor, 1), Error::kInvalidArgument);
}

TEST(PrimKernels, TheFirstRowSaysHowLargeTheOthersAre) {
  FloatTensor to({2, 3}, std::vector<float>(6, -1), ShapeDynamism::kBounded);
  FloatTensor narrow({2}, {5, 6}), wide({3}, {1, 2, 3}), huge({7}, std::vector<float>(7));
  EXPECT_EQ(stack(to.tensor, narrow.tensor, 1), Error::kInvalidArgument);
  for (const int run : {0, 1}) {
    SCOPED_TRACE(run);
    ASSERT_EQ(stack(to.tensor, narrow.tensor, 0), Error::kOk);
    ASSERT_EQ(stack(to.tensor, narrow.tensor, 1), Error::kOk);
    EXPECT_EQ(to.tensor.size(1), 2);
    EXPECT_EQ(to.data, (std::vector<float>{5, 6, 5, 6, -1, -1}));
    EXPECT_EQ(stack(to.tensor, wide.tensor, 1), Error::kInvalidArgument);
    ASSERT_EQ(stack(to.tensor, wide.tensor, 0), Error::kOk);
    ASSERT_EQ(stack(to.tensor, wide.tensor, 1), Error::kOk);
    EXPECT_EQ(to.data, (std::vector<float>{1, 2, 3, 1, 2, 3}));
    to.data.assign(6, -1);
  }
  EXPECT_EQ(stack(to.tensor, huge.tensor, 0), Error::kInvalidArgument);
  FloatTensor fixed({2, 3}, std::vector<float>(6));
  EXPECT_EQ(stack(fixed.tensor, narrow.tensor, 0), Error::kInvalidArgument);
}

Error row(const char* access, Tensor& rows, int64_t index, Tensor& out) {
  EValue a(&rows), b(index), c(&out);
  EValue* args[] = {&a, &b, &c};
  KernelContext context({}, nullptr);
  return find((std::string("berth::row.") + access).c_str())->call(context, {args, 3});
}

TEST(PrimKernels, ARowThatIsReadIsAViewOfIt) {
  FloatTensor rows({3, 2}, {1, 2, 3, 4, 5, 6}), out({2}, {});
  for (const int index : {2, 0}) {
    ASSERT_EQ(row("read", rows.tensor, index, out.tensor), Error::kOk);
    EXPECT_EQ(out.tensor.raw(), rows.data.data() + 2 * index);
  }
  FloatTensor wide({3}, {}), matrix({1, 2}, {}), scalar({}, {7});
  for (const int64_t index : {int64_t{3}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(row("read", rows.tensor, index, out.tensor), Error::kInvalidArgument) << index;
  }
  EXPECT_EQ(row("read", rows.tensor, 0, wide.tensor), Error::kInvalidArgument);
  EXPECT_EQ(row("read", rows.tensor, 0, matrix.tensor), Error::kInvalidArgument);
  EXPECT_EQ(row("read", scalar.tensor, 0, out.tensor), Error::kInvalidArgument);
}

TEST(PrimKernels, ARowThatIsWrittenGrowsTheStackAndStaysWithinIt) {
  FloatTensor stack({3, 2}, std::vector<float>(6, -1), ShapeDynamism::kBounded);
  FloatTensor out({2}, {}), wide({3}, {});
  for (const int index : {2, 0, 1}) {
    ASSERT_EQ(row("write", stack.tensor, index, out.tensor), Error::kOk);
    EXPECT_EQ(stack.tensor.size(0), index + 1);
    EXPECT_EQ(out.tensor.raw(), stack.data.data() + 2 * index);
  }
  for (const int64_t index : {int64_t{3}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(row("write", stack.tensor, index, out.tensor), Error::kInvalidArgument) << index;
  }
  EXPECT_EQ(row("write", stack.tensor, 0, wide.tensor), Error::kInvalidArgument);
  // Two rows of a fixed size, of which what is written takes a part.
  FloatTensor pair({2, 4}, std::vector<float>(8, -1));
  ASSERT_EQ(row("write", pair.tensor, 1, wide.tensor), Error::kOk);
  EXPECT_EQ(wide.tensor.raw(), pair.data.data() + 4);
  EXPECT_EQ(pair.tensor.size(0), 2);
  pair.tensor.set_data(nullptr);
  EXPECT_EQ(row("write", pair.tensor, 1, wide.tensor), Error::kInvalidState);
}

}  // namespace
}  // namespace berth

// Kernels on typed parameters. The fears: a value at another parameter; None taken for a value; a parameter without a
// value.
#include "runtime/arguments.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

Error combine(KernelContext&, int64_t whole, double factor, std::optional<int64_t> shift, bool negated, EValue& out) {
  const double value = static_cast<double>(whole) * factor + static_cast<double>(shift.value_or(100));
  out = EValue(negated ? -value : value);
  return Error::kOk;
}

struct Outcome {
  Error error;
  EValue result;
};

/// combine() of the values and, behind them, its result.
Outcome call(std::vector<EValue> values) {
  values.emplace_back(0.0);
  std::vector<EValue*> args;
  for (EValue& value : values) args.push_back(&value);
  KernelContext context({}, nullptr);
  const Error error = untyped<combine>(context, {args.data(), args.size()});
  return {error, values.back()};
}

TEST(Arguments, ParametersAreTheCallsValuesInOrder) {
  const Outcome outcome = call({EValue(int64_t{3}), EValue(0.5), EValue(int64_t{7}), EValue(true)});
  ASSERT_EQ(outcome.error, Error::kOk);
  EXPECT_EQ(outcome.result.to_double(), -8.5);
}

TEST(Arguments, NoneIsNotAValue) {
  const Outcome outcome = call({EValue(int64_t{3}), EValue(0.5), EValue(), EValue(false)});
  ASSERT_EQ(outcome.error, Error::kOk);
  EXPECT_EQ(outcome.result.to_double(), 101.5);
}

TEST(Arguments, ASchemaWithAnotherNumberOfParametersIsRefused) {
  const EValue whole(int64_t{3});
  EXPECT_EQ(call({}).error, Error::kInvalidArgument);
  EXPECT_EQ(call({whole, EValue(0.5), whole}).error, Error::kInvalidArgument);
  EXPECT_EQ(call({whole, EValue(0.5), whole, EValue(true), whole}).error, Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth

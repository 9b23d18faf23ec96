// The fears: a result that is scratch before lies elsewhere in the next call, and values stay where it was; an input in
// its bytes; a warm-up that leaves its traces in what the program keeps.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/nested/nested_testing.h"
#include "runtime/count_allocations_testing.h"

namespace berth {
namespace {

using testing::Argument;
using testing::get;
using testing::nested_with_output_scratch;
using testing::NestedTest;
using testing::set;

class OutputScratchTest : public NestedTest {
 protected:
  void expect_right(Argument& y) {
    set(x_, {0, 0, 4, 1});
    for (int i = 0; i < 16; ++i) y.floats()[i] = 77;
    ASSERT_EQ(execute(), Error::kOk) << message_;
    EXPECT_EQ(get(y), (std::vector<float>{0, 2, 5, 6}));
    EXPECT_EQ(y.floats()[4], 77) << "bytes behind the result";
    EXPECT_EQ(scratch_.floats()[3], 5) << "the positive part lies in the scratch";
  }
};

TEST_F(OutputScratchTest, HoldsDeadValuesBeforeTheResult) {
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.place << ": " << report_.message;
  expect_right(y_);
}

TEST_F(OutputScratchTest, MayMoveBetweenCalls) {
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.message;
  Argument other(DType::kF32, {4});
  for (Argument* y : {&y_, &other, &other, &y_}) {
    args_[1] = &y->value;
    expect_right(*y);
  }
  set(other, {1, 1, 1, 1});
  expect_right(y_);
  EXPECT_EQ(get(other), (std::vector<float>{1, 1, 1, 1})) << "nothing is left there";
}

TEST_F(OutputScratchTest, MayBeSetAfterTheLoad) {
  y_.tensor.set_data(nullptr);
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.message;
  set(x_, {0, 0, 4, 1});
  EXPECT_EQ(execute(), Error::kInvalidArgument) << "no memory yet";
  EXPECT_NE(message_.find("16 bytes are needed"), std::string::npos) << message_;
  y_.tensor.set_data(y_.floats());
  expect_right(y_);
}

TEST_F(OutputScratchTest, DoesNotOverlapAnInput) {
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.message;
  expect_right(y_);
  y_.tensor.set_data(x_.floats() + 4);
  EXPECT_EQ(execute(), Error::kOk) << "behind it: " << message_;
  x_.tensor.set_data(x_.floats() + 7);
  EXPECT_EQ(execute(), Error::kInvalidArgument) << "its first byte is the result's last";
  x_.tensor.set_data(x_.floats());
  y_.tensor.set_data(x_.floats());
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("argument 0 overlaps an output"), std::string::npos) << message_;
}

TEST_F(OutputScratchTest, MustBeAsLargeAndAsAlignedAsItsArena) {
  Argument small(DType::kF32, {3});
  args_[1] = &small.value;
  EXPECT_EQ(load(nested_with_output_scratch()), Error::kInvalidProgram);
  args_[1] = &y_.value;
  y_.tensor.set_data(y_.floats() + 1);
  EXPECT_EQ(load(nested_with_output_scratch()), Error::kInvalidProgram) << "known at load";
  EXPECT_NE(std::string(report_.message).find("address"), std::string::npos) << report_.message;
  y_.tensor.set_data(nullptr);
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.message;
  y_.tensor.set_data(y_.floats() + 1);
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("multiple of 16"), std::string::npos) << message_;
  y_.tensor.set_data(y_.floats());
  expect_right(y_);
  args_[1] = &small.value;
  EXPECT_EQ(execute(), Error::kInvalidArgument) << message_;
}

// At the same address as the one before.
TEST_F(OutputScratchTest, AResultThatShrinksIsRefused) {
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.message;
  expect_right(y_);
  Argument small(DType::kF32, {2});
  small.tensor.set_data(y_.tensor.raw());
  args_[1] = &small.value;
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("16 bytes are needed, 8 were given"), std::string::npos) << message_;
}

TEST_F(OutputScratchTest, IsNotTouchedByWarmUp) {
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.message;
  set(y_, {1, 2, 3, 4});
  backend_->warm_up(handle_);
  EXPECT_EQ(get(y_), (std::vector<float>{1, 2, 3, 4}));
  expect_right(y_);
  set(y_, {1, 2, 3, 4});
  backend_->warm_up(handle_);
  EXPECT_EQ(get(y_), (std::vector<float>{1, 2, 3, 4}));
  expect_right(y_);
}

TEST_F(OutputScratchTest, NeedsNoScratchWhereResultsHoldAllOfIt) {
  format::ProgramDesc program = nested_with_output_scratch();
  // sum, and y from it in its bytes.
  program.methods[0].instructions = {format::KernelCallDesc{0, {0, 1, 2, 3, 3}}, format::KernelCallDesc{1, {3, 5, 5}}};
  program.methods[0].values[4] = format::NullDesc{};
  program.methods[0].arenas[0].bytes = 0;
  args_.resize(2);
  ASSERT_EQ(load(program), Error::kOk) << report_.place << ": " << report_.message;
  set(x_, {0, 0, 4, 1});
  ASSERT_EQ(execute(), Error::kOk) << message_;
  EXPECT_EQ(get(y_), (std::vector<float>{0, 2, 1, 5}));
}

TEST_F(OutputScratchTest, TakesNothingFromTheHeapWhenItMoves) {
  ASSERT_EQ(load(nested_with_output_scratch()), Error::kOk) << report_.message;
  Argument other(DType::kF32, {4});
  const size_t before = testing::allocations;
  for (int i = 0; i < 4; ++i) {
    args_[1] = i % 2 == 0 ? &other.value : &y_.value;
    KernelContext context(temp(), nullptr);
    ASSERT_EQ(backend_->execute(handle_, context, args_), Error::kOk);
  }
  EXPECT_EQ(testing::allocations, before);
}

}  // namespace
}  // namespace berth

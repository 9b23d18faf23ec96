// The fears: an input or output that the program has in its scratch lies elsewhere in the call, or one that it does not
// know lies there; a scratch that moves takes the input along, or its old sizes; a warm-up overwrites what is set.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/nested/nested_testing.h"
#include "runtime/count_allocations_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using testing::Argument;
using testing::get;
using testing::nested_add_relu;
using testing::NestedTest;
using testing::set;

/// y = relu(x + w) of up to `count` floats, where x lies in the scratch and the sum in x's bytes.
format::ProgramDesc nested_in_scratch(int32_t count = 4, bool bounded = false) {
  format::ProgramDesc program = nested_add_relu(count, bounded);
  format::MethodDesc& method = program.methods[0];
  method.values[0] = method.values[3];
  return program;
}

class ScratchPortsTest : public NestedTest {
 protected:
  void SetUp() override {
    version_ = format::kNestedPortInScratchVersion;
    x_.tensor.set_data(scratch_.floats());
  }

  void expect_right() {
    set(scratch_, {0, 0, 4, 1});
    ASSERT_EQ(execute(), Error::kOk) << message_;
    EXPECT_EQ(get(y_), (std::vector<float>{0, 2, 1, 5}));
    EXPECT_EQ(scratch_.floats()[0], -1) << "the sum lies where x was";
  }
};

TEST_F(ScratchPortsTest, IsReadWhereTheScratchIs) {
  ASSERT_EQ(load(nested_in_scratch()), Error::kOk) << report_.place << ": " << report_.message;
  expect_right();
  expect_right();
}

TEST_F(ScratchPortsTest, LiesNowhereElse) {
  ASSERT_EQ(load(nested_in_scratch()), Error::kOk) << report_.message;
  expect_right();
  for (float* other : {scratch_.floats() + 1, y_.floats() + 8}) {
    x_.tensor.set_data(other);
    EXPECT_EQ(execute(), Error::kInvalidArgument);
    EXPECT_NE(message_.find("argument 0 does not lie in the scratch"), std::string::npos) << message_;
  }
  x_.tensor.set_data(scratch_.floats());
  expect_right();
}

TEST_F(ScratchPortsTest, IsKnownToTheProgram) {
  version_ = 0;
  ASSERT_EQ(load(nested_add_relu()), Error::kOk) << report_.message;
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("argument 0 lies in the scratch"), std::string::npos) << message_;
  Argument other(DType::kF32, {4});
  args_[0] = &other.value;
  set(other, {0, 0, 4, 1});
  ASSERT_EQ(execute(), Error::kOk) << message_;
  EXPECT_EQ(get(y_), (std::vector<float>{0, 2, 1, 5}));
}

TEST_F(ScratchPortsTest, HasItsSizesInAScratchThatMoves) {
  Argument x(DType::kF32, {8, 4}, true);
  Argument y(DType::kF32, {8, 4}, true);
  Argument scratch(DType::kU8, {128}, true);
  Argument other(DType::kU8, {128}, true);
  args_ = {&x.value, &y.value, &scratch.value};
  x.tensor.set_data(scratch.floats());
  format::ProgramDesc program = nested_in_scratch(32, true);
  // The test kernel does not broadcast: double x instead of adding the weight.
  program.methods[0].instructions[0] = KernelCallDesc{0, {0, 0, 2, 3, 3}};
  program.methods[0].values[1] = format::NullDesc{};
  ASSERT_EQ(load(program), Error::kOk) << report_.place << ": " << report_.message;
  for (int turn = 0; turn < 6; ++turn) {
    Argument& used = turn % 2 == 0 ? other : scratch;
    const int32_t rows = 1 + (turn * 3) % 8;
    args_[2] = &used.value;
    x.tensor.set_data(used.floats());
    ASSERT_EQ(x.tensor.resize(std::vector<int32_t>{rows, 4}), Error::kOk);
    for (int i = 0; i < 4 * rows; ++i) used.floats()[i] = static_cast<float>(i);
    ASSERT_EQ(execute(), Error::kOk) << message_;
    EXPECT_EQ(y.tensor.sizes()[0], rows);
    EXPECT_EQ(y.floats()[4 * rows - 1], 8 * rows - 2) << turn;
  }
}

/// The same, where y lies over x, which is dead by then.
format::ProgramDesc nested_with_all_in_scratch() {
  format::ProgramDesc program = nested_in_scratch();
  format::MethodDesc& method = program.methods[0];
  method.values[4] = method.values[3];
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 4, 4}}};
  return program;
}

TEST_F(ScratchPortsTest, HoldsOutputsToo) {
  y_.tensor.set_data(scratch_.floats());
  ASSERT_EQ(load(nested_with_all_in_scratch()), Error::kOk) << report_.place << ": " << report_.message;
  for (int run = 0; run < 2; ++run) {
    set(scratch_, {0, 0, 4, 1});
    ASSERT_EQ(execute(), Error::kOk) << message_;
    EXPECT_EQ(scratch_.floats()[0], -1);
    EXPECT_EQ(scratch_.floats()[3], 5);
    backend_->warm_up(handle_);
  }
  Argument other(DType::kF32, {4});
  y_.tensor.set_data(other.floats());
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("argument 1 does not lie in the scratch"), std::string::npos) << message_;
}

TEST_F(ScratchPortsTest, HoldsNoOutputThatTheProgramDoesNotKnow) {
  y_.tensor.set_data(scratch_.floats());
  ASSERT_NE(load(nested_in_scratch()), Error::kOk) << "y lies over x";
  Argument x(DType::kF32, {4});
  args_[0] = &x.value;
  version_ = 0;
  ASSERT_EQ(load(nested_add_relu()), Error::kOk) << report_.message;
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("argument 1 lies in the scratch"), std::string::npos) << message_;
}

TEST_F(ScratchPortsTest, TakesNothingFromTheHeap) {
  ASSERT_EQ(load(nested_in_scratch()), Error::kOk) << report_.message;
  const size_t before = testing::allocations;
  for (int i = 0; i < 4; ++i) {
    KernelContext context(temp(), nullptr);
    ASSERT_EQ(backend_->execute(handle_, context, args_), Error::kOk);
  }
  EXPECT_EQ(testing::allocations, before);
}

TEST_F(ScratchPortsTest, IsThereAfterAWarmUp) {
  ASSERT_EQ(load(nested_in_scratch()), Error::kOk) << report_.message;
  backend_->warm_up(handle_);
  expect_right();
}

}  // namespace
}  // namespace berth

// Programs that are well-formed and still would make a kernel write where it must not, or read what is not there.

#include <gtest/gtest.h>

#include <string>

#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::JumpFalseDesc;
using format::KernelCallDesc;
using format::MethodDesc;
using format::MoveDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::constant;
using format::testing::tensor;
using testing::ready;
using testing::Ready;
using testing::set_floats;

TensorDesc bounded(TensorDesc desc) {
  desc.bounded = true;
  return desc;
}

ProgramDesc program_of(MethodDesc method) {
  method.name = "forward";
  ProgramDesc program;
  program.methods = {std::move(method)};
  program.constants = {format::Bytes::of(std::vector<uint8_t>(64, 0))};
  return program;
}

// What the first run, or the load before it, says.
Error outcome(const ProgramDesc& desc, std::string* message) {
  Ready r = ready(desc, Verification::kMinimal);
  *message = r.report.message;
  if (r.error != Error::kOk) return r.error;
  for (size_t i = 0; i < r.method->inputs_size(); ++i) {
    alignas(8) static float data[64] = {};
    const EValue input = r.method->get_input(i);
    if (input.is_tensor()) {
      EXPECT_EQ(r.method->set_input(i, data, input.tensor().sizes(), input.tensor().dtype()), Error::kOk);
    } else {
      EXPECT_EQ(r.method->set_input(i, input), Error::kOk);
    }
  }
  const Error error = r.method->execute();
  *message = r.method->last_report().message;
  return error;
}

void expect_refused(const ProgramDesc& desc, const std::string& part, Error code = Error::kInvalidProgram) {
  std::string message;
  EXPECT_EQ(outcome(desc, &message), code) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(MethodChecks, AConstantIsNotWritten) {
  MethodDesc method;
  method.values = {constant({4}, 1), constant({4}, 1)};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  expect_refused(program_of(method), "written but is a constant");
}

TEST(MethodChecks, AConstantIsNotWrittenThroughAMove) {
  MethodDesc method;
  method.values = {constant({4}, 1), tensor({4}, 0)};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {MoveDesc{0, 1}, KernelCallDesc{0, {0, 1, 1}}};
  method.arenas = {{16, Device()}};
  expect_refused(program_of(method), "written but is a constant");
}

TEST(MethodChecks, AConstantIsNotWrittenThroughAView) {
  MethodDesc method;
  method.values = {constant({4}, 1), tensor({4}), int64_t{4}, format::IntListDesc{{2}}, tensor({4}, 0), false};
  method.operators = {{"executorch_prim::et_view", "default"}, {"aten::copy_", ""}};
  method.instructions = {KernelCallDesc{0, {0, 3, 1}}, KernelCallDesc{1, {1, 4, 5, 1}}};
  method.arenas = {{16, Device()}};
  expect_refused(program_of(method), "written but is a constant");
}

// The view's own bound is larger than the memory that it looks at.
TEST(MethodChecks, AKernelDoesNotGrowAView) {
  MethodDesc method;
  method.values = {tensor({4}, 0), bounded(tensor({64})), int64_t{4}, format::IntListDesc{{2}},
                   bounded(tensor({64}, 16))};
  method.inputs = {4};
  method.operators = {{"executorch_prim::et_view", "default"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 3, 1}}, KernelCallDesc{1, {4, 1, 1}}};
  method.arenas = {{16 + 256, Device()}};
  expect_refused(program_of(method), "output of a view");
}

TEST(MethodChecks, AMoveDoesNotGrowAView) {
  MethodDesc method;
  method.values = {tensor({4}, 0),           bounded(tensor({64})),     int64_t{4},
                   format::IntListDesc{{2}}, bounded(tensor({64}, 16)), bounded(tensor({64}, 16))};
  method.inputs = {4};
  method.operators = {{"executorch_prim::et_view", "default"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 3, 1}}, MoveDesc{1, 5}, KernelCallDesc{1, {4, 5, 5}}};
  method.arenas = {{16 + 256, Device()}};
  expect_refused(program_of(method), "output of a view");
}

// After the move the view would be made of a planned tensor that other calls write without looking.
TEST(MethodChecks, APlannedTensorDoesNotBecomeAView) {
  MethodDesc method;
  method.values = {tensor({4}, 0), bounded(tensor({64})), int64_t{4}, format::IntListDesc{{2}},
                   bounded(tensor({64}, 16))};
  method.inputs = {4};
  method.operators = {{"executorch_prim::et_view", "default"}, {"aten::relu", "out"}};
  method.instructions = {MoveDesc{4, 1}, KernelCallDesc{0, {0, 3, 1}}, KernelCallDesc{1, {4, 4, 4}}};
  method.arenas = {{16 + 256, Device()}};
  expect_refused(program_of(method), "a move made");
}

TEST(MethodChecks, AnInputInTheCallersMemoryIsNotGrown) {
  MethodDesc method;
  method.values = {bounded(tensor({64})), bounded(tensor({64}, 0))};
  method.inputs = {0, 1};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {1, 0, 0}}};
  method.arenas = {{256, Device()}};
  expect_refused(program_of(method), "caller's memory");
}

TEST(MethodChecks, AnInputInTheCallersMemoryMayBeWrittenInPlace) {
  MethodDesc method;
  method.values = {tensor({2}), tensor({2}, 0), false};
  method.inputs = {0, 1};
  method.outputs = {0};
  method.operators = {{"aten::copy_", ""}};
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 0}}};
  method.arenas = {{16, Device()}};
  Ready r = ready(program_of(method));
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  alignas(8) float mine[2] = {0, 0};
  const int32_t sizes[] = {2};
  ASSERT_EQ(r.method->set_input(0, mine, sizes, DType::kF32), Error::kOk);
  ASSERT_EQ(set_floats(*r.method, 1, {3, 4}, {2}), Error::kOk);
  EXPECT_EQ(r.method->set_output_data_ptr(0, mine, 8), Error::kInvalidState);
  ASSERT_EQ(r.method->execute(), Error::kOk) << r.method->last_report().message;
  EXPECT_EQ(mine[1], 4);
}

// truediv makes a Double of what the kernel takes as an integer element.
// set_input would copy the caller's bytes into the file.
TEST(MethodChecks, AnInputIsNotAConstant) {
  MethodDesc method;
  method.values = {constant({4}, 1)};
  method.inputs = {0};
  expect_refused(program_of(method), "is a constant");
}

// set_input would copy as much as the view's bound into what the view looks at.
TEST(MethodChecks, AnInputIsNotAView) {
  MethodDesc method;
  method.values = {tensor({4}, 0), bounded(tensor({64}, 0)), int64_t{4}, format::IntListDesc{{2}}};
  method.inputs = {1};
  method.operators = {{"executorch_prim::et_view", "default"}};
  method.instructions = {KernelCallDesc{0, {0, 3, 1}}};
  method.arenas = {{256, Device()}};
  expect_refused(program_of(method), "output of a view");
}

TEST(MethodChecks, ASizeThatBecameAnotherKindOfNumberIsFound) {
  MethodDesc method;
  method.values = {tensor({4}, 0), tensor({4}), int64_t{4}, int64_t{1}, format::IntListDesc{{2}}};
  method.operators = {{"executorch_prim::truediv", "Scalar"}, {"executorch_prim::et_view", "default"}};
  method.instructions = {KernelCallDesc{0, {2, 3, 2}}, KernelCallDesc{1, {0, 4, 1}}};
  method.arenas = {{16, Device()}};
  expect_refused(program_of(method), "elements of another kind", Error::kInvalidType);
}

TEST(MethodChecks, ATensorThatBecameANumberIsFound) {
  MethodDesc method;
  method.values = {tensor({4}, 0), tensor({4}, 16), int64_t{4}};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {MoveDesc{2, 0}, KernelCallDesc{0, {0, 1, 1}}};
  method.arenas = {{32, Device()}};
  expect_refused(program_of(method), "must be a tensor, found an integer", Error::kInvalidType);
}

TEST(MethodChecks, AnElementOfAListThatBecameANumberIsFound) {
  MethodDesc method;
  method.values = {tensor({4}, 0), tensor({4}, 16), int64_t{4}, format::TensorListDesc{{0, 1}}, tensor({4}, 32)};
  method.operators = {{"test::sum", "out"}};
  method.instructions = {MoveDesc{2, 0}, KernelCallDesc{0, {3, 4, 4}}};
  method.arenas = {{48, Device()}};
  expect_refused(program_of(method), "elements of another kind", Error::kInvalidType);
}

TEST(MethodChecks, AViewThatWasNeverMadeIsNotRead) {
  MethodDesc method;
  method.values = {tensor({4}, 0), tensor({4}), int64_t{4}, format::IntListDesc{{2}}, tensor({4}, 16), false};
  method.operators = {{"executorch_prim::et_view", "default"}, {"aten::relu", "out"}};
  method.instructions = {JumpFalseDesc{5, 2}, KernelCallDesc{0, {0, 3, 1}}, KernelCallDesc{1, {1, 4, 4}}};
  method.arenas = {{32, Device()}};
  expect_refused(program_of(method), "no memory yet", Error::kInvalidState);
}

TEST(MethodChecks, AConditionThatIsNotABooleanEndsTheRun) {
  MethodDesc method;
  method.values = {int64_t{1}};
  method.instructions = {JumpFalseDesc{0, 0}};
  expect_refused(program_of(method), "condition");
  method.values = {tensor({1}, 0)};
  method.arenas = {{16, Device()}};
  expect_refused(program_of(method), "condition");
  method.values = {tensor({1}, -1, DType::kBool)};
  expect_refused(program_of(method), "condition");
}

TEST(MethodChecks, AJumpPastTheEndEndsTheRun) {
  MethodDesc method;
  method.values = {false};
  method.instructions = {JumpFalseDesc{0, 1 << 30}};
  std::string message;
  EXPECT_EQ(outcome(program_of(method), &message), Error::kOk) << message;
  method.instructions = {JumpFalseDesc{0, -1}};
  expect_refused(program_of(method), "a jump to -1");
}

TEST(MethodChecks, ARowOfAConstantIsNotWritten) {
  MethodDesc method;
  method.values = {constant({4}, 1), int64_t{0}, tensor({}), tensor({4}, 0)};
  method.operators = {{"berth::row", "write"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 2}}};
  method.arenas = {{16, Device()}};
  expect_refused(program_of(method), "written but is a constant");
}

// The bound of what is written is larger than the row.
TEST(MethodChecks, ARowIsNotLongerThanItsTensors) {
  MethodDesc method;
  method.values = {tensor({2, 4}, 0), int64_t{1}, bounded(tensor({64})), tensor({4}, 32)};
  method.inputs = {3};
  method.operators = {{"berth::row", "write"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 2}}, KernelCallDesc{1, {3, 2, 2}}};
  method.arenas = {{48, Device()}};
  expect_refused(program_of(method), "more bytes than those of the tensor", Error::kInvalidArgument);
}

TEST(MethodChecks, AViewIsNotWrittenAsARow) {
  MethodDesc method;
  method.values = {tensor({4}, 0), int64_t{4}, format::IntListDesc{{1}}, tensor({4}), int64_t{0}, tensor({2, 4}, 16)};
  method.operators = {{"executorch_prim::et_view", "default"}, {"berth::row", "write"}};
  method.instructions = {KernelCallDesc{0, {0, 2, 3}}, KernelCallDesc{1, {5, 4, 3}}};
  method.arenas = {{48, Device()}};
  expect_refused(program_of(method), "a move made");
}

// The row of the run before may lie in memory that the caller has freed.
TEST(MethodChecks, ARowIsForgottenWhenARunBegins) {
  MethodDesc method;
  method.values = {tensor({4}, 0), tensor({2, 4}, 16), int64_t{0}, tensor({4}), tensor({1}, 48, DType::kBool)};
  method.inputs = {0, 4};
  method.operators = {{"berth::row", "write"}, {"aten::relu", "out"}};
  method.instructions = {JumpFalseDesc{4, 2}, KernelCallDesc{0, {1, 2, 3}}, KernelCallDesc{1, {0, 3, 3}}};
  method.arenas = {{64, Device()}};
  Ready r = ready(program_of(method), Verification::kMinimal);
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  const float x[4] = {};
  const int32_t four[] = {4}, one[] = {1};
  for (const bool found : {true, false}) {
    ASSERT_EQ(r.method->set_input(0, x, four, DType::kF32), Error::kOk);
    ASSERT_EQ(r.method->set_input(1, &found, one, DType::kBool), Error::kOk);
    EXPECT_EQ(r.method->execute(), found ? Error::kOk : Error::kInvalidState) << r.method->last_report().message;
  }
  EXPECT_NE(std::string(r.method->last_report().message).find("no memory yet"), std::string::npos);
}

}  // namespace
}  // namespace berth

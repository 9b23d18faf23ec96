#include "runtime/method.h"

#include <gtest/gtest.h>

#include <cstring>
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
using format::testing::add_relu;
using format::testing::constant;
using format::testing::tensor;
using testing::floats;
using testing::ready;
using testing::Ready;
using testing::set_floats;

ProgramDesc program_with(MethodDesc method) {
  method.name = "forward";
  ProgramDesc program;
  program.methods = {std::move(method)};
  return program;
}

TensorDesc bounded_by_sizes(TensorDesc desc) {
  desc.bounded = true;
  return desc;
}

TEST(Method, ComputesAndKeepsItsInput) {
  Ready r = ready(add_relu());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(r.method->execute(), Error::kOk) << r.method->last_report().message;
    // The constant is -1, 2, -3, 4.
    EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
  }
}

TEST(Method, AnInputThatWasNeverSetIsAnError) {
  Ready r = ready(add_relu());
  ASSERT_EQ(r.error, Error::kOk);
  EXPECT_EQ(r.method->execute(), Error::kInvalidState);
  EXPECT_STREQ(r.method->last_report().place, "methods[forward].inputs[0]");
}

// Holds row 63.
TEST(Method, SizesThatOverflowAreRefusedAndChangeNothing) {
  MethodDesc desc;
  desc.values = {bounded_by_sizes(tensor({2, 4, 1}, 0)), bounded_by_sizes(tensor({2, 4, 1}, 32))};
  desc.inputs = {0};
  desc.outputs = {1};
  desc.operators = {{"aten::relu", "out"}};
  desc.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  desc.arenas = {{64, Device()}};
  Ready r = ready(program_with(desc));
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  const float x[8] = {};
  // The product is 0, 1 and 8 modulo 2^32 or 2^64.
  const int32_t overflowing[][3] = {{1 << 30, 1 << 30, 16}, {65537, 65537, 65537}, {1 << 30, 1 << 30, 1 << 30}};
  for (const auto& sizes : overflowing) {
    EXPECT_EQ(r.method->set_input(0, x, sizes, DType::kF32), Error::kInvalidArgument);
    EXPECT_EQ(r.method->get_input(0).tensor().numel(), 8);
  }
  EXPECT_EQ(r.method->execute(), Error::kInvalidState);
}

// Holds row 65: indices that are not there.
TEST(Method, InputsOfAnotherTypeRankOrSizeAreRefused) {
  Ready r = ready(add_relu());
  ASSERT_EQ(r.error, Error::kOk);
  const float x[8] = {};
  const int32_t four[] = {4}, five[] = {5}, two[] = {2, 2}, negative[] = {-4};
  EXPECT_EQ(r.method->set_input(0, x, four, DType::kI32), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message, "the element type is f32, found i32");
  EXPECT_EQ(r.method->set_input(0, x, two, DType::kF32), Error::kInvalidArgument);
  EXPECT_EQ(r.method->set_input(0, x, five, DType::kF32), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message, "the size of dimension 0 is 4, found 5");
  EXPECT_EQ(r.method->set_input(0, x, negative, DType::kF32), Error::kInvalidArgument);
  EXPECT_EQ(r.method->set_input(0, nullptr, four, DType::kF32), Error::kInvalidArgument);
  EXPECT_EQ(r.method->set_input(1, x, four, DType::kF32), Error::kInvalidArgument);
  EXPECT_EQ(r.method->set_input(0, EValue(int64_t{1})), Error::kInvalidArgument);
  EXPECT_TRUE(r.method->get_output(7).is_none());
  EXPECT_EQ(r.method->execute(), Error::kInvalidState);
}

// x and y are the caller's memory, w is a constant: y = x + w.
ProgramDesc unplanned(bool dynamic) {
  ProgramDesc program = add_relu();
  MethodDesc& method = program.methods[0];
  method.values[0] = dynamic ? bounded_by_sizes(tensor({4})) : tensor({4});
  method.values[3] = dynamic ? bounded_by_sizes(tensor({4})) : tensor({4});
  method.outputs = {3};
  method.instructions.pop_back();
  return program;
}

TEST(Method, TheCallersMemoryIsUsedInPlace) {
  Ready r = ready(unplanned(false));
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  alignas(8) float x[4] = {1, 1, 1, 1}, y[4] = {};
  const int32_t sizes[] = {4};
  ASSERT_EQ(r.method->set_input(0, x, sizes, DType::kF32), Error::kOk);
  EXPECT_EQ(r.method->execute(), Error::kInvalidState);
  EXPECT_STREQ(r.method->last_report().place, "methods[forward].outputs[0]");
  EXPECT_EQ(r.method->set_output_data_ptr(0, y, 15), Error::kInvalidArgument);
  EXPECT_EQ(r.method->set_output_data_ptr(0, reinterpret_cast<uint8_t*>(y) + 1, 16), Error::kInvalidArgument);
  EXPECT_EQ(r.method->set_output_data_ptr(1, y, 16), Error::kInvalidArgument);
  ASSERT_EQ(r.method->set_output_data_ptr(0, y, 16), Error::kOk);
  x[0] = 10;
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(y[0], 9);
  EXPECT_EQ(y[3], 5);
  EXPECT_EQ(r.method->get_output(0).tensor().raw(), y);
  EXPECT_EQ(r.method->set_input(0, reinterpret_cast<uint8_t*>(x) + 2, sizes, DType::kF32), Error::kInvalidArgument);
}

// Appends x to what the caller's buffer holds: out is the input `all`, one longer.
Error append(KernelContext&, Span<EValue* const> args) {
  const Tensor& all = args[0]->tensor();
  const Tensor& x = args[1]->tensor();
  Tensor& out = args[2]->tensor();
  const int64_t before = all.numel();
  const int32_t sizes[] = {static_cast<int32_t>(before + x.numel())};
  BERTH_RETURN_IF_ERROR(out.resize(sizes));
  std::memmove(out.raw(), all.raw(), all.nbytes());
  std::memcpy(out.data<float>() + before, x.raw(), x.nbytes());
  return Error::kOk;
}

// Holds row 62.
TEST(Method, OneBufferMayBeInputAndOutput) {
  MethodDesc desc;
  desc.name = "forward";
  desc.values = {bounded_by_sizes(tensor({6})), tensor({2}, 0), bounded_by_sizes(tensor({8}))};
  desc.inputs = {0, 1};
  desc.outputs = {2};
  desc.operators = {{"test::append", "out"}};
  desc.instructions = {KernelCallDesc{0, {0, 1, 2, 2}}};
  desc.arenas = {{16, Device()}};
  static constexpr KernelEntry kTable[] = {{"test::append.out", "Tensor self, Tensor x -> Tensor out", append}};
  const std::vector<uint8_t> file = format::testing::bytes_of(program_with(desc));
  const BufferLoader loader{Span<const uint8_t>(file)};
  const Result<Program> program = Program::load(loader, KernelTable(kTable));
  ASSERT_TRUE(program.ok());
  alignas(64) static uint8_t memory[8192], arena[16];
  MemoryAllocator allocator(memory);
  const Span<uint8_t> arenas[] = {arena};
  const HierarchicalAllocator planned(arenas);
  Result<Method> method = program->load_method("forward", MemoryManager(allocator, planned));
  ASSERT_TRUE(method.ok());
  alignas(16) float buffer[8] = {1, 2};
  for (int32_t run = 1; run <= 2; ++run) {
    const int32_t sizes[] = {2 * run};
    ASSERT_EQ(method->set_input(0, buffer, sizes, DType::kF32), Error::kOk);
    ASSERT_EQ(set_floats(*method, 1, {static_cast<float>(10 * run), static_cast<float>(10 * run + 1)}, {2}),
              Error::kOk);
    ASSERT_EQ(method->set_output_data_ptr(0, buffer, sizeof buffer), Error::kOk);
    ASSERT_EQ(method->execute(), Error::kOk) << method->last_report().message;
  }
  EXPECT_EQ(method->get_output(0).tensor().raw(), buffer);
  EXPECT_EQ(floats(method->get_output(0)), (std::vector<float>{1, 2, 10, 11, 20, 21}));
}

// Holds row 60.
TEST(Method, APlannedOutputCannotBeMoved) {
  Ready r = ready(add_relu());
  float y[4];
  EXPECT_EQ(r.method->set_output_data_ptr(0, y, 16), Error::kInvalidState);
}

ProgramDesc dynamic_relu() {
  MethodDesc method;
  method.values = {bounded_by_sizes(tensor({2, 4}, 0)), bounded_by_sizes(tensor({2, 4}, 32))};
  method.inputs = {0};
  method.outputs = {1};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  method.arenas = {{64, Device()}};
  return program_with(method);
}

TEST(Method, SizesMayChangeUpToTheirBound) {
  Ready r = ready(dynamic_relu());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(set_floats(*r.method, 0, {-1, 2, 3}, {1, 3}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{0, 2, 3}));
  ASSERT_EQ(set_floats(*r.method, 0, std::vector<float>(8, 1), {8, 1}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(floats(r.method->get_output(0)).size(), 8u);
  EXPECT_EQ(set_floats(*r.method, 0, std::vector<float>(9, 1), {3, 3}), Error::kInvalidArgument);
  EXPECT_EQ(r.method->set_input(0, nullptr, Span<const int32_t>({std::vector<int32_t>{0, INT32_MAX}}), DType::kF32),
            Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(r.method->get_output(0).tensor().numel(), 0);
}

// Initial value 5; each run adds the input.
ProgramDesc counting_program() {
  MethodDesc method;
  TensorDesc state = tensor({1}, 0);
  state.data_buffer_idx = 1;
  method.values = {state, tensor({1}, 16), int64_t{1}, tensor({1}, 32), false};
  method.inputs = {1};
  method.outputs = {3};
  method.operators = {{"aten::add", "out"}, {"aten::copy_", ""}};
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}}, KernelCallDesc{1, {0, 3, 4, 0}}};
  method.arenas = {{48, Device()}};
  ProgramDesc program = program_with(method);
  program.initial_values = {format::Bytes::of(std::vector<uint8_t>{0, 0, 0xa0, 0x40})};
  return program;
}

// Holds row 152, row 153.
TEST(Method, StateStartsFromItsInitialValueAndPersists) {
  Ready r = ready(counting_program());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(set_floats(*r.method, 0, {2}, {1}), Error::kOk);
  for (const float expected : {7.0f, 9.0f, 11.0f}) {
    ASSERT_EQ(r.method->execute(), Error::kOk) << r.method->last_report().message;
    EXPECT_EQ(floats(r.method->get_output(0)), std::vector<float>{expected});
  }
}

// out = condition ? x : relu(x), as exporters write a branch.
ProgramDesc branch() {
  MethodDesc method;
  method.values = {tensor({1}, 0, DType::kBool), tensor({2}, 16), tensor({2}, 32), tensor({2}, 48), false};
  method.inputs = {0, 1};
  method.outputs = {2};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {JumpFalseDesc{0, 3}, MoveDesc{1, 2}, JumpFalseDesc{4, 5}, KernelCallDesc{0, {1, 3, 3}},
                         MoveDesc{3, 2}};
  method.arenas = {{64, Device()}};
  return program_with(method);
}

TEST(Method, BothSidesOfABranchRun) {
  Ready r = ready(branch());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  const int32_t one[] = {1};
  ASSERT_EQ(set_floats(*r.method, 1, {-3, 4}, {2}), Error::kOk);
  for (const uint8_t truth : std::vector<uint8_t>{1, 0, 1}) {
    ASSERT_EQ(r.method->set_input(0, &truth, one, DType::kBool), Error::kOk);
    ASSERT_EQ(r.method->execute(), Error::kOk);
    EXPECT_EQ(floats(r.method->get_output(0))[0], truth != 0 ? -3 : 0);
  }
}

// Counts an integer up to `limit` and gives it out.
ProgramDesc loop(int64_t limit) {
  MethodDesc method;
  method.values = {int64_t{0}, int64_t{1}, limit, false};
  method.outputs = {0};
  method.operators = {{"executorch_prim::add", "Scalar"}, {"executorch_prim::ge", "Scalar"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 0}}, KernelCallDesc{1, {0, 2, 3}}, JumpFalseDesc{3, 0}};
  return program_with(method);
}

TEST(Method, ALoopEnds) {
  Ready r = ready(loop(1000));
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(r.method->get_output(0).to_int(), 1000);
}

TEST(Method, AnEndlessLoopIsEnded) {
  Ready r = ready(loop(INT64_MAX));
  ASSERT_EQ(r.error, Error::kOk);
  EXPECT_EQ(r.method->execute(), Error::kInvalidProgram);
  EXPECT_NE(std::string(r.method->last_report().message).find("10000000"), std::string::npos);
}

TEST(Method, AnIntegerIsAcceptedForAFloat) {
  MethodDesc method;
  method.values = {int64_t{3}, tensor({2}, 0)};
  method.outputs = {1};
  method.operators = {{"test::fill", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  method.arenas = {{16, Device()}};
  Ready r = ready(program_with(method));
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(r.method->execute(), Error::kOk) << r.method->last_report().message;
  EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{3, 3}));
}

// Holds row 218.
TEST(Method, OutputsOfEveryKindAreThoseOfTheFile) {
  MethodDesc method;
  method.values = {int64_t{-7},
                   2.5,
                   true,
                   std::string("text"),
                   format::NullDesc{},
                   constant({2}, 1),
                   format::DoubleListDesc{{1.5, -2}},
                   format::BoolListDesc{{true, false}},
                   int64_t{9},
                   format::IntListDesc{{0, 8}},
                   format::TensorListDesc{{5}}};
  method.outputs = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10};
  ProgramDesc program = program_with(method);
  program.constants = {format::Bytes::of(std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0})};
  Ready r = ready(program);
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(r.method->get_output(0).to_int(), -7);
  EXPECT_EQ(r.method->get_output(1).to_double(), 2.5);
  EXPECT_TRUE(r.method->get_output(2).to_bool());
  EXPECT_EQ(std::string(r.method->get_output(3).to_string().data, r.method->get_output(3).to_string().size), "text");
  EXPECT_TRUE(r.method->get_output(4).is_none());
  EXPECT_EQ(floats(r.method->get_output(5)), (std::vector<float>{1, -2}));
  EXPECT_EQ(r.method->get_output(6).doubles()[1], -2);
  EXPECT_TRUE(r.method->get_output(7).bools()[0]);
  EXPECT_EQ(r.method->get_output(8).items()[1]->to_int(), 9);
  EXPECT_TRUE(r.method->get_output(9).items()[0]->is_tensor());
}

TEST(Method, ACompiledInNumberCannotBeChanged) {
  MethodDesc method;
  method.values = {int64_t{3}, 2.0, true, std::string("mode"), format::NullDesc{}};
  method.inputs = {0, 1, 2, 3, 4};
  Ready r = ready(program_with(method));
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  Method& m = *r.method;
  EXPECT_EQ(m.set_input(0, EValue(int64_t{4})), Error::kInvalidArgument);
  EXPECT_EQ(m.set_input(1, EValue(2.1)), Error::kInvalidArgument);
  EXPECT_EQ(m.set_input(2, EValue(false)), Error::kInvalidArgument);
  EXPECT_EQ(m.set_input(3, EValue(StringRef{"mods", 4})), Error::kInvalidArgument);
  EXPECT_EQ(m.set_input(4, EValue(int64_t{0})), Error::kInvalidArgument);
  EXPECT_EQ(m.set_input(0, nullptr, {}, DType::kI64), Error::kInvalidType);
  EXPECT_EQ(m.set_input(0, EValue(int64_t{3})), Error::kOk);
  EXPECT_EQ(m.set_input(1, EValue(2.00005)), Error::kOk);
  EXPECT_EQ(m.set_input(2, EValue(true)), Error::kOk);
  EXPECT_EQ(m.set_input(3, EValue(StringRef{"mode", 4})), Error::kOk);
  EXPECT_EQ(m.execute(), Error::kInvalidState);
  EXPECT_EQ(m.set_input(4, EValue()), Error::kOk);
  EXPECT_EQ(m.execute(), Error::kOk);
}

// Holds row 221.
TEST(Method, AConstantsDimensionOrderIsKept) {
  MethodDesc method;
  TensorDesc weight = constant({1, 2, 1, 2}, 1);
  weight.dim_order = {0, 2, 3, 1};
  method.values = {weight};
  method.outputs = {0};
  ProgramDesc program = program_with(method);
  program.constants = {format::Bytes::of(std::vector<uint8_t>(16))};
  Ready r = ready(program);
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  const EValue out = r.method->get_output(0);
  EXPECT_EQ(out.tensor().stride(1), 1);
  EXPECT_EQ(out.tensor().stride(2), 4);
  EXPECT_EQ(out.tensor().stride(3), 2);
  EXPECT_FALSE(out.tensor().is_contiguous());
}

// Holds row 220.
TEST(Method, MethodsOfOneProgramShareItsConstants) {
  ProgramDesc desc = add_relu();
  desc.methods.push_back(desc.methods[0]);
  desc.methods[1].name = "second";
  desc.methods[1].outputs = {1};
  Ready r = ready(desc);
  Ready other = ready(desc, Verification::kFull, "second");
  ASSERT_EQ(other.error, Error::kOk) << other.report.message;
  EXPECT_EQ(floats(other.method->get_output(0)), (std::vector<float>{-1, 2, -3, 4}));
  ASSERT_EQ(set_floats(*r.method, 0, {1, 0, 4, -9}, {4}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 0}));
}

// Holds row 226.
TEST(Method, StackTracesDoNotChangeWhatRuns) {
  ProgramDesc desc = add_relu();
  desc.methods[0].stacktrace = {{{"model.py", 3, "forward", "x + w"}}, {{"model.py", 4, "forward", "relu"}}};
  Ready r = ready(desc);
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

// Holds row 64.
TEST(Method, AnUnfinishedRunIsNotStartedAgain) {
  Ready r = ready(add_relu());
  ASSERT_EQ(set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
  ASSERT_EQ(r.method->step(), Error::kOk);
  EXPECT_EQ(r.method->execute(), Error::kInvalidState);
  EXPECT_STREQ(r.method->last_report().place, "methods[forward].instructions[1] aten::relu.out");
  EXPECT_EQ(r.method->next_instruction(), 1u);
  r.method->reset_execution();
  EXPECT_EQ(r.method->execute(), Error::kOk);
  ASSERT_EQ(r.method->step(), Error::kOk);
  ASSERT_EQ(r.method->step(), Error::kOk);
  EXPECT_EQ(r.method->execute(), Error::kInvalidState);
  EXPECT_EQ(r.method->step(), Error::kEndOfMethod);
  EXPECT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

TEST(Method, StepsAreTheInstructionsOfARun) {
  Ready r = ready(add_relu());
  ASSERT_EQ(set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
  EXPECT_STREQ(r.method->instruction_name(0), "aten::add.out");
  EXPECT_STREQ(r.method->instruction_name(9), "");
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(r.method->step(), Error::kOk);
    EXPECT_EQ(r.method->next_instruction(), 1u);
    EXPECT_EQ(r.method->step(), Error::kOk);
    EXPECT_EQ(r.method->step(), Error::kEndOfMethod);
    EXPECT_EQ(r.method->next_instruction(), 0u);
  }
  EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

// Holds row 64: after an error a run begins anew.
TEST(Method, AFailedKernelHasThePlaceAndTheReason) {
  ProgramDesc desc = dynamic_relu();
  MethodDesc& method = desc.methods[0];
  method.values.push_back(bounded_by_sizes(tensor({2, 4}, 64)));
  method.values.emplace_back(int64_t{1});
  method.inputs = {0, 2};
  method.operators = {{"aten::add", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 2, 3, 1, 1}}};
  method.arenas = {{96, Device()}};
  Ready r = ready(desc);
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(set_floats(*r.method, 0, {1, 2}, {1, 2}), Error::kOk);
  ASSERT_EQ(set_floats(*r.method, 1, {1, 2, 3}, {1, 3}), Error::kOk);
  EXPECT_EQ(r.method->execute(), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().place, "methods[forward].instructions[0] aten::add.out");
  EXPECT_STREQ(r.method->last_report().message, "self and other differ in size");
  EXPECT_EQ(r.method->next_instruction(), 0u);
  ASSERT_EQ(set_floats(*r.method, 1, {1, 2}, {1, 2}), Error::kOk);
  EXPECT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(r.method->last_report().code, Error::kOk);
}

}  // namespace
}  // namespace berth

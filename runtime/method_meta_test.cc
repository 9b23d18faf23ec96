// What a file says of its methods, before anything is loaded.

#include "runtime/method_meta.h"

#include <gtest/gtest.h>

#include <string>

#include "format/write/programs_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::ProgramDesc;
using format::TensorDesc;
using format::testing::tensor;

struct Opened {
  explicit Opened(const ProgramDesc& desc, Verification verification = Verification::kFull)
      : file(format::testing::bytes_of(desc)) {
    LoadOptions options;
    options.verification = verification;
    program = std::make_unique<Program>(Program::load(loader, testing::kernels(), options).value());
  }
  std::vector<uint8_t> file;
  BufferLoader loader{Span<const uint8_t>(file)};
  std::unique_ptr<Program> program;
};

// out = a + alpha * b of 2x2 floats, in 48 bytes.
ProgramDesc addition() {
  format::MethodDesc m;
  m.name = "forward";
  m.values = {tensor({2, 2}, 0), tensor({2, 2}, 16), int64_t{1}, tensor({2, 2}, 32)};
  m.inputs = {0, 1, 2};
  m.outputs = {3};
  m.operators = {{"aten::add", "out"}};
  m.instructions = {format::KernelCallDesc{0, {0, 1, 2, 3, 3}}};
  m.arenas = {{48, Device()}};
  ProgramDesc program;
  program.methods = {m};
  return program;
}

// Holds row 38, row 41.
TEST(MethodMeta, CountsInputsOutputsArenasAndInstructions) {
  const Opened opened(addition());
  const MethodMeta meta = opened.program->method_meta("forward").value();
  EXPECT_STREQ(meta.name(), "forward");
  EXPECT_EQ(meta.num_inputs(), 3u);
  EXPECT_EQ(meta.num_outputs(), 1u);
  ASSERT_EQ(meta.num_memory_planned_buffers(), 1u);
  EXPECT_EQ(meta.memory_planned_buffer_size(0).value(), 48u);
  EXPECT_EQ(meta.memory_planned_buffer_size(1).error(), Error::kInvalidArgument);
  EXPECT_EQ(meta.memory_planned_buffer_device(0).value(), Device(DeviceType::kCpu, 0));
  EXPECT_EQ(meta.memory_planned_buffer_device(1).error(), Error::kInvalidArgument);
  EXPECT_EQ(meta.num_instructions(), 1u);
  EXPECT_EQ(opened.program->method_meta("backward").error(), Error::kInvalidArgument);
}

// Holds row 39.
TEST(MethodMeta, DescribesTensorsAndSurvivesCopies) {
  const Opened opened(addition());
  const MethodMeta meta = opened.program->method_meta("forward").value();
  const auto check = [](const TensorInfo& info) {
    ASSERT_EQ(info.sizes.size(), 2u);
    EXPECT_EQ(info.sizes[0], 2);
    EXPECT_EQ(info.sizes[1], 2);
    EXPECT_EQ(info.dtype, DType::kF32);
    ASSERT_EQ(info.dim_order.size(), 2u);
    EXPECT_EQ(info.dim_order[0], 0);
    EXPECT_EQ(info.dim_order[1], 1);
    EXPECT_TRUE(info.is_memory_planned);
    EXPECT_EQ(info.nbytes, 16u);
    EXPECT_EQ(info.device, Device());
  };
  const TensorInfo input = meta.input_tensor_meta(0).value();
  check(input);
  TensorInfo copy = input;
  check(copy);
  const TensorInfo moved = std::move(copy);
  check(moved);
  check(meta.output_tensor_meta(0).value());
  EXPECT_EQ(meta.input_tag(2).value(), Tag::kInt);
  EXPECT_EQ(meta.input_tensor_meta(2).error(), Error::kInvalidArgument);
  EXPECT_EQ(meta.input_tensor_meta(3).error(), Error::kInvalidArgument);
  EXPECT_EQ(meta.output_tensor_meta(1).error(), Error::kInvalidArgument);
  EXPECT_EQ(meta.output_tag(1).error(), Error::kInvalidArgument);
}

// Holds row 40. ExecuTorch calls a named tensor not planned; Berth says where it lies.
TEST(MethodMeta, NamesItsState) {
  ProgramDesc desc = addition();
  TensorDesc& state = std::get<TensorDesc>(desc.methods[0].values[1]);
  state.name = "state";
  const Opened opened(desc);
  const MethodMeta meta = opened.program->method_meta("forward").value();
  ASSERT_EQ(meta.num_attributes(), 1u);
  EXPECT_STREQ(meta.attribute_name(0), "state");
  EXPECT_EQ(meta.attribute_tensor_meta(0).value().nbytes, 16u);
  EXPECT_EQ(meta.attribute_tensor_meta(1).error(), Error::kInvalidArgument);
  EXPECT_EQ(meta.attribute_name(1), nullptr);
  const Opened none(addition());
  EXPECT_EQ(none.program->method_meta("forward")->num_attributes(), 0u);
}

// Holds row 43.
TEST(MethodMeta, SizesThatOverflowAreAnError) {
  ProgramDesc desc = addition();
  TensorDesc& input = std::get<TensorDesc>(desc.methods[0].values[0]);
  input.planned.reset();
  input.sizes = {INT32_MAX, INT32_MAX, INT32_MAX};
  input.dim_order = {0, 1, 2};
  const Opened opened(desc, Verification::kMinimal);
  const MethodMeta meta = opened.program->method_meta("forward").value();
  EXPECT_EQ(meta.input_tensor_meta(0).error(), Error::kInvalidProgram);
  EXPECT_TRUE(meta.input_tensor_meta(1).ok());
}

TEST(MethodMeta, NamesAnOutputSeparatelyFromItsValue) {
  ProgramDesc program = addition();
  program.methods[0].outputs = {3, 0, 1};
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.values = {{0, "a", ""}, {3, "sum", "Add_0"}};
  meta.outputs = {"", "copy"};
  program.named_data.push_back(format::meta_blob({"berth test", {meta}}));
  const Opened opened(program);
  const MethodMeta forward = opened.program->method_meta("forward").value();
  EXPECT_STREQ(forward.output_names(0).name, "sum");
  EXPECT_STREQ(forward.output_names(0).node, "Add_0");
  EXPECT_STREQ(forward.output_names(1).name, "copy");
  EXPECT_STREQ(forward.output_names(2).name, "");
  EXPECT_STREQ(forward.input_names(0).name, "a");
}

}  // namespace
}  // namespace berth

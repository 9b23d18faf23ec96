// The fears: a state that is set again is not the one that was saved; a state of other sizes is written over its
// neighbours; a state without a name cannot be found; a copy from a device fails and nothing says so.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/device_programs_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::testing::tensor;
using testing::OnDevices;
using testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;
using Floats = std::vector<float>;

const std::vector<int32_t> kFourElements = {4};

// a = a + x and b = b + a, in the bytes of a and b: "a" has a name, b an initial value, and marks lie around them.
ProgramDesc sums() {
  MethodDesc m;
  m.name = "forward";
  m.values = {tensor({4}, 0), int64_t{1}, tensor({4}, 32), tensor({4}, 64), tensor({4}, 96)};
  std::get<format::TensorDesc>(m.values[2]).name = "a";
  std::get<format::TensorDesc>(m.values[3]).data_buffer_idx = 1;
  m.inputs = {0};
  m.outputs = {4};
  m.operators = {{"aten::add", "out"}, {"aten::relu", "out"}};
  m.instructions = {KernelCallDesc{0, {2, 0, 1, 2, 2}}, KernelCallDesc{0, {3, 2, 1, 3, 3}},
                    KernelCallDesc{1, {3, 4, 4}}};
  m.arenas = {{128, Device()}};
  ProgramDesc program;
  program.methods = {m};
  const float initial[4] = {10, 20, 30, 40};
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), initial, 16);
  program.initial_values = {format::Bytes::of(bytes)};
  return program;
}

Floats run(OnDevices& on, const Floats& x) {
  EXPECT_EQ(on.method->set_input(0, x.data(), kFourElements, DType::kF32), Error::kOk)
      << on.method->last_report().message;
  EXPECT_EQ(on.method->execute(), Error::kOk) << on.method->last_report().message;
  const float* y = on.method->get_output(0).tensor().data<float>();
  return {y, y + 4};
}

Floats state(OnDevices& on, size_t index) {
  Floats values(4);
  EXPECT_EQ(on.method->get_state(index, values.data(), 16), Error::kOk) << on.method->last_report().message;
  return values;
}

Error set(OnDevices& on, size_t index, const Floats& values, const std::vector<int32_t>& sizes = kFourElements) {
  return on.method->set_state(index, values.data(), sizes, DType::kF32);
}

std::string said(const OnDevices& on) {
  const format::Report& report = on.method->last_report();
  return std::string(report.place) + ": " + report.message;
}

TEST(States, WhatWasSavedIsWhereTheNextRunGoesOn) {
  OnDevices on(sums());
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->num_states(), 2u);
  EXPECT_EQ(state(on, 0), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(state(on, 1), (Floats{10, 20, 30, 40}));
  run(on, {1, 1, 1, 1});
  const Floats a = state(on, 0);
  const Floats b = state(on, 1);
  const Floats next = run(on, {1, 2, 3, 4});
  EXPECT_EQ(next, (Floats{13, 24, 35, 46}));
  run(on, {9, 9, 9, 9});
  const std::vector<uint8_t> arena = on.host_arenas[0];
  ASSERT_EQ(set(on, 0, a), Error::kOk) << said(on);
  ASSERT_EQ(set(on, 1, b), Error::kOk) << said(on);
  for (size_t i = 0; i < arena.size(); ++i) {
    if ((i >= 32 && i < 48) || (i >= 64 && i < 80)) continue;
    ASSERT_EQ(on.host_arenas[0][i], arena[i]) << "byte " << i << " is not state";
  }
  EXPECT_EQ(run(on, {1, 2, 3, 4}), next);
}

TEST(States, AreFoundByNameAndThoseWithoutOneByNumber) {
  OnDevices on(sums());
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.method->find_state("a").value(), 0u);
  EXPECT_EQ(on.method->find_state("state1").value(), 1u);
  EXPECT_EQ(on.method->find_state("state0").error(), Error::kInvalidArgument) << "it has a name";
  EXPECT_EQ(on.method->find_state("").error(), Error::kInvalidArgument);
  EXPECT_STREQ(on.method->state_name(0), "a");
  EXPECT_STREQ(on.method->state_name(1), "");
  EXPECT_EQ(on.method->state_name(2), nullptr);
  const TensorInfo info = on.method->state_tensor_meta(0).value();
  EXPECT_EQ(std::vector<int32_t>(info.sizes.begin(), info.sizes.end()), kFourElements);
  EXPECT_EQ(info.nbytes, 16u);
  EXPECT_EQ(on.method->state_tensor_meta(2).error(), Error::kInvalidArgument);
}

// As ExecuTorch leaves a buffer: y = relu(s + x), then s = s + x.
TEST(States, OneThatOnlyTheInstructionsShowIsFoundToo) {
  MethodDesc m;
  m.name = "forward";
  m.values = {tensor({4}, 0), int64_t{1}, tensor({4}, 16), tensor({4}, 48), tensor({4}, 32), false};
  m.inputs = {0};
  m.outputs = {4};
  m.operators = {{"aten::add", "out"}, {"aten::relu", "out"}, {"aten::copy_", ""}};
  m.instructions = {KernelCallDesc{0, {3, 0, 1, 2, 2}}, KernelCallDesc{1, {2, 4, 4}}, KernelCallDesc{2, {3, 2, 5, 3}}};
  m.arenas = {{64, Device()}};
  ProgramDesc program;
  program.methods = {m};
  OnDevices on(program);
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->num_states(), 1u);
  EXPECT_EQ(on.method->find_state("state0").value(), 0u);
  run(on, {1, 2, 3, 4});
  EXPECT_EQ(state(on, 0), (Floats{1, 2, 3, 4}));
  ASSERT_EQ(set(on, 0, {5, 5, 5, 5}), Error::kOk) << said(on);
  EXPECT_EQ(run(on, {1, 2, 3, 4}), (Floats{6, 7, 8, 9}));
}

// The value of the state is a name of another tensor after a run.
TEST(States, AMoveDoesNotChangeWhichBytesAreTheState) {
  ProgramDesc desc = sums();
  desc.methods[0].instructions.emplace_back(format::MoveDesc{0, 2});
  OnDevices on(desc);
  on.more_kernels = testing::kernels();
  on.options.verification = Verification::kMinimal;  // such a plan is refused otherwise
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  run(on, {1, 2, 3, 4});
  EXPECT_EQ(state(on, 0), (Floats{1, 2, 3, 4}));
  ASSERT_EQ(set(on, 0, {7, 7, 7, 7}), Error::kOk);
  EXPECT_EQ(reinterpret_cast<const float*>(on.host_arenas[0].data() + 32)[3], 7);
}

TEST(States, WhatDoesNotFitIsRefusedInASentenceAndNothingChanges) {
  OnDevices on(sums());
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  const std::vector<uint8_t> arena = on.host_arenas[0];
  const Floats values(8, 3);
  EXPECT_EQ(set(on, 2, values), Error::kInvalidArgument);
  EXPECT_EQ(said(on), "methods[forward].states[2]: the method has 2 states");
  EXPECT_EQ(set(on, 0, values, {5}), Error::kInvalidArgument);
  EXPECT_EQ(said(on), "methods[forward].states[0]: the size of dimension 0 is 4, found 5");
  EXPECT_EQ(set(on, 0, values, {2, 2}), Error::kInvalidArgument);
  EXPECT_EQ(said(on), "methods[forward].states[0]: the state has 1 dimensions, found 2");
  EXPECT_EQ(on.method->set_state(0, values.data(), kFourElements, DType::kI32), Error::kInvalidArgument);
  EXPECT_EQ(said(on), "methods[forward].states[0]: the element type is f32, found i32");
  EXPECT_EQ(on.method->set_state(0, nullptr, kFourElements, DType::kF32), Error::kInvalidArgument);
  Floats room(4);
  EXPECT_EQ(on.method->get_state(0, room.data(), 15), Error::kInvalidArgument);
  EXPECT_EQ(said(on), "methods[forward].states[0]: 16 bytes are needed, 15 were given");
  EXPECT_EQ(on.method->get_state(0, nullptr, 16), Error::kInvalidArgument);
  EXPECT_EQ(on.host_arenas[0], arena);
}

TEST(States, ARunInProgressIsNotDisturbed) {
  OnDevices on(sums());
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  const Floats x(4, 1);
  ASSERT_EQ(on.method->set_input(0, x.data(), kFourElements, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->step(), Error::kOk);
  Floats room(4);
  EXPECT_EQ(on.method->get_state(0, room.data(), 16), Error::kInvalidState);
  EXPECT_EQ(set(on, 0, room), Error::kInvalidState);
  on.method->reset_execution();
  EXPECT_EQ(set(on, 0, room), Error::kOk);
}

TEST(States, OneOnADeviceIsCopiedToTheHostAndBack) {
  OnDevices on(testing::device_state());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->num_states(), 1u);
  EXPECT_EQ(on.method->state_tensor_meta(0)->device, Device(DeviceType::kCuda, 0));
  const std::vector<int32_t> sizes = {2, 2};
  ASSERT_EQ(set(on, 0, {1, 2, 3, 4}, sizes), Error::kOk) << said(on);
  EXPECT_EQ(state(on, 0), (Floats{1, 2, 3, 4}));
  on.cuda.fail_copy = on.cuda.copies() + 1;
  Floats room(4);
  EXPECT_NE(on.method->get_state(0, room.data(), 16), Error::kOk);
  EXPECT_EQ(said(on), "methods[forward].states[0]: it could not be copied from cuda:0");
}

}  // namespace
}  // namespace berth

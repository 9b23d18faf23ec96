// State that only the instructions show to be state: zero at the start, whatever the arena held.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "runtime/device_programs_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::testing::tensor;
using testing::kCuda0;
using testing::OnDevices;
using testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;

// y = relu(s + x), then s = s + x; s is value 3 at [48, 64), without a name, as ExecuTorch leaves it.
ProgramDesc counter() {
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
  return program;
}

// The arena of counter() after the load: what it held, but for the state.
std::vector<uint8_t> only_state_is_zero() {
  std::vector<uint8_t> arena(64, 0xab);
  std::fill(arena.begin() + 48, arena.end(), uint8_t{0});
  return arena;
}

std::vector<float> run(OnDevices& on, const std::vector<float>& x) {
  const std::vector<int32_t> sizes = {4};
  EXPECT_EQ(on.method->set_input(0, x.data(), sizes, DType::kF32), Error::kOk) << on.method->last_report().message;
  EXPECT_EQ(on.method->execute(), Error::kOk) << on.method->last_report().message;
  const float* y = on.method->get_output(0).tensor().data<float>();
  return {y, y + 4};
}

TEST(MethodState, UnmarkedStateIsZeroAtTheStartInDirtyMemory) {
  OnDevices on(counter());
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.host_arenas[0], only_state_is_zero());
  EXPECT_EQ(run(on, {1, 2, 3, 4}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(run(on, {1, 2, 3, 4}), (std::vector<float>{2, 4, 6, 8}));
}

// relu reads s only by another name, which lies at the bytes of s.
TEST(MethodState, UnmarkedStateIsZeroWhenReadThroughAnAlias) {
  for (const bool by_move : {false, true}) {
    ProgramDesc desc = counter();
    MethodDesc& m = desc.methods[0];
    m.values.emplace_back(tensor({4}, 48));           // 6
    m.values.emplace_back(int64_t{4});                // 7
    m.values.emplace_back(format::IntListDesc{{7}});  // 8
    m.operators.push_back({"executorch_prim::et_view", "default"});
    std::get<KernelCallDesc>(m.instructions[0]).args[0] = 6;
    const format::InstructionDesc view = KernelCallDesc{3, {3, 8, 6}};
    const format::InstructionDesc move = format::MoveDesc{3, 6};
    m.instructions.insert(m.instructions.begin(), by_move ? move : view);
    OnDevices on(desc);
    on.more_kernels = testing::kernels();
    ASSERT_EQ(on.load(), Error::kOk) << on.said();
    EXPECT_EQ(on.host_arenas[0], only_state_is_zero());
    EXPECT_EQ(run(on, {1, 2, 3, 4}), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(run(on, {1, 2, 3, 4}), (std::vector<float>{2, 4, 6, 8}));
  }
}

// What ExecuTorch does to names of state: s seen as 2x2 and as 4, both at its bytes, neither written.
TEST(MethodState, UnmarkedStateIsNotSoughtInViewsOfOtherState) {
  ProgramDesc desc = counter();
  MethodDesc& m = desc.methods[0];
  auto& state = std::get<format::TensorDesc>(m.values[3]);
  state.data_buffer_idx = 1;
  const float initial[4] = {10, 20, 30, 40};
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), initial, 16);
  desc.initial_values = {format::Bytes::of(bytes)};
  m.values.emplace_back(tensor({4}, 48));
  std::get<KernelCallDesc>(m.instructions[0]).args[0] = 6;
  OnDevices on(desc);
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(run(on, {1, 2, 3, 4}), (std::vector<float>{11, 22, 33, 44}));
}

// A view of what an instruction makes: nothing of the arena is written at load.
TEST(MethodState, UnmarkedStateIsNotSoughtInViewsOfResults) {
  ProgramDesc desc = counter();
  MethodDesc& m = desc.methods[0];
  m.values[3] = tensor({2, 2}, 16);
  m.instructions = {KernelCallDesc{0, {0, 0, 1, 2, 2}}, KernelCallDesc{1, {3, 4, 4}}};
  std::get<format::TensorDesc>(m.values[4]).sizes = {2, 2};
  std::get<format::TensorDesc>(m.values[4]).dim_order = {0, 1};
  OnDevices on(desc);
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.host_arenas[0], std::vector<uint8_t>(64, 0xab));
  EXPECT_EQ(run(on, {1, 2, 3, 4}), (std::vector<float>{2, 4, 6, 8}));
}

TEST(MethodState, UnmarkedStateOfADeviceIsZeroAtTheStart) {
  OnDevices on(testing::device_state());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.cuda.count(Kind::kHostToDevice), 1u);
  const uint8_t* arena = testing::RecordingAllocator::host(on.spans[1].data());
  for (size_t i = 48; i < 64; ++i) EXPECT_EQ(arena[i], 0) << i;
  EXPECT_EQ(arena[47], 0xcd);
}

// A delegate's results and scratch memory are not state: nothing is copied at load.
TEST(MethodState, ADelegatesResultIsNotState) {
  OnDevices on(testing::delegated_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.cuda.copies(), 0u);
}

TEST(MethodState, StateThatCannotBeZeroedIsAnErrorWithItsPlace) {
  OnDevices on(testing::device_state());
  on.cuda.fail_copy = 1;
  EXPECT_EQ(on.load(), Error::kInternal);
  EXPECT_EQ(on.said().find("methods[forward].values[6]: "), 0u) << on.said();
  EXPECT_EQ(on.add.live, 0);
}

}  // namespace
}  // namespace berth

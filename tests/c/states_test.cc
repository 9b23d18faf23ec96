// States and planned bytes by the C API. The fears: a session that is saved and set again goes on elsewhere; an array
// that does not fit is read behind its end; the bytes that are said are not those that a run needs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/c/api_testing.h"

namespace berth {
namespace {

using testing::CError;
using testing::compiled;
using testing::floats;
using testing::sized;
using testing::source_of;
using Floats = std::vector<float>;

constexpr int32_t kFour[] = {4};

constexpr char kSum[] = R"(
  state @sum: f32[4]
  method push(%x: f32[4]) {
    %old: f32[4] = berth::state_read() @sum
    %new: f32[4] = aten::add.Tensor(%old, %x)
    berth::state_write(%new) @sum
    return %new
  }
  method look() {
    %now: f32[4] = berth::state_read() @sum
    %out: f32[4] = aten::neg(%now)
    return %out
  })";

constexpr char kOpen[] = R"(
  symbol n in [1, 64]
  method forward(%x: f32[n,3], %y: f32[n,3]) {
    %a: f32[n,3] = aten::add.Tensor(%x, %y)
    %z: f32[n,3] = aten::exp(%a)
    return %z
  })";

class CStates : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = compiled(kSum);
    const berth_source source = source_of(file_);
    ASSERT_EQ(berth_program_open(&source, nullptr, &program_, error_), BERTH_OK) << error_.text();
    ASSERT_EQ(berth_arenas_create(program_, &arenas_, error_), BERTH_OK) << error_.text();
    auto options = sized<berth_method_options>();
    options.arenas = arenas_;
    ASSERT_EQ(berth_method_load(program_, "push", &options, &push_, error_), BERTH_OK) << error_.text();
    ASSERT_EQ(berth_method_load(program_, "look", &options, &look_, error_), BERTH_OK) << error_.text();
  }
  void TearDown() override {
    for (berth_method* method : {push_, look_}) EXPECT_EQ(berth_method_close(method, error_), BERTH_OK);
    EXPECT_EQ(berth_arenas_close(arenas_, error_), BERTH_OK);
    EXPECT_EQ(berth_program_close(program_, error_), BERTH_OK);
  }

  Floats run(berth_method* method) {
    auto array = sized<berth_array>();
    EXPECT_EQ(berth_method_run(method, error_), BERTH_OK) << error_.text();
    EXPECT_EQ(berth_method_output(method, 0, &array, error_), BERTH_OK);
    const float* const first = static_cast<const float*>(array.data);
    return {first, first + 4};
  }

  Floats push(Floats x) {
    const berth_array input = floats(x.data(), 4, kFour, 1);
    EXPECT_EQ(berth_method_set_input(push_, 0, &input, error_), BERTH_OK) << error_.text();
    return run(push_);
  }

  int32_t set(Floats values, const int32_t* sizes = kFour) {
    const berth_array array = floats(values.data(), values.size(), sizes, 1);
    return berth_method_set_state(push_, 0, &array, error_);
  }

  std::vector<uint8_t> file_;
  CError error_;
  berth_program* program_ = nullptr;
  berth_arenas* arenas_ = nullptr;
  berth_method* push_ = nullptr;
  berth_method* look_ = nullptr;
};

TEST_F(CStates, WhatWasSavedIsWhereAllMethodsGoOn) {
  ASSERT_EQ(berth_method_num_states(push_), 1u);
  EXPECT_EQ(berth_method_find_state(push_, "sum"), 0);
  EXPECT_EQ(berth_method_find_state(push_, "state0"), -1);
  auto port = sized<berth_port>();
  ASSERT_EQ(berth_method_state(push_, 0, &port, error_), BERTH_OK) << error_.text();
  EXPECT_STREQ(port.name, "sum");
  EXPECT_EQ(port.bytes, 16u);
  EXPECT_EQ(port.sizes[0], 4);
  push({1, 2, 3, 4});
  Floats saved(4);
  ASSERT_EQ(berth_method_get_state(push_, 0, saved.data(), 16, error_), BERTH_OK) << error_.text();
  EXPECT_EQ(saved, (Floats{1, 2, 3, 4}));
  push({1, 1, 1, 1});
  ASSERT_EQ(set(saved), BERTH_OK) << error_.text();
  EXPECT_EQ(run(look_), (Floats{-1, -2, -3, -4}));
  EXPECT_EQ(push({1, 1, 1, 1}), (Floats{2, 3, 4, 5}));
}

TEST_F(CStates, WhatDoesNotFitIsRefusedAndNothingChanges) {
  push({1, 2, 3, 4});
  const int32_t three[] = {3};
  EXPECT_EQ(set({9, 9, 9}, three), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(set({9, 9, 9}), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(error_.text(), "InvalidArgument: states[0]: has 12 bytes; the state has 16");
  Floats room(4);
  berth_array array = floats(room.data(), 4, kFour, 1);
  EXPECT_EQ(berth_method_set_state(push_, 1, &array, error_), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(error_.text(), "InvalidArgument: states[1]: the method has 1 of them");
  array.dtype = BERTH_I32;
  EXPECT_EQ(berth_method_set_state(push_, 0, &array, error_), BERTH_INVALID_ARGUMENT);
  array.dtype = BERTH_F32;
  array.data = nullptr;
  EXPECT_EQ(berth_method_set_state(push_, 0, &array, error_), BERTH_INVALID_ARGUMENT);
  array.data = room.data();
  array.device = {100, 0};
  EXPECT_EQ(berth_method_set_state(push_, 0, &array, error_), BERTH_NOT_SUPPORTED);
  EXPECT_EQ(berth_method_set_state(push_, 0, nullptr, error_), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(berth_method_set_state(nullptr, 0, &array, error_), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(berth_method_get_state(push_, 0, room.data(), 15, error_), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(berth_method_get_state(push_, 7, room.data(), 16, error_), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(berth_method_num_states(nullptr), 0u);
  EXPECT_EQ(berth_method_find_state(push_, nullptr), -1);
  EXPECT_EQ(run(look_), (Floats{-1, -2, -3, -4}));
}

// An arena of the bytes that were said takes these sizes, and one of a byte less does not.
TEST(CPlannedBytes, AreWhatARunOfTheseSizesNeeds) {
  const auto file = compiled(kOpen);
  const berth_source source = source_of(file);
  CError error;
  berth_program* program = nullptr;
  ASSERT_EQ(berth_program_open(&source, nullptr, &program, error), BERTH_OK) << error.text();
  berth_method* whole = nullptr;
  ASSERT_EQ(berth_method_load(program, "forward", nullptr, &whole, error), BERTH_OK) << error.text();
  auto most = sized<berth_arena>();
  ASSERT_EQ(berth_program_arena(program, "forward", 0, &most, error), BERTH_OK);
  const int32_t seven[] = {7, 3};
  const int32_t unknown[] = {-1, 3};
  const int32_t wrong[] = {8, 3};
  berth_array inputs[] = {floats(nullptr, 0, seven, 2), floats(nullptr, 0, unknown, 2)};
  uint64_t bytes = 1;
  ASSERT_EQ(berth_method_planned_bytes(whole, inputs, 2, &bytes, 1, error), BERTH_OK) << error.text();
  EXPECT_LT(bytes, most.bytes / 6);
  inputs[0].sizes = unknown;
  uint64_t largest = 0;
  ASSERT_EQ(berth_method_planned_bytes(whole, inputs, 2, &largest, 1, error), BERTH_OK) << error.text();
  EXPECT_EQ(largest, most.bytes);
  inputs[0].sizes = seven;
  inputs[1].sizes = wrong;
  EXPECT_EQ(berth_method_planned_bytes(whole, inputs, 2, &largest, 1, error), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(berth_method_planned_bytes(whole, inputs, 1, &largest, 1, error), BERTH_INVALID_ARGUMENT);
  EXPECT_EQ(error.text(), "InvalidArgument: expected 2 inputs and 1 arenas, found 1 and 1");
  EXPECT_EQ(largest, most.bytes) << "unchanged after an error";
  EXPECT_EQ(berth_method_close(whole, error), BERTH_OK);

  auto needed = sized<berth_memory_needed>();
  ASSERT_EQ(berth_program_memory(program, "forward", nullptr, {}, &needed, error), BERTH_OK) << error.text();
  const auto block = [](uint64_t size) {
    return berth_block{std::aligned_alloc(64, (size + 64) / 64 * 64), static_cast<size_t>(size)};
  };
  const berth_block method_memory = block(needed.method_bytes);
  const berth_block temp = block(needed.temp_bytes);
  for (const uint64_t missing : {1, 0}) {
    const berth_block arena = block(bytes - missing);
    auto memory = sized<berth_memory>();
    memory.method = method_memory;
    memory.temp = temp;
    memory.arenas = &arena;
    memory.num_arenas = 1;
    auto options = sized<berth_method_options>();
    options.memory = &memory;
    berth_method* method = nullptr;
    ASSERT_EQ(berth_method_load(program, "forward", &options, &method, error), BERTH_OK) << error.text();
    Floats x(21, 0);
    const berth_array input = floats(x.data(), 21, seven, 2);
    int32_t code = berth_method_set_input(method, 0, &input, error);
    if (code == BERTH_OK) code = berth_method_set_input(method, 1, &input, error);
    if (code == BERTH_OK) code = berth_method_run(method, error);
    EXPECT_EQ(code, missing > 0 ? BERTH_MEMORY_ALLOCATION_FAILED : BERTH_OK) << error.text();
    EXPECT_EQ(berth_method_close(method, error), BERTH_OK);
    std::free(arena.data);
  }
  std::free(method_memory.data);
  std::free(temp.data);
  EXPECT_EQ(berth_program_close(program, error), BERTH_OK);
}

}  // namespace
}  // namespace berth

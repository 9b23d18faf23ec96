// The fears: an arena that has no memory yet is run in, or keeps values where it was before it moved; state that was
// given its first value nowhere.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "runtime/count_allocations_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::testing::add_relu;
using format::testing::tensor;

/// add_relu() whose sum and result lie in arena 2.
ProgramDesc in_two_arenas() {
  ProgramDesc program = add_relu();
  MethodDesc& method = program.methods[0];
  for (const size_t value : {size_t{3}, size_t{4}})
    std::get<format::TensorDesc>(method.values[value]).planned->memory_id = 2;
  method.arenas = {{16, Device()}, {48, Device()}};
  return program;
}

class DeferredArenaTest : public ::testing::Test {
 protected:
  /// Arena `late`, from 0, has no memory yet.
  Error load(const ProgramDesc& program, size_t late = 1) {
    file_ = format::testing::bytes_of(program);
    loader_.emplace(Span<const uint8_t>(file_));
    LoadOptions options;
    options.report = &report_;
    Result<Program> loaded = Program::load(*loader_, testing::kernels(), options);
    if (!loaded.ok()) return loaded.error();
    program_.emplace(std::move(*loaded));
    Span<uint8_t> arenas[] = {{first_, sizeof first_}, {second_, 48}};
    arenas[late] = {nullptr, arenas[late].size()};
    allocator_.emplace(Span<uint8_t>(memory_, sizeof memory_));
    MethodOptions method_options;
    method_options.report = &report_;
    Result<Method> method = program_->load_method(
        "forward", MemoryManager(*allocator_, HierarchicalAllocator(arenas), {temp_, sizeof temp_}), method_options);
    if (!method.ok()) return method.error();
    method_.emplace(std::move(*method));
    return Error::kOk;
  }

  Error set_input() {
    const float x[4] = {0, 0, 4, 0};
    const int32_t sizes[] = {4};
    return method_->set_input(0, x, sizes, DType::kF32);
  }

  alignas(64) uint8_t memory_[1 << 14], first_[64], second_[64], third_[128], temp_[256];
  std::vector<uint8_t> file_;
  std::optional<BufferLoader> loader_;
  std::optional<Program> program_;
  std::optional<MemoryAllocator> allocator_;
  std::optional<Method> method_;
  format::Report report_;
};

TEST_F(DeferredArenaTest, NothingRunsBeforeItHasMemory) {
  ASSERT_EQ(load(in_two_arenas()), Error::kOk) << report_.message;
  ASSERT_EQ(set_input(), Error::kOk);
  EXPECT_EQ(method_->execute(), Error::kInvalidState);
  EXPECT_STREQ(method_->last_report().place, "arenas");
  EXPECT_NE(std::string(method_->last_report().message).find("set_planned_buffer"), std::string::npos);
  ASSERT_EQ(method_->set_planned_buffer(1, second_, 48), Error::kOk);
  EXPECT_EQ(method_->execute(), Error::kOk) << method_->last_report().message;
}

TEST_F(DeferredArenaTest, MayMoveBetweenRuns) {
  ASSERT_EQ(load(in_two_arenas()), Error::kOk) << report_.message;
  ASSERT_EQ(set_input(), Error::kOk);
  for (uint8_t* memory : {second_, third_, second_, third_ + 64}) {
    std::memset(second_, 0x55, sizeof second_);
    std::memset(third_, 0x55, sizeof third_);
    const size_t before = testing::allocations;
    ASSERT_EQ(method_->set_planned_buffer(1, memory, 48), Error::kOk) << method_->last_report().message;
    ASSERT_EQ(method_->execute(), Error::kOk) << method_->last_report().message;
    EXPECT_EQ(testing::allocations, before);
    EXPECT_EQ(testing::floats(method_->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
    EXPECT_EQ(method_->get_output(0).tensor().raw(), memory + 32);
    const float sum[4] = {-1, 2, 1, 4};
    EXPECT_EQ(std::memcmp(memory + 16, sum, 16), 0);
    uint8_t* const other = memory == second_ ? third_ : second_;
    for (int i = 0; i < 64; ++i) ASSERT_EQ(other[i], 0x55) << "a tensor stayed where it was";
  }
}

TEST_F(DeferredArenaTest, WrongMemoryIsRefusedAndChangesNothing) {
  ASSERT_EQ(load(in_two_arenas()), Error::kOk) << report_.message;
  ASSERT_EQ(set_input(), Error::kOk);
  EXPECT_EQ(method_->set_planned_buffer(1, second_, 47), Error::kInvalidArgument);
  EXPECT_EQ(method_->set_planned_buffer(1, nullptr, 48), Error::kInvalidArgument);
  EXPECT_EQ(method_->set_planned_buffer(1, second_ + 8, 48), Error::kInvalidArgument);
  EXPECT_EQ(method_->set_planned_buffer(2, second_, 48), Error::kInvalidArgument);
  EXPECT_EQ(method_->set_planned_buffer(SIZE_MAX, second_, 48), Error::kInvalidArgument);
  EXPECT_EQ(method_->set_planned_buffer(0, second_, 48), Error::kInvalidState) << "it has its memory";
  EXPECT_EQ(method_->execute(), Error::kInvalidState);
  ASSERT_EQ(method_->set_planned_buffer(1, second_, 48), Error::kOk);
  EXPECT_EQ(method_->set_planned_buffer(1, third_, 47), Error::kInvalidArgument);
  ASSERT_EQ(method_->step(), Error::kOk);
  EXPECT_EQ(method_->set_planned_buffer(1, third_, 48), Error::kInvalidState) << "during a run";
  method_->reset_execution();
  ASSERT_EQ(method_->execute(), Error::kOk);
  EXPECT_EQ(method_->get_output(0).tensor().raw(), second_ + 32);
}

TEST_F(DeferredArenaTest, APlannedInputWaitsForIt) {
  ASSERT_EQ(load(in_two_arenas(), 0), Error::kOk) << report_.message;
  EXPECT_EQ(set_input(), Error::kInvalidState);
  ASSERT_EQ(method_->set_planned_buffer(0, first_, 64), Error::kOk);
  ASSERT_EQ(set_input(), Error::kOk);
  ASSERT_EQ(method_->execute(), Error::kOk);
  EXPECT_EQ(testing::floats(method_->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

TEST_F(DeferredArenaTest, HoldsNoState) {
  ProgramDesc valued = in_two_arenas();
  std::get<format::TensorDesc>(valued.methods[0].values[3]).data_buffer_idx = 1;
  valued.initial_values = {valued.constants[0]};
  EXPECT_EQ(load(valued), Error::kInvalidArgument);
  EXPECT_STREQ(report_.place, "methods[forward].values[3]");
  ProgramDesc named = in_two_arenas();
  std::get<format::TensorDesc>(named.methods[0].values[3]).name = "state";
  EXPECT_EQ(load(named), Error::kInvalidArgument);
  // What the program reads before anything makes it.
  ProgramDesc read = in_two_arenas();
  read.methods[0].instructions = {KernelCallDesc{1, {3, 4, 4}}, KernelCallDesc{0, {0, 1, 2, 3, 3}}};
  EXPECT_EQ(load(read), Error::kInvalidProgram);
  EXPECT_STREQ(report_.place, "methods[forward].values[3]");
}

TEST_F(DeferredArenaTest, OffsetsAreAlignedForTheirElements) {
  ProgramDesc program = in_two_arenas();
  std::get<format::TensorDesc>(program.methods[0].values[3]).planned->offset = 2;
  EXPECT_EQ(load(program), Error::kInvalidProgram);
}

}  // namespace
}  // namespace berth

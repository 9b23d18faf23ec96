// The fears: a tensor of a run at small sizes reaches into another, or out of the arena; an input that was set is lost
// when the tensors move; an arena that is too small is found out by writing behind it.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include "format/write/meta_desc.h"
#include "runtime/count_allocations_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::MethodMetaDesc;
using format::ProgramDesc;
using format::StackDesc;
using format::SymbolDesc;
using format::TensorDesc;
using testing::floats;
using testing::set_floats;

constexpr int32_t kMost = 64;

SymbolDesc symbol(const char* name) {
  SymbolDesc desc;
  desc.name = name;
  desc.min = 1;
  desc.max = kMost;
  return desc;
}

SymbolDesc sum(int32_t a, int64_t number) {
  SymbolDesc desc;
  desc.kind = fb::SymbolKind::ADD;
  desc.min = 1 + number;
  desc.max = kMost + number;
  desc.a = fb::Operand(0, a);
  desc.b = fb::Operand(number, -1);
  return desc;
}

TensorDesc bounded(int32_t size, int64_t offset) {
  TensorDesc tensor = format::testing::tensor({size}, offset);
  tensor.bounded = true;
  return tensor;
}

ProgramDesc program_of(MethodDesc method, MethodMetaDesc meta) {
  method.name = meta.name = "forward";
  ProgramDesc program;
  program.methods = {std::move(method)};
  format::MetaDesc all;
  all.methods = {std::move(meta)};
  program.named_data = {format::meta_blob(all)};
  return program;
}

/// s = a + b (a[n], b[n]); r = relu(s), which lies over a. The blocks: a and r, b, s.
ProgramDesc sum_and_relu() {
  MethodDesc method;
  method.values = {bounded(kMost, 0), bounded(kMost, 256), bounded(kMost, 512), bounded(kMost, 0), int64_t{1}};
  method.inputs = {0, 1};
  method.outputs = {3, 2};
  method.operators = {{"aten::add", "out"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 4, 2, 2}}, KernelCallDesc{1, {2, 3, 3}}};
  method.arenas = {{768, Device()}};
  MethodMetaDesc meta;
  meta.symbols = {symbol("n")};
  meta.dimensions = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  meta.stacks = {{1, 16, {{{0, 3}, {}}, {{1}, {0}}, {{2}, {1}}}}};
  return program_of(method, meta);
}

/// a[n] and b[m] are inputs, c[k] has k = n + 4; the outputs are their positive parts.
ProgramDesc three_inputs() {
  MethodDesc method;
  method.values = {bounded(kMost, 0),   bounded(kMost, 256),  bounded(kMost + 4, 512),
                   bounded(kMost, 784), bounded(kMost, 1040), bounded(kMost + 4, 1296)};
  method.inputs = {0, 1, 2};
  method.outputs = {3, 4, 5};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 3, 3}}, KernelCallDesc{0, {1, 4, 4}}, KernelCallDesc{0, {2, 5, 5}}};
  method.arenas = {{1568, Device()}};
  MethodMetaDesc meta;
  meta.symbols = {symbol("n"), symbol("m"), sum(0, 4)};
  meta.dimensions = {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {3, 0, 0}, {4, 0, 1}, {5, 0, 2}};
  meta.stacks = {{1, 16, {{{0}, {}}, {{1}, {0}}, {{2}, {1}}, {{3}, {2}}, {{4}, {3}}, {{5}, {4}}}}};
  return program_of(method, meta);
}

class MethodSizesTest : public ::testing::Test {
 protected:
  /// The arena has `bytes` bytes, marks behind them; SIZE_MAX: it is deferred.
  Error load(const ProgramDesc& desc, size_t bytes) {
    file_ = format::testing::bytes_of(desc);
    loader_.emplace(Span<const uint8_t>(file_));
    LoadOptions options;
    options.report = &report_;
    Result<Program> loaded = Program::load(*loader_, testing::kernels(), options);
    if (!loaded.ok()) return loaded.error();
    program_.emplace(std::move(*loaded));
    std::memset(arena_, kMark, sizeof arena_);
    given_ = bytes;
    arenas_[0] = bytes == SIZE_MAX ? Span<uint8_t>(nullptr, 4096) : Span<uint8_t>(arena_, bytes);
    allocator_.emplace(Span<uint8_t>(memory_, sizeof memory_));
    planned_.emplace(arenas_);
    MethodOptions method_options;
    method_options.report = &report_;
    method_options.follow = {&MethodSizesTest::follow, this};
    Result<Method> method =
        program_->load_method("forward", MemoryManager(*allocator_, *planned_, {temp_, sizeof temp_}), method_options);
    if (!method.ok()) return method.error();
    method_.emplace(std::move(*method));
    return Error::kOk;
  }

  static std::vector<float> counting(int32_t n, float first) {
    std::vector<float> all(static_cast<size_t>(n));
    for (int32_t i = 0; i < n; ++i) all[i] = first + static_cast<float>(i);
    return all;
  }

  Error set(size_t input, int32_t n, float first) { return set_floats(*method_, input, counting(n, first), {n}); }

  uint64_t bytes_for(const std::vector<int32_t>& sizes) {
    std::vector<Span<const int32_t>> spans;
    for (const int32_t& size : sizes) spans.emplace_back(&size, 1);
    uint64_t bytes = 0;
    const Error error = method_->planned_bytes({spans.data(), spans.size()}, {&bytes, 1});
    return error == Error::kOk ? bytes : UINT64_MAX;
  }

  std::string said() const { return method_->last_report().message; }

  void expect_sum(int32_t n) {
    ASSERT_EQ(set(0, n, -3), Error::kOk) << said();
    ASSERT_EQ(set(1, n, 1), Error::kOk) << said();
    ASSERT_EQ(method_->execute(), Error::kOk) << said();
    std::vector<float> sum = counting(n, 0);
    for (int32_t i = 0; i < n; ++i) sum[i] = static_cast<float>(2 * i - 2);
    EXPECT_EQ(floats(method_->get_output(1)), sum);
    for (float& x : sum) x = std::max(x, 0.f);
    EXPECT_EQ(floats(method_->get_output(0)), sum);
    if (given_ == SIZE_MAX) return;
    for (size_t i = given_; i < sizeof arena_; ++i) ASSERT_EQ(arena_[i], kMark) << "byte " << i << " behind the arena";
  }

  static void follow(void* self, size_t arena, uint64_t bytes) {
    static_cast<MethodSizesTest*>(self)->followed_.emplace_back(arena, bytes);
  }

  static constexpr uint8_t kMark = 0xA5;
  alignas(64) uint8_t memory_[1 << 14], arena_[4096], temp_[256];
  std::vector<uint8_t> file_;
  std::optional<BufferLoader> loader_;
  std::optional<Program> program_;
  Span<uint8_t> arenas_[1];
  size_t given_ = 0;
  std::optional<MemoryAllocator> allocator_;
  std::optional<HierarchicalAllocator> planned_;
  std::optional<Method> method_;
  std::vector<std::pair<size_t, uint64_t>> followed_;
  Report report_;
};

TEST_F(MethodSizesTest, AnArenaNeedsWhatTheSizesNeed) {
  ASSERT_EQ(load(sum_and_relu(), 768), Error::kOk) << report_.message;
  EXPECT_TRUE(method_->follows_sizes());
  EXPECT_EQ(method_->planned_bytes(0).value(), 768u) << "before anything is set";
  EXPECT_EQ(bytes_for({64, 64}), 768u);
  EXPECT_EQ(bytes_for({4, 4}), 48u);
  EXPECT_EQ(bytes_for({5, 5}), 32u + 32 + 20) << "blocks are aligned, the last one ends where it ends";
  EXPECT_EQ(bytes_for({-1, -1}), 768u) << "not known";
  EXPECT_EQ(bytes_for({-1, 4}), 48u);
  EXPECT_EQ(bytes_for({4, 5}), UINT64_MAX) << "they are equal";
  EXPECT_EQ(bytes_for({65, 65}), UINT64_MAX);
  EXPECT_EQ(bytes_for({4}), UINT64_MAX);
  EXPECT_EQ(method_->planned_bytes(0).value(), 768u) << "asking changes nothing";
  expect_sum(64);
  for (const int32_t n : {1, 5, 4, 63, 64, 2}) expect_sum(n);
  EXPECT_EQ(method_->planned_bytes(0).value(), 16u + 16 + 8);
  EXPECT_EQ(method_->planned_bytes(1).error(), Error::kInvalidArgument);
}

TEST_F(MethodSizesTest, ASmallArenaTakesTheSizesThatFit) {
  ASSERT_EQ(load(sum_and_relu(), 20 * 4 * 3), Error::kOk) << report_.message;
  for (const int32_t n : {20, 1, 7, 20}) expect_sum(n);
  EXPECT_EQ(set(0, 21, 0), Error::kMemoryAllocationFailed);
  EXPECT_EQ(said(), "276 bytes are needed at these sizes, 240 were given; n up to 20 fits");
  EXPECT_STREQ(method_->last_report().place, "methods[forward].arenas[0]");
  EXPECT_EQ(method_->get_input(0).tensor().size(0), 20) << "nothing has changed";
  for (const int32_t n : {20, 3}) expect_sum(n);
}

TEST_F(MethodSizesTest, AnArenaWithoutRoomForAnySizesSaysSo) {
  ASSERT_EQ(load(sum_and_relu(), 16), Error::kOk) << report_.message;
  EXPECT_EQ(set(0, 21, 0), Error::kMemoryAllocationFailed);
  EXPECT_EQ(said(), "276 bytes are needed at these sizes, 16 were given");
  EXPECT_EQ(method_->execute(), Error::kInvalidState);
}

TEST_F(MethodSizesTest, WhatWasSetMovesWithItsInput) {
  ASSERT_EQ(load(three_inputs(), 1568), Error::kOk) << report_.message;
  uint32_t random = 1;
  const auto next = [&](uint32_t n) { return (random = random * 1664525 + 1013904223) / 65536 % n; };
  for (int round = 0; round < 200; ++round) {
    const int32_t n = 1 + static_cast<int32_t>(next(kMost));
    const int32_t m = 1 + static_cast<int32_t>(next(kMost));
    const int32_t sizes[] = {n, m, n + 4};
    const size_t first = next(3);
    for (size_t k = 0; k < 3; ++k) {
      const size_t input = (first + k * (1 + round % 2)) % 3;  // any first, then either way around
      ASSERT_EQ(set(input, sizes[input], static_cast<float>(100 * input + round)), Error::kOk) << said();
    }
    ASSERT_EQ(method_->execute(), Error::kOk) << said();
    for (size_t k = 0; k < 3; ++k) {
      ASSERT_EQ(floats(method_->get_output(k)), counting(sizes[k], static_cast<float>(100 * k + round)))
          << "round " << round << ", input " << k;
    }
  }
}

TEST_F(MethodSizesTest, AnInputThatIsFilledWhereItLiesMovesToo) {
  ASSERT_EQ(load(three_inputs(), 1568), Error::kOk) << report_.message;
  ASSERT_EQ(set(0, 8, 1), Error::kOk);
  ASSERT_EQ(set(1, 8, 10), Error::kOk);
  ASSERT_EQ(set(2, 12, 100), Error::kOk);
  ASSERT_EQ(method_->execute(), Error::kOk) << said();
  ASSERT_EQ(set(0, 32, 1), Error::kOk) << "b and c lie higher now";
  float* const b = method_->get_input(1).tensor().data<float>();
  for (int i = 0; i < 8; ++i) b[i] = static_cast<float>(50 + i);
  const int32_t eight[] = {8};
  ASSERT_EQ(method_->set_input(1, b, eight, DType::kF32), Error::kOk) << said();
  ASSERT_EQ(set(0, 2, 1), Error::kOk) << "and lower";
  ASSERT_EQ(set(2, 6, 100), Error::kOk);
  ASSERT_EQ(method_->execute(), Error::kOk) << said();
  EXPECT_EQ(floats(method_->get_output(1)), counting(8, 50));
}

// Before the arena has memory; a is at its front whatever the sizes, b moves and its elements stay behind.
TEST_F(MethodSizesTest, AnInputMayHaveItsSizesBeforeItsElements) {
  ASSERT_EQ(load(sum_and_relu(), SIZE_MAX), Error::kOk) << report_.message;
  for (const int32_t n : {4, 64, 9}) {
    const int32_t sizes[] = {n};
    ASSERT_EQ(method_->set_input_sizes(0, sizes, DType::kF32), Error::kOk) << said();
    ASSERT_EQ(method_->set_input_sizes(1, sizes, DType::kF32), Error::kOk) << said();
    ASSERT_EQ(method_->set_planned_buffer(0, arena_, 768), Error::kOk) << said();
    for (const size_t input : {0, 1}) {
      float* const data = method_->get_input(input).tensor().data<float>();
      for (int i = 0; i < n; ++i) data[i] = static_cast<float>(i);
    }
    ASSERT_EQ(method_->execute(), Error::kOk) << said();
    EXPECT_EQ(floats(method_->get_output(1))[n - 1], 2.f * static_cast<float>(n - 1));
  }
  const int32_t none[] = {0};
  EXPECT_EQ(method_->set_input_sizes(0, none, DType::kF32), Error::kInvalidArgument) << "below its range";
  EXPECT_EQ(method_->set_input_sizes(0, none, DType::kI32), Error::kInvalidArgument);
  EXPECT_EQ(method_->set_input_sizes(2, none, DType::kF32), Error::kInvalidArgument);
}

// They may be where the host must not look.
TEST_F(MethodSizesTest, ElementsOfAnInputThatHasItsSizesAloneAreNotMoved) {
  ASSERT_EQ(load(sum_and_relu(), 768), Error::kOk) << report_.message;
  const int32_t four[] = {4};
  const int32_t most[] = {kMost};
  for (const size_t input : {0, 1}) ASSERT_EQ(method_->set_input_sizes(input, four, DType::kF32), Error::kOk) << said();
  void* const before = method_->get_input(1).tensor().raw();
  std::memset(before, 1, 16);
  ASSERT_EQ(method_->set_input_sizes(0, most, DType::kF32), Error::kOk) << said();
  const void* const after = method_->get_input(1).tensor().raw();
  EXPECT_NE(after, before);
  EXPECT_EQ(*static_cast<const uint8_t*>(after), kMark);
}

TEST_F(MethodSizesTest, AnInputOfTheCallersHasNoSizesWithoutElements) {
  ProgramDesc program = sum_and_relu();
  std::get<TensorDesc>(program.methods[0].values[1]).planned.reset();
  program.named_data.clear();
  ASSERT_EQ(load(program, 768), Error::kOk) << report_.message;
  const int32_t sizes[] = {4};
  EXPECT_EQ(method_->set_input_sizes(1, sizes, DType::kF32), Error::kInvalidState);
  EXPECT_EQ(said(), "the input is not planned (set_input)");
}

TEST_F(MethodSizesTest, ADeferredArenaIsGivenWhatItNeeds) {
  ASSERT_EQ(load(sum_and_relu(), SIZE_MAX), Error::kOk) << report_.message;
  EXPECT_EQ(bytes_for({4, 4}), 48u) << "before any memory is there";
  EXPECT_EQ(method_->set_planned_buffer(0, arena_, 767), Error::kInvalidArgument);
  ASSERT_EQ(method_->set_planned_buffer(0, arena_, 768), Error::kOk) << said();
  expect_sum(4);
  ASSERT_EQ(method_->set_planned_buffer(0, arena_ + 1024, 48), Error::kOk) << said();
  expect_sum(4);
  EXPECT_EQ(set(0, 5, 0), Error::kInvalidState) << "its arena has no memory any more";
  EXPECT_EQ(method_->set_planned_buffer(0, arena_, 83), Error::kInvalidArgument);
  EXPECT_EQ(said(), "84 bytes are needed, 83 were given");
  ASSERT_EQ(method_->set_planned_buffer(0, arena_, 84), Error::kOk);
  expect_sum(5);
}

TEST_F(MethodSizesTest, SizesDoNotChangeDuringARun) {
  ASSERT_EQ(load(sum_and_relu(), 768), Error::kOk) << report_.message;
  expect_sum(4);
  ASSERT_EQ(set(0, 4, 0), Error::kOk);
  ASSERT_EQ(set(1, 4, 0), Error::kOk);
  ASSERT_EQ(method_->step(), Error::kOk);
  EXPECT_EQ(set(0, 5, 0), Error::kInvalidState);
  EXPECT_EQ(method_->get_input(0).tensor().size(0), 4);
  method_->reset_execution();
  expect_sum(5);
}

// A file whose symbols are wrong: the second result takes the sizes of the first run, for which there is no room.
TEST_F(MethodSizesTest, AResultLargerThanItsPlaceIsRefused) {
  ProgramDesc program = sum_and_relu();
  format::MetaDesc all;
  MethodMetaDesc meta;
  meta.name = "forward";
  meta.symbols = {symbol("n"), sum(0, -8)};
  meta.symbols[1].min = 0;
  meta.dimensions = {{0, 0, 0}, {1, 0, 0}, {2, 0, 1}, {3, 0, 0}};
  meta.stacks = {{1, 16, {{{0, 3}, {}}, {{1}, {0}}, {{2}, {1}}}}};
  all.methods = {meta};
  program.named_data = {format::meta_blob(all)};
  ASSERT_EQ(load(program, 768), Error::kOk) << report_.message;
  for (const int32_t n : {40, 20, 40}) {
    ASSERT_EQ(set(0, n, 0), Error::kOk) << said();
    ASSERT_EQ(set(1, n, 0), Error::kOk) << said();
    EXPECT_EQ(method_->execute(), Error::kInvalidArgument) << n;
  }
}

TEST_F(MethodSizesTest, WhoKeepsTheArenaIsToldWhatIsInUse) {
  ASSERT_EQ(load(sum_and_relu(), 768), Error::kOk) << report_.message;
  for (const int32_t n : {64, 4, 4, 8}) expect_sum(n);
  const std::vector<std::pair<size_t, uint64_t>> expected = {{0, 48}, {0, 96}};
  EXPECT_EQ(followed_, expected);
}

TEST_F(MethodSizesTest, ChangingSizesTakesNothingFromTheHeap) {
  ASSERT_EQ(load(three_inputs(), 1568), Error::kOk) << report_.message;
  const std::vector<float> data(kMost + 4, 1);
  followed_.reserve(1000);
  const size_t before = testing::allocations;
  for (int32_t n = 1; n <= kMost; ++n) {
    const int32_t sizes[] = {n, 65 - n, n + 4};
    for (size_t k = 0; k < 3; ++k) method_->set_input(k, data.data(), {&sizes[k], 1}, DType::kF32);
    method_->execute();
  }
  EXPECT_EQ(testing::allocations, before);
  EXPECT_EQ(method_->last_report().code, Error::kOk);
}

TEST_F(MethodSizesTest, DamagedStacksAreRefusedWithASentence) {
  const auto refusal = [&](void (*damage)(MethodMetaDesc&)) {
    ProgramDesc program = sum_and_relu();
    MethodMetaDesc meta;
    meta.name = "forward";
    meta.symbols = {symbol("n")};
    meta.dimensions = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    meta.stacks = {{1, 16, {{{0, 3}, {}}, {{1}, {0}}, {{2}, {1}}}}};
    damage(meta);
    format::MetaDesc all;
    all.methods = {meta};
    program.named_data = {format::meta_blob(all)};
    EXPECT_EQ(load(program, 768), Error::kInvalidProgram);
    return std::string(report_.message);
  };
  using Meta = MethodMetaDesc;
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].memory_id = 2; }), "arena 2 does not exist");
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].memory_id = 0; }), "arena 0 does not exist");
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].alignment = 24; }), "alignment 24 is not a power of two from 16 to 2^30");
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].alignment = 8; }), "alignment 8 is not a power of two from 16 to 2^30");
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].blocks[1].supports = {1}; }),
            "block 1 rests on block 1, which is not an earlier one");
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].blocks[2].values = {4}; }),
            "value 4 is not a tensor with bytes in arena 1");
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].blocks[2].values = {-1}; }),
            "value -1 is not a tensor with bytes in arena 1");
  EXPECT_EQ(refusal([](Meta& m) { m.stacks[0].blocks.pop_back(); }), "value 2 is in no block");
  EXPECT_EQ(
      refusal([](Meta& m) { m.stacks[0].blocks[1].supports = {}; }),
      "it writes value 3 over bytes of value 2, which is an output (at some sizes: neither block is below the other)");
  EXPECT_EQ(refusal([](Meta& m) { std::swap(m.dimensions[0], m.dimensions[1]); }),
            "dimension 0 of value 0 does not come after dimension 0 of value 1");
}

}  // namespace
}  // namespace berth

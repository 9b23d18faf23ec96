// berth::quantized_linear on matrices that are computed, and may be smaller than those it was prepared for. The fears:
// memory of the largest that is too little for one whose depth is not whole quads, or whose blocks have more rows; many
// small products that one thread computes while the others wait.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "kernels/cpu/compare_testing.h"
#include "kernels/cpu/quantized_tile.h"
#include "kernels/portable/quantized_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::QuantizedCase;

constexpr char kQuantizedLinear[] = "berth::quantized_linear.out";

struct Sizes {
  int32_t batch, rows, depth, columns;  // batch 0: tensors of two dimensions

  std::vector<int32_t> of(int32_t down, int32_t across) const {
    return batch == 0 ? std::vector<int32_t>{down, across} : std::vector<int32_t>{batch, down, across};
  }
  std::vector<int32_t> input() const { return of(rows, depth); }
  std::vector<int32_t> weight() const { return of(depth, columns); }
  std::vector<int32_t> out() const { return of(rows, columns); }
};

void set_sizes(const Array& array, const std::vector<int32_t>& sizes) {
  ASSERT_EQ(array.tensor().resize({sizes.data(), sizes.size()}), Error::kOk);
}

void fill(std::mt19937& random, const Array& array) {
  uint8_t* data = array.tensor().data<uint8_t>();
  for (int64_t i = 0; i < array.tensor().numel(); ++i) data[i] = static_cast<uint8_t>(random());
}

// Zero points on both sides, so that rows have totals.
QuantizedCase largest_case(const Sizes& most) {
  const auto bounded = [](DType dtype, const std::vector<int32_t>& sizes) {
    return Array(dtype, sizes, {}, {}, ShapeDynamism::kBounded);
  };
  QuantizedCase c;
  c.input = bounded(DType::kU8, most.input());
  c.weight = bounded(DType::kI8, most.weight());
  c.out = bounded(DType::kI8, most.out());
  c.scale = testing::f32({1}, {1.0 / 512});
  c.input_zero = Array(DType::kU8, {1}, {121});
  c.weight_zero = Array(DType::kI8, {1}, {-3});
  c.out_min = -128;
  c.out_max = 127;
  return c;
}

class CountingPool : public testing::TestPool {
 public:
  using TestPool::TestPool;
  void run(int64_t count, int64_t grain, ParallelBody body) override {
    shared.push_back(count);
    TestPool::run(count, grain, body);
  }
  std::vector<int64_t> shared;  // how many items, of each call
};

// A call that is prepared for the sizes of now, and never has more memory than it asked for then.
class Planned {
 public:
  Planned(const QuantizedCase& c, int threads) : args_(c.args()), pool_(threads) {
    for (Arg& arg : args_) values_.push_back(arg.value());
    const size_t bytes = entry_.temp_bytes(span(), threads);
    memory_.resize(bytes + 128);
    // As far from a multiple of 64 as can be.
    uint8_t* const data = memory_.data() + 65 - reinterpret_cast<uintptr_t>(memory_.data()) % 64;
    temp_ = {data, bytes};
    PrepareContext context(&pool_, nullptr, {});
    EXPECT_EQ(entry_.prepare(context, span(), &state_), Error::kOk);
  }
  ~Planned() { entry_.release(state_); }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  Error run() {
    KernelContext context(temp_, &pool_);
    context.set_state(state_);
    return entry_.call(context, span());
  }
  const std::vector<int64_t>& shared() const { return pool_.shared; }

 private:
  Span<EValue* const> span() const { return {values_.data(), values_.size()}; }

  const KernelEntry& entry_ = kernel_of(kernels(), kQuantizedLinear);
  std::vector<Arg> args_;
  std::vector<EValue*> values_;
  CountingPool pool_;
  std::vector<uint8_t> memory_;
  Span<uint8_t> temp_;
  void* state_ = nullptr;
};

// Runs `some` in the memory of `most`, by every set of tiles and on one to four threads.
void expect_portable(const Sizes& most, const std::vector<Sizes>& some) {
  std::mt19937 random(11);
  const QuantizedCase c = largest_case(most);
  const size_t out_bytes = c.out.tensor().nbytes();
  std::vector<std::unique_ptr<Planned>> calls;
  const QuantizedFunctions* functions[kMostQuantizedFunctions];
  const int sets = all_quantized_functions(functions);
  for (int i = 0; i < sets; ++i) {
    set_quantized_functions(functions[i]);
    for (int threads = 1; threads <= 4; ++threads) calls.push_back(std::make_unique<Planned>(c, threads));
  }
  set_quantized_functions(nullptr);
  for (const Sizes& sizes : some) {
    SCOPED_TRACE(std::to_string(sizes.rows) + "x" + std::to_string(sizes.depth) + "x" + std::to_string(sizes.columns));
    set_sizes(c.input, sizes.input());
    set_sizes(c.weight, sizes.weight());
    fill(random, c.input);
    fill(random, c.weight);
    set_sizes(c.out, sizes.out());
    const Array expected(DType::kI8, sizes.out());
    ASSERT_EQ(call(kernel_of(portable::kernels(), kQuantizedLinear), c.args(expected, c.weight, ""), {}, 1).message,
              "");
    for (size_t i = 0; i < calls.size(); ++i) {
      std::memset(c.out.tensor().raw(), 0xCD, out_bytes);
      ASSERT_EQ(calls[i]->run(), Error::kOk) << functions[i / 4]->name << ", " << i % 4 + 1 << " threads";
      ASSERT_EQ(testing::first_difference(expected, c.out), "") << functions[i / 4]->name;
    }
  }
}

TEST(QuantizedOpenSizes, MemoryOfTheLargestIsEnoughForEverySmallerOne) {
  for (const int32_t batch : {0, 3}) {
    const Sizes most = {batch, 60, 24, 20};
    std::vector<Sizes> some;
    for (int32_t depth = 1; depth <= most.depth; ++depth) {
      for (int32_t rows = 1; rows <= most.rows; ++rows) {
        some.push_back({batch, rows, depth, 1 + (rows + depth) % most.columns});
      }
    }
    some.push_back(most);
    expect_portable(most, some);
  }
}

// Blocks of the largest have 28 rows, those of about half its depth 56.
TEST(QuantizedOpenSizes, MemoryOfTheLargestIsEnoughForBlocksOfMoreRows) {
  for (const int32_t batch : {0, 2}) {
    expect_portable({batch, 60, 8192, 3}, {{batch, 60, 4680, 3}, {batch, 60, 4677, 2}, {batch, 60, 4095, 3}});
  }
}

// Rows enough for every thread to have a slot.
TEST(QuantizedOpenSizes, MemoryOfTheLargestIsEnoughForEachThread) {
  std::vector<Sizes> some;
  for (const int32_t tokens : {64, 63, 50, 33}) some.push_back({2, 4 * tokens, tokens, 300});
  expect_portable({2, 256, 64, 320}, some);
}

// The windows of a Swin transformer, one of which is too little work for two threads.
TEST(QuantizedOpenSizes, SmallProductsOfABatchAreSharedOut) {
  const Sizes windows = {96, 49, 32, 49};
  expect_portable(windows, {windows, {95, 49, 31, 49}, {96, 7, 32, 49}, {1, 49, 32, 49}});
  for (int threads = 2; threads <= 4; ++threads) {
    const QuantizedCase c = largest_case(windows);
    Planned call(c, threads);
    ASSERT_EQ(call.run(), Error::kOk);
    EXPECT_EQ(call.shared(), std::vector<int64_t>{threads});
  }
}

// One of the largest is work for all threads; then there may be memory for some of the smaller ones at a time.
TEST(QuantizedOpenSizes, MemoryOfALargeProductIsEnoughForSmallOnesAtATime) {
  std::vector<Sizes> some;
  for (const int32_t tokens : {200, 199, 80, 61, 40, 33, 8, 1}) some.push_back({6, tokens, tokens, 64});
  expect_portable({6, 200, 200, 64}, some);
  some.clear();
  for (const int32_t tokens : {64, 63, 31}) some.push_back({6, tokens, 64, tokens});
  expect_portable({6, 256, 64, 256}, some);
}

}  // namespace
}  // namespace berth::cpu

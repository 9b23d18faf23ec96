// Tensors of bf16 between products. The fears: a bit that differs from what the reader would have rounded itself, a
// pixel that is rounded before it is done, or twice, or into another's place, an element beyond either end, padding
// that is not zero, a call whose types do not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/seeds_testing.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/engine_testing.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/narrow_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

using Arguments = std::function<std::vector<Arg>(const Array& input, const Array& out)>;

struct NarrowTensorCall {
  const char* name;
  Array input, out;  // of f32
  Arguments arguments;
};

int64_t whole_within(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Array bf16(const Array& wide) { return as_type(wide, DType::kBF16); }

void expect_same_bits(const Array& expected, const Array& found, const char* what) {
  ASSERT_EQ(expected.tensor().nbytes(), found.tensor().nbytes());
  EXPECT_EQ(std::memcmp(expected.tensor().raw(), found.tensor().raw(), expected.tensor().nbytes()), 0) << what;
}

// The call of f32 with its result rounded afterwards, beside those that read, write, or read and write bf16.
void check(const NarrowTensorCall& call, GuardedMemory& memory, const std::vector<int>& numbers = {1, 2, 3, 4},
           bool matrices_alone = false) {
  const Array narrow_input = memory(bf16(call.input));
  with_and_without_products([&] {
    for_each_simd_target([&](const char* target) {
      if (matrices_alone && matrix_functions().tiles.lanes == 0) return;
      for (const int threads : numbers) {
        SCOPED_TRACE(std::string(target) + " on " + std::to_string(threads) + " threads");
        const auto run = [&](const Array& input, const Array& out) {
          const auto outcome = call_guarded(call.name, call.arguments(input, out), {1}, threads, memory, 2);
          ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
        };
        const Array wide = memory(array_like(call.out)), of_narrow = memory(array_like(call.out));
        run(call.input, wide);
        run(narrow_input, of_narrow);
        expect_same_bits(wide, of_narrow, "from bf16");
        if (::testing::Test::HasFatalFailure()) return;
        const Array expected = bf16(wide), narrow = memory(array_like(expected)), both = memory(array_like(expected));
        run(call.input, narrow);
        expect_same_bits(expected, narrow, "to bf16");
        run(narrow_input, both);
        expect_same_bits(expected, both, "from bf16 to bf16");
      }
    });
  });
}

NarrowTensorCall product(std::mt19937& random, GuardedMemory& memory, int64_t rows, int64_t depth, int64_t columns,
                         bool residual, const char* activation) {
  const auto array = [&](std::initializer_list<int64_t> sizes) { return random_array(random, narrow(sizes)); };
  const Array weight = memory(bf16(array({depth, columns}))), bias = memory(array({columns}));
  const Arg more = residual ? Arg(memory(array({rows, columns}))) : Arg(nullptr);
  return {"berth::linear.out", memory(array({rows, depth})), Array(DType::kF32, narrow({rows, columns})),
          [=](const Array& input, const Array& out) {
            return std::vector<Arg>{input, weight, bias, more, activation, -0.5, 0.5, "", out};
          }};
}

struct Window {
  int64_t batch = 1, groups = 1, depth = 8, columns = 8;
  int64_t in[2] = {8, 8}, kernel[2] = {3, 3}, stride[2] = {1, 1}, padding[2] = {1, 1}, dilation[2] = {1, 1};
};

NarrowTensorCall convolution(std::mt19937& random, GuardedMemory& memory, const Window& w, bool residual,
                             const char* activation) {
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const auto array = [&](std::initializer_list<int64_t> sizes, const std::vector<uint8_t>& order) {
    return random_array(random, narrow(sizes), order);
  };
  int64_t out[2];
  for (int i = 0; i < 2; ++i) {
    out[i] = (w.in[i] + 2 * w.padding[i] - (w.kernel[i] - 1) * w.dilation[i] - 1) / w.stride[i] + 1;
  }
  const int64_t channels = w.groups * w.columns;
  const Array weight = memory(bf16(array({channels, w.depth, w.kernel[0], w.kernel[1]}, {})));
  const Array bias = memory(array({channels}, {}));
  const Arg more = residual ? Arg(memory(array({w.batch, channels, out[0], out[1]}, last))) : Arg(nullptr);
  return {"berth::conv.out", memory(array({w.batch, w.groups * w.depth, w.in[0], w.in[1]}, last)),
          Array(DType::kF32, narrow({w.batch, channels, out[0], out[1]}), {}, last),
          [=](const Array& input, const Array& result) {
            const auto list = [](const int64_t(&two)[2]) { return std::vector<int64_t>(two, two + 2); };
            return std::vector<Arg>{input,
                                    weight,
                                    bias,
                                    more,
                                    list(w.stride),
                                    list(w.padding),
                                    list(w.dilation),
                                    false,
                                    std::vector<int64_t>{0, 0},
                                    w.groups,
                                    activation,
                                    -0.5,
                                    0.5,
                                    "",
                                    result};
          }};
}

Window random_window(std::mt19937& random) {
  Window w;
  w.batch = whole_within(random, 1, 2);
  w.groups = whole_within(random, 0, 3) == 0 ? whole_within(random, 2, 3) : 1;
  w.depth = whole_within(random, w.groups == 1 ? 1 : 2, 40);
  w.columns = whole_within(random, 1, 70);
  const bool pixels = whole_within(random, 0, 2) == 0;
  for (int i = 0; i < 2; ++i) {
    w.kernel[i] = pixels ? 1 : whole_within(random, 1, 4);
    w.stride[i] = whole_within(random, 1, 2);
    w.dilation[i] = whole_within(random, 0, 3) == 0 ? 2 : 1;
    const int64_t reach = (w.kernel[i] - 1) * w.dilation[i] + 1;
    w.padding[i] = whole_within(random, 0, 1) == 0 ? reach / 2 : whole_within(random, 0, reach);
    w.in[i] = std::max<int64_t>(1, reach - 2 * w.padding[i]) + whole_within(random, 0, 20);
  }
  return w;
}

TEST(NarrowTensors, ProductsGiveTheBitsOfRoundedOnes) {
  testing::for_each_seed(12, [](unsigned seed) {
    std::mt19937 random(seed);
    GuardedMemory memory(random);
    // Now and then so many rows that threads share blocks of them.
    const int64_t rows = seed % 4 == 0 ? whole_within(random, 200, 700) : whole_within(random, 1, 60);
    check(product(random, memory, rows, whole_within(random, 1, 150), whole_within(random, 1, 150), seed % 3 == 0,
                  any_activation(random)),
          memory);
  });
}

TEST(NarrowTensors, ConvolutionsGiveTheBitsOfRoundedOnes) {
  testing::for_each_seed(24, [](unsigned seed) {
    std::mt19937 random(seed);
    GuardedMemory memory(random);
    check(convolution(random, memory, random_window(random), seed % 4 == 0, any_activation(random)), memory);
  });
}

// With matrices, some rows of the result at a time, of images that do not stay near; several images, strides, and an
// odd depth.
TEST(NarrowTensors, BandsOfLargeImagesGiveTheBitsOfRoundedOnes) {
  for (const auto& [depth, stride] : {std::pair<int64_t, int64_t>{64, 1}, {63, 1}, {48, 2}}) {
    SCOPED_TRACE(depth);
    std::mt19937 random(5);
    GuardedMemory memory(random);
    Window w;
    w.batch = 2;
    w.depth = depth;
    w.columns = 40;
    for (int i = 0; i < 2; ++i) {
      w.in[i] = 81 + i;
      w.stride[i] = stride;
    }
    check(convolution(random, memory, w, depth == 64, "relu"), memory, {1, 3}, true);
  }
}

// In parts of the depth, with the sums of those before in memory: the same parts.
TEST(NarrowTensors, DeepProductsGiveTheBitsOfRoundedOnes) {
  std::mt19937 random(6);
  GuardedMemory memory(random);
  for (const bool residual : {false, true})
    check(product(random, memory, 190, 2100, 195, residual, "gelu"), memory, {1});
}

// As a reader that rounds them itself: to the nearest, ties to even, infinite where they are too large, NaN as NaN.
TEST(NarrowTensors, ResultsAreRoundedToTheNearestAndTiesToEven) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, double>> cases = {{1 + 0x1p-8, 1},
                                                        {1 + 0x3p-8, 1 + 0x1p-6},
                                                        {-1 - 0x3p-8, -1 - 0x1p-6},
                                                        {3.4028234663852886e38, infinity},
                                                        {-infinity, -infinity},
                                                        {std::nan(""), std::nan("")}};
  for (const auto& [sum, to] : cases) {
    SCOPED_TRACE(sum);
    // The bias alone.
    const Array input(DType::kF32, {3, 2}, {0, 0, 0, 0, 0, 0}), weight(DType::kBF16, {2, 1}, {0, 0});
    const Array bias(DType::kF32, {1}, {sum});
    with_and_without_products([&, to = to] {
      for_each_simd_target([&](const char* target) {
        SCOPED_TRACE(target);
        const Array out(DType::kBF16, {3, 1});
        testing::Prepared call(testing::kLinear, {input, weight, bias, nullptr, "none", 0.0, 0.0, "", out});
        ASSERT_EQ(call.run(), Error::kOk) << call.message();
        for (const double x : out.values()) EXPECT_TRUE(x == to || (std::isnan(x) && std::isnan(to))) << x;
        EXPECT_TRUE(out.intact());
      });
    });
  }
}

TEST(NarrowTensors, TypesThatDoNotFitAreRefused) {
  const Array wide(DType::kF32, {2, 4}, std::vector<double>(8, 1)), narrow = bf16(wide);
  const Array weight(DType::kF32, {4, 3}, std::vector<double>(12, 1)), narrow_weight = bf16(weight),
                                                                       half = as_type(weight, DType::kF16);
  const Array out(DType::kF32, {2, 3}), narrow_out(DType::kBF16, {2, 3}), residual(DType::kF32, {2, 3});
  const auto refused = [](const Array& input, const Array& w, const Arg& more, const Array& result) {
    testing::Prepared call(testing::kLinear, {input, w, nullptr, more, "none", 0.0, 0.0, "", result});
    return call.error() == Error::kOk && call.run() == Error::kInvalidArgument;
  };
  EXPECT_TRUE(refused(narrow, weight, nullptr, out));
  EXPECT_TRUE(refused(narrow, half, nullptr, out));
  EXPECT_TRUE(refused(wide, weight, nullptr, narrow_out));
  EXPECT_TRUE(refused(wide, half, nullptr, narrow_out));
  EXPECT_TRUE(refused(wide, narrow_weight, narrow_out, narrow_out)) << "a residual of bf16";
  EXPECT_FALSE(refused(wide, narrow_weight, residual, narrow_out));
  EXPECT_FALSE(refused(narrow, narrow_weight, residual, out));
  EXPECT_FALSE(refused(narrow, narrow_weight, nullptr, narrow_out));
}

}  // namespace
}  // namespace berth::cpu

// Products of narrow weights. The fears: a pair whose other half is not zero, a pixel that another thread has not
// rounded yet, padding that is computed with or stored, a weight that is read as another, numbers that are rounded
// otherwise than the portable kernel does.

#include "kernels/cpu/tiles_narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/engine_testing.h"
#include "kernels/cpu/matrix_products.h"
#include "kernels/cpu/matrix_testing.h"
#include "kernels/cpu/narrow_testing.h"
#include "kernels/cpu/packing.h"
#include "kernels/portable/convert.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::kInfinity;
using testing::Prepared;

int64_t whole(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

struct Call {
  testing::PreparedKernel kernel;
  KernelFunction portable;
  std::vector<Arg> args;  // but the last, the result
  Array expected;
  std::string engine;  // empty: any
};

// On every instruction set, or on those that have tiles, with these numbers of threads, twice.
void check(const Call& call, double tolerance = 2e-4, const std::vector<int>& numbers = {1, 2, 3, 4},
           bool tiles_alone = false) {
  std::vector<Arg> args = call.args;
  args.emplace_back(call.expected);
  ASSERT_EQ(testing::run(call.portable, args, 16 << 20), Error::kOk);
  for_each_simd_target([&](const char* target) {
    if (tiles_alone && pair_functions().tiles.lanes == 0) return;
    for (const int threads : numbers) {
      SCOPED_TRACE(std::string(target) + " on " + std::to_string(threads) + " threads");
      const Array out = array_like(call.expected);
      args = call.args;
      args.emplace_back(out);
      Prepared prepared(call.kernel, args, threads);
      ASSERT_EQ(prepared.error(), Error::kOk) << prepared.message();
      if (!call.engine.empty()) {
        const bool has = pair_functions().tiles.lanes > 0;
        ASSERT_EQ(conv_engine(prepared.state()), has ? call.engine : "portable");
      }
      for (int turn = 0; turn < 2; ++turn) {
        ASSERT_EQ(prepared.run(), Error::kOk) << prepared.message();
        expect_close(call.expected, out, tolerance);
      }
    }
  });
}

Call linear_call(const Array& input, const Array& weight, const Arg& bias = nullptr, const Arg& residual = nullptr,
                 const char* activation = "none") {
  std::vector<int32_t> sizes = input.sizes();
  sizes.back() = weight.sizes()[1];
  return {testing::kLinear,
          untyped<portable::fused_linear_out>,
          {input, weight, bias, residual, activation, -0.5, 0.5, ""},
          Array(DType::kF32, sizes),
          weight.tensor().dtype() == DType::kBF16 ? "bf16 tiles" : ""};
}

class TilesNarrow : public ::testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(Types, TilesNarrow, ::testing::Values(DType::kBF16, DType::kF16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(TilesNarrow, ProductsArePortable) {
  with_and_without_products([] {
    for (int turn = 0; turn < 24; ++turn) {
      const Seed seed;
      SCOPED_TRACE(seed.text());
      std::mt19937 random(seed.value);
      // Now and then so large that threads share blocks of rows, and with an odd depth.
      const auto rows = static_cast<int32_t>(turn % 6 == 0 ? whole(random, 200, 700) : whole(random, 1, 60));
      const auto depth = static_cast<int32_t>(whole(random, 1, turn % 4 == 0 ? 700 : 70));
      const auto columns = static_cast<int32_t>(whole(random, 1, 90));
      const Array weight = as_type(random_array(random, {depth, columns}), GetParam());
      const Arg none = nullptr;
      const Call call = linear_call(
          random_array(random, {rows, depth}), weight, turn % 2 == 0 ? Arg(random_array(random, {columns})) : none,
          turn % 3 == 0 ? Arg(random_array(random, {rows, columns})) : none, any_activation(random));
      check(call);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// A panel that is too deep for a near cache is read in parts, with the sums of those before in the result. The last
// part may be a single pair. Whole numbers, whose sums are exact in any order.
TEST(TilesNarrowDepth, DeepProductsArePortable) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  const auto numbers = [&](std::vector<int32_t> sizes) {
    int64_t count = 1;
    for (const int32_t size : sizes) count *= size;
    std::vector<double> values(count);
    for (double& x : values) x = static_cast<double>(whole(random, -8, 8));
    return Array(DType::kF32, std::move(sizes), values);
  };
  constexpr int32_t kRows = 190;
  const std::pair<int32_t, const char*> cases[] = {
      {2048, "none"}, {2049, "hard_swish"}, {2050, "relu"}, {4300, "gelu"}};
  for (const auto& [depth, activation] : cases) {
    SCOPED_TRACE(std::to_string(depth) + ", " + activation);
    const auto columns = static_cast<int32_t>(whole(random, kRows, kRows + 20));
    const Array weight = as_type(numbers({depth, columns}), DType::kBF16);
    const Call call =
        linear_call(numbers({kRows, depth}), weight, numbers({columns}), numbers({kRows, columns}), activation);
    with_and_without_products([&] { check(call, 1e-6, {1, 4}, true); });
    if (::testing::Test::HasFailure()) return;
  }
}

Call random_conv(std::mt19937& random, DType type, int turn) {
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const int64_t groups = whole(random, 0, 3) == 0 ? whole(random, 2, 4) : 1;
  const int64_t in = whole(random, groups == 1 ? 1 : 2, 40), out = whole(random, 1, 40);
  std::vector<int64_t> kernel, stride, padding, dilation;
  std::vector<int32_t> size, out_size;
  for (int i = 0; i < 2; ++i) {
    kernel.push_back(turn % 3 == 0 ? 1 : whole(random, 1, 4));
    stride.push_back(whole(random, 1, 2));
    dilation.push_back(whole(random, 1, 2));
    const int64_t reach = (kernel.back() - 1) * dilation.back() + 1;
    padding.push_back(turn % 2 == 0 ? reach / 2 : whole(random, 0, reach));
    const int64_t least = std::max<int64_t>(1, reach - 2 * padding.back());
    size.push_back(static_cast<int32_t>(whole(random, least, least + 20)));
    out_size.push_back(static_cast<int32_t>((size.back() + 2 * padding.back() - reach) / stride.back() + 1));
  }
  const auto batch = static_cast<int32_t>(whole(random, 1, 2));
  const auto channels = static_cast<int32_t>(out * groups);
  const Array weight = as_type(random_array(random, {channels, static_cast<int32_t>(in),
                                                     static_cast<int32_t>(kernel[0]), static_cast<int32_t>(kernel[1])}),
                               type);
  const Arg none = nullptr;
  const std::vector<int32_t> out_sizes = {batch, channels, out_size[0], out_size[1]};
  return {testing::kConv,
          untyped<portable::fused_conv_out>,
          {random_array(random, {batch, static_cast<int32_t>(in * groups), size[0], size[1]}, last), weight,
           turn % 2 == 0 ? Arg(random_array(random, {channels})) : none,
           turn % 5 == 0 ? Arg(random_array(random, out_sizes, last)) : none, stride, padding, dilation, false,
           std::vector<int64_t>{0, 0}, groups, any_activation(random), -0.5, 0.5, ""},
          Array(DType::kF32, out_sizes, {}, last),
          ""};
}

TEST_P(TilesNarrow, ConvolutionsArePortable) {
  with_and_without_products([] {
    for (int turn = 0; turn < 40; ++turn) {
      const Seed seed;
      SCOPED_TRACE(seed.text() + ", turn " + std::to_string(turn));
      std::mt19937 random(seed.value);
      check(random_conv(random, GetParam(), turn), 5e-4);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// Numbers of few bits are multiplied exactly, whatever the order: sums of them are compared with sums that a plain loop
// makes of integers.
TEST_P(TilesNarrow, WholeNumbersAreExact) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  constexpr int32_t kRows = 37, kDepth = 65, kColumns = 50;
  std::vector<double> x(kRows * kDepth), w(kDepth * kColumns), expected(kRows * kColumns);
  for (double& v : x) v = static_cast<double>(whole(random, -100, 100));
  for (double& v : w) v = static_cast<double>(whole(random, -100, 100));
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      for (int k = 0; k < kDepth; ++k) expected[i * kColumns + j] += x[i * kDepth + k] * w[k * kColumns + j];
    }
  }
  const Array input(DType::kF32, {kRows, kDepth}, x), weight(GetParam(), {kDepth, kColumns}, w);
  with_and_without_products([&] {
    const Call call = linear_call(input, weight);
    check(call, 0);
    EXPECT_EQ(call.expected.values(), expected);
  });
}

// Of a product with 1 the input comes back as it was rounded.
TEST(TilesNarrowRounding, InputsAreRoundedToTheNearestAndTiesToEven) {
  const std::vector<std::pair<double, double>> cases = {
      {1 + 0x1p-8, 1},
      {1 + 0x3p-8, 1 + 0x1p-6},
      {1 + 0x1p-8 + 0x1p-20, 1 + 0x1p-7},
      {-1 - 0x3p-8, -1 - 0x1p-6},
      {3.4028234663852886e38, kInfinity},  // the largest float is nearer to what would follow the largest bf16
      {kInfinity, kInfinity},
      {-kInfinity, -kInfinity},
      {0, 0},
      {0x1p-126, 0x1p-126}};
  for (const auto& [from, to] : cases) {
    for (const auto& [rows, depth] : {std::pair{1, 1}, {1, 2}, {1, 17}, {37, 1}, {37, 2}, {37, 17}}) {
      SCOPED_TRACE(std::to_string(from) + ", " + std::to_string(rows) + " rows of depth " + std::to_string(depth));
      std::vector<double> x(rows * depth, 0.0), w(depth, 0.0);
      x.back() = from;
      w.back() = 1;
      with_and_without_products([&, to = to, rows = rows, depth = depth] {
        const Call call = linear_call(Array(DType::kF32, {rows, depth}, x), Array(DType::kBF16, {depth, 1}, w));
        check(call, 0);
        EXPECT_EQ(call.expected.values().back(), to);
      });
    }
  }
}

// Of few rows, and of as many as are multiplied as matrices, whose panels are filled or not.
TEST_P(TilesNarrow, NaNAndInfinitiesStayWhatTheyAre) {
  for (const auto& [rows, columns] : {std::pair{3, 20}, {37, 20}, {37, 32}}) {
    for (const double special : {kInfinity, -kInfinity, std::nan("")}) {
      for (const bool in_weight : {false, true}) {
        std::vector<double> x(rows * 19, 0.5), w(19 * columns, 0.25);
        (in_weight ? w[5 * columns + 3] : x[1 * 19 + 5]) = special;
        with_and_without_products([&, rows = rows, columns = columns] {
          const Call call = linear_call(Array(DType::kF32, {rows, 19}, x), Array(GetParam(), {19, columns}, w));
          check(call);
          const std::vector<double> y = call.expected.values();
          const double there = in_weight ? y[3] : y[columns];
          EXPECT_TRUE(std::isnan(special) ? std::isnan(there) : there == special);
          EXPECT_TRUE(std::isfinite(in_weight ? y[4] : y[0]));
        });
      }
    }
  }
}

// Denormal numbers may count as zeros, and are nothing else.
TEST_P(TilesNarrow, DenormalNumbersAreThemselvesOrZero) {
  for (const int32_t rows : {1, 37}) {
    const std::vector<double> x(rows * 8, 0x1p-130), w(8, 1);
    with_and_without_products([&] {
      check(linear_call(Array(DType::kF32, {rows, 8}, x), Array(GetParam(), {8, 1}, w)), 1e-37);
    });
  }
}

// Small images are computed along rows as wide as their padded input: what lies beyond the result must not be stored,
// and a tile's last row not be read from the next image.
TEST(TilesNarrowMatrices, SmallImagesOfManyChannelsArePortable) {
  with_and_without_products([] {
    for (const int32_t size : {1, 2, 3, 5, 7, 9, 14, 15, 31}) {
      for (const int64_t kernel : {2, 3, 5}) {
        const Seed seed;
        SCOPED_TRACE(seed.text() + ", " + std::to_string(size) + " pixels, " + std::to_string(kernel) + " taps");
        std::mt19937 random(seed.value);
        const int64_t padding = kernel / 2;
        const auto out = static_cast<int32_t>(size + 2 * padding - kernel + 1);
        const auto depth = static_cast<int32_t>(whole(random, 30, 100)),
                   columns = static_cast<int32_t>(whole(random, 1, 70));
        const std::vector<uint8_t> last = {0, 2, 3, 1};
        const auto taps = static_cast<int32_t>(kernel);
        const std::vector<int64_t> ones = {1, 1}, none = {0, 0};
        check({testing::kConv,
               untyped<portable::fused_conv_out>,
               {random_array(random, {2, depth, size, size}, last),
                as_type(random_array(random, {columns, depth, taps, taps}), DType::kBF16),
                random_array(random, {columns}), random_array(random, {2, columns, out, out}, last), ones,
                std::vector<int64_t>{padding, padding}, ones, false, none, int64_t{1}, any_activation(random), -0.5,
                0.5, ""},
               Array(DType::kF32, {2, columns, out, out}, {}, last),
               "bf16 tiles"},
              1e-3);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

// Large images are rounded some lines at a time: lines that two bands read, a last band of fewer rows, the next image's
// first line, rows that a window skips.
TEST(TilesNarrowMatrices, BandsOfLargeImagesArePortable) {
  struct Shape {
    int32_t batch, depth, columns, size[2];
    int64_t kernel, stride, padding, dilation;
  };
  const Shape shapes[] = {{2, 131, 33, {47, 95}, 3, 1, 1, 1},
                          {1, 260, 5, {61, 40}, 3, 2, 1, 1},
                          {1, 96, 17, {83, 81}, 2, 1, 0, 3},
                          {1, 700, 3, {9, 97}, 5, 1, 2, 1}};
  for (const Shape& s : shapes) {
    const Seed seed;
    SCOPED_TRACE(seed.text() + ", " + std::to_string(s.depth) + " channels");
    std::mt19937 random(seed.value);
    const std::vector<uint8_t> last = {0, 2, 3, 1};
    const auto taps = static_cast<int32_t>(s.kernel);
    std::vector<int32_t> out = {s.batch, s.columns};
    for (const int32_t size : s.size) {
      const int64_t reach = (s.kernel - 1) * s.dilation + 1;
      out.push_back(static_cast<int32_t>((size + 2 * s.padding - reach) / s.stride + 1));
    }
    const auto both = [](int64_t x) { return std::vector<int64_t>{x, x}; };
    const Call call = {
        testing::kConv,
        untyped<portable::fused_conv_out>,
        {random_array(random, {s.batch, s.depth, s.size[0], s.size[1]}, last),
         as_type(random_array(random, {s.columns, s.depth, taps, taps}), DType::kBF16),
         random_array(random, {s.columns}), random_array(random, out, last), both(s.stride), both(s.padding),
         both(s.dilation), false, both(0), int64_t{1}, any_activation(random), -0.5, 0.5, ""},
        Array(DType::kF32, out, {}, last),
        "bf16 tiles"};
    with_and_without_products([&] { check(call, 2e-3, {1, 3}, true); });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(TilesNarrowMatrices, LargeImagesNeedLittleTemporaryMemory) {
  if (matrix_functions().tiles.lanes == 0) GTEST_SKIP() << "this processor multiplies no matrices";
  ConvSpec spec;
  spec.in_channels = 128;
  spec.out_channels = 64;
  spec.weight_type = static_cast<int64_t>(DType::kBF16);
  for (int i = 0; i < 2; ++i) {
    spec.in[i] = spec.out[i] = 256;
    spec.kernel[i] = 3;
    spec.padding[i] = 1;
  }
  const int64_t in[4] = {128 * 65536, 1, 128 * 256, 128}, out[4] = {64 * 65536, 1, 64 * 256, 64};
  std::copy_n(in, 4, spec.in_stride);
  std::copy_n(out, 4, spec.out_stride);
  EXPECT_LE(bf16_tile_kind(spec, 2)->temp_bytes(), 2 * ((1 << 20) + 1024));
}

#ifdef __x86_64__

TEST(TilesNarrowMatrices, AThreadKeepsNoRegisters) {
  if (matrix_functions().tiles.lanes == 0) GTEST_SKIP() << "this processor multiplies no matrices";
  std::mt19937 random(1);
  const Array weight = as_type(random_array(random, {40, 70}), DType::kBF16);
  std::vector<Arg> args = linear_call(random_array(random, {50, 40}), weight).args;
  args.emplace_back(Array(DType::kF32, {50, 70}));
  Prepared prepared(testing::kLinear, args, 1);
  ASSERT_EQ(prepared.run(), Error::kOk) << prepared.message();
  EXPECT_FALSE(matrices_are_in_use());
}

#endif

// Windows that reach far beyond a small image: with its padding it would be 280 times as large.
TEST(TilesNarrowMatrices, PaddingIsNotKeptWhereItIsMuchMoreThanTheInput) {
  ConvSpec spec;
  spec.in_channels = 64;
  spec.out_channels = 32;
  spec.weight_type = static_cast<int64_t>(DType::kBF16);
  for (int i = 0; i < 2; ++i) {
    spec.in[i] = spec.out[i] = 8;
    spec.kernel[i] = 3;
    spec.dilation[i] = spec.padding[i] = 63;
  }
  const int64_t in[4] = {64 * 64, 1, 8 * 64, 64}, out[4] = {64 * 32, 1, 8 * 32, 32};
  std::copy_n(in, 4, spec.in_stride);
  std::copy_n(out, 4, spec.out_stride);
  const auto kind = bf16_tile_kind(spec, 1);
  if (kind == nullptr) GTEST_SKIP() << "this processor has no tiles of bf16";
  EXPECT_LE(kind->temp_bytes(), 8 * 8 * 64 * sizeof(uint16_t) + 1024);
}

// Each pixel of an odd depth is filled up with a zero: where several are rounded at once, and in the last of them.
TEST(TilesNarrowRounding, PixelsOfOddDepthsKeepTheirElements) {
  const PairFunctions functions = pair_functions();
  if (functions.tiles.lanes == 0) GTEST_SKIP() << "this processor rounds nothing";
  for (const int64_t depth : {1, 3, 5, 7, 9, 11, 13, 15, 17, 31}) {
    for (const int64_t pixels : {1, 2, 5, 16, 40}) {
      SCOPED_TRACE(std::to_string(pixels) + " pixels of " + std::to_string(depth));
      std::vector<float> from(pixels * depth);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % 127 + 1);
      const int64_t width = depth + 1;
      std::vector<uint16_t> to(pixels * width + 1, 0xbeef);
      functions.narrow_pixels(from.data(), pixels, depth, reinterpret_cast<float*>(to.data()));
      for (int64_t i = 0; i < pixels * width; ++i) {
        const float expected = i % width == depth ? 0 : from[i / width * depth + i % width];
        const uint32_t bits = static_cast<uint32_t>(to[i]) << 16;
        float found = 0;
        std::memcpy(&found, &bits, sizeof found);
        ASSERT_EQ(found, expected) << "element " << i;
      }
      EXPECT_EQ(to.back(), 0xbeef);
    }
  }
}

// What the compiler packs is used where the file has it, and unpacked again by another instruction set.
TEST_P(TilesNarrow, PackedWeightsAreUsedInPlaceAndRepackedElsewhere) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  const Array dense = as_type(random_array(random, {33, 70}), GetParam());
  LinearToPack linear;
  linear.rows = 5;
  linear.depth = 33;
  linear.columns = 70;
  linear.weight_type = GetParam();
  PackedWeight packed;
  ASSERT_TRUE(pack_linear(linear, dense.tensor().raw(), "native", &packed));
  const auto count = static_cast<int32_t>(packed.bytes.size() / 2);
  const Array weight(GetParam(), {count});
  std::memcpy(weight.tensor().raw(), packed.bytes.data(), packed.bytes.size());
  const Array input = random_array(random, {5, 33});
  Call call = linear_call(input, dense);
  std::vector<Arg> args = call.args;
  args.emplace_back(call.expected);
  ASSERT_EQ(testing::run(call.portable, args, 1 << 20), Error::kOk);
  int in_place = 0;
  for_each_simd_target([&](const char* target) {
    SCOPED_TRACE(target);
    const Array out = array_like(call.expected);
    args = call.args;
    args[1] = weight;
    args[7] = packed.text.c_str();
    args.emplace_back(out);
    Prepared prepared(testing::kLinear, args, 2);
    ASSERT_EQ(prepared.error(), Error::kOk) << prepared.message();
    ASSERT_EQ(prepared.run(), Error::kOk) << prepared.message();
    in_place += conv_uses_weight_in_place(prepared.state()) ? 1 : 0;
    expect_close(call.expected, out, 2e-4);
  });
  EXPECT_GE(in_place, 1);
}

}  // namespace
}  // namespace berth::cpu

// Convolutions and products made ready at load, against the portable kernels. The fears: a shape for which an engine
// computes something else, a residual that is overwritten before it is read, a packed weight that is read as another.

#include "kernels/cpu/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "format/activation_names.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/conv_testing.h"
#ifdef BERTH_HIGHWAY
#include "kernels/cpu/simd_testing.h"
#endif

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;
using testing::Prepared;

struct RandomConv {
  explicit RandomConv(unsigned seed) : engine(seed) {}
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  bool truth() { return whole(0, 1) == 1; }
  std::vector<double> reals(int64_t count) {
    std::vector<double> result(count);
    std::uniform_real_distribution<float> real(-1, 1);
    for (double& x : result) x = static_cast<double>(real(engine));
    return result;
  }
  Array tensor(const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order = {}) {
    int64_t count = 1;
    for (const int32_t size : sizes) count *= size;
    return Array(DType::kF32, sizes, reals(count), order);
  }
  std::mt19937 engine;
};

// What must be near: rtol 1e-4, atol 1e-5 x the largest magnitude.
void expect_near_largest(const Array& actual, const Array& expected) {
  const std::vector<double> a = actual.values();
  const std::vector<double> e = expected.values();
  ASSERT_EQ(a.size(), e.size());
  double largest = 0;
  for (const double x : e) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::fabs(a[i] - e[i]), 1e-4 * std::fabs(e[i]) + 1e-5 * largest) << "at " << i << " of " << a.size();
  }
  EXPECT_TRUE(actual.intact());
}

struct ConvCase {
  Array input, weight, residual, out, expected;
  Arg bias;
  bool has_residual = false;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
  bool transposed = false;
  std::string activation;
  double alpha = -0.5, beta = 0.5;
  std::vector<int64_t> output_padding = {0, 0};

  std::vector<Arg> args(const Arg& residual_arg, const Array& result) const {
    return {input,      weight,         bias,   residual_arg,       stride, padding, dilation,
            transposed, output_padding, groups, activation.c_str(), alpha,  beta,    "",
            result};
  }
};

constexpr uint8_t kChannelsLast[] = {0, 2, 3, 1};

ConvCase random_conv(RandomConv& random) {
  const std::vector<uint8_t> order = random.whole(0, 4) == 0 ? std::vector<uint8_t>{0, 1, 2, 3}
                                                             : std::vector<uint8_t>(kChannelsLast, kChannelsLast + 4);
  int64_t groups = random.whole(0, 2) == 0 ? random.whole(2, 40) : 1;
  const bool depthwise = groups > 1 && random.whole(0, 2) != 0;
  const int64_t in = depthwise ? 1 : random.whole(1, groups > 1 ? 9 : 70);
  const int64_t out = depthwise ? random.whole(1, 2) : random.whole(1, groups > 1 ? 9 : 70);
  std::vector<int64_t> kernel, stride, padding, dilation;
  std::vector<int32_t> size, out_size;
  for (int i = 0; i < 2; ++i) {
    kernel.push_back(random.truth() ? 1 : random.whole(1, 5));
    stride.push_back(random.whole(1, 3));
    dilation.push_back(random.whole(1, 2));
    padding.push_back(random.whole(0, kernel.back() * dilation.back()));
    const int64_t reach = (kernel.back() - 1) * dilation.back() + 1;
    const int64_t least = std::max<int64_t>(1, reach - 2 * padding.back());
    size.push_back(static_cast<int32_t>(random.whole(least, least + 14)));
    out_size.push_back(static_cast<int32_t>((size.back() + 2 * padding.back() - reach) / stride.back() + 1));
  }
  const bool transposed = random.whole(0, 5) == 0;
  std::vector<int64_t> output_padding = {0, 0};
  for (size_t i = 0; i < 2 && transposed; ++i) {
    const int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
    padding[i] = std::min(padding[i], (reach - 1) / 2);
    output_padding[i] = random.whole(0, std::max(stride[i], dilation[i]) - 1);
    out_size[i] = static_cast<int32_t>((size[i] - 1) * stride[i] + reach - 2 * padding[i] + output_padding[i]);
  }
  const auto n = static_cast<int32_t>(random.whole(1, 2));
  const auto channels = static_cast<int32_t>(out * groups);
  const std::vector<int32_t> out_sizes = {n, channels, out_size[0], out_size[1]};
  const bool bias = random.truth();
  ConvCase c = {random.tensor({n, static_cast<int32_t>(in * groups), size[0], size[1]}, order),
                random.tensor({transposed ? static_cast<int32_t>(in * groups) : channels,
                               static_cast<int32_t>(transposed ? out : in), static_cast<int32_t>(kernel[0]),
                               static_cast<int32_t>(kernel[1])}),
                random.tensor(out_sizes, order),
                Array(DType::kF32, out_sizes, {}, order),
                Array(DType::kF32, out_sizes, {}, order),
                bias ? Arg(random.tensor({channels})) : Arg(nullptr),
                random.truth(),
                stride,
                padding,
                dilation,
                groups,
                transposed,
                kActivationNames[random.whole(0, 11)]};
  c.output_padding = output_padding;
  return c;
}

Arg residual_of(const ConvCase& c, const Array& array) { return c.has_residual ? Arg(array) : Arg(nullptr); }

void run_reference(const ConvCase& c) {
  ASSERT_EQ(testing::run(portable::fused_conv_out, c.args(residual_of(c, c.residual), c.expected), 4 << 20),
            Error::kOk);
}

void expect_convolutions(unsigned seeds, int* engines) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomConv random(seed);
    const ConvCase c = random_conv(random);
    run_reference(c);
    const int threads = seed % 16 == 0 ? 2 : 1;
    // Where the residual lies in the result's own memory, and where it does not.
    const bool in_place = c.has_residual && random.truth();
    if (in_place) c.out.set(c.residual.values());
    Prepared call(testing::kConv, c.args(residual_of(c, in_place ? c.out : c.residual), c.out), threads);
    ASSERT_EQ(call.error(), Error::kOk) << call.message();
    if (std::string(conv_engine(call.state())) != "portable") ++*engines;
    for (int run = 0; run < 2; ++run) {
      if (in_place && run > 0) c.out.set(c.residual.values());
      ASSERT_EQ(call.run(), Error::kOk) << call.message();
      expect_near_largest(c.out, c.expected);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void expect_products(unsigned seeds, int* engines) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomConv random(seed);
    const auto rows = static_cast<int32_t>(random.whole(1, 40));
    const auto depth = static_cast<int32_t>(random.whole(1, 200));
    const auto columns = static_cast<int32_t>(random.whole(1, 200));
    const std::vector<int32_t> batch = random.truth() ? std::vector<int32_t>{2, rows} : std::vector<int32_t>{rows};
    std::vector<int32_t> in_sizes = batch, out_sizes = batch;
    in_sizes.push_back(depth);
    out_sizes.push_back(columns);
    const Array input = random.tensor(in_sizes);
    const Array weight = random.tensor({depth, columns});
    const Arg bias = random.truth() ? Arg(random.tensor({columns})) : Arg(nullptr);
    const Array residual = random.tensor(out_sizes);
    const bool has_residual = random.truth();
    const bool in_place = has_residual && random.truth();
    const char* activation = kActivationNames[random.whole(0, 11)];
    const Array expected = f32(out_sizes);
    const Array out = f32(out_sizes);
    const auto args = [&](const Array& with, const Array& result) {
      return std::vector<Arg>{input, weight, bias,  has_residual ? Arg(with) : Arg(nullptr), activation, -0.5,
                              0.5,   "",     result};
    };
    ASSERT_EQ(testing::run(portable::fused_linear_out, args(residual, expected), 1 << 22), Error::kOk);
    if (in_place) out.set(residual.values());
    Prepared call(testing::kLinear, args(in_place ? out : residual, out), seed % 16 == 0 ? 2 : 1);
    ASSERT_EQ(call.error(), Error::kOk) << call.message();
    if (std::string(conv_engine(call.state())) != "portable") ++*engines;
    ASSERT_EQ(call.run(), Error::kOk) << call.message();
    expect_near_largest(out, expected);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Calls check(seeds, engines) with each engine that this build has, on each instruction set that Highway's has here.
// `engines` counts the calls that the engine took: it must not be the portable kernel that is compared with itself.
template <typename Check>
void with_each_engine(unsigned seeds, Check&& check) {
  int engines = 0;
#ifdef BERTH_ONEDNN
  set_preferred_engine(Prefer::kOneDnn);
  check(seeds, &engines);
  EXPECT_GT(engines, static_cast<int>(seeds) / 2);
#endif
#ifdef BERTH_HIGHWAY
  set_preferred_engine(Prefer::kTiles);
  for_each_simd_target([&](const char* name) {
    SCOPED_TRACE(name);
    engines = 0;
    check(seeds, &engines);
    EXPECT_GT(engines, static_cast<int>(seeds) / 2);
  });
#endif
  set_preferred_engine(Prefer::kFaster);
  check(seeds / 4, &engines);
}

TEST(Conv, ConvolutionsMatchThePortableKernels) { with_each_engine(200, expect_convolutions); }

TEST(Conv, ProductsMatchThePortableKernels) { with_each_engine(100, expect_products); }

// Three axes, and weights that are computed: right, if slower.
TEST(Conv, ConvolutionsThatNoEngineTakesMatchThePortableKernels) {
  RandomConv random(7);
  ConvCase c = random_conv(random);
  run_reference(c);
  Prepared computed(testing::kConv, c.args(residual_of(c, c.residual), c.out), 1, {});
  ASSERT_EQ(computed.error(), Error::kOk);
  EXPECT_STREQ(conv_engine(computed.state()), "portable");
  ASSERT_EQ(computed.run(), Error::kOk) << computed.message();
  EXPECT_EQ(c.out.values(), c.expected.values());

  const std::vector<int64_t> one = {1, 1, 1}, none = {0, 0, 0};
  const Array input = random.tensor({1, 6, 3, 5, 5}), weight = random.tensor({4, 6, 2, 3, 3});
  const Array expected = f32({1, 4, 2, 3, 3}), out = f32({1, 4, 2, 3, 3});
  const auto three_axes = [&](const Array& result) {
    return std::vector<Arg>{input, weight, nullptr, nullptr, one, none, one,   false,
                            none,  1,      "relu",  0.0,     0.0, "",   result};
  };
  ASSERT_EQ(testing::run(portable::fused_conv_out, three_axes(expected), 4 << 20), Error::kOk);
  Prepared call(testing::kConv, three_axes(out));
  ASSERT_EQ(call.error(), Error::kOk);
  EXPECT_STREQ(conv_engine(call.state()), "portable");
  ASSERT_EQ(call.run(), Error::kOk) << call.message();
  EXPECT_EQ(out.values(), expected.values());
}

// Steps that lead out of any memory, between pixels that are all padding but one.
TEST(Conv, HugeStridesMatchThePortableKernels) {
  const std::vector<int64_t> far = {INT32_MAX, INT32_MAX}, one = {1, 1}, none = {0, 0};
  RandomConv random(3);
  const Array input = random.tensor({1, 40, 2, 64}, {0, 2, 3, 1}), weight = random.tensor({40, 1, 3, 3});
  const Array expected(DType::kF32, {1, 40, 2, 3}, {}, {0, 2, 3, 1}), out(DType::kF32, {1, 40, 2, 3}, {}, {0, 2, 3, 1});
  const auto args = [&](const Array& result) {
    return std::vector<Arg>{input, weight, nullptr, nullptr, far, far, one,   false,
                            none,  40,     "none",  0.0,     0.0, "",  result};
  };
  ASSERT_EQ(testing::run(portable::fused_conv_out, args(expected), 4 << 20), Error::kOk);
  Prepared call(testing::kConv, args(out));
  ASSERT_EQ(call.error(), Error::kOk);
  EXPECT_STREQ(conv_engine(call.state()), "portable");
  ASSERT_EQ(call.run(), Error::kOk) << call.message();
  EXPECT_EQ(out.values(), expected.values());
}

// A tensor of other sizes or of another type than at load: a move may bring one for any that is not a constant.
TEST(Conv, APreparedCallRefusesOtherTensors) {
  const std::vector<int64_t> one = {1, 1}, none = {0, 0};
  const Array input = f32({1, 3, 4, 4}, std::vector<double>(48)), weight = f32({5, 3, 1, 1}, std::vector<double>(15));
  const Array bias = f32({5}, std::vector<double>(5)), residual = f32({1, 5, 4, 4}, std::vector<double>(80));
  const Array out = f32({1, 5, 4, 4});
  Prepared call(testing::kConv,
                {input, weight, bias, residual, one, none, one, false, none, 1, "none", 0.0, 0.0, "", out});
  ASSERT_EQ(call.error(), Error::kOk);
  if (std::string(conv_engine(call.state())) == "portable") GTEST_SKIP() << "this build has no engines";
  for (const Array& array : {input, bias, residual, out}) {
    const Tensor before = array.tensor();
    SCOPED_TRACE(before.numel());
    const auto refuses = [&](DType dtype, std::vector<int32_t> sizes) {
      int64_t strides[4];
      const uint8_t order[] = {0, 1, 2, 3};
      array.tensor() = Tensor(dtype, before.rank(), sizes.data(), order, strides, before.raw());
      return call.run() == Error::kInvalidArgument;
    };
    std::vector<int32_t> fewer = array.sizes();
    --fewer.back();
    EXPECT_TRUE(refuses(DType::kF32, fewer));
    EXPECT_TRUE(refuses(DType::kU8, {before.sizes().begin(), before.sizes().end()}));
    array.tensor() = before;
    EXPECT_EQ(call.run(), Error::kOk) << call.message();
  }
}

}  // namespace
}  // namespace berth::cpu

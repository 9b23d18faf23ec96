// Products of 8-bit integers on random shapes, orders and roundings, beside the portable kernels: to the bit, with and
// without the device's dot product.

#include "backends/vulkan/device_test/tested.h"
#include "kernels/portable/quantized_testing.h"

namespace berth::vulkan {
namespace {

using berth::testing::QuantizedCase;
using berth::testing::QuantizedCases;

[[maybe_unused]] const ::testing::Environment* const kDevice = ::testing::AddGlobalTestEnvironment(new TestedDevice);

constexpr unsigned kCases = 3;

// The order of a weight's dimensions that the compiler gives it (compiler/fuse/order_weights.h).
std::vector<uint8_t> ordered(const QuantizedCase& c) {
  const std::vector<int32_t> sizes = c.weight.sizes();
  if (!c.conv) return sizes.size() == 2 ? std::vector<uint8_t>{1, 0} : std::vector<uint8_t>{};
  if (sizes[0] == c.groups && sizes[1] == 1) return {1, 2, 3, 0};
  std::vector<uint8_t> order = {0};
  for (size_t d = 2; d < sizes.size(); ++d) order.push_back(static_cast<uint8_t>(d));
  order.push_back(1);
  return order;
}

class VulkanQuantized : public VulkanKernels {
 protected:
  void SetUp() override {
    VulkanKernels::SetUp();
    of_bytes = true;
  }

  void expect_same_product(const QuantizedCase& c, bool reorders) {
    // The device's own formulas for others than these.
    exact = c.activation == "none" || c.activation == "relu" || c.activation == "clamp";
    one_step = !exact && c.out.tensor().dtype() != DType::kF32;
    const Array weight =
        reorders ? Array(c.weight.tensor().dtype(), c.weight.sizes(), c.weight.values(), ordered(c)) : c.weight;
    std::vector<Array> inputs = {c.input, weight, c.scale};
    for (const auto* one : {&c.input_scale, &c.input_zero, &c.weight_zero, &c.bias, &c.residual}) {
      if (*one) inputs.push_back(**one);
    }
    const auto args = c.args(c.out, weight, "");
    if (c.conv) {
      expect_same(Kernel(portable::quantized_conv_out), Kernel(quantized_conv_out), args, inputs, {c.out});
    } else {
      expect_same(Kernel(portable::quantized_linear_out), Kernel(quantized_linear_out), args, inputs, {c.out});
    }
  }
};

TEST_F(VulkanQuantized, MatricesOfAnySizes) {
  for (unsigned seed = 0; seed < 4 * kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QuantizedCases cases(seed);
    const int32_t unit = seed % 2 == 0 ? 4 : 1;
    const int32_t rows = cases.whole(1, 40), depth = unit * cases.whole(1, 40), columns = unit * cases.whole(1, 20);
    expect_same_product(cases.linear(rows, depth, columns, seed % 5 == 0), cases.truth());
    expect_same_product(cases.matrices(cases.whole(1, 3), rows, depth, columns), false);
  }
}

// Both blocks of cards that are full and those that are not.
TEST_F(VulkanQuantized, LargeMatricesInBlocks) {
  for (unsigned seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QuantizedCases cases(seed);
    expect_same_product(cases.linear(cases.whole(16, 80), 4 * cases.whole(8, 300), cases.whole(16, 80)), true);
  }
}

TEST_F(VulkanQuantized, ConvolutionsOfAllKinds) {
  int tried = 0;
  for (unsigned seed = 0; seed < 8 * kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    const int axes = cases.whole(1, 2);
    const int32_t unit = cases.truth() ? 4 : 1;
    image.batch = cases.whole(1, 2);
    image.groups = cases.seldom() ? cases.whole(2, 9) : 1;
    image.in = image.groups > 1 && cases.truth() ? 1 : unit * cases.whole(1, 9);
    image.out = image.groups > 1 && cases.truth() ? 1 : unit * cases.whole(1, 9);
    for (int i = 0; i < axes; ++i) {
      image.size.push_back(cases.whole(1, 13));
      image.kernel.push_back(cases.whole(1, 4));
      image.stride.push_back(cases.whole(1, 2));
      image.padding.push_back(cases.whole(0, image.kernel.back() - 1));
      image.dilation.push_back(cases.whole(1, 2));
    }
    std::vector<uint8_t> order;
    if (axes == 2 && cases.whole(0, 3) != 0) order = {0, 2, 3, 1};
    const auto c = cases.convolution(image, order);
    if (!c) continue;
    ++tried;
    expect_same_product(*c, axes == 2 && cases.truth());
  }
  EXPECT_GT(tried, 15);
}

// Few elements of long sums, and sums longer than lavapipe lets an invocation's loops run.
TEST_F(VulkanQuantized, DeepProductsInParts) {
  const int32_t depths[] = {2000, 2001, 70001, 280000};
  for (const int32_t depth : depths) {
    SCOPED_TRACE(depth);
    QuantizedCases cases(depth);
    expect_same_product(cases.linear(5, depth, 6), true);
  }
  QuantizedCases cases(7);
  QuantizedCases::Image image;
  image.in = 7301;
  image.out = 2;
  image.size = image.kernel = {3, 3};
  image.stride = image.dilation = {1, 1};
  image.padding = {1, 1};
  expect_same_product(*cases.convolution(image, {0, 2, 3, 1}), true);
}

// Padding is the input's zero point, of which each kernel has its own way to make 0.
TEST_F(VulkanQuantized, ConvolutionsOfImagesWhoseChannelsAreInnermost) {
  for (unsigned seed = 0; seed < 2 * kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    const bool depthwise = seed % 2 == 0;
    image.groups = depthwise ? 4 * cases.whole(1, 5) : 1;
    image.in = depthwise ? 1 : 4 * cases.whole(2, 5);
    image.out = depthwise ? 1 : 4 * cases.whole(4, 10);
    image.size = {cases.whole(6, 12), cases.whole(6, 12)};
    image.kernel = {3, cases.whole(2, 3)};
    image.stride = {cases.whole(1, 2), 1};
    image.padding = {cases.whole(1, 2), 1};
    image.dilation = {1, 1};
    auto c = cases.convolution(image, {0, 2, 3, 1});
    ASSERT_TRUE(c.has_value());
    const DType dtype = c->input.tensor().dtype();
    c->input_zero = integers(dtype, {1}, {dtype == DType::kU8 ? 77 : -51});
    expect_same_product(*c, true);
  }
}

// Many sums are half a step by one rule, and not by the other.
TEST_F(VulkanQuantized, RoundedByEitherRuleInTheMiddleAndAtTheEnd) {
  constexpr double kScale = 0.05901;
  for (const char* rounding : {"divide", "inverse"}) {
    for (const double middle : {0.0, kScale}) {
      SCOPED_TRACE(std::string(rounding) + (middle > 0 ? " in the middle" : ""));
      QuantizedCase c = QuantizedCases(5).linear(40, 4, 12);
      c.out = Array(DType::kU8, {40, 12});
      c.weight.set_integers(std::vector<int64_t>(4 * 12, 1));
      c.input_zero = integers(DType::kI32, {1}, {c.input.tensor().dtype() == DType::kU8 ? 128 : 0});
      c.input_scale = c.weight_zero = c.bias = c.residual = std::nullopt;
      c.scale = Array(DType::kF32, {1}, {kScale / 2});
      c.activation = "none";
      c.rounding = rounding;
      c.middle_scale = middle;
      c.out_scale = kScale;
      c.middle_zero = c.out_zero = 128;
      c.out_min = 0;
      c.out_max = 255;
      expect_same_product(c, true);
    }
  }
}

TEST_F(VulkanQuantized, PackedWeightsAreAnError) {
  QuantizedCases cases(1);
  const QuantizedCase c = cases.linear(2, 8, 4);
  OnDevice on(device(), {c.input, c.weight, c.scale, c.out});
  QuantizedCase plain = c;
  plain.input_scale = plain.input_zero = plain.weight_zero = plain.bias = plain.residual = std::nullopt;
  EXPECT_EQ(on.ask(Kernel(quantized_linear_out), plain.args(plain.out, plain.weight, "vnni")), Error::kNotSupported);
  EXPECT_EQ(on.message, "vulkan devices take no packed weights");
}

}  // namespace
}  // namespace berth::vulkan

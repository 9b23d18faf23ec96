// berth::quantized_linear and berth::quantized_conv on random sizes, orders, kinds of weights and numbers of threads,
// with every set of tiles that this processor has, on memory with guarded ends: the same bits as the portable kernels.
// BERTH_SEED=N begins there; BERTH_SECONDS=S goes on for that long.
#include <gtest/gtest.h>

#include "base/seeds_testing.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/packing.h"
#include "kernels/cpu/quantized_packing.h"
#include "kernels/cpu/quantized_tile.h"
#include "kernels/portable/quantized_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::QuantizedCase;
using testing::QuantizedCases;

constexpr size_t kWeightArgument = 3;

enum class WeightKind { kDense, kPacked, kComputed };

Array packed_weight(const QuantizedCase& c, GuardedMemory& memory, std::string* text) {
  QuantizedToPack weight;
  weight.sizes = c.weight.sizes();
  weight.conv = c.conv;
  weight.groups = c.groups;
  weight.is_signed = c.weight.tensor().dtype() == DType::kI8;
  weight.zero_point = c.weight_zero.has_value();
  PackedWeight packed;
  EXPECT_TRUE(pack_quantized(weight, c.weight.tensor().data<uint8_t>(), "native", &packed));
  const Array array(c.weight.tensor().dtype(), {static_cast<int32_t>(packed.bytes.size())});
  std::memcpy(array.tensor().raw(), packed.bytes.data(), packed.bytes.size());
  *text = packed.text;
  return memory(array);
}

void compare(QuantizedCases& cases, const QuantizedCase& c) {
  const char* const name = c.conv ? "berth::quantized_conv.out" : "berth::quantized_linear.out";
  ASSERT_EQ(call(kernel_of(portable::kernels(), name), c.args(), {}, 1).message, "");
  GuardedMemory memory(cases.random());
  QuantizedCase ours = c;
  for (Array* array : {&ours.input, &ours.weight, &ours.scale}) memory(*array);
  for (auto* array : {&ours.input_scale, &ours.input_zero, &ours.weight_zero, &ours.bias, &ours.residual}) {
    if (*array) memory(**array);
  }
  const bool batched = !c.conv && c.weight.tensor().rank() == 3;
  auto kind = static_cast<WeightKind>(cases.whole(0, 2));
  if (batched && kind == WeightKind::kPacked) kind = WeightKind::kComputed;
  std::string text;
  const Array weight = kind == WeightKind::kPacked ? packed_weight(ours, memory, &text) : ours.weight;
  std::vector<size_t> constants;
  if (kind != WeightKind::kComputed) constants.push_back(kWeightArgument);
  const int threads = cases.whole(1, 4);
  const QuantizedFunctions* functions[kMostQuantizedFunctions];
  const int count = all_quantized_functions(functions);
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(std::string(functions[i]->name) + ", " + std::to_string(threads) + " threads, weight " +
                 std::to_string(static_cast<int>(kind)) + " " + text);
    set_quantized_functions(functions[i]);
    const Array out = memory(array_like(c.out));
    const auto outcome = call_guarded(name, ours.args(out, weight, text), constants, threads, memory);
    set_quantized_functions(nullptr);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    ASSERT_EQ(first_difference(c.out, out), "");
  }
}

TEST(GuardedQuantized, ProductsAreThePortableOnesToTheBit) {
  testing::for_each_seed(60, [](unsigned seed) {
    QuantizedCases cases(seed);
    // Also more than share widened weights.
    const int32_t rows = cases.truth() ? cases.whole(1, 6) : cases.whole(1, cases.seldom() ? 300 : 70);
    const int32_t depth = cases.seldom() ? 4 * cases.whole(1, 100) : cases.whole(1, 40);
    const int32_t columns = cases.truth() ? cases.whole(1, 40) : 16 * cases.whole(1, 12);
    compare(cases, cases.linear(rows, depth, columns, cases.seldom()));
  });
}

TEST(GuardedQuantized, ProductsOfABatchAreThePortableOnesToTheBit) {
  testing::for_each_seed(60, [](unsigned seed) {
    QuantizedCases cases(seed);
    const int32_t depth = cases.truth() ? 4 * cases.whole(1, 40) : cases.whole(1, 70);
    const int32_t columns = cases.truth() ? cases.whole(1, 70) : 16 * cases.whole(1, 6);
    compare(cases, cases.matrices(cases.whole(1, 4), cases.whole(1, 70), depth, columns, cases.seldom()));
  });
}

TEST(GuardedQuantized, ConvolutionsAreThePortableOnesToTheBit) {
  testing::for_each_seed(80, [](unsigned seed) {
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    image.batch = cases.whole(1, 2);
    image.groups = cases.truth() ? 1 : cases.whole(1, 40);
    const bool depthwise = image.groups > 1 && cases.truth();
    if (depthwise && cases.seldom()) image.groups = cases.whole(40, 150);
    const int32_t most = image.groups == 1 ? 40 : 6;
    image.in = depthwise ? 1 : cases.whole(1, most);
    image.out = depthwise ? cases.whole(1, 2) : cases.whole(1, most);
    const int axes = cases.seldom() ? (cases.truth() ? 1 : 3) : 2;
    const bool pointwise = cases.seldom();
    for (int i = 0; i < axes; ++i) {
      image.size.push_back(cases.whole(1, axes == 3 ? 4 : 9));
      image.kernel.push_back(pointwise ? 1 : cases.whole(1, 4));
      image.stride.push_back(cases.truth() ? 1 : cases.whole(1, 3));
      image.padding.push_back(pointwise ? 0 : cases.whole(0, 2));
      image.dilation.push_back(cases.truth() ? 1 : cases.whole(1, 2));
    }
    std::vector<uint8_t> order = {0};
    for (int i = 0; i < axes; ++i) order.push_back(static_cast<uint8_t>(i + 2));
    order.push_back(1);
    if (cases.seldom()) order = {};
    const auto c = cases.convolution(image, order, cases.seldom());
    if (c) compare(cases, *c);
  });
}

// Of what lines are for: nothing different from row to row.
bool is_usual_case(const QuantizedCase& c) {
  const bool one_zero = !c.input_zero || c.input_zero->tensor().numel() == 1;
  const bool bounds = c.activation == "none" || c.activation == "relu" || c.activation == "clamp";
  return c.weight.tensor().dtype() == DType::kI8 && one_zero && bounds && !c.weight_zero && !c.residual;
}

TEST(GuardedQuantized, LinesOfThreeTapsARowAreThePortableOnesToTheBit) {
  testing::for_each_seed(80, [](unsigned seed) {
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    image.batch = cases.whole(1, 2);
    image.groups = cases.truth() ? 16 * cases.whole(1, 9) : cases.whole(2, 150);
    image.in = 1;
    image.out = 1;
    image.size = {cases.whole(1, 9), cases.whole(1, 20)};
    image.kernel = {cases.whole(1, 3), 3};
    image.stride = {cases.whole(1, 2), cases.whole(1, 2)};
    image.padding = {cases.whole(0, 2), cases.whole(0, 3)};
    image.dilation = {cases.whole(1, 2), 1};
    auto c = cases.convolution(image, {0, 2, 3, 1}, cases.seldom());
    while (c && !is_usual_case(*c)) c = cases.convolution(image, {0, 2, 3, 1}, cases.seldom());
    if (c) compare(cases, *c);
  });
}

// Where tiles read lines of the image, or copies of them.
TEST(GuardedQuantized, WideImagesAreThePortableOnesToTheBit) {
  testing::for_each_seed(60, [](unsigned seed) {
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    image.batch = cases.whole(1, 2);
    image.groups = cases.truth() ? 1 : cases.whole(2, 20);
    const int32_t most = image.groups == 1 ? 50 : 20;
    image.in = cases.truth() ? 4 * cases.whole(1, most / 4) : cases.whole(1, 9);
    image.out = cases.whole(1, most);
    image.size = {cases.whole(1, 12), cases.whole(12, 60)};
    image.kernel = {cases.whole(1, 4), cases.whole(1, 4)};
    image.stride = {cases.whole(1, 2), cases.whole(1, 2)};
    image.padding = {cases.whole(0, 3), cases.whole(0, 3)};
    image.dilation = {cases.whole(1, 2), cases.truth() ? 1 : cases.whole(1, 3)};
    const auto c = cases.convolution(image, {0, 2, 3, 1}, cases.seldom());
    if (c) compare(cases, *c);
  });
}

// What Winograd's matrices are for, and what lies beside it: few channels or tiles, groups, a depth in parts.
TEST(GuardedQuantized, WindowsOfThreeByThreeAreThePortableOnesToTheBit) {
  testing::for_each_seed(60, [](unsigned seed) {
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    image.batch = cases.whole(1, 3);
    image.groups = cases.seldom() ? cases.whole(2, 3) : 1;
    image.in = cases.seldom() ? 4 * cases.whole(32, 80) : 4 * cases.whole(3, 16);
    image.out = cases.seldom() ? cases.whole(1, 12) : 16 * cases.whole(1, 5) + cases.whole(0, 1);
    image.size = {cases.whole(1, 15), cases.whole(1, 15)};
    image.kernel = {3, 3};
    image.stride = {1, 1};
    image.padding = {cases.whole(0, 2), cases.whole(0, 2)};
    image.dilation = {1, 1};
    const auto c = cases.convolution(image, {0, 2, 3, 1}, cases.seldom());
    if (c) compare(cases, *c);
  });
}

// As files have them that were written before rows were padded.
TEST(GuardedQuantized, TakesRowsThatAreNotPadded) {
  QuantizedCases cases(3);
  QuantizedCases::Image image;
  image.in = 3;
  image.out = 20;
  image.size = {9, 16};
  image.kernel = {3, 3};
  image.stride = {1, 1};
  image.padding = {1, 1};
  image.dilation = {1, 1};
  auto c = cases.convolution(image, {0, 2, 3, 1});
  while (c->weight.tensor().dtype() != DType::kI8 || c->weight_zero) c = cases.convolution(image, {0, 2, 3, 1});
  ASSERT_EQ(call(kernel_of(portable::kernels(), "berth::quantized_conv.out"), c->args(), {}, 1).message, "");
  const Tensor& dense = c->weight.tensor();
  const QuantizedLayout layout = conv_layout(dense_sizes_of(dense), 1, true, false);
  ASSERT_NE(layout.text(), conv_layout(dense_sizes_of(dense), 1, true).text());
  const Array packed(DType::kI8, {static_cast<int32_t>(layout.bytes())});
  pack_into(layout, dense.data<uint8_t>(), true, dense.strides().data(), packed.tensor().data<uint8_t>());
  GuardedMemory memory(cases.random());
  const Array out = memory(array_like(c->out));
  const auto outcome =
      call_guarded("berth::quantized_conv.out", c->args(out, packed, layout.text()), {kWeightArgument}, 2, memory);
  ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
  EXPECT_EQ(first_difference(c->out, out), "");
}

TEST(GuardedQuantized, RefusesATextThatIsNotTheWeights) {
  QuantizedCases cases(7);
  GuardedMemory memory(cases.random());
  const QuantizedCase c = cases.linear(2, 8, 20);
  std::string text;
  const Array weight = packed_weight(c, memory, &text);
  for (const std::string& bad :
       {std::string("berth int8"), std::string("berth int8 [8,20] groups 1 panels 32"),
        std::string("berth int8 [8,36] groups 1 panels 16"), std::string("berth int8 [8,20] groups 2 panels 16"),
        std::string("berth int8 [99999999999,20] groups 1 panels 16"),
        std::string("berth int8 [0,20] groups 1 panels 16"), text + " ", std::string("onnx [8,20")}) {
    const auto outcome =
        call_guarded("berth::quantized_linear.out", c.args(c.out, weight, bad), {kWeightArgument}, 1, memory);
    EXPECT_EQ(outcome.error, Error::kInvalidProgram) << bad;
  }
  EXPECT_EQ(call_guarded("berth::quantized_linear.out", c.args(c.out, weight, text), {}, 1, memory).error,
            Error::kInvalidProgram);
  EXPECT_EQ(
      call_guarded("berth::quantized_linear.out", c.args(c.out, weight, text), {kWeightArgument}, 1, memory).error,
      Error::kOk);
}

}  // namespace
}  // namespace berth::cpu

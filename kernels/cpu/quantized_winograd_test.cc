// Winograd's matrices in whole numbers. The fears: tiles of 4x4 where a sum needs more bits than they leave; tiles that
// are never chosen, so that what compares their results compares nothing.
#include "kernels/cpu/quantized_winograd.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/seeds_testing.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/portable/quantized_testing.h"

namespace berth::cpu {
namespace {

using testing::Array;
using testing::QuantizedCase;
using testing::QuantizedCases;

constexpr size_t kWinogradWeight = 3;
constexpr int32_t kMost = ((1 << 25) - 1) / 255;  // sum of a column's weights of one sign

// Of a convolution with one column whose first `count` weights, of windows of 3x3, are `weight`, and the next `last`.
bool has_26_bits(int32_t channels, int64_t count, int8_t weight, int8_t last) {
  DenseSizes dense;
  dense.rank = 4;
  const int32_t sizes[] = {1, channels, 3, 3};
  std::memcpy(dense.size, sizes, sizeof(sizes));
  const QuantizedLayout layout = conv_layout(dense, 1, true);
  std::vector<int8_t> weights(9 * channels);
  std::fill_n(weights.begin(), count, weight);
  weights[count] = last;
  const int64_t strides[] = {9 * channels, 9, 3, 1};
  std::vector<uint8_t> packed(layout.bytes());
  pack_into(layout, reinterpret_cast<const uint8_t*>(weights.data()), true, strides, packed.data());
  return sums_have_26_bits(layout, packed.data());
}

TEST(QuantizedWinograd, WeightsOfOneSignMayAddUpToWhatALargestInputMakes26BitsOf) {
  const int64_t count = kMost / 127;
  const auto rest = static_cast<int8_t>(kMost % 127);
  ASSERT_LT(rest, 127);
  EXPECT_TRUE(has_26_bits(128, count, 127, rest));
  EXPECT_FALSE(has_26_bits(128, count, 127, static_cast<int8_t>(rest + 1)));
  EXPECT_TRUE(has_26_bits(128, count, -127, static_cast<int8_t>(-rest)));
  EXPECT_FALSE(has_26_bits(128, count, -127, static_cast<int8_t>(-rest - 1)));
  EXPECT_TRUE(has_26_bits(256, count, 127, -128));
  EXPECT_FALSE(has_26_bits(1024, 9 * 1024 - 1, -128, -128));
}

// Images of so many pixels, with and without few bits: the tiles that are chosen.
int64_t tile_of(int32_t channels, int32_t pixels, bool few_bits) {
  QuantizedCases cases(1);
  QuantizedCases::Image image;
  image.in = channels;
  image.out = 32;
  image.size = {pixels, pixels};
  image.kernel = {3, 3};
  image.stride = image.padding = image.dilation = {1, 1};
  const auto c = cases.convolution(image, {0, 2, 3, 1});
  const Tensor weight = c->weight.tensor();
  Tensor out = c->out.tensor();
  const QuantizedLayout layout = conv_layout(dense_sizes_of(weight), 1, true);
  portable::Convolution convolution;
  convolution.input = &c->input.tensor();
  convolution.weight = &weight;
  convolution.out = &out;
  for (int i = 1; i < 3; ++i) {
    convolution.axis[i].in = convolution.axis[i].out = pixels;
    convolution.axis[i].kernel = 3;
    convolution.axis[i].padding = 1;
  }
  QuantizedJob job;
  job.layout = &layout;
  job.functions = &quantized_functions();
  job.convolution = &convolution;
  job.input = &c->input.tensor();
  job.few_bits = few_bits;
  const QuantizedWinogradWords* const chosen = QuantizedWinograd::choose(job);
  if (chosen == nullptr) return 0;
  EXPECT_GT(QuantizedWinograd::thread_bytes(job), 0u);
  return chosen->tile;
}

TEST(QuantizedWinograd, TilesAreAsLargeAsWeightsAndImagesAllow) {
  const QuantizedFunctions* all[kMostQuantizedFunctions];
  const int count = all_quantized_functions(all);
  for (int i = 0; i < count; ++i) {
    if (all[i]->winograd == nullptr) continue;
    set_quantized_functions(all[i]);
    SCOPED_TRACE(all[i]->name);
    const bool bytes = all[i]->words == nullptr;  // are multiplied, twice as many at a time
    EXPECT_EQ(tile_of(64, 56, true), 4);
    EXPECT_EQ(tile_of(64, 14, true), 4);
    EXPECT_EQ(tile_of(64, 7, true), bytes ? 0 : 4);
    EXPECT_EQ(tile_of(64, 56, false), bytes ? 0 : 2);
    EXPECT_EQ(tile_of(64, 14, false), bytes ? 0 : 2);
    EXPECT_EQ(tile_of(64, 6, true), bytes ? 0 : 2);  // of 8x8 pixels in tiles of 4x4, 28 would be of no use
    EXPECT_EQ(tile_of(64, 3, true), 0);
    EXPECT_EQ(tile_of(16, 56, true), bytes ? 0 : 4);
    EXPECT_EQ(tile_of(12, 56, true), 0);
  }
  set_quantized_functions(nullptr);
}

// All numbers are at the ends of their range, so that sums are as large as they can be.
TEST(QuantizedWinograd, SumsOfMoreThan26BitsAreThePortableOnesToTheBit) {
  testing::for_each_seed(12, [](unsigned seed) {
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    image.in = 4 * cases.whole(26, 40);
    image.out = 17;
    image.size = {12, 12};
    image.kernel = {3, 3};
    image.stride = image.padding = image.dilation = {1, 1};
    auto c = cases.convolution(image, {0, 2, 3, 1});
    while (c->out.tensor().dtype() != DType::kF32 || c->weight.tensor().dtype() != DType::kI8 || c->weight_zero ||
           c->activation != "none") {
      c = cases.convolution(image, {0, 2, 3, 1});
    }
    std::memset(c->weight.tensor().raw(), cases.truth() ? 0x7F : 0x80, c->weight.tensor().numel());
    const bool is_signed = c->input.tensor().dtype() == DType::kI8;
    std::memset(c->input.tensor().raw(), is_signed ? 0x7F : 0xFF, c->input.tensor().numel());
    ASSERT_EQ(call(kernel_of(portable::kernels(), "berth::quantized_conv.out"), c->args(), {}, 1).message, "");
    GuardedMemory memory(cases.random());
    const Array out = memory(array_like(c->out));
    const auto outcome = call_guarded("berth::quantized_conv.out", c->args(out, c->weight, ""), {kWinogradWeight},
                                      cases.whole(1, 4), memory);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    EXPECT_EQ(first_difference(c->out, out), "");
  });
}

}  // namespace
}  // namespace berth::cpu

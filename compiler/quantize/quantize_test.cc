// Whole models: a convolutional network and a transformer block with random weights, quantised and compared with
// themselves in f32 on samples that were not calibrated with. Weights and samples come from BERTH_SEED, or a new seed.
#include "compiler/quantize/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"

namespace berth::quantize {
namespace {

constexpr char kCnn[] = R"(
  const @w0: f32[16,3,3,3] = splat<0.0>
  const @b0: f32[16] = splat<0.0>
  const @w1: f32[16,1,3,3] = splat<0.0>
  const @b1: f32[16] = splat<0.0>
  const @w2: f32[16,16,1,1] = splat<0.0>
  const @b2: f32[16] = splat<0.0>
  const @w3: f32[16,10] = splat<0.0>
  const @b3: f32[10] = splat<0.0>
  method forward(%x: f32[1,3,16,16]) {
    %w0: f32[16,3,3,3] = const @w0
    %b0: f32[16] = const @b0
    %w1: f32[16,1,3,3] = const @w1
    %b1: f32[16] = const @b1
    %w2: f32[16,16,1,1] = const @w2
    %b2: f32[16] = const @b2
    %w3: f32[16,10] = const @w3
    %b3: f32[10] = const @b3
    %c0: f32[1,16,16,16] = aten::convolution(%x, %w0, %b0, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) "stem"
    %r0: f32[1,16,16,16] = aten::relu(%c0)
    %p: f32[1,16,8,8], %i: i64[1,16,8,8] = aten::max_pool2d_with_indices(%r0, [2, 2], [2, 2])
    %c1: f32[1,16,8,8] = aten::convolution(%p, %w1, %b1, [1, 1], [1, 1], [1, 1], false, [0, 0], 16) "depthwise"
    %r1: f32[1,16,8,8] = aten::relu(%c1)
    %c2: f32[1,16,8,8] = aten::convolution(%r1, %w2, %b2, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) "pointwise"
    %s: f32[1,16,8,8] = aten::add.Tensor(%c2, %p)
    %r2: f32[1,16,8,8] = aten::relu(%s)
    %m: f32[1,16] = aten::mean.dim(%r2, [2, 3], false)
    %y: f32[1,10] = aten::addmm(%b3, %m, %w3) "head"
    return %y
  })";

constexpr char kTransformer[] = R"(
  const @g: f32[32] = splat<1.0>
  const @z: f32[32] = splat<0.0>
  const @wq: f32[32,32] = splat<0.0>
  const @wk: f32[32,32] = splat<0.0>
  const @wv: f32[32,32] = splat<0.0>
  const @wo: f32[32,32] = splat<0.0>
  const @w1: f32[32,64] = splat<0.0>
  const @b1: f32[64] = splat<0.0>
  const @w2: f32[64,32] = splat<0.0>
  const @b2: f32[32] = splat<0.0>
  method forward(%x: f32[16,32]) {
    %g: f32[32] = const @g
    %z: f32[32] = const @z
    %wq: f32[32,32] = const @wq
    %wk: f32[32,32] = const @wk
    %wv: f32[32,32] = const @wv
    %wo: f32[32,32] = const @wo
    %w1: f32[32,64] = const @w1
    %b1: f32[64] = const @b1
    %w2: f32[64,32] = const @w2
    %b2: f32[32] = const @b2
    %n: f32[16,32], %n1: f32[16,1], %n2: f32[16,1] = aten::native_layer_norm(%x, [32], %g, %z, 1e-05)
    %q: f32[16,32] = aten::mm(%n, %wq) "q"
    %k: f32[16,32] = aten::mm(%n, %wk) "k"
    %v: f32[16,32] = aten::mm(%n, %wv) "v"
    %t: f32[32,16] = aten::permute_copy(%k, [1, 0])
    %d: f32[16,16] = aten::mm(%q, %t)
    %e: f32[16,16] = aten::mul.Scalar(%d, 0.17677669)
    %a: f32[16,16] = aten::_softmax(%e, -1, false)
    %c: f32[16,32] = aten::mm(%a, %v)
    %o: f32[16,32] = aten::mm(%c, %wo) "out"
    %h: f32[16,32] = aten::add.Tensor(%x, %o)
    %l: f32[16,32], %l1: f32[16,1], %l2: f32[16,1] = aten::native_layer_norm(%h, [32], %g, %z, 1e-05)
    %f: f32[16,64] = aten::addmm(%b1, %l, %w1) "fc1"
    %u: f32[16,64] = aten::gelu(%f)
    %p: f32[16,32] = aten::addmm(%b2, %u, %w2) "fc2"
    %y: f32[16,32] = aten::add.Tensor(%h, %p)
    return %y
  })";

class QuantizeTest : public ::testing::Test {
 protected:
  QuantizeTest() : seed_(testing::new_seed()), trace_(__FILE__, __LINE__, "BERTH_SEED=" + std::to_string(seed_)) {}

  // Weights of splat<0> become normal ones whose products have about the size of their inputs.
  ir::Module model(const char* text) {
    auto module = ir::parse(text, "test");
    EXPECT_TRUE(module.ok()) << module.error().text();
    std::mt19937 random(seed_);
    for (ir::Constant& constant : module->constants) {
      if (constant.name == "g" || constant.name == "z") continue;
      const size_t count = constant.blob.size() / sizeof(float);
      const bool bias = constant.type.shape.size() == 1;
      const auto width = static_cast<float>(constant.type.shape[constant.type.shape.size() == 2 ? 1 : 0].value);
      const float fan_in = bias ? 4.0f : static_cast<float>(count) / width;
      std::normal_distribution<float> normal(0, std::sqrt(1 / fan_in));
      std::vector<uint8_t> bytes(constant.blob.size());
      for (size_t i = 0; i < count; ++i) {
        const float number = normal(random);
        std::memcpy(&bytes[i * sizeof number], &number, sizeof number);
      }
      constant.blob = ir::Blob::owned(std::move(bytes));
    }
    return std::move(*module);
  }

  // Normal inputs; `first` keeps those to judge by apart from those to calibrate with.
  Samples samples(const ir::Module& module, size_t count, unsigned first = 0) {
    const ir::TensorType type = module.methods[0].tensor(module.methods[0].body.inputs[0]);
    return {count, [this, type, first](size_t i) -> Expected<Arrays> {
              std::mt19937 random(seed_ + 1 + first + static_cast<unsigned>(i));
              std::normal_distribution<float> normal(0, 1);
              eval::Array array;
              for (ir::Dim dim : type.shape) array.sizes.push_back(static_cast<int32_t>(dim.value));
              array.bytes.resize(array.numel() * sizeof(float));
              for (int64_t e = 0; e < array.numel(); ++e) {
                const float number = normal(random);
                std::memcpy(&array.bytes[e * sizeof number], &number, sizeof number);
              }
              return Arrays{array};
            }};
  }

  // Of `quantised` on samples of its own.
  OutputError error_of(const ir::Module& original, const ir::Module& quantised) {
    const Samples own = samples(original, 8, 1000);
    const auto exact = evaluated(original, "forward");
    const auto rounded = evaluated(quantised, "forward");
    std::vector<Arrays> expected;
    for (size_t i = 0; i < own.count; ++i) expected.push_back((*(*exact)(*own.read(i))));
    const auto error = find_output_error(*rounded, own, expected);
    EXPECT_TRUE(error.ok()) << error.error().text();
    return error.ok() ? *error : OutputError{};
  }

  Report quantised(ir::Module& module, const Options& options = {}) {
    const auto report = quantize(module, "forward", samples(module, 16), options);
    EXPECT_TRUE(report.ok()) << report.error().text();
    const Status sound = ir::verify(module);
    EXPECT_TRUE(sound.ok()) << sound.error().text();
    return report.ok() ? *report : Report{};
  }

  unsigned seed_;
  ::testing::ScopedTrace trace_;
};

TEST_F(QuantizeTest, AConvolutionalNetworkStaysNearItself) {
  for (const Method method : {Method::kMinMax, Method::kPercentile, Method::kEntropy}) {
    for (const DType activations : {DType::kU8, DType::kI8}) {
      SCOPED_TRACE(static_cast<int>(method));
      const ir::Module original = model(kCnn);
      ir::Module module = original;
      Options options;
      options.method = method;
      options.activations = activations;
      const Report report = quantised(module, options);
      ASSERT_EQ(report.layers.size(), 4u);
      for (const LayerReport& layer : report.layers) EXPECT_EQ(layer.state, State::kInteger);
      EXPECT_GT(error_of(original, module).sqnr, method == Method::kEntropy ? 20 : 25);
      EXPECT_LT(report.bytes_after, report.bytes_before / 2);
    }
  }
}

TEST_F(QuantizeTest, ATransformerStaysNearItself) {
  const ir::Module original = model(kTransformer);
  ir::Module module = original;
  const Report report = quantised(module);
  EXPECT_EQ(report.layers.size(), 6u) << "products of two activations are not layers";
  EXPECT_GT(error_of(original, module).sqnr, 30);
  EXPECT_LT(report.bytes_after, report.bytes_before / 2);
}

TEST_F(QuantizeTest, BiasCorrectionTakesTheMeanErrorAway) {
  // Inputs that are all positive, so that what rounding does to a weight does not average out.
  const ir::Module original = model(kTransformer);
  const auto with = [&](bool corrected) {
    ir::Module module = original;
    Options options;
    options.bias_correction = corrected;
    const Samples normal = samples(original, 32);
    const Samples positive{normal.count, [&](size_t i) -> Expected<Arrays> {
                             Arrays arrays = *normal.read(i);
                             float* numbers = reinterpret_cast<float*>(arrays[0].bytes.data());
                             for (int64_t e = 0; e < arrays[0].numel(); ++e) numbers[e] = std::fabs(numbers[e]) + 2;
                             return arrays;
                           }};
    EXPECT_TRUE(quantize(module, "forward", positive, options).ok());
    // The mean error of each column of the output, over all rows and samples.
    const auto exact = evaluated(original, "forward");
    const auto rounded = evaluated(module, "forward");
    std::vector<double> sums(32);
    for (size_t i = 0; i < positive.count; ++i) {
      const Arrays a = *(*exact)(*positive.read(i));
      const Arrays b = *(*rounded)(*positive.read(i));
      for (size_t e = 0; e < floats_of(a[0]).size(); ++e) sums[e % 32] += floats_of(b[0])[e] - floats_of(a[0])[e];
    }
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    return squares;
  };
  EXPECT_LT(with(true), 0.5 * with(false));
}

TEST_F(QuantizeTest, KeptLayersStayAsTheyAre) {
  ir::Module module = model(kCnn);
  Options options;
  options.keep = {"st*", "y"};  // the node's name, and the result's
  const Report report = quantised(module, options);
  ASSERT_EQ(report.layers.size(), 4u);
  EXPECT_EQ(report.layers[0].state, State::kKept);
  EXPECT_EQ(report.layers[1].state, State::kInteger);
  EXPECT_EQ(report.layers[3].state, State::kKept);
  const std::string text = ir::print(module);
  EXPECT_NE(text.find("aten::convolution(%x, %w0, %b0,"), std::string::npos) << text;
  options.keep = {"nothing"};
  ir::Module other = model(kCnn);
  const auto failed = quantize(other, "forward", samples(other, 1), options);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().text(),
            "keep \"nothing\": is like no layer's name; there are: stem, depthwise, pointwise, head");
}

TEST_F(QuantizeTest, ABoundLeavesTheWorstLayersInF32AndNoMore) {
  const ir::Module original = model(kCnn);
  ir::Module all = original;
  const double plain = quantised(all).error.sqnr;
  ir::Module module = original;
  Options options;
  options.min_sqnr = plain + 3;
  const Report report = quantised(module, options);
  EXPECT_TRUE(report.within);
  EXPECT_GE(report.error.sqnr, plain + 3);
  double least_kept = HUGE_VAL;
  double most_left = -HUGE_VAL;
  for (const LayerReport& layer : report.layers) {
    ASSERT_TRUE(layer.alone.has_value()) << layer.name;
    if (layer.state == State::kInteger) least_kept = std::min(least_kept, layer.alone->sqnr);
    if (layer.state == State::kSensitive) most_left = std::max(most_left, layer.alone->sqnr);
  }
  EXPECT_GT(most_left, -HUGE_VAL) << "some layer is in f32";
  EXPECT_LE(most_left, least_kept) << "those in f32 are the most sensitive ones";
  ir::Module exact = original;
  options.min_sqnr = 1000;
  const Report nothing = quantised(exact, options);
  for (const LayerReport& layer : nothing.layers) EXPECT_EQ(layer.state, State::kSensitive);
  EXPECT_TRUE(nothing.within);
  EXPECT_EQ(nothing.error.largest, 0);
}

TEST_F(QuantizeTest, MistakesAreSentences) {
  ir::Module module = model(kCnn);
  const auto error = [&](const char* method, const Samples& given) {
    const auto report = quantize(module, method, given, {});
    return report.ok() ? std::string() : report.error().text();
  };
  EXPECT_EQ(error("forward", Samples()), "samples: there are none to calibrate with");
  EXPECT_EQ(error("backward", samples(module, 1)), "method backward: there is no such method");
  auto none = ir::parse("method f(%x: f32[2]) {\n  %y: f32[2] = aten::relu(%x)\n  return %y\n}", "test");
  ASSERT_TRUE(none.ok());
  const auto refused = quantize(*none, "f", samples(*none, 1), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("neither a convolution nor a matrix product"), std::string::npos);
}

// Scales of 1 everywhere would be a program that is of no use, without a word.
TEST_F(QuantizeTest, SamplesOfNothingButNanAreAnError) {
  ir::Module module = model(kCnn);
  const Samples normal = samples(module, 2);
  const Samples lost{normal.count, [&](size_t i) -> Expected<Arrays> {
                       Arrays arrays = *normal.read(i);
                       std::vector<float> numbers(arrays[0].bytes.size() / sizeof(float), std::nanf(""));
                       std::memcpy(arrays[0].bytes.data(), numbers.data(), arrays[0].bytes.size());
                       return arrays;
                     }};
  const auto report = quantize(module, "forward", lost, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().text(), "samples: no value has a finite number in any of them; are they NaN?");
}

TEST_F(QuantizeTest, SamplesOfNanAndInfinityDoNotReachTheScales) {
  ir::Module module = model(kCnn);
  const Samples normal = samples(module, 4);
  const Samples hostile{normal.count, [&](size_t i) -> Expected<Arrays> {
                          Arrays arrays = *normal.read(i);
                          const float wrong[2] = {std::nanf(""), HUGE_VALF};
                          std::memcpy(arrays[0].bytes.data(), wrong, sizeof wrong);
                          return arrays;
                        }};
  for (const Method method : {Method::kMinMax, Method::kEntropy}) {
    ir::Module one = module;
    Options options;
    options.method = method;
    const auto report = quantize(one, "forward", hostile, options);
    ASSERT_TRUE(report.ok()) << report.error().text();
    for (const LayerReport& layer : report->layers) EXPECT_TRUE(std::isfinite(layer.input.scale)) << layer.name;
  }
}

}  // namespace
}  // namespace berth::quantize

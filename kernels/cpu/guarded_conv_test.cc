// Convolutions and products of odd sizes on memory with guarded ends, by every engine of ours, on every instruction set
// and some numbers of threads. The fears: a last strip, panel or row that reads what is not there, a shape that no
// model has and the other tests do not either. BERTH_SEED=N begins there; BERTH_SECONDS=S goes on for that long.
#include <gtest/gtest.h>

#include "base/seeds_testing.h"
#include "format/activation_names.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/packing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

// Those of Winograd for windows that it takes, else of tiles.
constexpr Prefer kEngines[] = {Prefer::kFaster, Prefer::kTiles, Prefer::kTiles, Prefer::kWinograd2, Prefer::kWinograd4};

class GuardedConvs {
 public:
  explicit GuardedConvs(unsigned seed) : random_(seed), memory_(random_) {}

  void convolution() {
    ConvToPack conv;
    draw(&conv);
    const std::vector<uint8_t> last = {0, 2, 3, 1}, planes = {0, 1, 2, 3};
    const auto& in_order = whole(0, 4) == 0 ? planes : last;
    const auto& out_order = whole(0, 8) == 0 ? planes : last;
    const bool special = whole(0, 5) == 0;
    const Array input = memory_(numbers({conv.batch, conv.in_channels, conv.in[0], conv.in[1]}, in_order, special));
    const int64_t first = conv.transposed ? conv.in_channels : conv.out_channels;
    const int64_t second = (conv.transposed ? conv.out_channels : conv.in_channels) / conv.groups;
    // Whether padding times NaN is NaN is not specified.
    const bool odd_weight = whole(0, 5) == 0 && conv.padding[0] + conv.padding[1] == 0 && !conv.transposed;
    conv.weight_type = type();
    const Array weight =
        of_type(conv.weight_type, numbers({first, second, conv.kernel[0], conv.kernel[1]}, {}, odd_weight));
    conv.channels_last = in_order == last;
    const std::vector<int64_t> stride(conv.stride, conv.stride + 2), padding(conv.padding, conv.padding + 2),
        dilation(conv.dilation, conv.dilation + 2), more(conv.output_padding, conv.output_padding + 2);
    const Arg bias = conv.bias ? Arg(memory_(numbers({conv.out_channels}))) : Arg(nullptr);
    const Array before = numbers({conv.batch, conv.out_channels, out_[0], out_[1]}, out_order);
    const auto args = [&](const Array& w, const std::string& text, const Array& residual, const Array& out,
                          const char* activation) {
      return std::vector<Arg>{input,      w,
                              bias,       conv.residual ? Arg(residual) : Arg(nullptr),
                              stride,     padding,
                              dilation,   conv.transposed,
                              more,       conv.groups,
                              activation, conv.alpha,
                              conv.beta,  text.c_str(),
                              out};
    };
    const char* activation = conv.activation.c_str();
    const Array expected = array_like(before), sums = array_like(before);
    for (const bool plain : {true, false}) {
      const auto reference = args(weight, "", before, plain ? sums : expected, plain ? "none" : activation);
      ASSERT_EQ(testing::run(portable::fused_conv_out, reference, 16 << 20), Error::kOk);
    }
    PackedWeight packed;
    const bool is_packed = whole(0, 1) == 0 && pack_conv(conv, weight.tensor().raw(), "native", &packed);
    const Array own = is_packed ? bytes_of(conv.weight_type, packed) : weight;
    const auto tuple = [](const int64_t(&two)[2]) { return std::to_string(two[0]) + "x" + std::to_string(two[1]); };
    SCOPED_TRACE(to_string(conv.weight_type) + std::string(conv.transposed ? ", transposed, " : ", ") +
                 std::to_string(conv.batch) + " x " + std::to_string(conv.in_channels) + " -> " +
                 std::to_string(conv.out_channels) + " in " + std::to_string(conv.groups) + " groups, " +
                 tuple(conv.in) + " -> " + tuple(out_) + ", window " + tuple(conv.kernel) + ", stride " +
                 tuple(conv.stride) + ", padding " + tuple(conv.padding) + ", dilation " + tuple(conv.dilation) + ", " +
                 activation + (conv.residual ? ", residual" : "") + (is_packed ? ", packed" : "") +
                 (odd_weight ? ", odd weight" : "") + (special ? ", odd input" : ""));
    run("berth::conv.out", before, expected, largest_of(sums), [&](const Array& residual, const Array& out) {
      return args(own, is_packed ? packed.text : "", residual, out, activation);
    });
  }

  void product() {
    LinearToPack linear;
    linear.rows = whole(1, 60);
    linear.depth = whole(0, 5) == 0 ? whole(500, 1100) : whole(1, 90);
    linear.columns = whole(1, 150);
    linear.bias = whole(0, 1) == 0;
    linear.residual = whole(0, 1) == 0;
    linear.activation = kActivationNames[whole(0, 11)];
    linear.alpha = -0.5;
    linear.beta = 0.75;
    const Array input = memory_(numbers({linear.rows, linear.depth}, {}, whole(0, 5) == 0));
    linear.weight_type = type();
    const Array weight = of_type(linear.weight_type, numbers({linear.depth, linear.columns}));
    const Arg bias = linear.bias ? Arg(memory_(numbers({linear.columns}))) : Arg(nullptr);
    const Array before = numbers({linear.rows, linear.columns});
    const auto args = [&](const Array& w, const std::string& text, const Array& residual, const Array& out,
                          const char* activation) {
      return std::vector<Arg>{
          input,        w,  bias, linear.residual ? Arg(residual) : Arg(nullptr), activation, linear.alpha, linear.beta,
          text.c_str(), out};
    };
    const char* activation = linear.activation.c_str();
    const Array expected = array_like(before), sums = array_like(before);
    for (const bool plain : {true, false}) {
      const auto reference = args(weight, "", before, plain ? sums : expected, plain ? "none" : activation);
      ASSERT_EQ(testing::run(portable::fused_linear_out, reference, 16 << 20), Error::kOk);
    }
    PackedWeight packed;
    const bool is_packed = whole(0, 1) == 0 && pack_linear(linear, weight.tensor().raw(), "native", &packed);
    const Array own = is_packed ? bytes_of(linear.weight_type, packed) : weight;
    SCOPED_TRACE(std::string(to_string(linear.weight_type)) + ", " + std::to_string(linear.rows) + " x " +
                 std::to_string(linear.depth) + " x " + std::to_string(linear.columns) + ", " + activation);
    run("berth::linear.out", before, expected, largest_of(sums), [&](const Array& residual, const Array& out) {
      return args(own, is_packed ? packed.text : "", residual, out, activation);
    });
  }

 private:
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  Array numbers(std::initializer_list<int64_t> sizes, const std::vector<uint8_t>& order = {}, bool special = false) {
    return random_array(random_, {sizes.begin(), sizes.end()}, order, special);
  }
  // Of a weight.
  DType type() {
    const DType types[] = {DType::kF32, DType::kF32, DType::kBF16, DType::kF16};
    return types[whole(0, 3)];
  }
  Array of_type(DType type, const Array& wide) { return memory_(Array(type, wide.sizes(), wide.values())); }
  Array bytes_of(DType type, const PackedWeight& packed) {
    const Array array(type, {static_cast<int32_t>(packed.bytes.size() / element_size(type))});
    std::memcpy(array.tensor().raw(), packed.bytes.data(), packed.bytes.size());
    return memory_(array);
  }

  // Windows smaller than their steps and larger than the image, padding beyond the window, one row, one column.
  void draw(ConvToPack* conv) {
    const int64_t kind = whole(0, 5);  // 0, 1: depthwise; 2: groups; 3: few channels; else many
    conv->batch = whole(1, 3);
    conv->groups = kind < 2 ? whole(2, 70) : kind == 2 ? whole(2, 6) : 1;
    conv->in_channels = conv->groups * (kind < 2 ? 1 : kind == 3 ? whole(1, 4) : whole(1, kind == 2 ? 9 : 70));
    conv->out_channels = conv->groups * (kind < 2 ? 1 : whole(1, kind == 2 ? 20 : 70));
    const bool three = whole(0, 2) == 0;
    conv->transposed = whole(0, 6) == 0;
    for (int i = 0; i < 2; ++i) {
      conv->kernel[i] = three ? 3 : whole(1, 7);
      conv->stride[i] = three ? 1 : whole(0, 1) == 0 ? whole(1, 2) : whole(1, 9);
      conv->dilation[i] = three ? 1 : whole(0, 2) == 0 ? whole(1, 4) : 1;
      const int64_t reach = (conv->kernel[i] - 1) * conv->dilation[i] + 1;
      conv->padding[i] = whole(0, 3) == 0 ? whole(0, reach + 4) : whole(0, 2);
      conv->in[i] = whole(0, 3) == 0 ? 1 : whole(1, 23);
      if (conv->transposed) {
        conv->in[i] = std::min<int64_t>(conv->in[i], 9);
        conv->output_padding[i] = whole(0, std::max(conv->stride[i], conv->dilation[i]) - 1);
        conv->padding[i] = std::min(conv->padding[i], (conv->in[i] - 1) * conv->stride[i] / 2 + (reach - 1) / 2);
        out_[i] = (conv->in[i] - 1) * conv->stride[i] + reach - 2 * conv->padding[i] + conv->output_padding[i];
      } else {
        conv->in[i] = std::max(conv->in[i], reach - 2 * conv->padding[i]);
        out_[i] = (conv->in[i] + 2 * conv->padding[i] - reach) / conv->stride[i] + 1;
      }
    }
    conv->bias = whole(0, 1) == 0;
    conv->residual = whole(0, 1) == 0;
    conv->activation = kActivationNames[whole(0, 11)];
    conv->alpha = -0.5;
    conv->beta = 0.75;
  }

  template <typename ArgsOf>
  void run(const char* name, const Array& before, const Array& expected, double largest, ArgsOf&& args_of) {
    const Prefer engine = kEngines[whole(0, 4)];
    const int64_t threads = whole(0, 1) == 0 ? 1 : whole(0, 1) == 0 ? 3 : whole(2, 7);
    const bool in_place = whole(0, 1) == 0;
    set_preferred_engine(engine);
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(std::string(target) + ", engine " + std::to_string(static_cast<int>(engine)) + ", " +
                   std::to_string(threads) + " threads");
      const Array out = array_like(before);
      if (in_place) out.set(before.values());
      memory_(out);
      const auto outcome =
          call_guarded(name, args_of(in_place ? out : before, out), {1}, static_cast<int>(threads), memory_);
      ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
      expect_near(expected, out, largest);
    });
    set_preferred_engine(Prefer::kFaster);
  }

  std::mt19937 random_;
  GuardedMemory memory_;
  int64_t out_[2] = {1, 1};
};

TEST(GuardedConv, ConvolutionsAndProductsStayInTheirMemory) {
  testing::for_each_seed(150, [](unsigned seed) {
    GuardedConvs cases(seed);
    seed % 4 == 0 ? cases.product() : cases.convolution();
  });
}

// NaN stays NaN with every engine: relu of NaN is NaN, as in PyTorch.
TEST(GuardedConv, ActivationsKeepNaN) {
  std::mt19937 random(1);
  for (const Prefer engine : {Prefer::kOneDnn, Prefer::kTiles}) {
    set_preferred_engine(engine);
    for (const char* activation : kActivationNames) {
      const Array weight = random_array(random, {20, 40}), bias = random_array(random, {40}), out(DType::kF32, {3, 40});
      const Array input = random_array(random, {3, 20});
      input.tensor().data<float>()[20 + 7] = NAN;
      GuardedMemory memory(random);
      const auto outcome = call_guarded(
          "berth::linear.out", {input, weight, bias, nullptr, activation, -0.5, 0.75, "", out}, {1}, 1, memory);
      ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
      const std::vector<double> found = out.values();
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(std::isnan(found[i]), i / 40 == 1) << activation << ", engine " << static_cast<int>(engine);
      }
    }
  }
  set_preferred_engine(Prefer::kFaster);
}

}  // namespace
}  // namespace berth::cpu

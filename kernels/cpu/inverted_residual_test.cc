// Blocks of convolutions by rows, against the same convolutions one after the other, on every instruction set and one
// to four threads. The fears: a row that is kept too long, computed from another image, or missing where threads meet;
// a border that is computed as if there were rows beyond it; a bit that differs from what the convolutions give; where
// sizes are open, those of an earlier call, and more memory than was asked for at the largest.

#include "kernels/cpu/inverted_residual.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/seeds_testing.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/engine_testing.h"
#include "kernels/cpu/tiles_narrow.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using Ints = std::vector<int64_t>;

const testing::PreparedKernel kBlock = {untyped<inverted_residual_out>, untyped<inverted_residual_temp_bytes>,
                                        untyped<inverted_residual_prepare>, inverted_residual_release};
struct BlockShape {
  int64_t batch, in_channels, channels, out_channels;  // without an expansion the first two are equal
  int64_t in[2], kernel[2], stride[2], padding[2], dilation[2];
  bool expands, projects, residual;
  DType weights = DType::kF32;
};

int64_t out_size(const BlockShape& s, int i) {
  return (s.in[i] + 2 * s.padding[i] - (s.kernel[i] - 1) * s.dilation[i] - 1) / s.stride[i] + 1;
}

Ints list(const int64_t (&two)[2]) { return {two[0], two[1]}; }

std::vector<Arg> conv(const Array& input, const Array& weight, const Arg& bias, const Arg& residual, const Ints& stride,
                      const Ints& padding, const Ints& dilation, int64_t groups, const char* activation,
                      const Array& out) {
  return {input,      weight, bias,       residual, stride, padding, dilation, false,
          Ints{0, 0}, groups, activation, -0.5,     0.75,   "",      out};
}

// A block and its convolutions on the same numbers. Open ones take smaller images too.
class BlockCase {
 public:
  BlockCase(const BlockShape& s, std::mt19937& random, bool special, bool open = false) : shape_(s) {
    const auto image = [&](const std::vector<int32_t>& sizes, const std::vector<double>& values) {
      const ShapeDynamism dynamism = open ? ShapeDynamism::kBounded : ShapeDynamism::kStatic;
      return std::make_unique<Array>(DType::kF32, sizes, values, kLast, dynamism);
    };
    const auto random_image = [&](const std::vector<int32_t>& sizes) {
      return image(sizes, random_array(random, sizes, kLast, special).values());
    };
    input_ = random_image(sizes(s.in_channels, true));
    wide_ = image(sizes(s.channels, true), {});
    seen_ = image(sizes(s.channels, false), {});
    residual_ = random_image(sizes(last_channels(), false));
    out_ = image(sizes(last_channels(), false), {});
    found_ = image(sizes(last_channels(), false), {});
    weight_[0] = weight(random, {s.channels, s.in_channels, 1, 1}, s.weights);
    weight_[1] = weight(random, {s.channels, 1, s.kernel[0], s.kernel[1]}, DType::kF32);
    weight_[2] = weight(random, {s.out_channels, s.channels, 1, 1}, s.weights);
    for (int i = 0; i < 3; ++i) {
      activation_[i] = any_activation(random);
      // The others are done on what windows have stored, and the last elements of an odd number of them are rounded in
      // another way.
      const char* const simple[] = {"none", "relu", "clamp", "hard_swish"};
      if (i == 1 && s.channels % 16 != 0) activation_[i] = simple[random() % 4];
      bias_.emplace_back(nullptr);
      if (random() % 3 != 0) bias_[i] = Arg(random_array(random, narrow({i == 2 ? s.out_channels : s.channels})));
    }
  }

  void expect_same(int threads) {
    run_convolutions();
    testing::Prepared block(kBlock, arguments(*found_), threads, {1, 7, 16});
    ASSERT_EQ(block.error(), Error::kOk) << block.message();
    EXPECT_EQ(inverted_residual_by_rows(block.state()), true);
    for (int turn = 0; turn < 2; ++turn) {
      std::memset(found_->tensor().raw(), 0xCD, found_->tensor().nbytes());
      ASSERT_EQ(block.run(), Error::kOk) << block.message();
      expect_same_bits();
      EXPECT_TRUE(found_->intact());
    }
  }

  // Prepared once, for images of several sizes after each other.
  void expect_same_at(const std::vector<BlockShape>& smaller, int threads) {
    const BlockShape largest = shape_;
    take_sizes(largest);
    testing::Prepared block(kBlock, arguments(*found_), threads, {1, 7, 16});
    ASSERT_EQ(block.error(), Error::kOk) << block.message();
    EXPECT_EQ(inverted_residual_by_rows(block.state()), true);
    for (const BlockShape& shape : smaller) {
      SCOPED_TRACE(std::to_string(shape.batch) + " of " + std::to_string(shape.in[0]) + "x" +
                   std::to_string(shape.in[1]));
      take_sizes(shape);
      run_convolutions();
      // Its operator gives the result its sizes.
      set_sizes(*found_, sizes_of(largest, last_channels()));
      std::memset(found_->tensor().raw(), 0xCD, found_->tensor().nbytes());
      ASSERT_EQ(block.run(), Error::kOk) << block.message();
      ASSERT_EQ(found_->tensor().sizes(), out_->tensor().sizes());
      expect_same_bits();
      EXPECT_TRUE(found_->intact());
      if (::testing::Test::HasFatalFailure()) break;
    }
    take_sizes(largest);
  }

  void expect_portable(double tolerance) {
    run_convolutions();
    ASSERT_EQ(testing::run(portable::inverted_residual_out, arguments(*found_), 4 << 20), Error::kOk);
    expect_close(*found_, *out_, tolerance);
  }

  std::vector<Arg> arguments(const Array& out) const {
    const BlockShape& s = shape_;
    const auto optional = [](bool there, const Arg& arg) { return there ? arg : Arg(nullptr); };
    return {*input_,
            optional(s.expands, Arg(*weight_[0])),
            optional(s.expands, bias_[0]),
            activation_[0],
            -0.5,
            0.75,
            "",
            *weight_[1],
            bias_[1],
            list(s.stride),
            list(s.padding),
            list(s.dilation),
            activation_[1],
            -0.5,
            0.75,
            "",
            optional(s.projects, Arg(*weight_[2])),
            optional(s.projects, bias_[2]),
            optional(s.residual, Arg(*residual_)),
            activation_[2],
            -0.5,
            0.75,
            "",
            out};
  }

 private:
  int64_t last_channels() const { return shape_.projects ? shape_.out_channels : shape_.channels; }

  std::vector<int32_t> sizes(int64_t channels, bool before) const {
    const BlockShape& s = shape_;
    return narrow({s.batch, channels, before ? s.in[0] : out_size(s, 0), before ? s.in[1] : out_size(s, 1)});
  }
  static std::vector<int32_t> sizes_of(const BlockShape& s, int64_t channels) {
    return narrow({s.batch, channels, out_size(s, 0), out_size(s, 1)});
  }
  static void set_sizes(const Array& array, const std::vector<int32_t>& sizes) {
    ASSERT_EQ(array.tensor().resize({sizes.data(), sizes.size()}), Error::kOk);
  }

  void take_sizes(const BlockShape& shape) {
    shape_ = shape;
    set_sizes(*input_, sizes(shape.in_channels, true));
    set_sizes(*wide_, sizes(shape.channels, true));
    set_sizes(*seen_, sizes(shape.channels, false));
    for (const Array* array : {residual_.get(), out_.get(), found_.get()})
      set_sizes(*array, sizes(last_channels(), false));
  }

  // Sums are as large as what they are sums of, as in a trained model: the rounding of sums in the thousands would show
  // in what an activation leaves of them.
  static std::unique_ptr<Array> weight(std::mt19937& random, std::initializer_list<int64_t> sizes, DType type) {
    const Array wide = random_array(random, narrow(sizes));
    std::vector<double> values = wide.values();
    const double terms = static_cast<double>(values.size()) / static_cast<double>(*sizes.begin());
    for (double& value : values) value /= 2 * std::sqrt(terms);
    return std::make_unique<Array>(type, wide.sizes(), values);
  }

  // Of a NaN neither the sign nor the payload is specified.
  void expect_same_bits() const {
    const float* found = found_->tensor().data<float>();
    const float* expected = out_->tensor().data<float>();
    for (int64_t i = 0; i < out_->tensor().numel(); ++i) {
      if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
      ASSERT_EQ(std::memcmp(found + i, expected + i, sizeof(float)), 0)
          << "element " << i << " in memory: " << found[i] << " for " << expected[i];
    }
  }

  static void run(const std::vector<Arg>& args) {
    testing::Prepared call(testing::kConv, args);
    ASSERT_EQ(call.error(), Error::kOk) << call.message();
    ASSERT_EQ(call.run(), Error::kOk) << call.message();
  }

  void run_convolutions() const {
    const BlockShape& s = shape_;
    const Ints one = {1, 1}, zero = {0, 0};
    if (s.expands) run(conv(*input_, *weight_[0], bias_[0], Arg(nullptr), one, zero, one, 1, activation_[0], *wide_));
    run(conv(s.expands ? *wide_ : *input_, *weight_[1], bias_[1], Arg(nullptr), list(s.stride), list(s.padding),
             list(s.dilation), s.channels, activation_[1], s.projects ? *seen_ : *out_));
    if (!s.projects) return;
    run(conv(*seen_, *weight_[2], bias_[2], s.residual ? Arg(*residual_) : Arg(nullptr), one, zero, one, 1,
             activation_[2], *out_));
  }

  BlockShape shape_;
  std::unique_ptr<Array> input_, wide_, seen_, residual_, out_, found_;
  std::unique_ptr<Array> weight_[3];
  std::vector<Arg> bias_;
  const char* activation_[3];
};

void expect_same(const BlockShape& shape, std::mt19937& random, bool special) {
  BlockCase one(shape, random, special);
  for_each_simd_target([&](const char* target) {
    if (shape.weights == DType::kBF16 && pair_functions().tiles.lanes == 0) return;
    for (const int threads : {1, 2, 3, 4}) {
      SCOPED_TRACE(std::string(target) + " on " + std::to_string(threads) + " threads");
      one.expect_same(threads);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// Large enough for several strips, rows that are moved, and threads to share.
TEST(InvertedResidual, BlocksOfWellKnownNetworksAreTheirConvolutionsBitForBit) {
  std::mt19937 random(1);
  set_preferred_engine(Prefer::kTiles);
  const BlockShape shapes[] = {
      {1, 16, 96, 24, {112, 112}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true, true, false},
      {1, 24, 144, 24, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, true, true},
      {1, 24, 72, 40, {56, 56}, {5, 5}, {2, 2}, {2, 2}, {1, 1}, true, false, false},
      {1, 32, 32, 16, {112, 112}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false, true, false},
      {2, 40, 120, 40, {28, 28}, {5, 5}, {1, 1}, {2, 2}, {1, 1}, true, true, true},
      {1, 24, 72, 24, {31, 29}, {7, 7}, {2, 2}, {3, 3}, {1, 1}, true, true, false},
      {1, 16, 96, 24, {64, 64}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true, true, false, DType::kBF16},
      {1, 24, 144, 24, {30, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, true, true, DType::kBF16},
      {1, 24, 144, 24, {30, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, false, false, DType::kF16},
  };
  for (const BlockShape& shape : shapes) {
    SCOPED_TRACE(std::to_string(shape.channels) + " channels of " + std::to_string(shape.in[0]));
    expect_same(shape, random, false);
    if (::testing::Test::HasFatalFailure()) break;
  }
  set_preferred_engine(Prefer::kFaster);
}

std::string text_of(const BlockShape& s) {
  std::string text = std::to_string(s.batch) + " images, " + std::to_string(s.in_channels) + " to " +
                     std::to_string(s.channels) + " to " + std::to_string(s.out_channels) + " channels of " +
                     to_string(s.weights) + (s.expands ? ", expands" : "") + (s.projects ? ", projects" : "") +
                     (s.residual ? ", residual" : "");
  for (const auto* axis : {"in", "kernel", "stride", "padding", "dilation"}) {
    const int64_t(&two)[2] = axis[0] == 'i'   ? s.in
                             : axis[0] == 'k' ? s.kernel
                             : axis[0] == 's' ? s.stride
                             : axis[0] == 'p' ? s.padding
                                              : s.dilation;
    text += std::string(", ") + axis + " " + std::to_string(two[0]) + "x" + std::to_string(two[1]);
  }
  return text;
}

BlockShape any_shape(std::mt19937& random) {
  const auto whole = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  BlockShape s = {};
  s.batch = whole(1, 3);
  // Fewer are for other kernels of convolutions (first_conv.h, last_conv.h).
  s.channels = whole(0, 1) == 0 ? 16 * whole(1, 4) : whole(9, 70);
  s.expands = whole(0, 3) != 0;
  s.projects = whole(0, 2) != 0;
  s.residual = s.projects && whole(0, 1) == 0;
  s.in_channels = s.expands ? whole(5, 40) : s.channels;
  s.out_channels = whole(9, 40);
  const int64_t window = 3 + 2 * whole(0, 2), stride = whole(1, 2);
  const bool square = whole(0, 1) == 0;
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = square ? window : whole(1, 7);
    s.stride[i] = square ? stride : whole(1, 3);
    s.dilation[i] = whole(0, 4) == 0 ? 2 : 1;
    s.padding[i] = square ? window / 2 : whole(0, s.kernel[i] * s.dilation[i]);
    s.in[i] = std::max(whole(1, 40), (s.kernel[i] - 1) * s.dilation[i] + 1 - 2 * s.padding[i]);
  }
  const DType types[] = {DType::kF32, DType::kF32, DType::kBF16, DType::kF16};
  s.weights = types[whole(0, 3)];
  return s;
}

TEST(InvertedResidual, AnyBlockIsItsConvolutionsBitForBit) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  set_preferred_engine(Prefer::kTiles);
  for (int turn = 0; turn < 60 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    const BlockShape shape = any_shape(random);
    SCOPED_TRACE(text_of(shape));
    expect_same(shape, random, turn % 4 == 0);
  }
  set_preferred_engine(Prefer::kFaster);
}

// One size twice, so that nothing is cut anew, the largest between small ones, no image at all.
TEST(InvertedResidual, OpenBlocksAreTheirConvolutionsAtEverySize) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  set_preferred_engine(Prefer::kTiles);
  for (int turn = 0; turn < 40 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    const BlockShape largest = any_shape(random);
    SCOPED_TRACE(text_of(largest));
    std::vector<BlockShape> sizes;
    for (int i = 0; i < 4; ++i) {
      BlockShape one = largest;
      one.batch = std::uniform_int_distribution<int64_t>(1, largest.batch)(random);
      for (int d = 0; d < 2; ++d) {
        const int64_t least = (one.kernel[d] - 1) * one.dilation[d] + 1 - 2 * one.padding[d];
        one.in[d] = std::uniform_int_distribution<int64_t>(std::max<int64_t>(1, least), largest.in[d])(random);
      }
      sizes.push_back(one);
    }
    sizes.insert(sizes.begin() + 1, sizes[0]);
    sizes.insert(sizes.begin() + 3, largest);
    sizes.insert(sizes.begin() + 2, largest);
    sizes[2].batch = 0;
    BlockCase open(largest, random, turn % 4 == 0, true);
    for_each_simd_target([&](const char* target) {
      if (largest.weights == DType::kBF16 && pair_functions().tiles.lanes == 0) return;
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(std::string(target) + " on " + std::to_string(threads) + " threads");
        open.expect_same_at(sizes, threads);
        if (::testing::Test::HasFatalFailure()) return;
      }
    });
  }
  set_preferred_engine(Prefer::kFaster);
}

// At the largest a strip is a row, to be near enough; of narrower images four rows are, in more memory than that.
TEST(InvertedResidual, NarrowerImagesTakeNoMoreMemoryThanTheLargest) {
  std::mt19937 random(2);
  set_preferred_engine(Prefer::kTiles);
  const BlockShape largest = {1, 16, 64, 24, {20, 266}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, true, false};
  std::vector<BlockShape> sizes;
  for (const int64_t width : {150, 100, 266, 60}) {
    sizes.push_back(largest);
    sizes.back().in[1] = width;
  }
  BlockCase open(largest, random, false, true);
  for_each_simd_target([&](const char* target) {
    SCOPED_TRACE(target);
    open.expect_same_at(sizes, 2);
  });
  set_preferred_engine(Prefer::kFaster);
}

TEST(InvertedResidual, ThePortableKernelGivesTheSameToWithinRounding) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  for (int turn = 0; turn < 40 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    BlockShape shape = any_shape(random);
    // What is rounded between two products may be rounded to another side.
    if (shape.weights == DType::kBF16) shape.weights = DType::kF32;
    BlockCase one(shape, random, false);
    one.expect_portable(1e-5);
  }
}

}  // namespace
}  // namespace berth::cpu

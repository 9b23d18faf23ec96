// Random fused operators, large enough for every way that a set of kernels has to compute them, against sums in double
// that are written here as their definitions have them. The fears: a residual that is overwritten before it is read, a
// bias of another channel, a key that a query must not see.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

constexpr size_t kFusedTemp = size_t{1} << 24;

class FusedRandom : public ::testing::TestWithParam<uint32_t> {
 protected:
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  Values values(int64_t n) {
    Values made(n);
    for (double& x : made) x = static_cast<float>(std::uniform_real_distribution<double>(-1, 1)(random_));
    return made;
  }
  const char* pick_activation() {
    static constexpr const char* kNames[] = {"none", "relu", "clamp", "sigmoid", "silu", "gelu", "hard_swish", "elu"};
    return kNames[number(0, 7)];
  }
  static void expect_near(const Values& found, const Values& expected) {
    ASSERT_EQ(found.size(), expected.size());
    double largest = 1;
    for (const double x : expected) largest = std::fmax(largest, std::fabs(x));
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5 * largest) << "element " << i;
  }

  std::mt19937 random_{GetParam()};
};

// With alpha 0.25 and beta 0.75.
double activation_of(const std::string& name, double x) {
  if (name == "relu") return std::fmax(x, 0);
  if (name == "clamp") return std::fmin(std::fmax(x, 0.25), 0.75);
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "gelu") return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  if (name == "hard_swish") return x * std::fmin(std::fmax(x + 3, 0), 6) / 6;
  if (name == "elu") return x > 0 ? x : 0.25 * std::expm1(x);
  return x;
}

struct Image {
  int64_t batch, in, out, groups, height, width, kernel, stride, padding, dilation;
  bool transposed;

  // 0 or less when the kernel is larger than the image.
  int64_t result(int64_t size) const {
    const int64_t reach = dilation * (kernel - 1) + 1;
    if (!transposed && reach > size + 2 * padding) return 0;
    return transposed ? (size - 1) * stride - 2 * padding + reach : (size + 2 * padding - reach) / stride + 1;
  }
};

// Each input element adds to the results that its taps reach.
Values convolved(const Image& c, const Values& x, const Values& w) {
  const int64_t height = c.result(c.height);
  const int64_t width = c.result(c.width);
  const int64_t in = c.in / c.groups;
  const int64_t out = c.out / c.groups;
  Values y(c.batch * c.out * height * width, 0);
  const auto add = [&](int64_t n, int64_t g, int64_t i, int64_t o, int64_t row, int64_t column, int64_t j, int64_t k) {
    const int64_t tap_y = j * c.dilation - c.padding;
    const int64_t tap_x = k * c.dilation - c.padding;
    // The position in the larger grid of the two, of which the smaller one is every stride-th.
    const int64_t at_y = row * c.stride + tap_y;
    const int64_t at_x = column * c.stride + tap_x;
    const int64_t in_y = c.transposed ? row : at_y;
    const int64_t in_x = c.transposed ? column : at_x;
    const int64_t out_y = c.transposed ? at_y : row;
    const int64_t out_x = c.transposed ? at_x : column;
    if (in_y < 0 || in_x < 0 || out_y < 0 || out_x < 0) return;
    if (in_y >= c.height || in_x >= c.width || out_y >= height || out_x >= width) return;
    const int64_t weight = c.transposed ? (g * in + i) * out + o : (g * out + o) * in + i;
    y[((n * c.out + g * out + o) * height + out_y) * width + out_x] +=
        x[((n * c.in + g * in + i) * c.height + in_y) * c.width + in_x] * w[(weight * c.kernel + j) * c.kernel + k];
  };
  const int64_t rows = c.transposed ? c.height : height;
  const int64_t columns = c.transposed ? c.width : width;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t g = 0; g < c.groups; ++g) {
      for (int64_t i = 0; i < in; ++i) {
        for (int64_t o = 0; o < out; ++o) {
          for (int64_t at = 0; at < rows * columns; ++at) {
            for (int64_t tap = 0; tap < c.kernel * c.kernel; ++tap) {
              add(n, g, i, o, at / columns, at % columns, tap / c.kernel, tap % c.kernel);
            }
          }
        }
      }
    }
  }
  return y;
}

TEST_P(FusedRandom, ConvolutionsAreTheirSums) {
  Image c = {};
  do {
    const bool depthwise = number(0, 2) == 0;
    c.batch = number(1, 2);
    c.groups = depthwise ? number(3, 9) : number(1, 2);
    c.in = c.groups * (depthwise ? 1 : number(1, 6));
    c.out = c.groups * (depthwise ? 1 : number(1, 7));
    c.height = number(1, 12);
    c.width = number(1, 12);
    c.kernel = number(1, 3);
    c.stride = number(1, 2);
    c.padding = number(0, c.kernel - 1);
    c.dilation = number(1, 2);
    c.transposed = number(0, 3) == 0;
  } while (c.result(c.height) < 1 || c.result(c.width) < 1);
  const Values x = values(c.batch * c.in * c.height * c.width);
  const Values w = values(c.in * c.out / c.groups * c.kernel * c.kernel);
  Values expected = convolved(c, x, w);
  const Values bias = values(c.out);
  const Values residual = values(static_cast<int64_t>(expected.size()));
  const bool biased = number(0, 1) == 1;
  const int64_t added = number(0, 3);  // 0: no residual; 1: one of its own; 2: the result's memory; 3: in another order
  const char* const activation = pick_activation();
  const int64_t plane = c.result(c.height) * c.result(c.width);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (biased) expected[i] += bias[static_cast<int64_t>(i) / plane % c.out];
    if (added != 0) expected[i] += residual[i];
    expected[i] = activation_of(activation, expected[i]);
  }
  const auto size = [](int64_t n) { return static_cast<int32_t>(n); };
  const std::vector<int32_t> sizes = {size(c.batch), size(c.out), size(c.result(c.height)), size(c.result(c.width))};
  const std::vector<int32_t> weight_sizes = {size(c.transposed ? c.in : c.out),
                                             size((c.transposed ? c.out : c.in) / c.groups), size(c.kernel),
                                             size(c.kernel)};
  const Array out = f32(sizes, added == 2 ? residual : Values());
  const Array other(DType::kF32, sizes, residual,
                    added == 3 ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>());
  const Arg none = nullptr;
  const std::vector<Arg> args = {f32({size(c.batch), size(c.in), size(c.height), size(c.width)}, x),
                                 f32(weight_sizes, w),
                                 biased ? Arg(f32({size(c.out)}, bias)) : none,
                                 added == 0   ? none
                                 : added == 2 ? Arg(out)
                                              : Arg(other),
                                 Ints{c.stride, c.stride},
                                 Ints{c.padding, c.padding},
                                 Ints{c.dilation, c.dilation},
                                 c.transposed,
                                 Ints{0, 0},
                                 c.groups,
                                 activation,
                                 0.25,
                                 0.75,
                                 "",
                                 out};
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam() << ", residual " << added << ", " << activation);
  const auto outcome = run_with(fused_conv_out, args, 2, kFusedTemp);
  ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
  expect_near(out.values(), expected);
  EXPECT_TRUE(out.intact());
}

TEST_P(FusedRandom, ProductsAreTheirSums) {
  const int64_t m = number(1, 40);
  const int64_t k = number(1, 70);
  const int64_t n = number(1, 70);
  const Values x = values(m * k);
  const Values w = values(k * n);
  const Values bias = values(n);
  const Values residual = values(m * n);
  const bool biased = number(0, 1) == 1;
  const int64_t added = number(0, 2);
  const char* const activation = pick_activation();
  Values expected(m * n, 0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = (biased ? bias[j] : 0) + (added == 0 ? 0 : residual[i * n + j]);
      for (int64_t d = 0; d < k; ++d) sum += x[i * k + d] * w[d * n + j];
      expected[i * n + j] = activation_of(activation, sum);
    }
  }
  const auto size = [](int64_t s) { return static_cast<int32_t>(s); };
  const Array out = f32({size(m), size(n)}, added == 2 ? residual : Values());
  const Arg none = nullptr;
  const std::vector<Arg> args = {f32({size(m), size(k)}, x),
                                 f32({size(k), size(n)}, w),
                                 biased ? Arg(f32({size(n)}, bias)) : none,
                                 added == 0   ? none
                                 : added == 2 ? Arg(out)
                                              : Arg(f32({size(m), size(n)}, residual)),
                                 activation,
                                 0.25,
                                 0.75,
                                 "",
                                 out};
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam() << ", residual " << added << ", " << activation);
  const auto outcome = run_with(fused_linear_out, args, 2, kFusedTemp);
  ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
  expect_near(out.values(), expected);
}

TEST_P(FusedRandom, AttentionIsItsSums) {
  const int64_t batch = number(1, 2);
  const int64_t heads = number(1, 3);
  const int64_t head_size = number(0, 3) == 0 ? number(129, 140) : number(1, 128);
  const int64_t queries = number(1, 20);
  const int64_t keys = number(1, 75);
  const bool causal = number(0, 1) == 1;
  const int64_t masking = number(0, 2);  // 0: none; 1: numbers; 2: truths
  const bool biased = masking != 0 && !causal && number(0, 1) == 1;
  const double scale = 1 / std::sqrt(static_cast<double>(head_size));
  const int64_t columns = heads * head_size;
  const Values q = values(batch * queries * columns);
  const Values kv = values(batch * keys * 2 * columns);
  Values mask = values(heads * queries * keys);
  if (masking == 2) {
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = mask[i] > 0 || i % keys == 0 ? 1 : 0;
  }
  const Values bias = values(batch * keys);
  Values expected(batch * queries * columns, 0);
  const auto score_of = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    const double added = masking == 0 ? 0 : mask[(h * queries + i) * keys + j];
    if ((causal && j > i) || (masking == 2 && added == 0)) return -INFINITY;
    double score = 0;
    for (int64_t c = 0; c < head_size; ++c) {
      score +=
          q[(b * queries + i) * columns + h * head_size + c] * kv[(b * keys + j) * 2 * columns + h * head_size + c];
    }
    return static_cast<float>(score * scale + (biased ? bias[b * keys + j] : 0) + (masking == 1 ? added : 0));
  };
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < queries; ++i) {
        double total = 0;
        double* row = &expected[(b * queries + i) * columns + h * head_size];
        for (int64_t j = 0; j < keys; ++j) {
          const double share = std::exp(static_cast<double>(score_of(b, h, i, j)));
          total += share;
          for (int64_t c = 0; c < head_size; ++c) {
            row[c] += share * kv[(b * keys + j) * 2 * columns + columns + h * head_size + c];
          }
        }
        for (int64_t c = 0; c < head_size; ++c) row[c] /= total;
      }
    }
  }
  const auto size = [](int64_t s) { return static_cast<int32_t>(s); };
  const Array out = f32({size(batch), size(queries), size(columns)});
  const Array both = f32({size(batch), size(keys), size(2 * columns)}, kv);
  const std::vector<int32_t> mask_sizes = {size(heads), size(queries), size(keys)};
  const Arg none = nullptr;
  std::vector<Arg> args = {f32({size(batch), size(queries), size(columns)}, q),
                           both,
                           both,
                           masking == 0   ? none
                           : masking == 1 ? Arg(f32(mask_sizes, mask))
                                          : Arg(berth::testing::boolean(mask_sizes, mask)),
                           heads,
                           head_size,
                           int64_t{0},
                           int64_t{0},
                           columns,
                           scale,
                           causal,
                           out};
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam() << ", " << keys << " keys, mask " << masking);
  if (biased) {
    args.insert(args.begin() + 3, Arg(f32({size(batch), 1, 1, size(keys)}, bias)));
    args.erase(args.end() - 2);
  }
  const auto outcome = biased ? run_with(fused_attention_biased_out, args, 2, kFusedTemp)
                              : run_with(fused_attention_out, args, 2, kFusedTemp);
  ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
  expect_near(out.values(), expected);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FusedRandom, ::testing::Range(0u, 60u));

}  // namespace
}  // namespace berth::portable

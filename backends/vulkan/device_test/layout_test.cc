// Element-wise operators, copies and what looks at rows, on random shapes and orders, beside the portable kernels.

#include <cmath>
#include <limits>

#include "backends/vulkan/device_test/tested.h"
#include "backends/vulkan/kernels/launch.h"
#include "base/half.h"
#include "format/elementwise_code.h"

namespace berth::vulkan {
namespace {

[[maybe_unused]] const ::testing::Environment* const kDevice = ::testing::AddGlobalTestEnvironment(new TestedDevice);

constexpr uint32_t kCases = 5;

std::vector<int32_t> stretched(Dice& dice, std::vector<int32_t> sizes) {
  for (int32_t& size : sizes) size = dice.number(0, 2) == 0 ? 1 : size;
  sizes.erase(sizes.begin(),
              sizes.begin() + static_cast<std::ptrdiff_t>(dice.number(0, static_cast<int64_t>(sizes.size()) - 1)));
  return sizes;
}

TEST_P(VulkanKernelsOfTypes, ElementWiseOperatorsOfAnyOrderAndStretch) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> sizes = dice.sizes(static_cast<int>(dice.number(1, 5)), 9);
    const Array a = dice.array(sizes, true);
    const Array b = dice.array(stretched(dice, sizes), true);
    const Array y = room(sizes, dice.order(sizes.size()));
    const double alpha = dice.real();
    EXPECT_SAME(add_out, {a, b, 1, y}, {a, b}, {y});
    EXPECT_SAME(add_out, {a, b, alpha, y}, {a, b}, {y});
    EXPECT_SAME(sub_out, {a, b, alpha, y}, {a, b}, {y});
    EXPECT_SAME(mul_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(div_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(maximum_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(minimum_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(mul_out, {a, a, y}, {a}, {y});
    EXPECT_SAME(add_Scalar_out, {a, alpha, 2, y}, {a}, {y});
    EXPECT_SAME(sub_Scalar_out, {a, alpha, 2, y}, {a}, {y});
    EXPECT_SAME(rsub_Scalar_out, {a, alpha, 2, y}, {a}, {y});
    EXPECT_SAME(mul_Scalar_out, {a, alpha, y}, {a}, {y});
    EXPECT_SAME(div_Scalar_out, {a, alpha, y}, {a}, {y});
    EXPECT_SAME(leaky_relu_out, {a, alpha, y}, {a}, {y});
    EXPECT_SAME(clamp_out, {a, -0.5, nullptr, y}, {a}, {y});
    EXPECT_SAME(hardtanh_out, {a, -0.5, 0.75, y}, {a}, {y});
    EXPECT_SAME(elu_out, {a, alpha, 1.5, 0.5, y}, {a}, {y});
    EXPECT_SAME(elu_out, {a, alpha, 1.0, 1.0, y}, {a}, {y});
    EXPECT_SAME(elu_out, {a, alpha, 1.0, -0.5, y}, {a}, {y});
    EXPECT_SAME(pow_Tensor_Scalar_out, {a, 3.0, y}, {a}, {y});
    EXPECT_SAME(pow_Tensor_Scalar_out, {a, 2.5, y}, {a}, {y});
    EXPECT_SAME(pow_Tensor_Tensor_out, {a, b, y}, {a, b}, {y});
    if (HasFailure()) return;
  }
}

// Of small and large numbers of either sign, zeros, infinities and what is not a number.
TEST_P(VulkanKernelsOfTypes, FunctionsOfAKernelOfTheirOwn) {
  std::vector<double> numbers = {0,        -0.0,      1,   -1, 0.5, -0.5,   1e-6, -1e-6,
                                 INFINITY, -INFINITY, NAN, 80, -80, 100.25, 1e4};
  Dice dice(1);
  for (int i = 0; i < 50; ++i) numbers.push_back(dice.real() * (i % 5 == 0 ? 100 : 1));
  const Array x(elements, {static_cast<int32_t>(numbers.size())}, numbers);
  const Array y = room(x.sizes());
  EXPECT_SAME(acos_out, {x, y}, {x}, {y});
  EXPECT_SAME(acosh_out, {x, y}, {x}, {y});
  EXPECT_SAME(asin_out, {x, y}, {x}, {y});
  EXPECT_SAME(asinh_out, {x, y}, {x}, {y});
  EXPECT_SAME(atan_out, {x, y}, {x}, {y});
  EXPECT_SAME(atanh_out, {x, y}, {x}, {y});
  EXPECT_SAME(ceil_out, {x, y}, {x}, {y});
  EXPECT_SAME(cos_out, {x, y}, {x}, {y});
  EXPECT_SAME(floor_out, {x, y}, {x}, {y});
  EXPECT_SAME(log10_out, {x, y}, {x}, {y});
  EXPECT_SAME(log1p_out, {x, y}, {x}, {y});
  EXPECT_SAME(log2_out, {x, y}, {x}, {y});
  EXPECT_SAME(sign_out, {x, y}, {x}, {y});
  EXPECT_SAME(sin_out, {x, y}, {x}, {y});
  EXPECT_SAME(trunc_out, {x, y}, {x}, {y});
  EXPECT_SAME(logit_out, {x, nullptr, y}, {x}, {y});
  EXPECT_SAME(logit_out, {x, 0.1, y}, {x}, {y});
  // Of numbers below 80: these grow by what they are, and so do their errors.
  std::vector<double> small;
  for (const double number : numbers) small.push_back(std::fabs(number) < 20 ? number : NAN);
  const Array s(elements, x.sizes(), small);
  EXPECT_SAME(cosh_out, {s, y}, {s}, {y});
  EXPECT_SAME(expm1_out, {s, y}, {s}, {y});
  EXPECT_SAME(sinh_out, {s, y}, {s}, {y});
  if (GetParam() == DType::kF32) EXPECT_SAME(tan_out, {s, y}, {s}, {y});
}

// Of numbers of one size at a time, as the largest hides what the others are off by.
TEST_F(VulkanKernels, FunctionsOfSmallAndOfLargeNumbers) {
  for (const double size : {1e-6, 1e-4, 1e-2, 0.3, 0.9999}) {
    SCOPED_TRACE(size);
    const Array x(DType::kF32, {5}, {size, -size, size / 3, -size / 7, -0.0}), y = room({5});
    EXPECT_SAME(asinh_out, {x, y}, {x}, {y});
    EXPECT_SAME(atan_out, {x, y}, {x}, {y});
    EXPECT_SAME(atanh_out, {x, y}, {x}, {y});
    EXPECT_SAME(expm1_out, {x, y}, {x}, {y});
    EXPECT_SAME(log1p_out, {x, y}, {x}, {y});
    EXPECT_SAME(sin_out, {x, y}, {x}, {y});
    EXPECT_SAME(sinh_out, {x, y}, {x}, {y});
    EXPECT_SAME(tan_out, {x, y}, {x}, {y});
  }
  std::vector<double> large = {3e9, 1e12, 3e38, 25000, 35000, 131072};
  Dice dice(3);
  for (int i = 0; i < 40; ++i)
    large.push_back(std::ldexp(static_cast<double>(dice.real()), static_cast<int>(dice.number(10, 120))));
  const Array x(DType::kF32, {static_cast<int32_t>(large.size())}, large), y = room(x.sizes());
  EXPECT_SAME(sin_out, {x, y}, {x}, {y});
  EXPECT_SAME(cos_out, {x, y}, {x}, {y});
}

// Quotients of many digits, of which none is lost.
TEST_F(VulkanKernels, WhatIsLeftOfLargeQuotients) {
  const std::vector<double> a = {1e10, 1e5, -1e7, 12345678, 3e6, 100, 1e6, 1e30, -3e38},
                            b = {3, .1, .3, .7, 6.2831853, .1, .1, 7, 1e-3};
  const std::vector<int32_t> one = {1};
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(a[i]);
    const Array x(DType::kF32, one, {a[i]}), z(DType::kF32, one, {b[i]}), y = room(one);
    EXPECT_SAME(fmod_Tensor_out, {x, z, y}, {x, z}, {y});
    EXPECT_SAME(remainder_Tensor_out, {x, z, y}, {x, z}, {y});
    EXPECT_SAME(floor_divide_out, {x, z, y}, {x, z}, {y});
    EXPECT_SAME(div_out_mode, {x, z, "floor", y}, {x, z}, {y});
  }
}

TEST_P(VulkanKernelsOfTypes, HalvesThatGateEachOther) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    std::vector<int32_t> sizes = dice.sizes(3, 5);
    const int dim = static_cast<int>(dice.number(0, 2));
    const Array y = room(sizes, dice.order(3));
    sizes[dim] *= 2;
    const Array x = dice.array(sizes, true);
    EXPECT_SAME(glu_out, {x, dim, y}, {x}, {y});
  }
}

// Quotients that are whole numbers, or next to one, and divisors of either sign.
TEST_P(VulkanKernelsOfTypes, DivisionsThatRound) {
  std::vector<double> a, b;
  const double most = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double x : {7.0, -7.0, 6.0, -6.0, 0.75, -0.75, 0.0, 100.5, most, nan}) {
    for (const double y : {2.0, -2.0, 3.0, 0.25, -0.25, most, -most, nan}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const std::vector<int32_t> sizes = {static_cast<int32_t>(a.size())};
  const Array x(elements, sizes, a), z(elements, sizes, b), y = room(sizes), number = room({});
  EXPECT_SAME(fmod_Tensor_out, {x, z, y}, {x, z}, {y});
  EXPECT_SAME(fmod_Scalar_out, {x, 1.5, y}, {x}, {y});
  EXPECT_SAME(remainder_Tensor_out, {x, z, y}, {x, z}, {y});
  EXPECT_SAME(remainder_Scalar_out, {x, -1.5, y}, {x}, {y});
  EXPECT_SAME(floor_divide_out, {x, z, y}, {x, z}, {y});
  for (const char* mode : {"floor", "trunc"}) {
    EXPECT_SAME(div_out_mode, {x, z, mode, y}, {x, z}, {y});
    EXPECT_SAME(div_Scalar_mode_out, {x, -1.5, mode, y}, {x}, {y});
  }
  EXPECT_SAME(div_out_mode, {x, z, nullptr, y}, {x, z}, {y});
  EXPECT_SAME(atan2_out, {x, z, y}, {x, z}, {y});
  EXPECT_SAME(pow_Scalar_out, {1.5, z, y}, {z}, {y});
  EXPECT_SAME(clamp_Tensor_out, {x, z, nullptr, y}, {x, z}, {y});
  EXPECT_SAME(clamp_Tensor_out, {x, nullptr, z, y}, {x, z}, {y});
}

TEST_P(VulkanKernelsOfTypes, FunctionsAlsoOfWhatIsNotANumber) {
  std::vector<double> values = {NAN,   INFINITY, -INFINITY, 0,   -0.0, 1e-30, -1e-30, 1e30,
                                -1e30, 88,       -88,       0.5, -0.5, 1,     -1};
  for (int i = -300; i < 300; ++i) values.push_back(i / 37.0);
  const int32_t count = static_cast<int32_t>(values.size());
  const Array x(elements, {count}, values);
  const Array y = room({count});
  EXPECT_SAME(abs_out, {x, y}, {x}, {y});
  EXPECT_SAME(erf_out, {x, y}, {x}, {y});
  EXPECT_SAME(exp_out, {x, y}, {x}, {y});
  EXPECT_SAME(gelu_out, {x, "none", y}, {x}, {y});
  EXPECT_SAME(gelu_out, {x, "tanh", y}, {x}, {y});
  EXPECT_SAME(log_out, {x, y}, {x}, {y});
  EXPECT_SAME(neg_out, {x, y}, {x}, {y});
  EXPECT_SAME(reciprocal_out, {x, y}, {x}, {y});
  EXPECT_SAME(relu_out, {x, y}, {x}, {y});
  EXPECT_SAME(round_out, {x, y}, {x}, {y});
  EXPECT_SAME(rsqrt_out, {x, y}, {x}, {y});
  EXPECT_SAME(sigmoid_out, {x, y}, {x}, {y});
  EXPECT_SAME(sqrt_out, {x, y}, {x}, {y});
  EXPECT_SAME(tanh_out, {x, y}, {x}, {y});
  EXPECT_SAME(clamp_out, {x, -0.5, 0.5, y}, {x}, {y});
  for (const double exponent : {0.0, 0.5, 1.0, -1.0, 2.0, 3.0, -2.0, 2.5}) {
    EXPECT_SAME(pow_Tensor_Scalar_out, {x, exponent, y}, {x}, {y});
  }
}

TEST_F(VulkanKernels, ChainsOfEveryLength) {
  using elementwise::Op;
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> sizes = dice.sizes(4, 7);
    std::vector<Array> inputs;
    std::vector<Arg> list;
    const int64_t count = dice.number(1, 8);
    for (int64_t i = 0; i < count; ++i) {
      const Array made = i == 0 ? dice.array(sizes, true) : dice.array(stretched(dice, sizes), true);
      // Casts are chains' own: some inputs have 16 bits.
      const DType types[] = {DType::kF32, DType::kF16, DType::kBF16};
      inputs.push_back(seed % 2 == 0 ? made : rounded(made, types[dice.number(0, 2)]));
      list.emplace_back(inputs.back());
    }
    const std::vector<double> constants = {0.5, -0.25};
    // Those that neither grow without bounds nor are cut at a number.
    const Op ops[] = {Op::kAdd,         Op::kSub,       Op::kMin,     Op::kMax,       Op::kNeg,
                      Op::kAbs,         Op::kTanh,      Op::kSigmoid, Op::kErf,       Op::kRelu,
                      Op::kClamp,       Op::kElu,       Op::kSilu,    Op::kLeakyRelu, Op::kGelu,
                      Op::kHardSigmoid, Op::kHardSwish, Op::kNanTo,   Op::kGeluTanh};
    std::vector<int64_t> code;
    const int64_t steps = seed < 3 ? 32 : dice.number(1, 12);
    for (int64_t s = 0; s < steps; ++s) {
      const Op op = ops[dice.number(0, 18)];
      code.push_back(static_cast<int64_t>(op));
      for (int k = 0; k < 3; ++k) {
        code.push_back(k < elementwise::operands(op) ? dice.number(0, count + 2 + s - 1) : 0);
      }
    }
    const Array y = room(sizes, dice.order(4));
    EXPECT_SAME(fused_elementwise_out, {Arg::list(list), Arg(code), Arg(constants), y}, inputs, {y});
    if (HasFailure()) return;
  }
}

TEST_P(VulkanKernelsOfTypes, CopiesOfPartsInAnyOrder) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> s = dice.sizes(4, 7);
    const Array x = dice.array(s, true);
    const auto to = [&](const std::vector<int32_t>& sizes) { return room(sizes, dice.order(sizes.size())); };
    const Array same = to(s);
    EXPECT_SAME(clone_out, {x, nullptr, same}, {x}, {same});
    const Array flat = to({s[0] * s[1], s[2] * s[3]});
    EXPECT_SAME(view_copy_out, {x, std::vector<int64_t>{s[0] * s[1], -1}, flat}, {x}, {flat});
    const Array turned = to({s[2], s[0], s[3], s[1]});
    EXPECT_SAME(permute_copy_out, {x, std::vector<int64_t>{2, 0, 3, 1}, turned}, {x}, {turned});
    const int32_t from = static_cast<int32_t>(dice.number(0, s[2] - 1));
    const Array part = to({s[0], s[1], (s[2] - from + 1) / 2, s[3]});
    EXPECT_SAME(slice_copy_Tensor_out, {x, 2, from, int64_t{INT64_MAX}, 2, part}, {x}, {part});
    const Array one = to({s[0], s[2], s[3]});
    EXPECT_SAME(select_copy_int_out, {x, 1, s[1] - 1, one}, {x}, {one});
    EXPECT_SAME(flip_out, {x, std::vector<int64_t>{0, 3}, same}, {x}, {same});
    const Array line = dice.array({s[0], 1, s[2], 1}, true);
    EXPECT_SAME(expand_copy_out, {line, std::vector<int64_t>{s[0], s[1], s[2], s[3]}, false, same}, {line}, {same});
    const int dim = static_cast<int>(dice.number(0, 3));
    std::vector<int32_t> more = s;
    more[dim] = dice.size(5);
    std::vector<int32_t> joined = s;
    joined[dim] += more[dim] + s[dim];
    const Array other = dice.array(more, true);
    const Array y = to(joined);
    EXPECT_SAME(cat_out, {Arg::list({x, other, x}), dim, y}, {x, other}, {y});
    std::vector<int32_t> piled = s;
    piled.insert(piled.begin() + dim, 2);
    const Array pile = to(piled);
    EXPECT_SAME(stack_out, {Arg::list({x, x}), dim, pile}, {x}, {pile});
    if (HasFailure()) return;
  }
}

/// What looks at whole rows of a tensor of four dimensions.
class VulkanRows : public VulkanKernelsOfTypes {
 protected:
  void expect_rows(Dice& dice, const std::vector<int32_t>& s) {
    const Array x = dice.array(s, true);
    const Array y = room(s, dice.order(4));
    const int dim = static_cast<int>(dice.number(-4, 3));
    EXPECT_SAME(softmax_out, {x, dim, false, y}, {x}, {y});
    EXPECT_SAME(log_softmax_out, {x, dim, false, y}, {x}, {y});
    const Array plane = room({s[0], s[1]}, dice.order(2));
    const std::vector<int64_t> dims = {2, -1};
    EXPECT_SAME(mean_out, {x, dims, false, nullptr, plane}, {x}, {plane});
    EXPECT_SAME(sum_IntList_out, {x, dims, false, nullptr, plane}, {x}, {plane});
    EXPECT_SAME(amax_out, {x, dims, false, plane}, {x}, {plane});
    EXPECT_SAME(amin_out, {x, dims, false, plane}, {x}, {plane});
    const Array one = room({});
    EXPECT_SAME(max_unary_out, {x, one}, {x}, {one});
    EXPECT_SAME(min_unary_out, {x, one}, {x}, {one});
    EXPECT_SAME(mean_dtype_out, {x, nullptr, one}, {x}, {one});
    EXPECT_SAME(var_out, {x, dims, true, false, plane}, {x}, {plane});
    EXPECT_SAME(var_correction_out, {x, dims, 0, false, plane}, {x}, {plane});
    const Array means_of = room({s[0], s[1]});
    EXPECT_SAME(var_mean_correction_out, {x, dims, nullptr, false, plane, means_of}, {x}, {plane, means_of});
    const Array kept = room({1, s[1], 1, s[3]}, dice.order(4));
    EXPECT_SAME(mean_out, {x, std::vector<int64_t>{0, 2}, true, nullptr, kept}, {x}, {kept});
    const Array weight = dice.array({s[2], s[3]});
    const Array bias = dice.array({s[2], s[3]});
    const Array mean = room({s[0], s[1], 1, 1});
    const Array rstd = room({s[0], s[1], 1, 1});
    const std::vector<int64_t> last = {s[2], s[3]};
    EXPECT_SAME(native_layer_norm_out, {x, last, weight, bias, 1e-5, y, mean, rstd}, {x, weight, bias},
                {y, mean, rstd});
    EXPECT_SAME(native_layer_norm_out, {x, last, nullptr, bias, 1e-5, y, mean, rstd}, {x, bias}, {y, mean, rstd});
    const int64_t groups = s[1] % 2 == 0 ? 2 : 1;
    const Array scale = dice.array({s[1]});
    const Array shift = dice.array({s[1]});
    const Array means = room({s[0], static_cast<int32_t>(groups)});
    const Array rstds = room({s[0], static_cast<int32_t>(groups)});
    EXPECT_SAME(native_group_norm_out, {x, scale, shift, s[0], s[1], s[2] * s[3], groups, 1e-5, y, means, rstds},
                {x, scale, shift}, {y, means, rstds});
    const Array running = dice.array({s[1]});
    std::vector<double> squares = dice.array({s[1]}).values();
    for (double& one : squares) one = one * one + 0.1;
    const Array variance(elements, {s[1]}, squares);
    const Array none = room({0});
    const Array none_too = room({0});
    EXPECT_SAME(native_batch_norm_legit_no_training_out,
                {x, scale, nullptr, running, variance, 0.1, 1e-5, y, none, none_too}, {x, scale, running, variance},
                {y});
  }
};

TEST_P(VulkanRows, AlongAnyDimension) {
  for (uint32_t seed = 0; seed < cases(kCases) && !HasFailure(); ++seed) {
    Dice dice(seed);
    expect_rows(dice, dice.sizes(4, 9));
  }
}

// Cards compute these with a group a row.
TEST_P(VulkanRows, OfManyElements) {
  for (uint32_t seed = 0; seed < cases(12) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    std::vector<int32_t> sizes = dice.sizes(4, 4);
    sizes[seed % 4] = static_cast<int32_t>(dice.number(60, 400));
    expect_rows(dice, sizes);
  }
}

// Processors compute these with a group a row, too: lavapipe ends an invocation's loops after 65535 rounds.
TEST_P(VulkanRows, LongerThanTheDriversLoops) {
  Dice dice(3);
  const Array x = dice.array({2, 70001}), y = room({2, 70001}), one = room({2}), mean = room({2, 1}),
              rstd = room({2, 1});
  const std::vector<int64_t> last = {1}, sizes = {70001};
  EXPECT_SAME(softmax_out, {x, 1, false, y}, {x}, {y});
  EXPECT_SAME(amax_out, {x, last, false, one}, {x}, {one});
  EXPECT_SAME(amin_out, {x, last, false, one}, {x}, {one});
  EXPECT_SAME(native_layer_norm_out, {x, sizes, nullptr, nullptr, 1e-5, y, mean, rstd}, {x}, {y, mean, rstd});
}

// In rows of which each part is looked at by another invocation.
TEST_P(VulkanRows, NaNsAndInfinitiesAreFoundWhereverTheyAre) {
  constexpr int32_t kRows = 8, kLength = 300;
  std::vector<double> values(kRows * kLength, 0.25);
  const double nan = std::nan("");
  const double most = std::numeric_limits<double>::infinity();
  values[0] = values[kLength + 299] = values[2 * kLength + 128] = nan;
  values[3 * kLength + 127] = most;
  values[4 * kLength + 255] = -most;
  values[5 * kLength + 2] = most;
  values[5 * kLength + 200] = nan;
  const Array x(elements, {kRows, kLength}, values);
  const Array y = room({kRows, kLength});
  const Array one = room({kRows});
  EXPECT_SAME(softmax_out, {x, 1, false, y}, {x}, {y});
  EXPECT_SAME(amax_out, {x, std::vector<int64_t>{1}, false, one}, {x}, {one});
  EXPECT_SAME(amin_out, {x, std::vector<int64_t>{1}, false, one}, {x}, {one});
  EXPECT_SAME(sum_IntList_out, {x, std::vector<int64_t>{1}, false, nullptr, one}, {x}, {one});
}

FOR_ALL_TYPES();
INSTANTIATE_TEST_SUITE_P(Of, VulkanRows, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& type) { return std::string(to_string(type.param)); });

TEST_F(VulkanKernels, ALaunchOfMoreNumbersThanAKernelReadsSaysSo) {
  const Array x(DType::kF32, {4}, {1, 2, 3, 4}), y(DType::kF32, {4});
  OnDevice on(device(), {x, y});
  KernelContext context({}, nullptr, {}, &on.session);
  const auto ask = [&](size_t numbers) {
    Launch launch(context, ShaderId::view);
    launch.writes(y.tensor()).reads(x.tensor());
    for (size_t i = 0; i < numbers; ++i) launch.number(1);
    return launch.run(4);
  };
  EXPECT_EQ(ask(Gpu::kMostNumbers - 2), Error::kNotSupported);
  EXPECT_STREQ(context.message(), "tensors of so many dimensions are more than a kernel of this device reads");
  EXPECT_EQ(ask(Gpu::kMostNumbers - 3), Error::kOk) << "which is not run, as the numbers are none of this kernel's";
}

// Every f16 there is, and numbers beside and between those of 16 bits: rounded as the host rounds, to the bit.
TEST_F(VulkanKernels, CastsRoundToTheNearestAndKeepBits) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    values.push_back(static_cast<double>(internal::half_to_float(static_cast<uint16_t>(bits))));
  }
  const Array half(DType::kF16, {0x10000}, values), wide(DType::kF32, {0x10000}, values);
  Dice dice(1);
  std::vector<double> between;
  for (uint32_t i = 0; i < 0x8000; ++i) {
    const double low = values[i], high = i + 1 < 0x7c00 ? values[i + 1] : low;
    between.push_back((low + high) / 2);
    between.push_back(-(low + high) / 2 * (1 + static_cast<double>(dice.real()) * 1e-6));
  }
  for (double& one : between)
    one = dice.number(0, 9) == 0 ? one * std::ldexp(1.0, static_cast<int>(dice.number(-90, 90))) : one;
  const Array any(DType::kF32, {0x10000}, between);
  for (const Array& x : {half, wide, any}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const Array y(dtype, {0x10000}, {});
      SCOPED_TRACE(std::string(to_string(x.tensor().dtype())) + " to " + to_string(dtype));
      exact = true;
      EXPECT_SAME(to_dim_order_copy_out, {x, false, nullptr, y}, {x}, {y});
    }
  }
}

TEST_F(VulkanKernels, DevicesThatDoNotStore8Or16BitsSaySo) {
  for (const bool only_8 : {false, true}) {
    SCOPED_TRACE(only_8 ? "without 8 bits" : "without 8 and 16 bits");
    VulkanOptions options;
    options.validation = true;
    (only_8 ? options.without_8_bits : options.without_16_bits) = true;
    VulkanAllocator without(options);
    for (const DType dtype :
         {DType::kF32, DType::kF16, DType::kBF16, DType::kU8, DType::kBool, DType::kI8, DType::kI32, DType::kI64}) {
      SCOPED_TRACE(to_string(dtype));
      const Array x(dtype, {7}), y(dtype, {7});  // eight bytes would be two words
      OnDevice on(without, {x, y});
      const size_t bytes = element_size(dtype);
      const bool stored = bytes >= 4 || (bytes == 2 && only_8);
      EXPECT_EQ(on.ask(vulkan::clone_out, {x, nullptr, y}), stored ? Error::kOk : Error::kNotSupported);
    }
    EXPECT_EQ(without.messages(), 0u);
  }
}

}  // namespace
}  // namespace berth::vulkan

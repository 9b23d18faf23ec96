// Complex tensors and Fourier transforms of `.pt2` files. Expected are sums written out here, in double precision.
#include <cmath>
#include <complex>

#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

constexpr int kC64 = 10;
using Number = std::complex<double>;

/// x[t] times exp(sign · 2πi · t · k / length), summed, for each k below `bins`.
std::vector<Number> plain_sums(const std::vector<Number>& x, int64_t bins, double sign) {
  std::vector<Number> y(bins);
  const double length = static_cast<double>(x.size());
  for (int64_t k = 0; k < bins; ++k) {
    for (size_t t = 0; t < x.size(); ++t) {
      const double turn = static_cast<double>(static_cast<int64_t>(t) * k % static_cast<int64_t>(x.size())) / length;
      y[k] += x[t] * std::polar(1.0, sign * 2 * 3.14159265358979323846 * turn);
    }
  }
  return y;
}

/// Numbers without a pattern, the same in every run.
Floats signal(size_t count) {
  Floats x;
  for (size_t i = 0; i < count; ++i) x.push_back(static_cast<float>(std::sin(1.7 * static_cast<double>(i * i) + 0.3)));
  return x;
}

std::vector<Number> as_complex(const Floats& pairs) {
  std::vector<Number> x;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) x.emplace_back(pairs[i], pairs[i + 1]);
  return x;
}

void expect_near(const Floats& found, const std::vector<Number>& expected, double tolerance) {
  ASSERT_EQ(found.size(), 2 * expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[2 * i], expected[i].real(), tolerance) << i;
    ASSERT_NEAR(found[2 * i + 1], expected[i].imag(), tolerance) << i;
  }
}

/// Inputs a and b, [2, 2] each: two complex numbers.
TestProgram two_numbers() {
  TestProgram p;
  for (const char* name : {"a", "b"}) {
    p.input(name, {2, 2});
    p.node("aten.view_as_complex.default", {{"self", tensor(name)}}, std::string("c") + name, {2}, kC64);
  }
  return p;
}

/// The result of `target` for ca and cb, as pairs.
Floats of_two(const std::string& target, const Floats& a, const Floats& b) {
  TestProgram p = two_numbers();
  p.node(target, {{"self", tensor("ca")}, {"other", tensor("cb")}}, "y", {2}, kC64);
  p.node("aten.view_as_real.default", {{"self", tensor("y")}}, "pairs", {2, 2});
  p.output("pairs");
  const auto outputs = run(p, {floats({2, 2}, a), floats({2, 2}, b)});
  return outputs.empty() ? Floats() : numbers(outputs[0]);
}

TEST(ComplexPt2, ArithmeticIsThatOfComplexNumbers) {
  const Floats a = {1, 2, -3, 0.5F}, b = {4, -1, 0, 2};
  expect_near(of_two("aten.mul.Tensor", a, b), {Number(6, 7), Number(-1, -6)}, 1e-6);
  expect_near(of_two("aten.add.Tensor", a, b), {Number(5, 1), Number(-3, 2.5)}, 1e-6);
  expect_near(of_two("aten.div.Tensor", a, b), {Number(1, 2) / Number(4, -1), Number(0.25, 1.5)}, 1e-6);
}

TEST(ComplexPt2, QuotientsDoNotOverflowOnTheWay) {
  expect_near(of_two("aten.div.Tensor", {1e30F, 1e30F, 3e-30F, 0}, {1e30F, 1e30F, 0, 1e-30F}),
              {Number(1, 0), Number(0, -3)}, 1e-5);
}

TEST(ComplexPt2, MagnitudesDoNotOverflowOrVanish) {
  TestProgram p;
  p.input("x", {4, 2});
  p.node("aten.view_as_complex.default", {{"self", tensor("x")}}, "c", {4}, kC64);
  p.node("aten.abs.default", {{"self", tensor("c")}}, "y", {4});
  p.output("y");
  const Floats y = numbers(run(p, {floats({4, 2}, {3e30F, 4e30F, 3e-30F, -4e-30F, 0, 0, NAN, INFINITY})})[0]);
  EXPECT_FLOAT_EQ(y[0], 5e30F);
  EXPECT_FLOAT_EQ(y[1], 5e-30F);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], INFINITY);
}

TEST(ComplexPt2, RealNumbersHaveNoImaginaryPart) {
  TestProgram p;  // cat([c, x], 0) * (2 + 3i)
  p.input("x", {1, 2});
  p.node("aten.view_as_complex.default", {{"self", tensor("x")}}, "c", {1}, kC64);
  p.node("aten.select.int", {{"self", tensor("x")}, {"dim", integer(1)}, {"index", integer(0)}}, "first", {1});
  p.node("aten.cat.default", {{"tensors", tensor_list({"c", "first"})}, {"dim", integer(0)}}, "both", {2}, kC64);
  p.node("aten.mul.Tensor", {{"self", tensor("both")}, {"other", {{"as_complex", {{"real", 2.0}, {"imag", 3.0}}}}}},
         "y", {2}, kC64);
  p.node("aten.view_as_real.default", {{"self", tensor("y")}}, "pairs", {2, 2});
  p.output("pairs");
  expect_near(numbers(run(p, {floats({1, 2}, {5, 7})})[0]), {Number(5, 7) * Number(2, 3), Number(10, 15)}, 1e-5);
}

TEST(ComplexPt2, WeightsAreReadAsPairs) {
  TestProgram p;
  p.payload("weight_0", {1, 2, 3, 4, 5, 6, 7, 8});
  p.parameter("p_w", "w", tensor_meta({2, 2}, kC64, {1, 2}), "weight_0");  // lies transposed
  p.input("x", {2, 2});
  p.node("aten.mul.Tensor", {{"self", tensor("p_w")}, {"other", tensor("x")}}, "y", {2, 2}, kC64);
  p.node("aten.view_as_real.default", {{"self", tensor("y")}}, "pairs", {2, 2, 2});
  p.output("pairs");
  EXPECT_EQ(numbers(run(p, {floats({2, 2}, {1, 10, 1, 1})})[0]), Floats({1, 2, 50, 60, 3, 4, 7, 8}));
}

TEST(ComplexPt2, WritesInPlaceReachBothParts) {
  TestProgram p;  // z = zeros(3, c64); z[1:2] = c; z.imag[2] = 9
  p.input("x", {1, 2});
  p.node("aten.view_as_complex.default", {{"self", tensor("x")}}, "c", {1}, kC64);
  p.node("aten.zeros.default", {{"size", integers({3})}, {"dtype", element_type(kC64)}}, "z", {3}, kC64);
  p.node("aten.slice.Tensor", {{"self", tensor("z")}, {"dim", integer(0)}, {"start", integer(1)}, {"end", integer(2)}},
         "part", {1}, kC64);
  p.node("aten.copy_.default", {{"self", tensor("part")}, {"src", tensor("c")}}, "copy_", {1}, kC64);
  p.node("aten.imag.default", {{"self", tensor("z")}}, "imag", {3});
  p.node("aten.select.int", {{"self", tensor("imag")}, {"dim", integer(0)}, {"index", integer(2)}}, "last", {});
  p.node("aten.fill_.Scalar", {{"self", tensor("last")}, {"value", real(9)}}, "fill_", {});
  p.node("aten.view_as_real.default", {{"self", tensor("z")}}, "pairs", {3, 2});
  p.output("pairs");
  EXPECT_EQ(numbers(run(p, {floats({1, 2}, {5, 7})})[0]), Floats({0, 0, 5, 7, 0, 9}));
}

// One product, two of them, and lengths of which a factor is factored again.
TEST(ComplexPt2, TransformsOfEveryLengthAreTheirSums) {
  for (const int64_t length : {1, 2, 7, 400, 521, 600, 1024, 3 * 521}) {
    TestProgram p;
    p.input("x", {length, 2});
    p.node("aten.view_as_complex.default", {{"self", tensor("x")}}, "c", {length}, kC64);
    for (const char* name : {"fft_fft", "fft_ifft"}) {
      p.node(std::string("aten.") + name + ".default", {{"self", tensor("c")}}, name, {length}, kC64);
      p.node("aten.view_as_real.default", {{"self", tensor(name)}}, std::string(name) + "_pairs", {length, 2});
      p.output(std::string(name) + "_pairs");
    }
    const Floats x = signal(2 * length);
    const auto outputs = run(p, {floats({static_cast<int32_t>(length), 2}, x)});
    ASSERT_EQ(outputs.size(), 2u);
    const double tolerance = 1e-5 * std::sqrt(static_cast<double>(length)) + 1e-6;
    expect_near(numbers(outputs[0]), plain_sums(as_complex(x), length, -1), tolerance);
    std::vector<Number> inverse = plain_sums(as_complex(x), length, 1);
    for (Number& number : inverse) number /= static_cast<double>(length);
    expect_near(numbers(outputs[1]), inverse, tolerance);
  }
}

TEST(ComplexPt2, HalfOfASpectrumGivesTheSignalBack) {
  for (const int64_t length : {1, 2, 9, 10, 701, 1200}) {
    const int64_t bins = length / 2 + 1;
    TestProgram p;
    p.input("x", {2, length});
    p.node("aten.fft_rfft.default", {{"self", tensor("x")}, {"norm", text("ortho")}}, "z", {2, bins}, kC64);
    p.node("aten.fft_irfft.default", {{"self", tensor("z")}, {"n", integer(length)}, {"norm", text("ortho")}}, "y",
           {2, length});
    p.output("y");
    const Floats x = signal(2 * length);
    const Floats y = numbers(run(p, {floats({2, static_cast<int32_t>(length)}, x)})[0]);
    ASSERT_EQ(y.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-4) << length << " at " << i;
  }
}

TEST(ComplexPt2, SignalsAreCutOrFilledToTheLengthAskedFor) {
  for (const int64_t length : {3, 8}) {
    TestProgram p;
    p.input("x", {5});
    p.node("aten.fft_fft.default", {{"self", tensor("x")}, {"n", integer(length)}}, "z", {length}, kC64);
    p.node("aten.view_as_real.default", {{"self", tensor("z")}}, "pairs", {length, 2});
    p.output("pairs");
    const Floats x = {1, 2, 3, 4, 5};
    std::vector<Number> asked(length);
    for (int64_t i = 0; i < std::min<int64_t>(length, 5); ++i) asked[i] = x[i];
    expect_near(numbers(run(p, {floats({5}, x)})[0]), plain_sums(asked, length, -1), 1e-5);
  }
}

// A hop that does not divide the frame, and a window that is shorter than it.
TEST(ComplexPt2, FramesAreTransformedAndPutTogetherAgain) {
  constexpr int64_t kSamples = 16 + 9 * 5;
  TestProgram p;
  p.input("x", {1, kSamples});
  p.input("w", {12});
  const std::vector<std::pair<std::string, json>> numbers_of = {
      {"n_fft", integer(16)}, {"hop_length", integer(5)}, {"win_length", integer(12)}, {"window", tensor("w")}};
  auto with = [&](const std::string& self, std::vector<std::pair<std::string, json>> more) {
    more.insert(more.begin(), numbers_of.begin(), numbers_of.end());
    more.insert(more.begin(), {"self", tensor(self)});
    return more;
  };
  p.node("aten.stft.default", with("x", {{"return_complex", truth(true)}}), "z", {1, 9, 10}, kC64);
  p.node("aten.istft.default", with("z", {}), "y", {1, kSamples - 16});
  p.output("y");
  const Floats x = signal(kSamples);
  Floats window;
  for (int i = 0; i < 12; ++i) window.push_back(0.5F + 0.05F * static_cast<float>(i));
  const Floats y = numbers(run(p, {floats({1, kSamples}, x), floats({12}, window)})[0]);
  ASSERT_EQ(y.size(), x.size() - 16);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], x[i + 8], 1e-5) << i;
}

TEST(ComplexPt2, WhatIsNotReadIsRefusedWithASentence) {
  TestProgram output = two_numbers();
  output.output("ca");
  says(failure_of(output.import()), "return torch.view_as_real() of it");

  TestProgram operation = two_numbers();
  operation.node("aten.sigmoid.default", {{"self", tensor("ca")}}, "y", {2}, kC64);
  operation.node("aten.abs.default", {{"self", tensor("y")}}, "z", {2});
  operation.output("z");
  says(failure_of(operation.import()), "is not read for complex numbers");

  TestProgram prime;
  prime.input("x", {4099});
  prime.node("aten.fft_fft.default", {{"self", tensor("x")}}, "y", {4099}, kC64);
  prime.node("aten.abs.default", {{"self", tensor("y")}}, "z", {4099});
  prime.output("z");
  says(failure_of(prime.import()), "4099 has no smaller factors");

  TestProgram open;
  open.symbol("s0", 2, 9);
  open.input("x", {"Symbol('s0', positive=True, integer=True)"});
  open.node("aten.fft_fft.default", {{"self", tensor("x")}}, "y", {2}, kC64);
  open.node("aten.abs.default", {{"self", tensor("y")}}, "z", {2});
  open.output("z");
  says(failure_of(open.import()), "the length of a signal that is transformed");
}

}  // namespace
}  // namespace berth::pt2

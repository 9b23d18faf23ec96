// Products with weights of 8 and 4 bits, against sums in double that are written here as their definition has them. The
// fears: the halves of a byte swapped, a block's scale on its neighbour, arguments of a hostile file.
#include "kernels/portable/fused_narrow_linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/seeds_testing.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

struct NarrowCase {
  int64_t rows = 1, depth = 4, columns = 2, bits = 8, block = 4;
  Values x, w, scale, zero, bias, residual;
  // 1 or all
  int64_t scale_rows = 1, scale_columns = 1, zero_rows = 1, zero_columns = 1;
  bool whole_zeros = true;

  int64_t blocks() const { return (depth + block - 1) / block; }
  static double at(const Values& v, int64_t rows, int64_t columns, int64_t b, int64_t j) {
    return v[(rows == 1 ? 0 : b) * columns + (columns == 1 ? 0 : j)];
  }
  Values expected() const {
    Values y;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = bias.empty() ? 0 : bias[j];
        if (!residual.empty()) sum += residual[i * columns + j];
        for (int64_t k = 0; k < depth; ++k) {
          const double z = zero.empty() ? 0 : at(zero, zero_rows, zero_columns, k / block, j);
          sum += x[i * depth + k] * (w[k * columns + j] - z) * at(scale, scale_rows, scale_columns, k / block, j);
        }
        y.push_back(sum);
      }
    }
    return y;
  }
  static int32_t size(int64_t n) { return static_cast<int32_t>(n); }
  Array weight() const {
    if (bits == 8) return Array(DType::kI8, {size(depth), size(columns)}, w);
    Values bytes((depth + 1) / 2 * columns, 0);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < columns; ++j) {
        bytes[k / 2 * columns + j] += (w[k * columns + j] + 8) * (k % 2 == 0 ? 1 : 16);
      }
    }
    return Array(DType::kU8, {size((depth + 1) / 2), size(columns)}, bytes);
  }
  std::vector<Arg> args(const Array& out) const {
    const Array scales = f32({size(scale_rows), size(scale_columns)}, scale);
    const std::vector<int32_t> zero_sizes = {size(zero_rows), size(zero_columns)};
    const DType zero_type = whole_zeros ? DType::kI8 : DType::kF32;
    return {f32({size(rows), size(depth)}, x),
            weight(),
            scales,
            zero.empty() ? Arg(nullptr) : Arg(Array(zero_type, zero_sizes, zero)),
            bias.empty() ? Arg(nullptr) : Arg(f32({size(columns)}, bias)),
            residual.empty() ? Arg(nullptr) : Arg(f32({size(rows), size(columns)}, residual)),
            bits,
            block,
            "none",
            0.0,
            0.0,
            "",
            out};
  }
};

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}

  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  Values reals(int64_t n) {
    Values made(n);
    for (double& v : made) v = static_cast<float>(std::uniform_real_distribution<double>(-1, 1)(random_));
    return made;
  }
  Values wholes(int64_t n, int64_t bits) {
    Values made(n);
    for (double& v : made) v = static_cast<double>(bits == 8 ? whole(-128, 127) : whole(-8, 7));
    return made;
  }
  NarrowCase any() {
    NarrowCase c;
    c.rows = whole(1, 20);
    c.depth = whole(1, 3) == 1 ? whole(500, 700) : whole(1, 70);
    c.columns = whole(1, 150);
    c.bits = whole(0, 1) == 0 ? 8 : 4;
    c.block = whole(0, 2) == 0 ? c.depth : whole(1, 40);
    c.x = reals(c.rows * c.depth);
    c.w = wholes(c.depth * c.columns, c.bits);
    c.scale_rows = whole(0, 3) == 0 ? 1 : c.blocks();
    c.scale_columns = whole(0, 3) == 0 ? 1 : c.columns;
    c.scale = reals(c.scale_rows * c.scale_columns);
    c.zero_rows = whole(0, 1) == 0 ? 1 : c.blocks();
    c.zero_columns = whole(0, 1) == 0 ? 1 : c.columns;
    c.whole_zeros = whole(0, 1) == 0;
    const int64_t zeros = c.zero_rows * c.zero_columns;
    if (whole(0, 1) == 0) c.zero = c.whole_zeros ? wholes(zeros, c.bits) : reals(zeros);
    if (whole(0, 1) == 0) c.bias = reals(c.columns);
    if (whole(0, 1) == 0) c.residual = reals(c.rows * c.columns);
    return c;
  }

 private:
  std::mt19937 random_;
};

TEST(NarrowLinear, ProductsAreTheirSums) {
  berth::testing::for_each_seed(60, [](unsigned seed) {
    const NarrowCase c = Drawn(seed).any();
    const Array out = f32({NarrowCase::size(c.rows), NarrowCase::size(c.columns)});
    const auto outcome = run_with(fused_narrow_linear_out, c.args(out), 2);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    const Values expected = c.expected();
    const Values found = out.values();
    double largest = 1;
    for (const double y : expected) largest = std::fmax(largest, std::fabs(y));
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5 * largest) << "element " << i;
  });
}

NarrowCase small() {
  NarrowCase c;
  c.x = {1, 2, 3, 4};
  c.w = {1, -2, 3, -4, 5, -6, 7, -8};
  c.scale = {1};
  return c;
}

Values run_narrow(const NarrowCase& c) {
  const Array out = f32({1, 2});
  const auto outcome = run_with(fused_narrow_linear_out, c.args(out), 1);
  EXPECT_EQ(outcome.error, Error::kOk) << outcome.message;
  return out.values();
}

TEST(NarrowLinear, HostileScalesGiveTheAnswerOfIEEE) {
  NarrowCase c = small();
  EXPECT_EQ(run_narrow(c), (Values{50, -60}));
  c.bits = 4;
  EXPECT_EQ(run_narrow(c), (Values{50, -60}));
  c.scale = {0};
  EXPECT_EQ(run_narrow(c), (Values{0, 0}));
  c.scale = {-2};
  EXPECT_EQ(run_narrow(c), (Values{-100, 120}));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  c.scale = {kInfinity};
  EXPECT_EQ(run_narrow(c), (Values{kInfinity, -kInfinity}));
  c.scale = {NAN};
  EXPECT_TRUE(std::isnan(run_narrow(c)[0]) && std::isnan(run_narrow(c)[1]));
}

void expect_refused(const NarrowCase& c, const std::function<void(std::vector<Arg>&)>& change, Error error) {
  const Array out = f32({1, 2});
  std::vector<Arg> args = c.args(out);
  change(args);
  const auto outcome = run_with(fused_narrow_linear_out, args, 1);
  EXPECT_EQ(outcome.error, error) << outcome.message;
  EXPECT_FALSE(outcome.message.empty());
}

TEST(NarrowLinear, ArgumentsThatDoNotFitAreErrors) {
  const NarrowCase c = small();
  const auto refused = [&](size_t i, const Arg& arg, Error error = Error::kInvalidArgument) {
    SCOPED_TRACE("argument " + std::to_string(i));
    expect_refused(
        c, [&](std::vector<Arg>& args) { args[i] = arg; }, error);
  };
  refused(0, f32({1, 3}, {1, 2, 3}));
  refused(1, Array(DType::kI8, {3, 2}, {1, 2, 3, 4, 5, 6}));
  refused(1, Array(DType::kI8, {8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  refused(1, Array(DType::kU8, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  refused(2, f32({2, 1}, {1, 2}));
  refused(2, f32({1, 3}, {1, 2, 3}));
  refused(2, Array(DType::kF64, {1, 1}, {1}));
  refused(3, Array(DType::kI8, {1, 3}, {1, 2, 3}));
  refused(3, Array(DType::kI32, {1, 1}, {1}));
  refused(4, f32({3}, {1, 2, 3}));
  refused(5, f32({2, 2}, {1, 2, 3, 4}));
  refused(6, Arg(5));
  refused(6, Arg(4));
  refused(7, Arg(0));
  refused(7, Arg(-3));
  refused(8, Arg("no such"));
  refused(11, Arg("panels 64 [4,2]"), Error::kNotSupported);
  NarrowCase zeros = c;
  zeros.bits = 4;
  for (const double z : {-9.0, 8.0, 127.0}) {
    zeros.zero = {z};
    expect_refused(
        zeros, [](std::vector<Arg>&) {}, Error::kInvalidArgument);
  }
}

}  // namespace
}  // namespace berth::portable

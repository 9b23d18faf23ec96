#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// Numbers of complex tensors are pairs of floats in memory.
Array complex64(Shape shape, const std::vector<float>& parts) {
  const Array array(DType::kComplex64, std::move(shape));
  std::memcpy(array.tensor().raw(), parts.data(), parts.size() * sizeof(float));
  return array;
}

std::vector<float> parts(const Array& array) {
  const float* first = array.tensor().data<float>();
  return std::vector<float>(first, first + 2 * array.tensor().numel());
}

TEST(Complex, ConjugateFlipsTheImaginarySign) {
  const Array out(DType::kComplex64, {3});
  ASSERT_EQ(run(conj_physical_out, {complex64({3}, {1, 2, -3, -4, 0, 0}), out}), Error::kOk);
  EXPECT_EQ(parts(out), (std::vector<float>{1, -2, -3, 4, 0, 0}));
  EXPECT_TRUE(std::signbit(parts(out)[5]));
  EXPECT_TRUE(out.intact());
  const Array real = f32({2});
  ASSERT_EQ(run(conj_physical_out, {f32({2}, {1, -2}), real}), Error::kOk);
  EXPECT_EQ(real.values(), (Values{1, -2}));
  EXPECT_EQ(run(conj_physical_out, {f32({2}), out}), Error::kInvalidArgument);
}

TEST(Complex, PartsAreTheLastDimension) {
  const Array self = complex64({2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const Order& order : orders(3)) {
    const Array out(DType::kF32, {2, 2, 2}, {}, order);
    ASSERT_EQ(run(view_as_real_copy_out, {self, out}), Error::kOk);
    EXPECT_EQ(out.values(), numbered({2, 2, 2}));
  }
  EXPECT_EQ(run(view_as_real_copy_out, {self, Array(DType::kF64, {2, 2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(view_as_real_copy_out, {f32({2}), f32({2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(view_as_real_copy_out, {Array(DType::kComplex32, {0}), Array(DType::kF16, {0, 2})}), Error::kOk);
}

TEST(Complex, ArithmeticOfTwoTensors) {
  // 1+2i, 3-4i and 2-1i, which is stretched.
  const Array a = complex64({2}, {1, 2, 3, -4});
  const Array b = complex64({1}, {2, -1});
  const Array out(DType::kComplex64, {2});
  ASSERT_EQ(run(add_out, {a, b, 1, out}), Error::kOk);
  EXPECT_EQ(parts(out), (std::vector<float>{3, 1, 5, -5}));
  ASSERT_EQ(run(add_out, {a, b, 2, out}), Error::kOk);
  EXPECT_EQ(parts(out), (std::vector<float>{5, 0, 7, -6}));
  ASSERT_EQ(run(sub_out, {a, b, 1, out}), Error::kOk);
  EXPECT_EQ(parts(out), (std::vector<float>{-1, 3, 1, -3}));
  ASSERT_EQ(run(mul_out, {a, b, out}), Error::kOk);
  EXPECT_EQ(parts(out), (std::vector<float>{4, 3, 2, -11}));
  ASSERT_EQ(run(div_out, {a, b, out}), Error::kOk);
  EXPECT_EQ(parts(out), (std::vector<float>{0, 1, 2, -1}));
}

TEST(Complex, MagnitudesAndSums) {
  const Array self = complex64({2, 2}, {3, 4, 0, -2, 1, 1, -5, 12});
  const Array sizes = f32({2, 2});
  ASSERT_EQ(run(abs_out, {self, sizes}), Error::kOk);
  EXPECT_EQ(sizes.values(), (Values{5, 2, static_cast<double>(std::sqrt(2.0f)), 13}));
  const Array columns(DType::kComplex64, {2});
  ASSERT_EQ(run(sum_IntList_out, {self, Ints{0}, false, nullptr, columns}), Error::kOk);
  EXPECT_EQ(parts(columns), (std::vector<float>{4, 5, -5, 10}));
  const Array all(DType::kComplex64, {1, 1});
  ASSERT_EQ(run(sum_IntList_out, {self, nullptr, true, nullptr, all}), Error::kOk);
  EXPECT_EQ(parts(all), (std::vector<float>{-1, 15}));
  const Array none(DType::kComplex64, {});
  ASSERT_EQ(run(sum_IntList_out, {Array(DType::kComplex64, {0}), nullptr, false, nullptr, none}), Error::kOk);
  EXPECT_EQ(parts(none), (std::vector<float>{0, 0}));
}

TEST(Complex, ProductsOfMatrices) {
  // [[1+i, 2], [0, i]] times [[1, -i], [i, 3]].
  const Array a = complex64({1, 2, 2}, {1, 1, 2, 0, 0, 0, 0, 1});
  const Array b = complex64({1, 2, 2}, {1, 0, 0, -1, 0, 1, 3, 0});
  const Array out(DType::kComplex64, {1, 2, 2});
  ASSERT_EQ(run(bmm_out, {a, b, out}), Error::kOk);
  EXPECT_EQ(parts(out), (std::vector<float>{1, 3, 7, -1, -1, 0, 0, 3}));
}

TEST(Complex, CopiesFromAndToRealNumbers) {
  const Array pairs(DType::kComplex64, {2, 2});
  ASSERT_EQ(run(to_copy_out, {f32({2, 2}, {1, -2, 3, 4}), false, nullptr, pairs}), Error::kOk);
  EXPECT_EQ(parts(pairs), (std::vector<float>{1, 0, -2, 0, 3, 0, 4, 0}));
  const Array narrow(DType::kComplex32, {2, 2});
  ASSERT_EQ(run(to_copy_out, {complex64({2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), false, nullptr, narrow}), Error::kOk);
  ASSERT_EQ(run(to_copy_out, {narrow, false, nullptr, pairs}), Error::kOk);
  EXPECT_EQ(parts(pairs), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  const Array real(DType::kI32, {2, 2}, {}, {1, 0});
  ASSERT_EQ(run(to_copy_out, {pairs, false, nullptr, real}), Error::kOk);
  EXPECT_EQ(real.values(), (Values{1, 3, 5, 7}));
}

TEST(Complex, RefusesWhatDoesNotFit) {
  const Array a = complex64({2}, {1, 2, 3, 4});
  EXPECT_EQ(run(add_out, {a, f32({2}), 1, a}), Error::kInvalidArgument);
  EXPECT_EQ(run(mul_out, {a, a, f32({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(mul_out, {a, Array(DType::kComplex64, {3}), a}), Error::kInvalidArgument);
  EXPECT_EQ(run(abs_out, {a, a}), Error::kInvalidArgument);
  EXPECT_EQ(run(sum_IntList_out, {a, nullptr, false, 6, f32({})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable

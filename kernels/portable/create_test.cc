#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Full, FillsEveryElementOfEveryDType) {
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU16, DType::kU32,
                            DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const Array out(dtype, {3, 7});
    ASSERT_EQ(run(full_out, {Ints{3, 7}, 5, out}), Error::kOk);
    EXPECT_EQ(out.values(), Values(21, 5)) << to_string(dtype);
    EXPECT_TRUE(out.intact());
  }
  const Array flags = boolean({2});
  ASSERT_EQ(run(full_out, {Ints{2}, std::nan(""), flags}), Error::kOk);
  EXPECT_EQ(flags.values(), (Values{1, 1}));
  const Array complex(DType::kComplex128, {2});
  ASSERT_EQ(run(full_out, {Ints{2}, 1.5, complex}), Error::kOk);
  const double* parts = complex.tensor().data<double>();
  EXPECT_EQ((Values{parts[0], parts[1], parts[2], parts[3]}), (Values{1.5, 0, 1.5, 0}));
}

TEST(Full, FillsLargeTensorsOnThreads) {
  const Array out = f32({1000, 300});
  ASSERT_EQ(run_with(full_out, {Ints{1000, 300}, 0.5, out}, 3).error, Error::kOk);
  EXPECT_EQ(out.values(), Values(300000, 0.5));
  EXPECT_TRUE(out.intact());
}

TEST(Full, RefusesNumbersThatDoNotFit) {
  const std::vector<std::pair<DType, double>> bad = {{DType::kU8, 256},        {DType::kU8, -256},
                                                     {DType::kU8, -1.5},       {DType::kI8, 128},
                                                     {DType::kI8, -129},       {DType::kI32, 2147483648.0},
                                                     {DType::kI64, 9.3e18},    {DType::kI64, -9.3e18},
                                                     {DType::kI32, kInfinity}, {DType::kI32, std::nan("")},
                                                     {DType::kF16, 65510},     {DType::kF32, 3.5e38},
                                                     {DType::kU64, 1.9e19},    {DType::kBF16, 3.4e38},
                                                     {DType::kI4, 8},          {DType::kI4, -9},
                                                     {DType::kU2, 4},          {DType::kU4, -1},
                                                     {DType::kF8E4M3, 449},    {DType::kF4E2M1, -7}};
  for (const auto& [dtype, x] : bad) {
    EXPECT_EQ(run(full_out, {Ints{1}, x, Array(dtype, {1})}), Error::kInvalidArgument) << to_string(dtype) << " " << x;
  }
  EXPECT_EQ(run(full_out, {Ints{1}, -256, Array(DType::kU8, {1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(full_out, {Ints{1}, int64_t{1} << 40, i32({1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(full_out, {Ints{1}, 1, Array(DType::kQInt8, {1})}), Error::kInvalidArgument);
}

TEST(Full, AcceptsNumbersThatJustFit) {
  const std::vector<std::pair<DType, std::pair<double, double>>> good = {
      {DType::kI8, {-128, -128}},
      {DType::kI8, {-127.9, -127}},
      {DType::kI8, {127.9, 127}},
      {DType::kU8, {255.9, 255}},
      {DType::kI4, {-8.9, -8}},
      {DType::kU2, {3, 3}},
      {DType::kF8E4M3, {448, 448}},
      {DType::kF8E5M2, {-kInfinity, -kInfinity}},
      {DType::kF4E2M1, {1.3, 1.5}},
      {DType::kF16, {65504, 65504}},
      {DType::kF16, {-kInfinity, -kInfinity}},
      {DType::kF32, {kInfinity, kInfinity}},
      {DType::kI64, {-9223372036854775808.0, -9223372036854775808.0}},
      {DType::kF32, {3.4028234663852886e38, 3.4028234663852886e38}}};
  for (const auto& [dtype, pair] : good) {
    const Array out(dtype, {1});
    ASSERT_EQ(run(full_out, {Ints{1}, pair.first, out}), Error::kOk) << to_string(dtype) << " " << pair.first;
    EXPECT_EQ(out.values()[0], pair.second);
  }
  // A negative integer wraps into an unsigned type, as in PyTorch.
  const Array byte(DType::kU8, {1});
  ASSERT_EQ(run(full_out, {Ints{1}, -1, byte}), Error::kOk);
  EXPECT_EQ(byte.values(), Values{255});
  const Array exact = i64({1});
  ASSERT_EQ(run(full_out, {Ints{1}, INT64_MAX, exact}), Error::kOk);
  EXPECT_EQ(exact.integers(), Ints{INT64_MAX});
}

TEST(Full, RefusesBadSizes) {
  for (const Ints& size : {Ints{-1}, Ints{1LL << 31}, Ints(17, 1), Ints{65536, 65536, 65536, 65536}, Ints{4}}) {
    EXPECT_EQ(run(full_out, {size, 1, f32({3})}), Error::kInvalidArgument);
  }
  const Array nowhere = f32({3});
  nowhere.tensor().set_data(nullptr);
  EXPECT_EQ(run(full_out, {Ints{3}, 1, nowhere}), Error::kInvalidState);
}

TEST(Create, ZerosOnesAndScalars) {
  const Array zeros = f32({2, 2});
  ASSERT_EQ(run(zeros_out, {Ints{2, 2}, zeros}), Error::kOk);
  EXPECT_EQ(zeros.values(), Values(4, 0));
  const Array ones(DType::kBF16, {2, 2}, {}, {1, 0});
  ASSERT_EQ(run(ones_out, {Ints{2, 2}, ones}), Error::kOk);
  EXPECT_EQ(ones.values(), Values(4, 1));
  const Array scalar = f32({});
  ASSERT_EQ(run(scalar_tensor_out, {2.5, scalar}), Error::kOk);
  EXPECT_EQ(scalar.values(), Values{2.5});
  EXPECT_EQ(run(scalar_tensor_out, {true, f32({1})}), Error::kInvalidArgument);
  const Array like(DType::kF32, {4}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(full_like_out, {i64({3}), true, nullptr, like}), Error::kOk);
  EXPECT_EQ(like.values(), Values(3, 1));
  EXPECT_EQ(run(zeros_out, {Ints{0}, f32({0})}), Error::kOk);
}

TEST(Fill, ReadsItsValueBeforeItWrites) {
  const Array out = f32({3});
  ASSERT_EQ(run(fill_Scalar_out, {f32({3}), -0.25, out}), Error::kOk);
  EXPECT_EQ(out.values(), Values(3, -0.25));
  ASSERT_EQ(run(fill_Tensor_out, {f32({3}), i64({}, {7}), out}), Error::kOk);
  EXPECT_EQ(out.values(), Values(3, 7));
  const Array first = f32({});
  first.tensor().set_data(out.tensor().raw());
  out.set({4, 5, 6});
  ASSERT_EQ(run(fill_Tensor_out, {out, first, out}), Error::kOk);
  EXPECT_EQ(out.values(), Values(3, 4));
  EXPECT_EQ(run(fill_Tensor_out, {out, f32({1}), out}), Error::kInvalidArgument);
}

Values range(const Arg& start, const Arg& end, const Arg& step, DType dtype, int32_t count) {
  const Array out(dtype, {count});
  EXPECT_EQ(run(arange_start_out, {start, end, step, out}), Error::kOk);
  return out.values();
}

TEST(Arange, CountsAsPyTorchDoes) {
  EXPECT_EQ(range(5, 0, -2, DType::kI64, 3), (Values{5, 3, 1}));
  EXPECT_EQ(range(0, 5.5, 1, DType::kI64, 6), (Values{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(range(0.5, 5.5, 1.5, DType::kI32, 4), (Values{0, 1, 2, 3}));
  EXPECT_EQ(range(1, 2, 0.25, DType::kF32, 4), (Values{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(range(0, 1, 0.1, DType::kF64, 10)[9], 0.9);
  EXPECT_EQ(range(3, 3, 1, DType::kF32, 0), Values{});
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, INT64_MAX, DType::kI64, 3).size(), 3u);
  const Array out(DType::kF16, {5}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(arange_out, {3, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 1, 2}));
}

TEST(Arange, RefusesRangesThatLeadNowhere) {
  const Array out = f32({1});
  const std::vector<std::vector<Arg>> bad = {{0, 5, 0},
                                             {0, 5, -1},
                                             {5, 0, 1},
                                             {0, kInfinity, 1},
                                             {0, 1, std::nan("")},
                                             {0, 1e18, 1},
                                             {0, 5.0, 0.0},
                                             {INT64_MIN, INT64_MAX, 1},
                                             {-1, -5.0, 1}};
  for (std::vector<Arg> args : bad) {
    args.emplace_back(out);
    EXPECT_EQ(run(arange_start_out, args), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(arange_start_out, {1e300, 1e301, 1e300, i64({9})}), Error::kInvalidArgument);
  EXPECT_EQ(run(arange_out, {1, boolean({1})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable

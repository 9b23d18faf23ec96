#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What PyTorch 2.15 gives, at every p that has a way of its own and one that has not.
const Values kFirst = {2.75, 1, -4.125, -0.125, 3.875, 2.625, 3, -2.5, -0.875, -1.5, -0.375, 4.375};
const Values kSecond = {1.625,  -0.625, 1.75, -3.125, 3.625,  -4.25,  -2.125, 1.125,
                        -2.375, -0.875, 0.25, -2.75,  -2.875, -1.875, 3,      2.125};

Array cdist(const Array& a, const Array& b, double p, Shape shape) {
  const Array out(a.tensor().dtype(), std::move(shape));
  EXPECT_EQ(run(cdist_forward_out, {a, b, p, nullptr, out}), Error::kOk);
  return out;
}

TEST(Cdist, MatchesPyTorchForEveryNorm) {
  const Array a = f32({2, 3, 2}, kFirst);
  const Array b = f32({2, 4, 2}, kSecond);
  expect_near(cdist(a, b, 0, {2, 3, 4}), {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2});
  expect_near(cdist(a, b, 1, {2, 3, 4}),
              {2.75, 5.125, 6.125, 5,     6.25,  8.875, 11.875, 3.25, 5.5,  7.875, 7.125, 7.5,
               7,    3,     6.5,   4.625, 2.125, 2.375, 2.375,  7.5,  7.25, 7.75,  8.75,  5.625});
  expect_near(cdist(a, b, 2, {2, 3, 4}),
              {1.976424, 4.244482, 5.322417, 4.876602, 5.771698, 6.596637, 8.779415, 2.358495,
               3.952847, 6.1301,   6.879544, 6.184659, 5.615269, 2.76134,  5.908151, 4.625,
               1.625,    1.681703, 2.034853, 5.306246, 5.618051, 7.15236,  6.731456, 4.056245});
  expect_near(cdist(a, b, INFINITY, {2, 3, 4}),
              {1.625, 4.125, 5.25,  4.875, 5.75, 5.875, 7.75, 2,     3.25, 5.75,  6.875, 6,
               5.375, 2.75,  5.875, 4.625, 1.5,  1.25,  2,    3.875, 5.25, 7.125, 6.25,  3.375});
  expect_near(cdist(a, b, 3, {2, 3, 4}),
              {1.787865, 4.144497, 5.25809,  4.875027, 5.75126,  6.124965, 8.121449, 2.151063,
               3.575731, 5.84516,  6.87511,  6.031089, 5.424059, 2.750689, 5.877357, 4.625,
               1.53533,  1.500289, 2.004385, 4.729948, 5.34502,  7.126603, 6.380586, 3.67995});
}

TEST(Cdist, MatchesPyTorchInEveryLayout) {
  for (const Order& order : orders(3)) {
    const Array a(DType::kF64, {2, 3, 2}, kFirst, order);
    const Array b(DType::kF64, {2, 4, 2}, kSecond, order);
    const Array out(DType::kF64, {2, 3, 4}, {}, order);
    ASSERT_EQ(run_with(cdist_forward_out, {a, b, 1.0, 2, out}, 3).error, Error::kOk);
    expect_near(out, {2.75, 5.125, 6.125, 5,     6.25,  8.875, 11.875, 3.25, 5.5,  7.875, 7.125, 7.5,
                      7,    3,     6.5,   4.625, 2.125, 2.375, 2.375,  7.5,  7.25, 7.75,  8.75,  5.625});
  }
}

TEST(Cdist, BroadcastsItsBatches) {
  // Differences 0..3 of numbers on a line; the batch of one side is 1, or missing.
  const Array out = f32({2, 2, 3});
  ASSERT_EQ(run(cdist_forward_out, {f32({2, 2, 1}, {0, 1, 2, 3}), f32({1, 3, 1}, {0, 1, 2}), 2.0, nullptr, out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 1, 2, 1, 0, 1, 2, 1, 0, 3, 2, 1}));
  const Array more = f32({2, 1, 1});
  ASSERT_EQ(run(cdist_forward_out, {f32({2, 1, 1}, {5, 7}), f32({1, 1}, {4}), 1.0, nullptr, more}), Error::kOk);
  EXPECT_EQ(more.values(), (Values{1, 3}));
}

TEST(Cdist, OfNothingIsZeroOrNothing) {
  const Array out = f32({2, 2});
  ASSERT_EQ(run(cdist_forward_out, {f32({2, 0}), f32({2, 0}), 3.0, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 0, 0, 0}));
  ASSERT_EQ(run(cdist_forward_out, {f32({0, 2}), f32({3, 2}), 3.0, nullptr, f32({0, 3})}), Error::kOk);
  ASSERT_EQ(run(pdist_forward_out, {f32({1, 2}, {1, 2}), 2.0, f32({0})}), Error::kOk);
  ASSERT_EQ(run(pdist_forward_out, {f32({0, 2}), 2.0, f32({0})}), Error::kOk);
}

TEST(Cdist, KeepsNaNInEveryNorm) {
  for (const double p : {1.0, 2.0, 2.5, static_cast<double>(INFINITY)}) {
    const Array a = f32({1, 3}, {1, NAN, 9});
    EXPECT_TRUE(std::isnan(cdist(a, f32({1, 3}, {0, 0, 0}), p, {1, 1}).values()[0])) << p;
  }
}

TEST(Pdist, MatchesPyTorchForEveryNorm) {
  const Array self = f32({4, 3}, {-1.375, -3.5, 0.625, -3.25, -4, 1, 0.375, -5, 3.375, -4.375, 2.375, 1.125});
  {
    const Array out = f32({6});
    ASSERT_EQ(run(pdist_forward_out, {self, 0.0, out}), Error::kOk);
    expect_near(out, {3, 3, 3, 3, 3, 3});
  }
  {
    const Array out = f32({6});
    ASSERT_EQ(run(pdist_forward_out, {self, 1.0, out}), Error::kOk);
    expect_near(out, {2.75, 6, 9.375, 7, 7.625, 14.375});
  }
  {
    const Array out = f32({6});
    ASSERT_EQ(run(pdist_forward_out, {self, 2.0, out}), Error::kOk);
    expect_near(out, {1.976424, 3.588175, 6.615559, 4.447612, 6.47471, 9.056248});
  }
  {
    const Array out = f32({6});
    ASSERT_EQ(run(pdist_forward_out, {self, static_cast<double>(INFINITY), out}), Error::kOk);
    expect_near(out, {1.875, 2.75, 5.875, 3.625, 6.375, 7.375});
  }
  {
    const Array out = f32({6});
    ASSERT_EQ(run(pdist_forward_out, {self, 1.5, out}), Error::kOk);
    expect_near(out, {2.149147, 4.23411, 7.316338, 5.113126, 6.697682, 10.44474});
  }
}

TEST(Cdist, RefusesWhatDoesNotFit) {
  const Array a = f32({2, 3});
  EXPECT_EQ(run(cdist_forward_out, {a, f32({2, 2}), 2.0, nullptr, f32({2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cdist_forward_out, {a, f32({3}), 2.0, nullptr, f32({2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cdist_forward_out, {a, a, -1.0, nullptr, f32({2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cdist_forward_out, {a, a, static_cast<double>(NAN), nullptr, f32({2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cdist_forward_out, {i64({2, 3}), i64({2, 3}), 2.0, nullptr, i64({2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cdist_forward_out, {a, a, 2.0, nullptr, f32({2, 3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cdist_forward_out, {f32({2, 1, 3}), f32({3, 1, 3}), 2.0, nullptr, f32({6, 1, 1})}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(pdist_forward_out, {f32({3}), 2.0, f32({3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(pdist_forward_out, {a, 2.0, f32({2})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable

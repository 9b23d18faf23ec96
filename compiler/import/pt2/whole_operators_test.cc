// Operators that torch.export leaves whole. The figures are PyTorch's and torchvision's; tests/compat/pt2_whole_operators.py
// compares many more.
#include <cmath>

#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

using Arguments = std::vector<std::pair<std::string, json>>;

/// Quantile `q` of x as 'interpolation' has it.
Floats quantile(const Floats& x, double q, const std::string& interpolation) {
  TestProgram p;
  p.input("x", {static_cast<int64_t>(x.size())});
  const Arguments arguments = {{"self", tensor("x")}, {"q", real(q)}, {"interpolation", text(interpolation)}};
  p.node("aten.quantile.scalar", arguments, "y", {});
  p.output("y");
  return numbers(run(p, {floats({static_cast<int32_t>(x.size())}, x)})[0]);
}

// The fear: 0.6 of f32, a little more than 0.6, times 10 is 6 in f32.
TEST(WholeOperators, PlacesOfQuantilesAreNotRounded) {
  const Floats x = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(quantile(x, 0.6, "higher"), Floats({7}));
  EXPECT_EQ(quantile(x, 0.6, "midpoint"), Floats({6.5}));
  EXPECT_EQ(quantile(x, 0.25, "linear"), Floats({2.5}));
  EXPECT_EQ(quantile(x, 0.25, "nearest"), Floats({2}));  // of two as near, the even place
}

// The fear: an infinite neighbour that has no share makes a NaN, or a NaN is the largest number alone.
TEST(WholeOperators, QuantilesBesideWhatIsNotFinite) {
  EXPECT_EQ(quantile({1, 2, INFINITY}, 0.5, "lower"), Floats({2}));
  EXPECT_EQ(quantile({-INFINITY, 2, 5}, 0.4, "linear"), Floats({-INFINITY}));
  EXPECT_TRUE(std::isnan(quantile({1, 2, NAN}, 0, "linear")[0]));
}

TEST(WholeOperators, ANanIsAnotherValueInEachPlace) {
  TestProgram p;
  p.symbol("u0", 0, 5);
  p.input("x", {5});
  p.node(
      "aten._unique2.default",
      {{"self", tensor("x")}, {"sorted", truth(true)}, {"return_inverse", truth(true)}, {"return_counts", truth(true)}},
      json::array({tensor("values"), tensor("inverse"), tensor("counts")}));
  for (const char* name : {"values", "inverse", "counts"}) p.output(name);
  const auto outputs = run(p, {floats({5}, {2, NAN, -1, 2, NAN})});
  const Floats values = numbers(outputs[0]);
  ASSERT_EQ(values.size(), 4U);
  EXPECT_EQ(Floats(values.begin(), values.begin() + 2), Floats({-1, 2}));
  EXPECT_TRUE(std::isnan(values[2]) && std::isnan(values[3]));
  EXPECT_EQ(numbers<int64_t>(outputs[1]), Ints({1, 2, 0, 1, 3}));
  EXPECT_EQ(numbers<int64_t>(outputs[2]), Ints({1, 2, 1, 1}));
}

/// x [2, 3] by a mask, which stands for the first dimensions that it has.
Floats picked(const std::vector<int64_t>& sizes, const std::vector<uint8_t>& mask) {
  TestProgram p;
  p.symbol("u0", 0, 6);
  p.input("x", {2, 3});
  p.input("m", sizes.size() == 2 ? std::vector<json>{2, 3} : std::vector<json>{2}, kBool);
  p.node("aten.index.Tensor", {{"self", tensor("x")}, {"indices", tensor_list({"m"})}}, json::array({tensor("y")}));
  p.output("y");
  return numbers(run(p, {floats({2, 3}, {1, 2, 3, 4, 5, 6}),
                         array(DType::kBool, std::vector<int32_t>(sizes.begin(), sizes.end()), mask)})[0]);
}

TEST(WholeOperators, MasksPickElementsAndRows) {
  EXPECT_EQ(picked({2, 3}, {0, 1, 0, 1, 0, 1}), Floats({2, 4, 6}));
  EXPECT_EQ(picked({2}, {0, 1}), Floats({4, 5, 6}));
  EXPECT_EQ(picked({2}, {0, 0}), Floats({}));
}

// The fear: it stands for no dimension, so that all of x is picked.
TEST(WholeOperators, MasksOfNoDimensionsAreRefused) {
  TestProgram p;
  p.symbol("u0", 0, 1);
  p.input("x", {2, 3});
  p.input("m", {}, kBool);
  p.node("aten.index.Tensor", {{"self", tensor("x")}, {"indices", tensor_list({"m"})}}, json::array({tensor("y")}));
  p.output("y");
  EXPECT_TRUE(says(failure_of(p.import()), "a mask of no dimensions"));
}

Floats diagonal(int64_t offset) {
  TestProgram p;
  p.input("x", {2});
  p.node("aten.diag.default", {{"self", tensor("x")}, {"diagonal", integer(offset)}}, "y", {3, 3});
  p.output("y");
  return numbers(run(p, {floats({2}, {NAN, 7})})[0]);
}

// The fear: zeros are products, and NaN * 0 stands beside the diagonal.
TEST(WholeOperators, NothingIsBesideADiagonal) {
  const Floats right = diagonal(1), left = diagonal(-1);
  EXPECT_TRUE(std::isnan(right[1]) && std::isnan(left[3]));
  EXPECT_EQ(Floats(right.begin() + 2, right.end()), Floats({0, 0, 0, 7, 0, 0, 0}));
  EXPECT_EQ(Floats(left.begin() + 4, left.end()), Floats({0, 0, 0, 7, 0}));
}

// The second box is half of the first: 0.5 is not more than the threshold. Of equal scores the first box comes first.
TEST(WholeOperators, BoxesThatOverlapMoreAreSuppressed) {
  TestProgram p;
  p.symbol("u0", 0, 4);
  p.input("b", {4, 4});
  p.input("s", {4});
  p.node("torchvision.nms.default", {{"dets", tensor("b")}, {"scores", tensor("s")}, {"iou_threshold", real(0.5)}},
         json::array({tensor("y")}));
  p.output("y");
  const Floats boxes = {0, 0, 2, 2, 0, 0, 2, 1, 0, 0, 2, 2, 5, 5, 6, 6};
  const auto outputs = run(p, {floats({4, 4}, boxes), floats({4}, {0.5, 0.25, 0.5, 0.75})});
  EXPECT_EQ(numbers<int64_t>(outputs[0]), Ints({3, 0, 1}));
}

}  // namespace
}  // namespace berth::pt2

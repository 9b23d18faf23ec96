// Operators that torch.export leaves whole. The figures are PyTorch's and torchvision's;
// tests/compat/pt2_whole_operators.py compares many more.
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

// The columns of the matrix are x, y and 1: a fear is that rows and columns change places.
TEST(WholeOperators, AnAffineGridMovesXBeforeY) {
  TestProgram p;
  p.input("t", {1, 2, 3});
  p.node("aten.affine_grid_generator.default",
         {{"theta", tensor("t")}, {"size", integers({1, 5, 2, 3})}, {"align_corners", truth(true)}}, "y", {1, 2, 3, 2});
  p.output("y");
  const Floats moved = numbers(run(p, {floats({1, 2, 3}, {1, 0, .5, 0, 2, 0})})[0]);
  EXPECT_EQ(moved, Floats({-.5, -2, .5, -2, 1.5, -2, -.5, 2, .5, 2, 1.5, 2}));
}

/// A transposed convolution over three axes of `planes` planes of one number: 1, 2, 3 and so on, by a kernel of as many
/// ones as `depth`.
Floats deep(int64_t planes, int64_t depth, int64_t stride, int64_t padding, int64_t* nodes) {
  TestProgram p;
  p.input("x", {1, 1, planes, 1, 1});
  p.input("w", {1, 1, depth, 1, 1});
  const int64_t result = (planes - 1) * stride + depth - 2 * padding;
  p.node("aten.conv_transpose3d.input",
         {{"input", tensor("x")},
          {"weight", tensor("w")},
          {"stride", integers({stride, 1, 1})},
          {"padding", integers({padding, 0, 0})}},
         "y", {1, 1, result, 1, 1});
  p.output("y");
  auto module = p.import();
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  *nodes = static_cast<int64_t>(module->methods[0].nodes.size());
  Floats x, w(depth, 1);
  for (int64_t i = 1; i <= planes; ++i) x.push_back(static_cast<float>(i));
  const auto size = [](int64_t n) { return std::vector<int32_t>{1, 1, static_cast<int32_t>(n), 1, 1}; };
  return numbers(run(*module, {floats(size(planes), x), floats(size(depth), w)})[0]);
}

// The fear: zeros between the slices of a dilated kernel that are multiplied, and make NaN of infinity.
TEST(WholeOperators, DilatedKernelsOfVolumesLeaveOutWhatLiesBetween) {
  const auto dilated = [](int64_t stride) {
    TestProgram p;
    p.input("x", {1, 1, 2, 1, 1});
    p.input("w", {1, 1, 2, 1, 1});
    p.node("aten.conv_transpose3d.input",
           {{"input", tensor("x")},
            {"weight", tensor("w")},
            {"stride", integers({stride, 1, 1})},
            {"dilation", integers({3, 1, 1})}},
           "y", {1, 1, stride + 4, 1, 1});
    p.output("y");
    return numbers(run(p, {floats({1, 1, 2, 1, 1}, {INFINITY, 2}), floats({1, 1, 2, 1, 1}, {1, 10})})[0]);
  };
  EXPECT_EQ(dilated(1), Floats({INFINITY, 2, 0, INFINITY, 20}));
  EXPECT_EQ(dilated(2), Floats({INFINITY, 0, 2, INFINITY, 0, 20}));
}

// The fear: a node for each plane, of which volumes have hundreds.
TEST(WholeOperators, VolumesAreTransposedAllPlanesAtOnce) {
  int64_t few = 0, many = 0;
  EXPECT_EQ(deep(3, 2, 2, 0, &few), Floats({1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(deep(100, 2, 2, 0, &many).size(), 200u);
  EXPECT_EQ(few, many);
  EXPECT_LE(few, 8) << "slices that lie side by side are one part";
  EXPECT_EQ(deep(3, 3, 2, 1, &few), Floats({1, 3, 2, 5, 3}));
  EXPECT_EQ(deep(100, 3, 2, 1, &many).size(), 199u);
  EXPECT_EQ(few, many);
  EXPECT_EQ(deep(2, 1, 3, 0, &few), Floats({1, 0, 0, 2}));
}

// The fear: a convolution for each slice of the kernel, each of planes that were copied.
TEST(WholeOperators, AKernelAlongTheDepthIsOfEveryColumnOrOfSome) {
  TestProgram p;
  p.input("x", {1, 1, 4, 1, 2});
  p.input("w", {1, 1, 3, 1, 1});
  p.node("aten.conv3d.default",
         {{"input", tensor("x")},
          {"weight", tensor("w")},
          {"stride", integers({2, 1, 2})},
          {"padding", integers({1, 0, 0})}},
         "y", {1, 1, 2, 1, 1});
  p.output("y");
  const Floats y =
      numbers(run(p, {floats({1, 1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), floats({1, 1, 3, 1, 1}, {100, 10, 1})})[0]);
  EXPECT_EQ(y, Floats({13, 357}));
}

TEST(WholeOperators, AKernelAlongTheDepthOfAVolumeIsOneConvolution) {
  TestProgram p;
  p.input("x", {1, 1, 4, 1, 2});
  p.input("w", {1, 1, 3, 1, 1});
  p.node("aten.conv3d.default",
         {{"input", tensor("x")},
          {"weight", tensor("w")},
          {"stride", integers({2, 1, 1})},
          {"padding", integers({1, 0, 0})}},
         "y", {1, 1, 2, 1, 2});
  p.output("y");
  auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_LE(module->methods[0].nodes.size(), 4u);
  const Floats y = numbers(
      run(*module, {floats({1, 1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), floats({1, 1, 3, 1, 1}, {100, 10, 1})})[0]);
  EXPECT_EQ(y, Floats({13, 24, 357, 468}));
}

/// The pixels 1 to 6 in two rows, read by a kernel of one pixel that is moved by `offset` (rows, columns) everywhere.
Floats deformed(float rows, float columns, bool use_mask) {
  TestProgram p;
  p.input("x", {1, 1, 2, 3});
  p.input("w", {1, 1, 1, 1});
  p.input("o", {1, 2, 2, 3});
  p.input("m", {1, 1, 2, 3});
  p.input("b", {1});
  p.node("torchvision.deform_conv2d.default",
         {{"input", tensor("x")},
          {"weight", tensor("w")},
          {"offset", tensor("o")},
          {"mask", tensor("m")},
          {"bias", tensor("b")},
          {"stride_h", integer(1)},
          {"stride_w", integer(1)},
          {"pad_h", integer(0)},
          {"pad_w", integer(0)},
          {"dilation_h", integer(1)},
          {"dilation_w", integer(1)},
          {"groups", integer(1)},
          {"offset_groups", integer(1)},
          {"use_mask", truth(use_mask)}},
         "y", {1, 1, 2, 3});
  p.output("y");
  const Floats by = {rows, rows, rows, rows, rows, rows, columns, columns, columns, columns, columns, columns};
  Floats y =
      numbers(run(p, {floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), floats({1, 1, 1, 1}, {2}), floats({1, 2, 2, 3}, by),
                      floats({1, 1, 2, 3}, {0, 1, 1, 1, 1, 1}), floats({1}, {100})})[0]);
  for (float& v : y) v = std::round(v * 64) / 64;  // places go through -1 to 1
  return y;
}

TEST(WholeOperators, ADeformedKernelReadsWhereItIsMoved) {
  EXPECT_EQ(deformed(1, 0, false), Floats({108, 110, 112, 100, 100, 100}));
  EXPECT_EQ(deformed(0, .5, false), Floats({103, 105, 103, 109, 111, 106}));
  EXPECT_EQ(deformed(0, 0, true), Floats({100, 104, 106, 108, 110, 112}));
}

Floats of_matrix(const std::string& target, const Floats& a, const std::vector<json>& shape) {
  TestProgram p;
  p.input("a", {2, 2});
  p.node(target, {{"A", tensor("a")}}, "y", shape);
  p.output("y");
  return numbers(run(p, {floats({2, 2}, a)})[0]);
}

// The fear: zeros in the first column's first row, by which nothing can be divided.
TEST(WholeOperators, InversesAndDeterminantsLookForAPivot) {
  EXPECT_EQ(of_matrix("aten.linalg_inv.default", {0, 2, 4, 0}, {2, 2}), Floats({0, .25, .5, 0}));
  EXPECT_EQ(of_matrix("aten.linalg_det.default", {0, 2, 4, 0}, {}), Floats({-8}));
  EXPECT_TRUE(std::isinf(of_matrix("aten.linalg_inv.default", {0, 0, 4, 0}, {2, 2})[2]));
}

Floats solution(const std::vector<json>& shape, const Floats& b, bool left) {
  TestProgram p;
  p.input("a", {2, 2});
  p.input("b", shape);
  p.node("aten.linalg_solve.default", {{"A", tensor("a")}, {"B", tensor("b")}, {"left", truth(left)}}, "y", shape);
  p.output("y");
  std::vector<int32_t> sizes;
  for (const json& size : shape) sizes.push_back(size.get<int32_t>());
  return numbers(run(p, {floats({2, 2}, {0, 2, 4, 0}), floats(sizes, b)})[0]);
}

TEST(WholeOperators, SystemsAreSolvedFromBothSides) {
  EXPECT_EQ(solution({2}, {2, 8}, true), Floats({2, 1}));
  EXPECT_EQ(solution({2, 1}, {2, 8}, true), Floats({2, 1}));
  EXPECT_EQ(solution({1, 2}, {8, 2}, false), Floats({1, 2}));
}

TEST(WholeOperators, LargeMatricesAreNotInverted) {
  TestProgram p;
  p.input("a", {33, 33});
  p.node("aten.inverse.default", {{"self", tensor("a")}}, "y", {33, 33});
  p.output("y");
  EXPECT_TRUE(says(failure_of(p.import()), "matrices larger than 32 × 32"));
}

// A NaN is unlike itself, as in PyTorch.
TEST(WholeOperators, RunsEndWhereElementsDiffer) {
  TestProgram p;
  p.symbol("u0", 1, 6);
  p.input("x", {6});
  p.node("aten.unique_consecutive.default",
         {{"self", tensor("x")}, {"return_inverse", truth(true)}, {"return_counts", truth(true)}},
         json::array({tensor("v"), tensor("i"), tensor("c")}));
  for (const char* name : {"v", "i", "c"}) p.output(name);
  const auto outputs = run(p, {floats({6}, {1, 1, 2, NAN, NAN, 1})});
  const Floats values = numbers(outputs[0]);
  ASSERT_EQ(values.size(), 5);
  EXPECT_EQ(Floats(values.begin(), values.begin() + 2), Floats({1, 2}));
  EXPECT_EQ(numbers<int64_t>(outputs[1]), Ints({0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(numbers<int64_t>(outputs[2]), Ints({2, 1, 1, 1, 1}));
}

/// Whether a is close to b, numbers of i64, by a relative tolerance and an absolute one.
bool is_close(int64_t a, int64_t b, double relative, double absolute) {
  TestProgram p;
  p.input("a", {1}, kI64);
  p.input("b", {1}, kI64);
  p.node("aten.isclose.default",
         {{"self", tensor("a")}, {"other", tensor("b")}, {"rtol", real(relative)}, {"atol", real(absolute)}}, "y", {1},
         kBool);
  p.output("y");
  return numbers<uint8_t>(run(p, {array(DType::kI64, {1}, Ints{a}), array(DType::kI64, {1}, Ints{b})})[0])[0] != 0;
}

// The fear: they are compared as f32, in which 2^24 + 1 is 2^24.
TEST(WholeOperators, IntegersAreCloseWithoutRounding) {
  EXPECT_FALSE(is_close(16777217, 16777216, 0, 0));
  EXPECT_TRUE(is_close(16777217, 16777217, 0, 0));
  EXPECT_TRUE(is_close(100, 101, 0, 1));
  EXPECT_TRUE(is_close(100, 101, 0.01, 0));
  EXPECT_FALSE(is_close(100, 102, 0, 1));
}

// The fear: 0.1 is compared as f32 with f16's 0.1, which is less.
TEST(WholeOperators, ANumberIsLookedForInTheTensorsType) {
  constexpr int kSchemaF16 = 6;
  TestProgram p;
  p.input("x", {2}, kSchemaF16);
  p.node("aten.isin.Scalar_Tensor", {{"element", real(0.1)}, {"test_elements", tensor("x")}}, "y", {}, kBool);
  p.output("y");
  const auto found = [&](std::vector<uint16_t> x) {
    return numbers<uint8_t>(run(p, {array(DType::kF16, {2}, std::move(x))})[0]);
  };
  EXPECT_EQ(found({0x3C00, 0x2E66}), std::vector<uint8_t>{1});  // 1 and 0.1
  EXPECT_EQ(found({0x3C00, 0x2E67}), std::vector<uint8_t>{0});
}

Expected<ir::Module> int_mm(int64_t k, int64_t other, int left, int right) {
  TestProgram p;
  p.input("a", {2, k}, left);
  p.input("b", {other, 3}, right);
  p.node("aten._int_mm.default", {{"self", tensor("a")}, {"mat2", tensor("b")}}, "y", {2, 3}, 4);
  p.output("y");
  return p.import();
}

// The fear: of a longer second matrix the first rows are multiplied alone, and floats lose their fractions.
TEST(WholeOperators, ProductsOfBytesAreOfBytesThatFit) {
  constexpr int kI8 = 2;
  EXPECT_TRUE(int_mm(1500, 1500, kI8, kI8).ok());
  EXPECT_TRUE(says(failure_of(int_mm(1500, 2000, kI8, kI8)), "expected matrices of i8"));
  EXPECT_TRUE(says(failure_of(int_mm(8, 9, kI8, kI8)), "expected matrices of i8"));
  EXPECT_TRUE(says(failure_of(int_mm(8, 8, kF32, kI8)), "expected matrices of i8"));
  EXPECT_TRUE(says(failure_of(int_mm(8, 8, kI8, kI64)), "expected matrices of i8"));
}

}  // namespace
}  // namespace berth::pt2

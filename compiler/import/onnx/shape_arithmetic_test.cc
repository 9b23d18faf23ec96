// Shape arithmetic: sizes that the model computes become numbers and symbols, not nodes; what depends on data is said.
#include "base/text_testing.h"
#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {
namespace {

ImportOptions range(const std::string& shape) {
  ImportOptions options;
  options.input_shapes = {{"x", shape}};
  return options;
}

// Reshape to [shape(x)[0], -1], the way that exporters write `x.view(x.size(0), -1)`.
TestModel flatten_by_shape() {
  TestModel m(13);
  m.symbolic_input("x", {"n", "3", "4"});
  m.scalar("zero", 0);
  m.ints("axes", {0});
  m.ints("rest", {-1});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"size"}).set("axis", 0);
  m.node("Unsqueeze", {"size", "axes"}, {"sizes"});
  m.node("Concat", {"sizes", "rest"}, {"target"}).set("axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  return m;
}

TEST(ShapeArithmetic, SymbolicSizesStaySymbols) {
  EXPECT_EQ(body(flatten_by_shape(), range("1..8x3x4")), "%y: f32[n,12] = aten::view_copy(%x, [n, 12])\n");
  EXPECT_EQ(body(flatten_by_shape(), range("2x3x4")), "%y: f32[2,12] = aten::view_copy(%x, [2, 12])\n");
}

TEST(ShapeArithmetic, SymbolicSizesKeepTheirRange) {
  TestModel m(13);
  m.symbolic_input("x", {"n", "8"});
  m.ints("first", {0});
  m.ints("one", {1});
  m.ints("four", {4});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Slice", {"shape", "first", "one"}, {"n"});
  m.node("Mul", {"n", "four"}, {"n4"});
  m.node("Div", {"n4", "four"}, {"again"});
  m.node("Greater", {"n", "first"}, {"some"});  // n is at least 1
  m.node("Where", {"some", "again", "first"}, {"rows"});
  m.ints("rest", {4, 2});
  m.node("Concat", {"rows", "rest"}, {"target"}).set("axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m, range("1..8x8")), "%y: f32[n,4,2] = aten::view_copy(%x, [n, 4, 2])\n");
}

TEST(ShapeArithmetic, SymbolicSizesAreDataWhereATensorIsNeeded) {
  TestModel m(13);
  m.symbolic_input("x", {"n", "8"});
  m.node("Shape", {"x"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m, range("1..8x8")), dedent(R"(
    %y.size: i64[1] = aten::full([1], n, i64)
    %y.size_1: i64[1] = aten::full([1], 8, i64)
    %y: i64[2] = aten::cat([%y.size, %y.size_1], 0)
  )"));
  auto module = m.import(range("3x8"));
  ASSERT_TRUE(module.ok());
  ASSERT_EQ(module->constants.size(), 1u);
  const std::vector<uint8_t> bytes = module->constants[{0}].blob.to_vector();
  ASSERT_EQ(bytes.size(), 16u);
  EXPECT_EQ(bytes[0], 3);
  EXPECT_EQ(bytes[8], 8);
}

TEST(ShapeArithmetic, KnownRealsBecomeSizesAgain) {
  // floor(size * 1.5) as older exporters of Resize write it.
  TestModel m(13);
  m.input("x", {1, 1, 5, 7});
  m.ints("two", {2});
  m.ints("four", {4});
  m.floats("scale", {1}, {1.5f});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Slice", {"shape", "two", "four"}, {"hw"});
  m.node("Cast", {"hw"}, {"real"}).set("to", 1);
  m.node("Mul", {"real", "scale"}, {"scaled"});
  m.node("Floor", {"scaled"}, {"floored"});
  m.node("Cast", {"floored"}, {"sizes"}).set("to", 7);
  m.node("ConstantOfShape", {"sizes"}, {"zeros"});
  m.node("Relu", {"zeros"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m), "%y: f32[7,10] = aten::relu(%zeros)\n");
}

// PyTorch's exporter writes the padding of F.pad, last dimension first, as pairs that it turns round.
TEST(ShapeArithmetic, PairsOfSizesAreReversedAndTransposed) {
  TestModel m(13);
  m.input("x", {2, 3});
  m.ints("of_pytorch", {1, 2, 3, 4});  // before and after the last dimension, then before and after the first
  m.ints("pairs", {-1, 2});
  m.ints("last", {-1});
  m.ints("beyond", {INT64_MIN + 1});
  m.ints("rows", {0});
  m.ints("flat", {-1});
  m.node("Reshape", {"of_pytorch", "pairs"}, {"matrix"});
  m.node("Slice", {"matrix", "last", "beyond", "rows", "last"}, {"turned"});
  m.node("Transpose", {"turned"}, {"columns"}).set("perm", std::vector<int64_t>{1, 0});
  m.node("Reshape", {"columns", "flat"}, {"pads"});
  m.node("Pad", {"x", "pads"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m), "%y: f32[9,6] = aten::constant_pad_nd(%x, [1, 2, 3, 4], 0.0)\n");
}

TEST(ShapeArithmetic, PairsOfSizesAreSlicedAlongEitherAxis) {
  TestModel m(13);
  m.input("x", {24});
  m.ints("sizes", {9, 2, 3, 9, 4, 1});
  m.ints("pairs", {2, 3});
  m.ints("one", {1});
  m.ints("three", {3});
  m.ints("flat", {-1});
  m.node("Reshape", {"sizes", "pairs"}, {"matrix"});
  m.node("Slice", {"matrix", "one", "three", "flat"}, {"cut"});
  m.node("Transpose", {"cut"}, {"columns"});
  m.node("Reshape", {"columns", "flat"}, {"shape"});
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m), "%y: f32[2,4,3,1] = aten::view_copy(%x, [2, 4, 3, 1])\n");
}

// PyTorch's exporter writes repeat_interleave of heads that share keys as a Tile, and its repeats as a OneHot.
TEST(ShapeArithmetic, RepeatsAreKnownOfOneHot) {
  for (const int64_t place : {1, -2}) {
    TestModel m(13);
    m.symbolic_input("x", {"n", "2", "4"});
    m.ints("place", {place});
    m.scalar("rank", 3);
    m.ints("heads", {8});
    m.ints("one", {1});
    m.ints("two", {2});
    m.ints("flat", {-1});
    m.node("Shape", {"x"}, {"shape"});
    m.node("Slice", {"shape", "one", "two"}, {"own"});
    m.node("Div", {"heads", "own"}, {"times"});
    m.node("Concat", {"one", "times"}, {"values"}).set("axis", 0);
    m.node("OneHot", {"place", "rank", "values"}, {"row"});
    m.node("Reshape", {"row", "flat"}, {"repeats"});
    m.node("Tile", {"x", "repeats"}, {"y"});
    m.output("y");
    EXPECT_EQ(body(m, range("1..8x2x4")), "%y: f32[n,8,4] = aten::repeat(%x, [1, 4, 1])\n");
  }
}

TEST(ShapeArithmetic, OneHotOfAPlaceBehindTheLastIsNowhere) {
  TestModel m(13);
  m.input("x", {9});
  m.ints("place", {2});
  m.scalar("depth", 2);
  m.ints("values", {3, 5});
  m.ints("flat", {-1});
  m.node("OneHot", {"place", "depth", "values"}, {"row"});
  m.node("Reshape", {"row", "flat"}, {"shape"});
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m), "%y: f32[3,3] = aten::view_copy(%x, [3, 3])\n");
}

TEST(ShapeArithmetic, DataDependentSizesAreRefusedInWords) {
  TestModel m(13);
  m.input("x", {2, 3});
  m.input("target", {2}, ElementType::kInt64);
  m.node("Reshape", {"x", "target"}, {"y"}).name("R");
  m.output("y");
  EXPECT_EQ(failure(m),
            "onnx node \"R\": Reshape: the target shape (input 1) must be known when the model is compiled; here it "
            "depends on the data");
}

TEST(ShapeArithmetic, WrongSizesAreRefusedInWords) {
  const auto reshape = [](const std::vector<int64_t>& target) {
    TestModel m(13);
    m.input("x", {2, 3});
    m.ints("target", target);
    m.node("Reshape", {"x", "target"}, {"y"});
    m.output("y");
    return failure(m);
  };
  EXPECT_CONTAINS(reshape({-1, -1}), "two sizes of the target shape are -1");
  EXPECT_CONTAINS(reshape({2, 3, 0}), "size 0 copies dimension 2, which the input lacks");
  EXPECT_CONTAINS(reshape({4, -1}), "does not come out even: 6 elements over 4");
  EXPECT_CONTAINS(reshape({-2, 3}), "has the size -2");
  EXPECT_NE(reshape({2, 4}), "");
  EXPECT_EQ(reshape({0, -1, 1}), "");
}

TEST(ShapeArithmetic, AZeroMeansTheInputsOwnSizeUnlessAllowed) {
  TestModel m(14);
  m.input("x", {0, 3});
  m.ints("target", {3, 0});
  m.node("Reshape", {"x", "target"}, {"y"}).set("allowzero", 1);
  m.output("y");
  EXPECT_EQ(body(m), "%y: f32[3,0] = aten::view_copy(%x, [3, 0])\n");
}

TEST(ShapeArithmetic, HostileArithmeticNeitherOverflowsNorTraps) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Mod", "Max"}) {
    for (int64_t a : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
      for (int64_t b : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
        TestModel m(13);
        m.ints("a", {a});
        m.ints("b", {b});
        m.node(op, {"a", "b"}, {"c"});
        m.node("ConstantOfShape", {"c"}, {"y"});
        m.output("y");
        failure(m);  // whatever it says
      }
    }
  }
}

}  // namespace
}  // namespace berth::onnx

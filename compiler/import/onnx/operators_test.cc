// What operators become, where versions of ONNX differ or ATen's kernels take less than ONNX allows. Values are checked
// on ONNX's own node tests (tests/onnx_nodes); here it is the text that must not change unnoticed.
#include "base/text_testing.h"
#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {
namespace {

TEST(OnnxOperators, SoftmaxFlattensBeforeThirteenAndNotAfter) {
  for (int64_t opset : {11, 13}) {
    TestModel m(opset);
    m.input("x", {2, 3, 4});
    m.node("Softmax", {"x"}, {"y"}).set("axis", 1);
    m.output("y");
    EXPECT_EQ(body(m), opset == 11 ? dedent(R"(
      %y.view_copy: f32[2,12] = aten::view_copy(%x, [2, 12])
      %y._softmax: f32[2,12] = aten::_softmax(%y.view_copy, 1, false)
      %y: f32[2,3,4] = aten::view_copy(%y._softmax, [2, 3, 4])
    )")
                                   : "%y: f32[2,3,4] = aten::_softmax(%x, 1, false)\n");
  }
  TestModel m(11);  // without 'axis': 1 then, the last one now
  m.input("x", {2, 3});
  m.node("LogSoftmax", {"x"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m), "%y: f32[2,3] = aten::_log_softmax(%x, 1, false)\n");
}

TEST(OnnxOperators, ReductionAxesMovedFromAttributeToInput) {
  TestModel old(17);
  old.input("x", {2, 3, 4});
  old.node("ReduceMean", {"x"}, {"y"}).set("axes", std::vector<int64_t>{-1}).set("keepdims", 0);
  old.output("y");
  EXPECT_EQ(body(old), "%y: f32[2,3] = aten::mean.dim(%x, [2], false, none)\n");
  TestModel now(18);
  now.input("x", {2, 3, 4});
  now.ints("axes", {1});
  now.node("ReduceMean", {"x", "axes"}, {"y"});
  now.output("y");
  EXPECT_EQ(body(now), "%y: f32[2,1,4] = aten::mean.dim(%x, [1], true, none)\n");
  TestModel none(18);
  none.input("x", {2, 3, 4});
  none.node("ReduceMax", {"x"}, {"y"}).set("noop_with_empty_axes", 1);
  none.node("Relu", {"y"}, {"z"});
  none.output("z");
  EXPECT_EQ(body(none), "%z: f32[2,3,4] = aten::relu(%x)\n");
}

TEST(OnnxOperators, LeadingDimensionsOfAMatMulAreRows) {
  TestModel m;
  m.input("x", {2, 5, 3});
  m.floats("w", {3, 4}, std::vector<float>(12, 1));
  m.floats("b", {4}, {1, 2, 3, 4});
  m.node("MatMul", {"x", "w"}, {"xw"});
  m.node("Add", {"b", "xw"}, {"y"});
  m.output("y");
  const std::string text = body(m);
  EXPECT_CONTAINS(text, "f32[10,3] = aten::view_copy(%x, [10, 3])");
  EXPECT_CONTAINS(text, "%y.addmm: f32[10,4] = aten::addmm(%b, %xw.view_copy, %w, 1, 1)");
  EXPECT_CONTAINS(text, "%y: f32[2,5,4] = aten::view_copy(%y.addmm, [2, 5, 4])");
}

TEST(OnnxOperators, ABiasIsFoldedOnlyIntoAProductWithoutOtherReaders) {
  TestModel m;
  m.input("x", {5, 3});
  m.floats("w", {3, 4}, std::vector<float>(12, 1));
  m.floats("b", {4}, {1, 2, 3, 4});
  m.node("MatMul", {"x", "w"}, {"xw"});
  m.node("Add", {"xw", "b"}, {"y"});
  m.output("y");
  m.output("xw");
  EXPECT_EQ(body(m), dedent(R"(
    %xw: f32[5,4] = aten::mm(%x, %w)
    %y: f32[5,4] = aten::add.Tensor(%xw, %b, 1)
  )"));
}

TEST(OnnxOperators, MatMulBroadcastsBatchesAndHandlesVectors) {
  TestModel m;
  m.input("a", {2, 1, 4, 3});
  m.input("b", {5, 3, 6});
  m.node("MatMul", {"a", "b"}, {"y"});
  m.output("y");
  const std::string text = body(m);
  EXPECT_CONTAINS(text, "f32[2,5,4,3] = aten::expand_copy(%a, [2, 5, 4, 3], false)");
  EXPECT_CONTAINS(text, "f32[10,4,6] = aten::bmm(");
  EXPECT_CONTAINS(text, "%y: f32[2,5,4,6] = aten::view_copy(");

  TestModel v;
  v.input("a", {3});
  v.input("b", {3});
  v.node("MatMul", {"a", "b"}, {"y"});
  v.output("y");
  EXPECT_CONTAINS(body(v), "%y: f32[] = aten::view_copy(");

  TestModel wrong;
  wrong.input("a", {2, 3});
  wrong.input("b", {4, 5});
  wrong.node("MatMul", {"a", "b"}, {"y"});
  EXPECT_CONTAINS(failure(wrong), "inner dimensions do not fit: f32[2,3] and f32[4,5]");
}

TEST(OnnxOperators, UnequalConvolutionPaddingIsDoneFirst) {
  const auto text_of = [](const std::vector<int64_t>& pads) {
    TestModel m;
    m.input("x", {1, 2, 8, 8});
    m.floats("w", {3, 2, 3, 3}, std::vector<float>(54, 1));
    m.node("Conv", {"x", "w"}, {"y"}).set("pads", pads);
    m.output("y");
    return body(m);
  };
  EXPECT_EQ(text_of({1, 0, 1, 0}),
            "%y: f32[1,3,8,6] = aten::convolution(%x, %w, none, [1, 1], [1, 0], [1, 1], false, [0, 0], 1)\n");
  EXPECT_EQ(text_of({0, 1, 1, 1}), dedent(R"(
    %y.constant_pad_nd: f32[1,2,9,10] = aten::constant_pad_nd(%x, [1, 1, 0, 1], 0.0)
    %y: f32[1,3,7,8] = aten::convolution(%y.constant_pad_nd, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  )"));
}

TEST(OnnxOperators, SamePaddingPutsTheOddElementOnTheRightSide) {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
    TestModel m;
    m.input("x", {1, 1, 6});
    m.floats("w", {1, 1, 3}, {1, 1, 1});
    m.node("Conv", {"x", "w"}, {"y"}).set("auto_pad", mode).set("strides", std::vector<int64_t>{2});
    m.output("y");
    EXPECT_CONTAINS(body(m), std::string(mode) == "SAME_UPPER" ? "(%x, [0, 1], 0.0)" : "(%x, [1, 0], 0.0)");
    EXPECT_CONTAINS(body(m), "%y: f32[1,1,3] = aten::convolution(");
  }
}

TEST(OnnxOperators, BadConvolutionGeometryIsNamed) {
  const auto with = [](const char* attribute, const std::vector<int64_t>& numbers) {
    TestModel m;
    m.input("x", {1, 2, 8, 8});
    m.floats("w", {3, 2, 3, 3}, std::vector<float>(54, 1));
    m.node("Conv", {"x", "w"}, {"y"}).set(attribute, numbers);
    m.output("y");
    return failure(m);
  };
  EXPECT_CONTAINS(with("strides", {0, 1}), "attribute 'strides' holds 0; at least 1 is allowed");
  EXPECT_CONTAINS(with("strides", {1}), "attribute 'strides' has 1 numbers, expected 2");
  EXPECT_CONTAINS(with("pads", {-1, 0, 0, 0}), "attribute 'pads' holds -1");
  EXPECT_CONTAINS(with("dilations", {8, 8}), "aten::convolution");  // a window larger than the image
}

TEST(OnnxOperators, PoolPaddingBeyondHalfAWindowIsDoneFirst) {
  TestModel m;
  m.input("x", {1, 1, 6, 6});
  m.node("MaxPool", {"x"}, {"y"})
      .set("kernel_shape", std::vector<int64_t>{2, 2})
      .set("pads", std::vector<int64_t>{0, 0, 1, 1});
  m.output("y");
  EXPECT_CONTAINS(body(m), "aten::constant_pad_nd(%x, [0, 1, 0, 1], -inf)");
}

TEST(OnnxOperators, AveragePoolsExcludeUnequalPaddingFromTheDivisor) {
  TestModel m;
  m.input("x", {1, 1, 2, 2});
  m.node("AveragePool", {"x"}, {"y"})
      .set("kernel_shape", std::vector<int64_t>{2, 2})
      .set("pads", std::vector<int64_t>{0, 0, 1, 1});
  m.output("y");
  auto module = m.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->constants.size(), 1u);
  std::vector<float> divisors(4);
  module->constants[{0}].blob.read(0, {reinterpret_cast<uint8_t*>(divisors.data()), 16});
  EXPECT_EQ(divisors, (std::vector<float>{4, 2, 2, 1}));
}

TEST(OnnxOperators, BackwardSlicesAreFlips) {
  TestModel m;
  m.input("x", {10});
  m.ints("starts", {-2});
  m.ints("ends", {INT64_MIN});
  m.ints("axes", {0});
  m.ints("steps", {-3});
  m.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  m.output("y");
  // Elements 8, 5, 2 are 1, 4, 7 of the flipped tensor.
  EXPECT_EQ(body(m), dedent(R"(
    %y.flip: f32[10] = aten::flip(%x, [0])
    %y: f32[3] = aten::slice_copy.Tensor(%y.flip, 0, 1, 9223372036854775807, 3)
  )"));
}

TEST(OnnxOperators, ASliceStepOfZeroIsNamed) {
  TestModel m;
  m.input("x", {10});
  m.ints("starts", {0});
  m.ints("ends", {5});
  m.ints("axes", {0});
  m.ints("steps", {0});
  m.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  EXPECT_CONTAINS(failure(m), "a step of 0 is not possible");
}

TEST(OnnxOperators, ConstantIndicesOfAGatherAreSelectionsAndSlices) {
  const auto gather = [](const std::vector<int64_t>& dims, const std::vector<int64_t>& indices) {
    TestModel m;
    m.input("x", {4, 5});
    proto::Tensor& t = m.tensor("i", dims, ElementType::kInt64);
    for (int64_t index : indices) t.add_int64_data(index);
    m.node("Gather", {"x", "i"}, {"y"}).set("axis", 1);
    m.output("y");
    const std::string text = body(m);
    return contains(text, "failed") ? failure(m) : text;
  };
  EXPECT_EQ(gather({}, {-1}), "%y: f32[4] = aten::select_copy.int(%x, 1, 4)\n");
  EXPECT_EQ(gather({2}, {1, 2}), "%y: f32[4,2] = aten::slice_copy.Tensor(%x, 1, 1, 3, 1)\n");
  EXPECT_CONTAINS(gather({1, 2}, {3, 0}), "aten::index_select(%x, 1, ");
  EXPECT_CONTAINS(gather({1, 2}, {3, 0}), "%y: f32[4,1,2] = aten::view_copy(");
  EXPECT_CONTAINS(gather({2}, {1, 5}), "index 5 lies outside the 5 elements");
}

TEST(OnnxOperators, IntegerDivisionRoundsTowardsZero) {
  TestModel m;
  m.input("a", {4}, ElementType::kInt32);
  m.input("b", {4}, ElementType::kInt32);
  m.node("Div", {"a", "b"}, {"y"});
  m.output("y");
  EXPECT_EQ(body(m), "%y: i32[4] = aten::div.Tensor_mode(%a, %b, \"trunc\")\n");
}

TEST(OnnxOperators, IntegerRemaindersTakeTheDivisorsSign) {
  TestModel m;
  m.input("a", {4}, ElementType::kInt32);
  m.input("b", {4}, ElementType::kInt32);
  m.node("Mod", {"a", "b"}, {"y"});
  m.output("y");
  EXPECT_CONTAINS(body(m), "aten::div.Tensor_mode(%a, %b, \"floor\")");
  EXPECT_CONTAINS(body(m), "%y: i32[4] = aten::sub.Tensor(%a, ");
}

TEST(OnnxOperators, UnevenSplitsOnlySinceEighteen) {
  TestModel m(18);
  m.input("x", {7});
  m.node("Split", {"x"}, {"a", "b", "c"}).set("num_outputs", 3);
  m.output("a");
  m.output("c");
  EXPECT_EQ(body(m), "%a: f32[3], %b: f32[3], %c: f32[1] = aten::split_with_sizes_copy(%x, [3, 3, 1], 0)\n");
}

TEST(OnnxOperators, HugeSizesCostNothingToImport) {
  TestModel m(13);
  m.ints("shape", {1 << 20, 1 << 18});
  m.node("ConstantOfShape", {"shape"}, {"y"});
  m.output("y");
  auto module = m.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_TRUE(module->constants[{0}].blob.is_splat());

  m.model.mutable_graph()->mutable_initializer(0)->set_int64_data(1, 1 << 30);
  EXPECT_CONTAINS(failure(m), "more than 2^40 elements");
  m.model.mutable_graph()->mutable_initializer(0)->set_int64_data(1, int64_t{1} << 50);
  EXPECT_CONTAINS(failure(m), "the shape has the size 1125899906842624");
}

}  // namespace
}  // namespace berth::onnx

// Shapes of inputs: what the model leaves open is never guessed.
#include "compiler/import/onnx/input_shapes.h"

#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {
namespace {

TestModel two_inputs() {
  TestModel m;
  m.symbolic_input("tokens", {"batch", "sequence length"}, ElementType::kInt64);
  m.symbolic_input("mask", {"batch", "4"});
  m.node("Relu", {"mask"}, {"y"});
  m.output("y");
  return m;
}

ImportOptions shapes(std::vector<std::pair<std::string, std::string>> list) {
  ImportOptions options;
  options.input_shapes = std::move(list);
  return options;
}

ImportOptions where(std::vector<std::string> list, std::vector<std::pair<std::string, std::string>> named = {}) {
  ImportOptions options = shapes(std::move(named));
  options.where = std::move(list);
  return options;
}

std::string first_line(const TestModel& model, const ImportOptions& options) {
  auto module = model.import(options);
  if (!module.ok()) return module.error().text();
  std::string types;
  for (ir::ValueId input : module->methods[0].body.inputs) {
    types += ir::print(module->methods[0].value(input).type, module->symbols) + " ";
  }
  return types;
}

TEST(InputShapes, ExtentTextIsParsedStrictly) {
  std::vector<Extent> e;
  ASSERT_TRUE(parse_extents("1..8x3x224", &e));
  ASSERT_EQ(e.size(), 3u);
  EXPECT_EQ(e[0].lower, 1);
  EXPECT_EQ(e[0].upper, 8);
  EXPECT_EQ(e[2].upper, 224);
  ASSERT_TRUE(parse_extents("", &e));
  EXPECT_TRUE(e.empty());
  for (const char* bad : {"x", "1x", "x1", "1,3", "-1x3", "8..1", "1..", "1...2", "1x99999999999999999999", "1x3 ",
                          "a.x3", "1..ax3", "4294967296"}) {
    EXPECT_FALSE(parse_extents(bad, &e)) << bad;
    EXPECT_FALSE(parse_extents(bad, &e, {"ax", "xx3"})) << bad;
  }
}

// As in max_length and next, and the 0 of input x. The fear: "1xmax_length" is taken for 1, ma and _length.
TEST(InputShapes, NamesOfTheModelMayHaveAnX) {
  TestModel m;
  m.symbolic_input("tokens", {"1", "max_length"});
  m.symbolic_input("image", {"H", "W"});
  m.symbolic_input("pixels", {"HxW"});
  m.symbolic_input("x", {"", "next"});
  m.node("Relu", {"tokens"}, {"y"});
  m.output("y");
  const std::vector<std::string> bounds = {"max_length=1..8", "H=1..4", "W=1..4", "HxW=1..16", "x_0=1..2", "next=1..3"};
  EXPECT_EQ(first_line(
                m, where(bounds, {{"tokens", "1xmax_length"}, {"image", "HxW"}, {"pixels", "HxW"}, {"x", "x_0xnext"}})),
            "f32[1,max_length] f32[H,W] f32[HxW] f32[x_0,next] ");
  EXPECT_EQ(first_line(m, where({"max_length=1..8"}, {{"image", "1x1"}, {"pixels", "8"}, {"x", "max_lengthx2..3"}})),
            "f32[1,max_length] f32[1,1] f32[8] f32[max_length,next] ");
  EXPECT_CONTAINS(first_line(m, shapes({{"tokens", "1xmaxlength"}})),
                  "contradicts the model, which says 1xmax_length; a new name of a size has no x");
}

// The fear: HxW is one size of the model, so that H and W beside another name with an x are two that it does not have.
TEST(InputShapes, NamesAreSplitAsTheDimensionsOfTheModelAreMany) {
  TestModel m;
  m.symbolic_input("pixels", {"HxW"});
  m.symbolic_input("image", {"H", "W", "max_length"});
  m.symbolic_input("rows", {"HxW", "max_length"});
  m.node("Relu", {"image"}, {"y"});
  m.output("y");
  const std::vector<std::string> bounds = {"H=1..4", "W=1..4", "HxW=1..16", "max_length=1..8"};
  EXPECT_EQ(first_line(m, where(bounds, {{"image", "HxWxmax_length"}, {"rows", "HxWxmax_length"}})),
            "f32[HxW] f32[H,W,max_length] f32[HxW,max_length] ");
  EXPECT_EQ(first_line(m, where(bounds, {{"image", "HxWx2..5"}})), "f32[HxW] f32[H,W,max_length] f32[HxW,max_length] ");
  EXPECT_EQ(first_line(m, where({"H=1..4", "V=1..4", "HxW=1..16", "max_length=1..8"}, {{"image", "HxVxmax_length"}})),
            "f32[HxW] f32[H,V,max_length] f32[HxW,max_length] ");
  EXPECT_CONTAINS(first_line(m, shapes({{"image", "HxWxmax_lengthx3x4"}})), "contradicts the model");
}

TEST(InputShapes, NamesThatTheModelHasComeBeforeNewOnes) {
  TestModel m;
  m.symbolic_input("x", {"a", "bxc"});
  m.symbolic_input("z", {"axb"});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  EXPECT_EQ(first_line(m, where({"a=1..2", "bxc=1..6", "axb=1..4"}, {{"x", "axbxc"}})), "f32[a,bxc] f32[axb] ");
}

// There are 3^16 ways to begin. The fear: each is tried.
TEST(InputShapes, LongTextsAreSplitAtOnce) {
  TestModel m;
  m.symbolic_input("x", std::vector<std::string>(16, "a"));
  m.symbolic_input("z", {"axa", "axaxa"});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  std::string text = "a";
  for (int i = 0; i < 5000; ++i) text += "xa";
  EXPECT_CONTAINS(first_line(m, shapes({{"x", text}})), "contradicts the model");
}

TEST(InputShapes, UnboundDimensionsAreAnErrorThatSaysWhatToPass) {
  EXPECT_EQ(
      failure(two_inputs()),
      "onnx input \"tokens\": is batchxsequence length in the model, which has no bounds for batch, sequence_length; "
      "pass --where batch=1..512 --where sequence_length=1..512 (or numbers, batch=1), or --input-shape tokens=1x8");
  // What is advised is taken.
  EXPECT_EQ(first_line(two_inputs(), shapes({{"tokens", "1x8"}})), "i64[1,8] f32[1,4] ");
  EXPECT_EQ(first_line(two_inputs(), where({"batch=1..512", "sequence_length=1..512"})),
            "i64[batch,sequence_length] f32[batch,4] ");
  EXPECT_EQ(first_line(two_inputs(), where({"batch=1", "sequence length=8"})), "i64[1,8] f32[1,4] ");
  TestModel unnamed;
  unnamed.symbolic_input("x", {"", "3"});
  EXPECT_CONTAINS(failure(unnamed), "is ?x3 in the model, which has no bounds for x_0; pass --where x_0=1..512");
  TestModel shapeless;
  shapeless.input("x", {1});
  shapeless.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_CONTAINS(failure(shapeless), "has no shape in the model; pass --input-shape x=");
  EXPECT_EQ(first_line(shapeless, shapes({{"x", "2x2"}})), "f32[2,2] ");
}

TEST(InputShapes, ABoundDimensionHoldsInEveryInputThatSharesIt) {
  EXPECT_EQ(first_line(two_inputs(), shapes({{"tokens", "2x16"}})), "i64[2,16] f32[2,4] ");
  EXPECT_EQ(first_line(two_inputs(), shapes({{"tokens", "1..8x16"}})), "i64[batch,16] f32[batch,4] ");
  EXPECT_EQ(first_line(two_inputs(), shapes({{"tokens", "2x1..9"}})), "i64[2,sequence_length] f32[2,4] ");
}

TEST(InputShapes, SizesMayBeNamedAndRelated) {
  const ImportOptions named = where({"H=1..512", "H%32==0", "W<=H"}, {{"x", "1..8x3xHxW"}});
  TestModel image;
  image.symbolic_input("x", {"batch", "3", "height", ""});
  image.node("Relu", {"x"}, {"y"});
  image.output("y");
  const auto module = image.import(named);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(ir::print(*module),
            "symbol batch in [1, 8]\nsymbol H in [32, 512] step 32\nsymbol W in [1, 512]\nwhere W <= H\n"
            "\nmethod forward(%x: f32[batch,3,H,W]) {\n  %y: f32[batch,3,H,W] = aten::relu(%x) \"Relu of y\"\n"
            "  return %y\n}\n");
  // The model's name says the same, and two names are one size where both stand for it.
  EXPECT_EQ(first_line(image, where({"height=1..64", "H%32==0"}, {{"x", "1x3xHx8"}})), "f32[1,3,H,8] ");
  EXPECT_EQ(first_line(image, where({"S=8..64"}, {{"x", "1x3xSxS"}})), "f32[1,3,S,S] ");
  EXPECT_EQ(first_line(image, where({"height=8..64", "W==2*height"}, {{"x", "1x3xhxW"}})), "f32[1,3,h,(h * 2)] ");
}

// As exporters write sizes that they know.
TEST(InputShapes, ASizeThatTheModelCallsAnExpressionIsThat) {
  TestModel m;
  m.symbolic_input("cache", {"1", "past"});
  m.symbolic_input("mask", {"1", "past + next"});
  m.symbolic_input("tokens", {"1", "next"});
  m.symbolic_input("other", {"1", "a + b"});
  m.node("Relu", {"mask"}, {"y"});
  m.output("y");
  EXPECT_EQ(first_line(m, where({"past=0..511", "next=1..64", "a___b=2..9", "past+next<=512"})),
            "f32[1,past] f32[1,(next + past)] f32[1,next] f32[1,a___b] ");
  EXPECT_CONTAINS(failure(m), "has no bounds for past, next, a___b");
}

// As torch.onnx.export calls 8 * Dim("H"), of which no input has H alone.
TEST(InputShapes, AMultipleOfANameThatNoInputHasIsThatMultiple) {
  TestModel m;
  m.symbolic_input("x", {"1", "8*H", "8*W"});
  m.symbolic_input("y", {"8*H", "4"});
  m.node("Relu", {"x"}, {"z"});
  m.output("z");
  EXPECT_EQ(first_line(m, where({"H=2..12", "W=3"})), "f32[1,(H * 8),24] f32[(H * 8),4] ");
  EXPECT_CONTAINS(failure(m), "has no bounds for H, W; pass --where H=1..512 --where W=1..512");
  // By the name of the whole, as one that has no other.
  EXPECT_EQ(first_line(m, where({"n8_H=16", "n8_W=24"})), "f32[1,16,24] f32[16,4] ");
}

TEST(InputShapes, BoundsMustNotContradict) {
  EXPECT_CONTAINS(first_line(two_inputs(), shapes({{"tokens", "2x16"}, {"mask", "3x4"}})),
                  "says 3 for 'batch', which another input has as 2");
  EXPECT_CONTAINS(first_line(two_inputs(), shapes({{"tokens", "2x16"}, {"mask", "2x5"}})),
                  "contradicts the model, which says batchx4; it sets what a model leaves open: export the model with");
  EXPECT_CONTAINS(first_line(two_inputs(), shapes({{"tokens", "2x16x1"}})), "contradicts the model");
  EXPECT_CONTAINS(first_line(two_inputs(), shapes({{"token", "2x16"}})),
                  "names no input of the model; it has: tokens, mask");
  EXPECT_CONTAINS(first_line(two_inputs(), shapes({{"tokens", "2x16"}, {"tokens", "2x16"}})), "given twice");
  EXPECT_CONTAINS(first_line(two_inputs(), shapes({{"tokens", "2*16"}})), "is not a shape");
  EXPECT_CONTAINS(first_line(two_inputs(), shapes({{"mask", "BxW"}})), "contradicts the model, which says batchx4");
  EXPECT_CONTAINS(first_line(two_inputs(), where({"batch=1..8", "batch=9..12"})), "no sizes fulfil this");
}

TEST(InputShapes, InitializersAmongTheInputsAreNotInputs) {
  TestModel m(9, 3);
  m.input("x", {2, 3});
  m.input("w", {3, 2});
  m.floats("w", {3, 2}, std::vector<float>(6, 1));
  m.node("MatMul", {"x", "w"}, {"y"});
  m.output("y");
  EXPECT_EQ(first_line(m, {}), "f32[2,3] ");
}

TEST(InputShapes, UnknownInputsAreRefusedByName) {
  TestModel m;
  m.model.mutable_graph()->add_input()->set_name("s");
  m.model.mutable_graph()->mutable_input(0)->mutable_type();
  EXPECT_CONTAINS(failure(m), "onnx input \"s\": is not a tensor");
  TestModel huge;
  huge.input("x", {1 << 30, 1 << 30});
  EXPECT_CONTAINS(failure(huge), "onnx input \"x\": has more than 2^40 elements");
  TestModel strings;
  strings.input("t", {1}, ElementType::kString);
  EXPECT_CONTAINS(failure(strings), "elements of STRING");
  TestModel twice;
  twice.input("x", {1});
  twice.input("x", {2});
  EXPECT_CONTAINS(failure(twice), "two inputs are named \"x\"");
}

}  // namespace
}  // namespace berth::onnx

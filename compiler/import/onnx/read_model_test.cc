// The reader against damaged files, and models that are whole but not ours to import.
#include <random>

#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {
namespace {

TestModel small_model() {
  TestModel m;
  m.input("x", {2, 3});
  m.floats("w", {3, 4}, std::vector<float>(12, 0.5f));
  m.ints("shape", {4, 2});
  m.node("MatMul", {"x", "w"}, {"xw"});
  m.node("Reshape", {"xw", "shape"}, {"y"}).set("allowzero", 0);
  m.output("y");
  return m;
}

Expected<ir::Module> import_text(const std::string& text) {
  return import_onnx(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

TEST(ReadModel, EveryTruncationIsAnErrorOrAModel) {
  const std::string whole = small_model().bytes();
  ASSERT_TRUE(import_text(whole).ok());
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto module = import_text(whole.substr(0, size));
    if (module.ok()) continue;
    ++refused;
    EXPECT_FALSE(module.error().message.empty());
  }
  EXPECT_GT(refused, whole.size() / 2);
}

TEST(ReadModel, FlippedBitsNeverCrash) {
  const std::string whole = small_model().bytes();
  const unsigned seed = 20240607;
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int round = 0; round < 3000; ++round) {
    std::string flipped = whole;
    for (int i = 0; i < 3; ++i) {
      flipped[random() % flipped.size()] ^= static_cast<char>(1u << (random() % 8));
    }
    const auto module = import_text(flipped);
    EXPECT_TRUE(module.ok() || !module.error().text().empty());
  }
}

TEST(ReadModel, NamesTheInnermostDamagedMessage) {
  TestModel m = small_model();
  std::string text = m.bytes();
  const size_t place = text.find("MatMul");
  ASSERT_NE(place, std::string::npos);
  text[place - 1] = 0x7f;  // the length of op_type now leads out of the node
  const auto module = import_text(text);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Error::kInvalidProgram);
  EXPECT_CONTAINS(module.error().text(), "onnx model: damaged: the message 'node'");
}

TEST(ReadModel, AnEmptyFileIsNotAModel) {
  const auto module = import_text("");
  ASSERT_FALSE(module.ok());
  EXPECT_CONTAINS(module.error().text(), "IR version 0 is not read; 3 to 14 are");
}

TEST(ReadModel, ManyEmptyMessagesUseBoundedMemory) {
  // Two bytes each in the file, hundreds in memory: 2 million empty nodes.
  std::string graph;
  for (int i = 0; i < 2000000; ++i) graph += std::string("\x0a\x00", 2);
  std::string text("\x3a", 1);
  for (size_t size = graph.size(); size != 0; size >>= 7) {
    text += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
  }
  const auto module = import_text(text + graph);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Error::kOutOfResources);
}

TEST(ReadModel, VersionsOutsideTheRangeAreNamed) {
  for (int64_t opset : {6, 29}) {
    TestModel m = small_model();
    m.model.mutable_opset_import(0)->set_version(opset);
    EXPECT_CONTAINS(failure(m), "opset " + std::to_string(opset) + " of ai.onnx is not read; 7 to 28 are");
  }
  for (int64_t version : {2, 15}) {
    TestModel m = small_model();
    m.model.set_ir_version(version);
    EXPECT_CONTAINS(failure(m), "IR version " + std::to_string(version) + " is not read; 3 to 14 are");
  }
  TestModel m = small_model();
  m.model.clear_opset_import();
  EXPECT_CONTAINS(failure(m), "does not say which opset");
}

TEST(ReadModel, MissingOperatorsAreListedAllAtOnceWithTheirNodes) {
  TestModel m = small_model();
  for (const char* name : {"a", "b", "c", "d", "e"}) m.node("Frobnicate", {"x"}, {name}).name(std::string("F_") + name);
  m.node("FusedThing", {"x"}, {"z"}).domain("com.example");
  m.node("ImageDecoder", {"x"}, {"w2"}).name("branch");
  EXPECT_EQ(failure(m),
            "onnx model: uses operators that Berth does not have: Frobnicate (\"F_a\", \"F_b\", \"F_c\" and 2 more), "
            "ImageDecoder (\"branch\"), com.example.FusedThing (\"FusedThing of z\"); "
            "those of other domains than ONNX's come with --plugin");
}

// As ONNX Runtime reads them: what is inserted is often appended.
TEST(ReadModel, NodesThatStandBehindTheirReadersAreMoved) {
  TestModel m;
  m.input("x", {2});
  m.node("Abs", {"x"}, {"a"});
  m.node("Add", {"later", "a"}, {"y"});
  m.node("Relu", {"last"}, {"later"});
  m.node("Neg", {"a"}, {"last"});
  m.output("y");
  TestModel sorted;
  sorted.input("x", {2});
  sorted.node("Abs", {"x"}, {"a"});
  sorted.node("Neg", {"a"}, {"last"});
  sorted.node("Relu", {"last"}, {"later"});
  sorted.node("Add", {"later", "a"}, {"y"});
  sorted.output("y");
  EXPECT_EQ(failure(m), "");
  EXPECT_EQ(body(m), body(sorted));
}

TEST(ReadModel, CirclesAndNamesAreChecked) {
  TestModel circle;
  circle.input("x", {2});
  circle.node("Add", {"later", "x"}, {"y"}).name("first");
  circle.node("Relu", {"y"}, {"later"});
  circle.output("y");
  EXPECT_CONTAINS(failure(circle), "is not defined, or it is computed from this node's own results");

  TestModel twice;
  twice.input("x", {2});
  twice.node("Relu", {"x"}, {"y"});
  twice.node("Abs", {"x"}, {"y"}).name("again");
  EXPECT_CONTAINS(failure(twice), "onnx node \"again\": its output \"y\" is defined already");

  TestModel nothing;
  nothing.input("x", {2});
  nothing.output("y");
  EXPECT_CONTAINS(failure(nothing), "input \"y\" is not defined");
}

TEST(ReadModel, ArityAndAttributeTypesAreChecked) {
  TestModel few;
  few.input("x", {2});
  few.node("Add", {"x"}, {"y"});
  EXPECT_EQ(failure(few), "onnx node \"Add of y\": Add: needs at least 2 inputs; input 1 is missing");

  TestModel many;
  many.input("x", {2});
  many.node("Relu", {"x", "x"}, {"y"});
  EXPECT_EQ(failure(many), "onnx node \"Relu of y\": Relu: takes at most 1 inputs, found 2");

  TestModel wrong;
  wrong.input("x", {2});
  wrong.node("Softmax", {"x"}, {"y"}).set("axis", 1.0f);
  EXPECT_EQ(failure(wrong), "onnx node \"Softmax of y\": Softmax: attribute 'axis' must be an integer");

  TestModel extra;
  extra.input("x", {2});
  extra.node("Relu", {"x"}, {"y", "z"});
  EXPECT_EQ(failure(extra), "");  // nothing reads it
  extra.output("z");
  EXPECT_CONTAINS(failure(extra), "output 1 (\"z\") is not computed by Berth");
}

}  // namespace
}  // namespace berth::onnx

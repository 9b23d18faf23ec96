// Sequences and optional values leave nothing in the program; where their length depends on the data, that is an error
// with a sentence.
#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

using Inner = proto::Graph;

proto::ValueInfo* sequence_input(TestModel& m, const std::string& name) {
  proto::ValueInfo* info = m.model.mutable_graph()->add_input();
  info->set_name(name);
  info->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
  return info;
}

TEST(Sequences, ElementsAreInsertedErasedAndJoined) {
  TestModel m;
  m.input("a", {1});
  m.input("b", {1});
  m.input("c", {1});
  m.scalar("first", 0);
  m.scalar("last", -1);
  m.node("SequenceConstruct", {"a", "b"}, {"s"});
  m.node("SequenceInsert", {"s", "c", "last"}, {"t"});  // a c b
  m.node("SequenceErase", {"t", "first"}, {"u"});       // c b
  m.node("SequenceInsert", {"u", "a"}, {"v"});          // c b a
  m.node("SequenceLength", {"v"}, {"length"});
  m.node("SequenceAt", {"v", "last"}, {"at"});
  m.node("ConcatFromSequence", {"v"}, {"y"}).set("axis", 0);
  for (const char* name : {"y", "length", "at"}) m.output(name);
  const auto y = run(m, {floats({1}, {1}), floats({1}, {2}), floats({1}, {3})});
  EXPECT_EQ(numbers<float>(y, 0), (Floats{3, 2, 1}));
  EXPECT_EQ(numbers<int64_t>(y, 1), Ints{3});
  EXPECT_EQ(numbers<float>(y, 2), Floats{1});
}

TEST(Sequences, AnOutputIsItsElements) {
  TestModel m;
  m.input("x", {3, 2});
  m.node("SplitToSequence", {"x"}, {"s"}).set("axis", 0).set("keepdims", 0);
  m.output("s");
  auto module = m.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(module->methods[0].output_names, (std::vector<std::string>{"s[0]", "s[1]", "s[2]"}));
  const auto y = run(m, {floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers<float>(y, 2), (Floats{5, 6}));
}

TEST(Sequences, AnInputsElementsAreNamed) {
  TestModel m;
  sequence_input(m, "s");
  m.scalar("one", 1);
  m.node("SequenceAt", {"s", "one"}, {"y"});
  m.output("y");
  ASSERT_FALSE(m.import().ok());
  EXPECT_CONTAINS(m.import().error().text(), "--input-shape s[0]=");
  ImportOptions options;
  options.input_shapes = {{"s[0]", "1"}, {"s[1]", "2"}};
  auto module = m.import(options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->methods[0].body.inputs.size(), 2u);
  options.input_shapes = {{"s", "none"}};
  ASSERT_FALSE(m.import(options).ok());
  EXPECT_CONTAINS(m.import(options).error().text(), "outside of 0 elements");
}

TEST(Sequences, AMapRunsItsBodyOnEachElement) {
  TestModel m;
  m.input("x", {4});
  m.input("d", {1});
  m.scalar("two", 2);
  m.node("SplitToSequence", {"x", "two"}, {"s"});
  TestNode node = m.node("SequenceMap", {"s", "d"}, {"t"});
  Inner* body = node.add("body", AttributeType::kGraph).mutable_g();
  body->add_input()->set_name("e");
  body->add_input()->set_name("by");
  TestModel::fill(body->add_node(), "Mul", {"e", "by"}, {"p"});
  body->add_output()->set_name("p");
  m.node("ConcatFromSequence", {"t"}, {"y"}).set("axis", 0).set("new_axis", 1);
  m.output("y");
  EXPECT_EQ(numbers<float>(run(m, {floats({4}, {1, 2, 3, 4}), floats({1}, {10})})), (Floats{10, 20, 30, 40}));
}

TEST(Sequences, APositionOfTheDataIsRefused) {
  TestModel m;
  m.input("a", {1});
  m.input("at", {}, ElementType::kInt64);
  m.node("SequenceConstruct", {"a", "a"}, {"s"});
  m.node("SequenceAt", {"s", "at"}, {"y"});
  m.output("y");
  ASSERT_FALSE(m.import().ok());
  EXPECT_CONTAINS(m.import().error().text(), "the position (input 1) must be one number that is known");
}

TEST(Sequences, ASequenceWhereATensorBelongsIsRefused) {
  TestModel m;
  m.input("a", {1});
  m.node("SequenceConstruct", {"a"}, {"s"});
  m.node("Relu", {"s"}, {"y"});
  m.output("y");
  ASSERT_FALSE(m.import().ok());
  EXPECT_CONTAINS(m.import().error().text(), "must be a tensor here, found a sequence");
}

TEST(Optional, WhatItHoldsIsDecided) {
  for (const bool holds : {true, false}) {
    TestModel m;
    m.input("x", {2});
    proto::ValueInfo* info = m.model.mutable_graph()->add_input();
    info->set_name("o");
    proto::TensorType* type = info->mutable_type()->mutable_optional_type()->mutable_elem_type()->mutable_tensor_type();
    type->set_elem_type(1);
    type->mutable_shape()->add_dim()->set_dim_value(2);
    m.node("OptionalHasElement", {"o"}, {"has"});
    TestNode node = m.node("If", {"has"}, {"y"});
    Inner* yes = node.add("then_branch", AttributeType::kGraph).mutable_g();
    TestModel::fill(yes->add_node(), "OptionalGetElement", {"o"}, {"held"});
    yes->add_output()->set_name("held");
    Inner* no = node.add("else_branch", AttributeType::kGraph).mutable_g();
    TestModel::fill(no->add_node(), "Identity", {"x"}, {"same"});
    no->add_output()->set_name("same");
    m.output("y");
    ImportOptions options;
    if (!holds) options.input_shapes = {{"o", "none"}};
    auto module = m.import(options);
    ASSERT_TRUE(module.ok()) << module.error().text();
    EXPECT_EQ(module->methods[0].body.inputs.size(), holds ? 2u : 1u);
  }
}

// A file may nest types as deeply as it likes.
TEST(Optional, TypesThatNestTooDeeplyAreRefused) {
  TestModel m;
  proto::ValueInfo* info = m.model.mutable_graph()->add_input();
  info->set_name("o");
  proto::Type* type = info->mutable_type();
  for (int i = 0; i < 1000; ++i) type = type->mutable_optional_type()->mutable_elem_type();
  type->mutable_tensor_type()->set_elem_type(1);
  EXPECT_FALSE(m.import().ok());
}

}  // namespace
}  // namespace berth::onnx

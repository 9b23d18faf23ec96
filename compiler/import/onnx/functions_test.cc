// Model-local functions: in place of their calls, with the call's attributes, and never without end.
#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {
namespace {

proto::Function* add_function(TestModel& m, const std::string& name, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
  proto::Function* f = m.model.add_functions();
  f->set_name(name);
  f->set_domain("local");
  for (const std::string& input : inputs) f->add_input(input);
  for (const std::string& output : outputs) f->add_output(output);
  f->add_opset_import()->set_version(13);
  return f;
}

TestModel leaky_model() {
  TestModel m(17);
  m.input("x", {4});
  proto::Function* f = add_function(m, "Leak", {"a"}, {"b"});
  f->add_attribute("slope");
  TestModel::fill(f->add_node(), "LeakyRelu", {"a"}, {"t"}).refer("alpha", "slope").name("inner");
  TestModel::fill(f->add_node(), "Neg", {"t"}, {"b"});
  return m;
}

TEST(Functions, CallsPassTheirAttributes) {
  TestModel m = leaky_model();
  m.node("Leak", {"x"}, {"y"}).domain("local").set("slope", 0.25f).name("first");
  m.node("Leak", {"y"}, {"z"}).domain("local").name("second");  // without: the operator's own default
  m.output("z");
  EXPECT_EQ(body(m),
            "%t: f32[4] = aten::leaky_relu(%x, 0.25)\n"
            "%y: f32[4] = aten::neg(%t)\n"
            "%t_1: f32[4] = aten::leaky_relu(%y, 0.009999999776482582)\n"
            "%z: f32[4] = aten::neg(%t_1)\n");
  auto module = m.import();
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->methods[0].nodes[{0}].source, "first/inner");
}

TEST(Functions, CallsUseTheFunctionsDefaults) {
  TestModel m = leaky_model();
  proto::Attribute* fallback = m.model.mutable_functions(0)->add_attribute_proto();
  fallback->set_name("slope");
  fallback->set_type(1);
  fallback->set_f(0.5f);
  m.node("Leak", {"x"}, {"y"}).domain("local");
  m.output("y");
  EXPECT_CONTAINS(body(m), "aten::leaky_relu(%x, 0.5)");
}

TEST(Functions, CallsMayOmitInputs) {
  TestModel m(17);
  m.input("x", {4});
  proto::Function* f = add_function(m, "Bound", {"a", "low", "high"}, {"b"});
  TestModel::fill(f->add_node(), "Clip", {"a", "low", "high"}, {"b"});
  m.scalar("unused", 1);
  proto::Tensor& high = m.tensor("two", {}, ElementType::kFloat);
  high.add_float_data(2);
  m.node("Bound", {"x", "", "two"}, {"y"}).domain("local");
  m.output("y");
  EXPECT_EQ(body(m), "%y: f32[4] = aten::clamp(%x, none, 2.0)\n");
}

TEST(Functions, RecursionIsRefused) {
  TestModel m(17);
  m.input("x", {4});
  proto::Function* f = add_function(m, "F", {"a"}, {"b"});
  TestModel::fill(f->add_node(), "G", {"a"}, {"b"}).domain("local").name("to_g");
  proto::Function* g = add_function(m, "G", {"a"}, {"b"});
  TestModel::fill(g->add_node(), "F", {"a"}, {"b"}).domain("local").name("to_f");
  m.node("F", {"x"}, {"y"}).domain("local").name("call");
  m.output("y");
  EXPECT_EQ(failure(m), "onnx node \"call/to_g/to_f\": function F calls itself, or calls nest too deeply");
}

TEST(Functions, ExponentialExpansionIsBounded) {
  TestModel m(17);
  m.input("x", {4});
  for (int i = 0; i < 40; ++i) {
    proto::Function* f = add_function(m, "F" + std::to_string(i), {"a"}, {"b"});
    const std::string next = "F" + std::to_string(i + 1);
    TestModel::fill(f->add_node(), next, {"a"}, {"t"}).domain("local");
    TestModel::fill(f->add_node(), next, {"t"}, {"b"}).domain("local");
  }
  proto::Function* last = add_function(m, "F40", {"a"}, {"b"});
  TestModel::fill(last->add_node(), "Identity", {"a"}, {"b"});
  m.node("F0", {"x"}, {"y"}).domain("local");
  m.output("y");
  EXPECT_CONTAINS(failure(m), "with its functions the model has more than 1000000 nodes");
}

TEST(Functions, MissingOperatorsInBodiesAreListed) {
  TestModel m = leaky_model();
  TestModel::fill(m.model.mutable_functions(0)->add_node(), "Wobble", {"b"}, {"c"}).name("w");
  m.node("Leak", {"x"}, {"y"}).domain("local");
  EXPECT_CONTAINS(failure(m), "Wobble (\"Leak/w\")");
}

TEST(Functions, ArityIsChecked) {
  TestModel m = leaky_model();
  m.node("Leak", {"x", "x"}, {"y"}).domain("local").name("call");
  EXPECT_CONTAINS(failure(m), "onnx node \"call\": function Leak has 1 inputs and 1 outputs; the call gives more");
  TestModel missing = leaky_model();
  missing.model.mutable_functions(0)->set_output(0, "nowhere");
  missing.node("Leak", {"x"}, {"y"}).domain("local").name("call");
  EXPECT_CONTAINS(failure(missing), "does not define its output \"nowhere\"");
}

}  // namespace
}  // namespace berth::onnx

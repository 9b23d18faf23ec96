#include "compiler/ir/verify.h"

#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"

namespace berth::ir {
namespace {

// What a careless pass could do to this module is done by hand, one thing a test.
class VerifyTest : public testing::Test {
 protected:
  void SetUp() override {
    auto parsed = parse(R"(
      const @w: f32[2] = dense<[1.0, 2.0]>
      state @s: f32[2]
      method f(%x: f32[2], %c: bool) {
        %w: f32[2] = const @w
        %a: f32[2] = aten::add.Tensor(%x, %w) "Add_0"
        %b: f32[2] = aten::relu(%a)
        %r: f32[2] = berth::if(%c) {
          ()
          %i: f32[2] = aten::neg(%b)
          yield %i
        } {
          ()
          yield %b
        }
        berth::state_write(%r) @s
        return %r
      })",
                        "t");
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    module_ = std::move(*parsed);
  }

  Method& method() { return module_.methods[0]; }
  ValueId value(const std::string& name) {
    for (ValueId id : method().values.ids()) {
      if (method().values[id].name == name) return id;
    }
    ADD_FAILURE() << "no value " << name;
    return ValueId{0};
  }
  Node& node(const std::string& result) { return method().node(method().value(value(result)).node); }
  std::string problem() {
    const Status status = verify(module_);
    return status.ok() ? "" : status.error().text();
  }
  void expect_problem(const std::string& part) { EXPECT_NE(problem().find(part), std::string::npos) << problem(); }

  Module module_;
};

TEST_F(VerifyTest, ASoundModulePasses) { EXPECT_EQ(problem(), ""); }

TEST_F(VerifyTest, AUseBeforeTheDefinitionIsFound) {
  std::swap(method().body.nodes[0], method().body.nodes[1]);
  expect_problem("uses %a before it is defined");
}

TEST_F(VerifyTest, ANodeInTwoPlacesIsFound) {
  method().body.nodes.push_back(method().body.nodes[0]);
  expect_problem("aten::add.Tensor \"Add_0\": stands in two places");
}

TEST_F(VerifyTest, AReadOfARemovedNodeIsFound) {
  method().body.nodes.erase(method().body.nodes.begin());
  expect_problem("uses %a before it is defined");
}

TEST_F(VerifyTest, ARegionThatYieldsAnUntypedValueIsFound) {
  node("r").regions[0].outputs.emplace_back();
  expect_problem("expected regions that yield values and numbers");
}

TEST_F(VerifyTest, ARegionThatLeaksIsFound) {
  node("r").regions[1].outputs[0] = value("i");
  expect_problem("outputs: uses %i before it is defined, or outside of its region");
}

TEST_F(VerifyTest, AStaleTypeIsFound) {
  method().value(value("b")).type = TensorType();
  expect_problem("aten::relu: expected the result %b: f32[2], found f32[]");
}

TEST_F(VerifyTest, AMissingArgumentIsFound) {
  node("a").args.pop_back();
  expect_problem("expected 3 arguments, found 2");
}

TEST_F(VerifyTest, AnArgumentOfTheWrongKindIsFound) {
  node("a").args[0] = std::string("x");
  expect_problem("argument 'self' has the wrong kind");
}

TEST_F(VerifyTest, AValueThatDoesNotExistIsFound) {
  node("a").args[0] = ValueId{1000};
  expect_problem("uses a value that does not exist");
}

TEST_F(VerifyTest, ANodeThatDoesNotExistIsFound) {
  method().body.nodes.push_back(NodeId{1000});
  expect_problem("names a node that does not exist");
}

TEST_F(VerifyTest, TwoValuesOfOneNameAreFound) {
  method().value(value("b")).name = "a";
  expect_problem("two values are called %a");
}

TEST_F(VerifyTest, AResultThatNamesAnotherNodeIsFound) {
  method().value(value("b")).node = NodeId{0};
  expect_problem("names another node as its origin");
}

TEST_F(VerifyTest, AConstantWithTooFewBytesIsFound) {
  module_.constants[{0}].blob = Blob::owned({1, 2, 3});
  expect_problem("constant @w: expected 8 bytes for f32[2], found 3");
}

TEST_F(VerifyTest, AConstantWithAnotherTypeIsFound) {
  module_.constants[{0}].type.dtype = DType::kI32;
  expect_problem("%w differs in type from its constant");
}

TEST_F(VerifyTest, BranchesOfDifferentTypesAreFound) {
  node("r").regions[0].outputs.clear();
  expect_problem("expected outputs of the first region of types (f32[2]), found ()");
}

TEST_F(VerifyTest, AWriteToAMissingStateIsFound) {
  module_.states.clear();
  expect_problem("expected the name of a state");
}

TEST_F(VerifyTest, TwoMethodsOfOneNameAreFound) {
  module_.methods.push_back(module_.methods[0]);
  expect_problem("method f: the name is taken twice");
}

// `levels` branches within each other, and a delegate in the innermost.
Module nested_branches(int levels) {
  Module module;
  module.delegates.push_back({"d", "berth.sim", {}, std::nullopt});
  Method& method = module.methods.emplace_back();
  method.name = "forward";
  TensorType type;
  type.shape = dims({2});
  const ValueId flag = method.add_input(Type(ScalarKind::kBool), "flag");
  const ValueId x = method.add_input(type, "x");
  const auto add = [&](OpId op, std::vector<Argument> args, std::vector<Graph> regions) {
    const NodeId id = method.nodes.next_id();
    const ValueId result = method.add_value(type, "");
    method.value(result).kind = ValueKind::kNode;
    method.value(result).node = id;
    Node node;
    node.op = &operator_of(op);
    node.args = std::move(args);
    node.regions = std::move(regions);
    node.results = {result};
    node.delegate = op == OpId::delegate ? DelegateId{0} : DelegateId();
    method.nodes.push_back(std::move(node));
    return id;
  };
  const auto result_of = [&](NodeId id) { return Argument(method.node(id).results[0]); };
  const ValueId inside = method.add_value(type, "inside");
  method.value(inside).kind = ValueKind::kInput;
  NodeId node = add(OpId::delegate, {ValueList{x}}, {Graph{{inside}, {}, {Argument(inside)}}});
  for (int i = 0; i < levels; ++i) {
    node = add(OpId::if_, {flag}, {Graph{{}, {node}, {result_of(node)}}, Graph{{}, {}, {Argument(x)}}});
  }
  method.body.nodes = {node};
  method.body.outputs = {result_of(node)};
  return module;
}

TEST(Verify, NestedRegionsThatPassParseBack) {
  Module module = nested_branches(32);
  const Status sound = verify(module);
  ASSERT_TRUE(sound.ok()) << sound.error().text();
  const auto again = parse(print(module), "t");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(print(*again), print(module));
}

TEST(Verify, TooDeepRegionsAreRefusedByVerifierAndParser) {
  Module module = nested_branches(33);
  const Status refused = verify(module);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("expected at most 32 regions within each other"), std::string::npos);
  const auto again = parse(print(module), "t");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("expected at most 32 regions within each other"), std::string::npos);
}

}  // namespace
}  // namespace berth::ir

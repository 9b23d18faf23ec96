// Calls of one's own operators that change their arguments, as PyTorch 2.15 writes them after run_decompositions({}).
#include "compiler/import/pt2/run_testing.h"
#include "compiler/ir/own_operators.h"

namespace berth::pt2 {
namespace {

// As many results of the first argument's type as there are of the schema's.
ImportOptions with(const std::string& name, const std::string& schema, size_t results) {
  const auto infer = [results](const ir::OwnCall& call) {
    return Expected<std::vector<ir::TensorType>>(std::vector<ir::TensorType>(results, call.tensor(0)));
  };
  ir::OperatorSet set;
  EXPECT_TRUE(set.add({name, schema, infer}).ok());
  ImportOptions options;
  options.operators = std::make_shared<const ir::OperatorSet>(std::move(set));
  return options;
}

const std::string kSecond = "higher_order.auto_functionalized_v2";

json named(const std::string& name) { return {{"as_operator", "torch.ops." + name + ".default"}}; }

TestProgram with_inputs() {
  TestProgram p;
  p.input("a", {2});
  p.input("b", {2});
  return p;
}

std::string text_of(const TestProgram& p, const ImportOptions& options) {
  const auto module = p.import(options);
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? ir::print(*module) : std::string();
}

std::string failure_with(const TestProgram& p, const ImportOptions& options) {
  const auto module = p.import(options);
  return module.ok() ? "it was imported" : module.error().text();
}

TEST(FunctionalizedPt2, AnOwnOperatorsResultsComeBeforeWhatItWrites) {
  const ImportOptions options = with("mine::bump", "Tensor x, float by -> Tensor out, Tensor new_x", 2);
  TestProgram second = with_inputs();
  second.node(
      kSecond,
      {{"", named("mine.bump")}, {"by", real(2)}, {"_x_base_index", integer(0)}, {"_all_bases", tensor_list({"b"})}},
      json::array({tensor("r"), tensor("changed")}));
  second.output("changed");
  TestProgram first = with_inputs();
  first.node("higher_order.auto_functionalized", {{"", named("mine.bump")}, {"x", tensor("b")}, {"by", real(2)}},
             json::array({tensor("r"), tensor("changed")}));
  first.output("changed");
  for (const TestProgram& p : {second, first}) {
    const std::string text = text_of(p, options);
    EXPECT_TRUE(says(text, "%r: f32[2], %changed: f32[2] = mine::bump(%b, 2.0)"));
    EXPECT_TRUE(says(text, "return %changed"));
  }
}

TEST(FunctionalizedPt2, AnOperatorThatOnlyWritesHasNoOtherResult) {
  TestProgram p = with_inputs();
  p.node(kSecond,
         {{"", named("mine.fill")}, {"by", real(5)}, {"_x_base_index", integer(0)}, {"_all_bases", tensor_list({"a"})}},
         json::array({nothing(), tensor("changed")}));
  p.output("changed");
  EXPECT_TRUE(says(text_of(p, with("mine::fill", "Tensor x, float by -> Tensor new_x", 1)),
                   "%changed: f32[2] = mine::fill(%a, 5.0)"));
}

// PyTorch has new values in the order of the bases, the operator in that of its schema.
TEST(FunctionalizedPt2, NewValuesFindTheirBasesInAnyOrder) {
  TestProgram p = with_inputs();
  p.node(kSecond,
         {{"", named("mine.swap")},
          {"_x_base_index", integer(1)},
          {"_y_base_index", integer(0)},
          {"_all_bases", tensor_list({"a", "b"})}},
         json::array({nothing(), tensor("new_a"), tensor("new_b")}));
  p.output("new_a");
  EXPECT_TRUE(says(text_of(p, with("mine::swap", "Tensor x, Tensor y -> Tensor new_x, Tensor new_y", 2)),
                   "%new_b: f32[2], %new_a: f32[2] = mine::swap(%b, %a)"));
}

TEST(FunctionalizedPt2, WhatAnOwnOperatorCannotSayIsRefusedInASentence) {
  const auto call = [](const json& more, const std::vector<std::string>& bases, const json& results) {
    TestProgram p = with_inputs();
    json inputs = {{"", named("mine.swap")}, {"_all_bases", tensor_list(bases)}};
    inputs.update(more);
    std::vector<std::pair<std::string, json>> arguments;
    for (const auto& [name, value] : inputs.items()) arguments.emplace_back(name, value);
    p.node(kSecond, arguments, results);
    p.output("new_a");
    return p;
  };
  const json both = json::array({nothing(), tensor("new_a"), tensor("new_b")});
  const ImportOptions swap = with("mine::swap", "Tensor x, Tensor y -> Tensor new_x, Tensor new_y", 2);
  const json indices = {{"_x_base_index", integer(0)}, {"_y_base_index", integer(0)}};
  EXPECT_TRUE(says(failure_with(call(indices, {"a"}, json::array({nothing(), tensor("new_a")})), swap),
                   "writes one tensor as two of its arguments"));
  const json far = {{"_x_base_index", integer(0)}, {"_y_base_index", integer(2)}};
  EXPECT_TRUE(says(failure_with(call(far, {"a", "b"}, both), swap), "does not say what its 'y' is"));
  json view = {{"_x_base_index", integer(0)}, {"_y_base_index", integer(1)}, {"_y_slice_dim", integer(0)}};
  EXPECT_TRUE(says(failure_with(call(view, {"a", "b"}, both), swap), "writes a view as its argument 'y'"));
  const json one = {{"_x_base_index", integer(0)}, {"y", tensor("b")}};
  EXPECT_TRUE(says(failure_with(call(one, {"a", "b"}, both), swap), "that the schema of the operator does not have"));
  EXPECT_TRUE(says(failure_with(call(far, {"a", "b"}, json::array({tensor("new_a")})), swap), "does not say"));
  EXPECT_TRUE(says(failure_with(call({{"_x_base_index", integer(0)}, {"_y_base_index", integer(1)}}, {"a", "b"}, both),
                                with("mine::swap", "Tensor x, Tensor y -> Tensor new_x", 1)),
                   "has 2 results in the file, the operator gives 1"));
}

}  // namespace
}  // namespace berth::pt2

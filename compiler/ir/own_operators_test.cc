// Operators of one's own, described in C++: what is refused, how nodes of them are read, printed and checked.
#include "compiler/ir/own_operators.h"

#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/merge.h"
#include "compiler/ir/operator_schema.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"

namespace berth::ir {
namespace {

Expected<std::vector<TensorType>> like_first(const OwnCall& call) { return std::vector<TensorType>{call.tensor(0)}; }

OwnOperator gain() { return {"my::gain", "Tensor self, float factor=1 -> Tensor out", like_first}; }

std::string refusal(OwnOperator op, OperatorSet set = {}) {
  const Status added = set.add(std::move(op));
  return added.ok() ? "is taken" : added.error().text();
}

bool has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
  return text.find(part) != std::string::npos;
}

std::shared_ptr<const OperatorSet> set_of(std::vector<OwnOperator> all) {
  OperatorSet set;
  for (OwnOperator& op : all) {
    const Status added = set.add(std::move(op));
    EXPECT_TRUE(added.ok()) << added.error().text();
  }
  return std::make_shared<const OperatorSet>(std::move(set));
}

TEST(OperatorSet, IsSearchedByBothNames) {
  OwnOperator other = gain();
  other.name = "my::gain.Scalar";
  OwnOperator named = gain();
  named.name = "my::gain2";
  named.out_overload = "into";
  const auto set = set_of({gain(), other, named});
  EXPECT_EQ(set->find("my::gain")->out_overload, "out");
  EXPECT_EQ(set->find("my::gain.Scalar")->out_overload, "Scalar_out");
  EXPECT_EQ(set->find_out_variant("my::gain", "Scalar_out"), set->find("my::gain.Scalar"));
  EXPECT_EQ(set->find_out_variant("my::gain2", "into"), set->find("my::gain2"));
  for (const auto& [name, overload] : {std::pair("my::gain", "into"), {"my::gai", "out"}, {"my::gain.Scalar", "out"}}) {
    EXPECT_EQ(set->find_out_variant(name, overload), nullptr) << name << " " << overload;
  }
  EXPECT_EQ(set->names(), "my::gain, my::gain.Scalar, my::gain2");
  EXPECT_EQ(find_operator("aten::relu", set.get())->id, OpId::relu_out);
  EXPECT_EQ(find_operator("my::gain", set.get())->id, OpId::own);
  EXPECT_EQ(find_operator("my::gain", nullptr), nullptr);
}

TEST(OperatorSet, WhatCannotBeAnOperatorIsRefused) {
  EXPECT_EQ(refusal(gain()), "is taken");
  OperatorSet one;
  ASSERT_TRUE(one.add(gain()).ok());
  has(refusal(gain(), std::move(one)), "operator \"my::gain\": is there twice");
  OwnOperator op = gain();
  op.name = "aten::relu";
  has(refusal(op), "the name space aten is not one's own");
  op = gain();
  op.infer = nullptr;
  has(refusal(op), "it has no shape rule");
  op = gain();
  op.in_place_arguments = 2;
  has(refusal(op), "argument 1, which is not a tensor");
  OperatorSet overloads;
  op = gain();
  op.out_overload = "Scalar_out";
  ASSERT_TRUE(overloads.add(op).ok());
  op = gain();
  op.name = "my::gain.Scalar";
  has(refusal(op, std::move(overloads)), "another operator has the kernel my::gain.Scalar_out");
}

TEST(OperatorSet, SchemasThatAreNotOnesAreRefused) {
  EXPECT_EQ(schema_problem("Tensor self -> Tensor out"), "");
  EXPECT_EQ(schema_problem(" -> Tensor out"), "");
  EXPECT_EQ(schema_problem("Tensor[] parts, int[]? sizes=None, str mode='a b', Scalar k=-1.5 -> Tensor a, Tensor b"),
            "");
  EXPECT_EQ(schema_problem("Tensor self, int parts -> Tensor[] out"), "");
  for (const char* schema : {"",
                             "Tensor self",
                             "Tensor self ->",
                             "Tensor self -> ",
                             "Tensor self -> Tensor",
                             "Tensor self -> int out",
                             "Tensor self -> Tensor(self)",
                             "Tensor self -> Tensor out, Tensor(self)",
                             "Tensor self -> Tensor self",
                             "Tensor self, Tensor self -> Tensor out",
                             "Tensor self -> Tensor a, Tensor a",
                             "Tensor self -> Tensor[] a, Tensor b",
                             "Tensor self,int k -> Tensor out",
                             "@Tensor self -> Tensor out",
                             "Tensor Self -> Tensor out",
                             "Tensor self -> Tensor a -> Tensor b",
                             "Thing self -> Tensor out",
                             "int[3] k -> Tensor out",
                             "int k=one -> Tensor out",
                             "int k=1.5 -> Tensor out",
                             "int k=None -> Tensor out",
                             "bool b=1 -> Tensor out",
                             "str s=x -> Tensor out",
                             "str s='a, b' -> Tensor out",
                             "str s=''' -> Tensor out",
                             "Tensor t=1 -> Tensor out",
                             "int[] k=1 -> Tensor out",
                             "float f=0x1p3 -> Tensor out",
                             "float f=inf -> Tensor out",
                             "int k=99999999999999999999 -> Tensor out",
                             "int  k -> Tensor out",
                             "int k= -> Tensor out"}) {
    EXPECT_NE(schema_problem(schema), "") << schema;
  }
  std::string many = "Tensor p0";
  for (int i = 1; i < 31; ++i) many += ", Tensor p" + std::to_string(i);
  EXPECT_EQ(schema_problem(many + " -> Tensor out"), "");
  EXPECT_NE(schema_problem(many + ", Tensor q -> Tensor out"), "");
}

TEST(OperatorSet, NodesPrintAndParse) {
  const std::string text =
      "method forward(%x: f32[2,3]@cpu) {\n  %y: f32[2,3]@cpu = my::gain(%x, 2.5) \"first\"\n  return %y\n}";
  const auto set = set_of({gain()});
  const auto module = parse(text, "test", "", set);
  ASSERT_TRUE(module.ok()) << module.error().text();
  const auto again = parse(print(*module), "again", "", set);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(print(*module), print(*again));
  const auto without = parse(text);
  ASSERT_FALSE(without.ok());
  has(without.error().text(), "the operator 'my::gain' does not exist");
}

TEST(OperatorSet, ResultsLieWhereTheArgumentsDo) {
  const auto module = parse("method forward(%x: f32[2]@cuda:1) {\n%y: f32[2]@cuda:1 = my::gain(%x)\nreturn %y\n}",
                            "test", "", set_of({gain()}));
  ASSERT_TRUE(module.ok()) << module.error().text();
  Module copy = *module;
  Builder build(copy, copy.methods[0], copy.methods[0].body);
  const auto made = build.create(*copy.operators->find("my::gain"), {copy.methods[0].body.inputs[0]}, "made");
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(copy.methods[0].tensor(made->at(0)).device, Device(DeviceType::kCuda, 1));
}

TEST(OperatorSet, AModuleKeepsItsOperatorsAlive) {
  const auto module =
      parse("method forward(%x: f32[2]) {\n%y: f32[2] = my::gain(%x)\nreturn %y\n}", "test", "", set_of({gain()}));
  ASSERT_TRUE(module.ok());
  EXPECT_NE(print(*module).find("my::gain"), std::string::npos);
}

TEST(OperatorSet, ModelsThatBecomeOneHaveOneSet) {
  const auto method = [](const char* name, const std::shared_ptr<const OperatorSet>& set) {
    auto module = parse(std::string("method ") + name + "(%x: f32[2]) {\n%y: f32[2] = " +
                            (set == nullptr ? "aten::relu" : "my::gain") + "(%x)\nreturn %y\n}",
                        "test", "", set);
    EXPECT_TRUE(module.ok());
    return std::move(*module);
  };
  const auto set = set_of({gain()});
  std::vector<Module> some;
  for (const auto& [name, its] : {std::pair("a", std::shared_ptr<const OperatorSet>()), {"b", set}, {"c", set}}) {
    some.push_back(method(name, its));
  }
  const auto merged = merge(std::move(some));
  ASSERT_TRUE(merged.ok()) << merged.error().text();
  EXPECT_EQ(merged->operators, set);
  std::vector<Module> others;
  others.push_back(method("a", set));
  others.push_back(method("b", set_of({gain()})));
  const auto different = merge(std::move(others));
  ASSERT_FALSE(different.ok());
  has(different.error().text(), "different sets of operators");
}

}  // namespace
}  // namespace berth::ir

// ExecuTorch's operators on caches, as they stand in archives: written in place, or functionalised. Queries of 0 see
// each row alike, so that the result is the mean of the rows seen; the figures are worked out by hand.
#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

const std::vector<json> kRow = {1, 1, 1, 1};
const std::vector<json> kCache = {1, 4, 1, 1};

json operator_named(const std::string& target) { return {{"as_operator", "torch.ops." + target}}; }

// Inputs q, k, v and start, two caches of four rows.
TestProgram caches() {
  TestProgram p;
  p.payload("weight_0", {0, 0, 0, 0});
  p.payload("weight_1", {0, 0, 0, 0});
  p.buffer("b_k", "k", tensor_meta(kCache), "weight_0");
  p.buffer("b_v", "v", tensor_meta(kCache), "weight_1");
  for (const char* name : {"q", "k", "v"}) p.input(name, kRow);
  p.input("start", {}, kI64);
  p.node("aten.item.default", {{"self", tensor("start")}}, json::array({sym_int("at")}));
  return p;
}

// Changes the caches, which are then called `k_name` and `v_name`.
void attend(TestProgram& p, const std::string& k_name, const std::string& v_name) {
  p.node("llama.custom_sdpa.default",
         {{"query", tensor("q")},
          {"key", tensor(k_name)},
          {"value", tensor(v_name)},
          {"start_pos", sym_int("at")},
          {"attn_mask", nothing()},
          {"drpout_p", real(0)},
          {"is_causal", truth(true)}},
         "y", kRow);
  p.output("y");
}

void mutation(TestProgram& p, const std::string& value, const std::string& target) {
  p.special_output(tensor(value), {{"buffer_mutation", {{"arg", {{"name", value}}}, {"buffer_name", target}}}});
}

TestProgram in_place() {
  TestProgram p = caches();
  for (const char* name : {"k", "v"}) {
    p.node("llama.update_cache.default",
           {{"value", tensor(name)}, {"cache", tensor(std::string("b_") + name)}, {"start_pos", sym_int("at")}},
           std::string("update_") + name, {1});
  }
  attend(p, "b_k", "b_v");
  return p;
}

TestProgram functionalized() {
  TestProgram p = caches();
  for (const std::string name : {"k", "v"}) {
    p.node("higher_order.auto_functionalized_v2",
           {{"", operator_named("llama.update_cache.default")},
            {"value", tensor(name)},
            {"start_pos", sym_int("at")},
            {"_cache_base_index", integer(0)},
            {"_all_bases", tensor_list({"b_" + name})}},
           json::array({tensor("unused_" + name), tensor("new_" + name)}));
    mutation(p, "new_" + name, name);
  }
  attend(p, "new_k", "new_v");
  return p;
}

TestProgram functionalized_first_version() {
  TestProgram p = caches();
  p.node("higher_order.auto_functionalized",
         {{"", operator_named("llama.sdpa_with_kv_cache.default")},
          {"query", tensor("q")},
          {"key", tensor("k")},
          {"value", tensor("v")},
          {"key_cache", tensor("b_k")},
          {"value_cache", tensor("b_v")},
          {"start_pos", sym_int("at")},
          {"seq_len", integer(1)},
          {"is_causal", truth(true)}},
         json::array({tensor("y"), tensor("new_k"), tensor("new_v")}));
  mutation(p, "new_k", "k");
  mutation(p, "new_v", "v");
  p.output("y");
  return p;
}

float step(const ir::Module& module, float value, int64_t start, std::map<ir::StateId, eval::Array>* states) {
  const std::vector<int32_t> sizes = {1, 1, 1, 1};
  const auto outputs =
      run(module, {floats(sizes, {0}), floats(sizes, {1}), floats(sizes, {value}), array(DType::kI64, {}, Ints{start})},
          states);
  return outputs.empty() ? -1 : numbers(outputs.back())[0];
}

TEST(CacheOperatorsPt2, AllFormsOfTheFileAreOneModel) {
  for (const TestProgram& program : {in_place(), functionalized(), functionalized_first_version()}) {
    const auto module = program.import();
    ASSERT_TRUE(module.ok()) << module.error().text();
    ASSERT_EQ(module->states.size(), 2u);
    std::map<ir::StateId, eval::Array> states;
    EXPECT_EQ(step(*module, 4, 0, &states), 4);
    EXPECT_EQ(step(*module, 8, 1, &states), 6);
    EXPECT_EQ(step(*module, 0, 2, &states), 4);
    EXPECT_EQ(step(*module, 6, 0, &states), 6) << "the rows behind are not seen";
  }
}

// What a functionalised operator writes keeps its value for other readers.
TEST(CacheOperatorsPt2, TheOldValueOfAFunctionalizedCacheStays) {
  TestProgram p = functionalized();
  p.node("aten.sum.default", {{"self", tensor("b_v")}}, "sum", {});
  p.output("sum");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  std::map<ir::StateId, eval::Array> states;
  EXPECT_EQ(step(*module, 4, 0, &states), 0);
  EXPECT_EQ(step(*module, 8, 1, &states), 4);
}

// A part of a buffer, as it is given to the operator.
TEST(CacheOperatorsPt2, AViewThatIsWrittenChangesItsBase) {
  TestProgram p;
  p.payload("weight_0", {1, 2, 3, 4});
  p.buffer("b_k", "k", tensor_meta(kCache), "weight_0");
  p.input("k", kRow);
  p.node("aten.slice.Tensor",
         {{"self", tensor("b_k")}, {"dim", integer(1)}, {"start", integer(1)}, {"end", integer(3)}}, "part",
         {1, 2, 1, 1});
  p.node("llama.update_cache.default", {{"value", tensor("k")}, {"cache", tensor("part")}, {"start_pos", integer(1)}},
         "update", {1});
  p.node("aten.mul.Tensor", {{"self", tensor("b_k")}, {"other", integer(1)}}, "all", kCache);
  p.output("all");
  const auto outputs = run(p, {floats({1, 1, 1, 1}, {9})});
  EXPECT_EQ(numbers(outputs.back()), Floats({1, 2, 9, 4}));
}

TEST(CacheOperatorsPt2, WhatIsNotReadIsRefusedInASentence) {
  TestProgram p = caches();
  p.node("higher_order.auto_functionalized_v2",
         {{"", operator_named("mine.changes.default")}, {"_all_bases", tensor_list({"b_k"})}},
         json::array({tensor("a"), tensor("b")}));
  p.output("b");
  EXPECT_TRUE(says(failure_of(p.import()), "uses operators that Berth does not have: torch.ops.mine.changes.default"));

  TestProgram view = caches();
  view.node("higher_order.auto_functionalized_v2",
            {{"", operator_named("llama.update_cache.default")},
             {"value", tensor("k")},
             {"start_pos", sym_int("at")},
             {"_cache_base_index", integer(0)},
             {"_cache_slice_dim", integer(1)},
             {"_all_bases", tensor_list({"b_k"})}},
            json::array({tensor("a"), tensor("b")}));
  view.output("b");
  EXPECT_TRUE(says(failure_of(view.import()), "writes a view as its argument 'cache'"));

  TestProgram index = caches();
  index.node("higher_order.auto_functionalized_v2",
             {{"", operator_named("llama.update_cache.default")},
              {"value", tensor("k")},
              {"start_pos", sym_int("at")},
              {"_cache_base_index", integer(1)},
              {"_all_bases", tensor_list({"b_k"})}},
             json::array({tensor("a"), tensor("b")}));
  index.output("b");
  EXPECT_TRUE(says(failure_of(index.import()), "does not say what its 'cache' is"));
}

}  // namespace
}  // namespace berth::pt2

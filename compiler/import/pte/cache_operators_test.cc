// ExecuTorch's operators on caches. Queries of 0 see each row alike, so that the result is the mean of the rows seen;
// the figures are worked out by hand.
#include <cmath>

#include "compiler/import/pte/import_testing.h"

namespace berth::pte::testing {
namespace {

// 0 query   1 key   2 value   3 start   4 the same as a number   5 and 6 caches of four rows   7 result
MethodDesc caches(int32_t heads = 1) {
  MethodDesc m;
  m.values = {tensor({1, 1, heads, 1}, 0),
              tensor({1, 1, 1, 1}, 16),
              tensor({1, 1, 1, 1}, 32),
              tensor({1}, 48, DType::kI64),
              int64_t{0},
              tensor({1, 4, 1, 1}, 64),
              tensor({1, 4, 1, 1}, 80),
              tensor({1, 1, heads, 1}, 96)};
  m.inputs = {0, 1, 2, 3};
  m.outputs = {7};
  m.operators = {{"aten::_local_scalar_dense", ""}};
  m.instructions = {KernelCallDesc{0, {3, 4}}};
  return m;
}

// 8 the number of rows   9 none   10 dropout   11 causal
MethodDesc sdpa_with_kv_cache() {
  MethodDesc m = caches();
  m.values.insert(m.values.end(), {int64_t{1}, NullDesc(), 0.0, true});
  m.operators.push_back({"llama::sdpa_with_kv_cache", "out"});
  m.instructions.emplace_back(KernelCallDesc{1, {0, 1, 2, 5, 6, 4, 8, 9, 10, 11, 9, 7, 7}});
  return m;
}

std::vector<eval::Item> inputs(float value, int64_t start, int32_t heads = 1) {
  return {floats({1, 1, heads, 1}, Floats(heads)), floats({1, 1, 1, 1}, {1}), floats({1, 1, 1, 1}, {value}),
          array(DType::kI64, {1}, bytes_of<int64_t>({start}))};
}

TEST(CacheOperators, EachCallSeesTheRowsOfThoseBefore) {
  const ir::Module module = imported(program_of(sdpa_with_kv_cache()));
  ASSERT_EQ(module.states.size(), 2u);
  States states;
  EXPECT_EQ(numbers(run(module, inputs(4, 0), &states)[0]), (Floats{4}));
  EXPECT_EQ(numbers(run(module, inputs(8, 1), &states)[0]), (Floats{6}));
  EXPECT_EQ(numbers(run(module, inputs(0, 2), &states)[0]), (Floats{4}));
  EXPECT_EQ(numbers(run(module, inputs(6, 0), &states)[0]), (Floats{6})) << "the rows behind are not seen";
  EXPECT_EQ(numbers(run(module, inputs(8, 1), &states)[0]), (Floats{7}));
}

TEST(CacheOperators, ARowBehindTheEndIsAnError) {
  const ir::Module module = imported(program_of(sdpa_with_kv_cache()));
  States states;
  eval::EvaluateOptions options;
  options.states = &states;
  EXPECT_TRUE(eval::evaluate(module, module.methods[0], inputs(1, 3), options).ok());
  EXPECT_FALSE(eval::evaluate(module, module.methods[0], inputs(1, 4), options).ok());
}

// Two writes, then attention of two heads that share one head of keys; the results of writes mean nothing.
TEST(CacheOperators, UpdatesAreSeenByWhatComesAfterThem) {
  MethodDesc m = caches(2);
  m.values.insert(m.values.end(), {tensor({1}, 112), NullDesc(), 0.0, true, 2.0});  // 8 to 12
  m.operators.push_back({"llama::update_cache", "out"});
  m.operators.push_back({"llama::custom_sdpa", "out"});
  m.instructions.emplace_back(KernelCallDesc{1, {1, 5, 4, 8, 8}});
  m.instructions.emplace_back(KernelCallDesc{1, {2, 6, 4, 8, 8}});
  m.instructions.emplace_back(KernelCallDesc{2, {0, 5, 6, 4, 9, 10, 11, 12, 7, 7}});
  const ir::Module module = imported(program_of(m));
  States states;
  EXPECT_EQ(numbers(run(module, inputs(4, 0, 2), &states)[0]), (Floats{4, 4}));
  EXPECT_EQ(numbers(run(module, inputs(8, 1, 2), &states)[0]), (Floats{6, 6}));
  // Weights of e^(2 * q * k) with q of 0 and of ln 3 / 2, and k of 1 in all rows seen: equal.
  std::vector<eval::Item> asked = inputs(0, 2, 2);
  asked[0] = floats({1, 1, 2, 1}, {0, std::log(3.f) / 2});
  EXPECT_EQ(numbers(run(module, asked, &states)[0]), (Floats{4, 4}));
}

// A mask is added; places are said row by row.
TEST(CacheOperators, ARingIsWrittenWhereItsPlacesSay) {
  MethodDesc m = caches();
  m.values.insert(m.values.end(), {tensor({1}, 112), NullDesc(), 0.0, false, tensor({1, 1}, 128, DType::kI64),
                                   tensor({1, 4}, 144)});  // 8 to 13
  m.inputs = {0, 1, 2, 3, 12, 13};
  m.operators.push_back({"llama::update_cache_with_indices", "out"});
  m.operators.push_back({"llama::custom_sdpa", "out"});
  m.instructions.emplace_back(KernelCallDesc{1, {1, 5, 4, 12, 8, 8}});
  m.instructions.emplace_back(KernelCallDesc{1, {2, 6, 4, 12, 8, 8}});
  m.instructions.emplace_back(KernelCallDesc{2, {0, 5, 6, 4, 13, 10, 11, 9, 7, 7}});
  const ir::Module module = imported(program_of(m));
  States states;
  const float none = -HUGE_VALF;
  const auto step = [&](float value, int64_t place, const Floats& mask) {
    std::vector<eval::Item> all = inputs(value, 9);  // the start is not looked at
    all.push_back(array(DType::kI64, {1, 1}, bytes_of<int64_t>({place})));
    all.push_back(floats({1, 4}, mask));
    return numbers(run(module, all, &states)[0])[0];
  };
  EXPECT_EQ(step(5, 3, {none, none, none, 0}), 5);
  EXPECT_EQ(step(1, 0, {0, none, none, 0}), 3);
  EXPECT_FLOAT_EQ(step(7, 3, {std::log(3.f), none, none, 0}), 2.5) << "a place is used again";
  EXPECT_TRUE(std::isnan(step(7, 3, {none, none, none, none}))) << "as ExecuTorch's";
}

TEST(CacheOperators, WhatDoesNotFitIsRefusedInASentence) {
  MethodDesc m = sdpa_with_kv_cache();
  std::get<format::TensorDesc>(m.values[5]).sizes = {1, 2, 2, 1};
  has(refusal(program_of(m)),
      "instruction 1 llama::sdpa_with_kv_cache.out: rows of f32[1,1,1,1] do not fit in a cache "
      "of f32[1,2,2,1]");
  m = sdpa_with_kv_cache();
  m.values.emplace_back(tensor({1, 3}, 144));
  m.inputs.push_back(12);
  std::get<KernelCallDesc>(m.instructions[1]).args[7] = 12;
  has(refusal(program_of(m)), "a mask together with is_causal");
  m.values[11] = false;
  has(refusal(program_of(m)), "expected a mask [queries, rows of the cache], found f32[1,3]");
  m = sdpa_with_kv_cache();
  std::get<KernelCallDesc>(m.instructions[1]).args[0] = 9;
  has(refusal(program_of(m)), "to be a tensor");
  m = sdpa_with_kv_cache();
  std::get<KernelCallDesc>(m.instructions[1]).args.resize(9);
  has(refusal(program_of(m)), "has only 9 arguments");
}

}  // namespace
}  // namespace berth::pte::testing

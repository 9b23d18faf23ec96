// Attention and what stands around it, standard and as ONNX Runtime's optimiser writes it. Figures are worked out by
// hand.
#include <cmath>

#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

/// One head of one feature over keys 0: weights are equal where a key is seen.
Floats attention(int64_t queries, int64_t keys, const Floats& values, const std::vector<float>* mask, int causal) {
  TestModel m(24);
  m.input("q", {1, 1, queries, 1});
  m.input("v", {1, 1, keys, 1});
  m.floats("k", {1, 1, keys, 1}, Floats(keys, 0));
  std::vector<std::string> inputs = {"q", "k", "v"};
  if (mask != nullptr) {
    m.floats(
        "mask",
        {static_cast<int64_t>(mask->size()) / queries == 0 ? 1 : queries, static_cast<int64_t>(mask->size()) / queries},
        *mask);
    inputs.emplace_back("mask");
  }
  m.node("Attention", inputs, {"y"}).set("is_causal", causal);
  m.output("y");
  return numbers<float>(run(m, {floats({1, 1, static_cast<int32_t>(queries), 1}, Floats(queries, 1)),
                                floats({1, 1, static_cast<int32_t>(keys), 1}, values)}));
}

TEST(Attention, RowsSeeKeysUpToTheirOwn) {
  expect_near(attention(2, 3, {1, 3, 8}, nullptr, 0), {4, 4}, 1e-5f);
  expect_near(attention(2, 3, {1, 3, 8}, nullptr, 1), {1, 2}, 1e-5f);
}

TEST(Attention, ShortMasksHideTheRest) {
  const Floats mask = {0, 0};
  expect_near(attention(1, 3, {1, 3, 8}, &mask, 0), {2}, 1e-5f);
}

TEST(Attention, RowsThatSeeNothingAreZero) {
  const float hidden = -HUGE_VALF;
  const Floats mask = {hidden, hidden, hidden, 0, hidden, hidden};
  expect_near(attention(2, 3, {1, 3, 8}, &mask, 0), {0, 1}, 1e-5f);
}

TEST(Attention, SupportsSharedHeadsAndThePast) {
  TestModel m(23);
  m.input("q", {1, 1, 2});  // two heads of queries, one of keys
  m.input("v", {1, 1, 1});
  m.floats("past", {1, 1, 1, 1}, {10});
  m.node("Attention", {"q", "v", "v", "", "past", "past"}, {"y", "k", "w"})
      .set("q_num_heads", 2)
      .set("kv_num_heads", 1)
      .set("scale", 0.0f);
  m.output("y");
  m.output("k");
  const auto outputs = run(m, {floats({1, 1, 2}, {1, 5}), floats({1, 1, 1}, {20})});
  expect_near(numbers<float>(outputs), {15, 15}, 1e-5f);
  expect_near(numbers<float>(outputs, 1), {10, 20}, 1e-5f);
}

TEST(Attention, HostileShapesAreRefused) {
  const auto with = [](const Ints& q, const Ints& k, const Ints& v, int64_t heads) {
    TestModel m(23);
    m.input("q", q);
    m.input("k", k);
    m.input("v", v);
    m.node("Attention", {"q", "k", "v"}, {"y"}).set("q_num_heads", heads).set("kv_num_heads", heads);
    m.output("y");
    return failure(m);
  };
  EXPECT_EQ(with({1, 2, 4}, {1, 3, 4}, {1, 3, 4}, 2), "");
  EXPECT_NE(with({1, 2, 4}, {1, 3, 4}, {1, 3, 4}, 0), "");
  EXPECT_NE(with({1, 2, 4}, {1, 3, 4}, {1, 3, 4}, 3), "");
  EXPECT_NE(with({}, {1, 3, 4}, {1, 3, 4}, 2), "");
  EXPECT_NE(with({1, 2, 0}, {1, 3, 0}, {1, 3, 4}, 2), "");
  EXPECT_NE(with({1, 2, 4}, {1, 3, 6}, {1, 3, 4}, 2), "");
  EXPECT_NE(with({1, 2, 2, 4}, {1, 0, 3, 4}, {1, 0, 3, 4}, 2), "");
}

TEST(RotaryEmbedding, RotatesPairsByTheirPosition) {
  for (const int interleaved : {0, 1}) {
    TestModel m(23);
    m.input("x", {1, 1, 1, 6});
    m.floats("cos", {2, 2}, {1, 1, 0, 0});
    m.floats("sin", {2, 2}, {0, 0, 1, 1});
    m.tensor("at", {1, 1}, ElementType::kInt64).add_int64_data(1);  // a quarter turn
    m.node("RotaryEmbedding", {"x", "cos", "sin", "at"}, {"y"})
        .set("interleaved", interleaved)
        .set("rotary_embedding_dim", 4);
    m.output("y");
    expect_near(numbers<float>(run(m, {floats({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6})})),
                interleaved ? Floats{-2, 1, -4, 3, 5, 6} : Floats{-3, -4, 1, 2, 5, 6});
  }
}

TEST(RotaryEmbedding, HostileSizesAreRefused) {
  const auto with = [](const Ints& x, const Ints& cache, int64_t count, int64_t heads) {
    TestModel m(23);
    m.input("x", x);
    m.input("c", cache);
    m.node("RotaryEmbedding", {"x", "c", "c"}, {"y"}).set("rotary_embedding_dim", count).set("num_heads", heads);
    m.output("y");
    return failure(m);
  };
  EXPECT_EQ(with({1, 3, 2, 4}, {1, 2, 2}, 0, 0), "");
  EXPECT_NE(with({1, 3, 2, 4}, {1, 2, 2}, 3, 0), "");
  EXPECT_NE(with({1, 3, 2, 4}, {1, 2, 2}, 8, 0), "");
  EXPECT_NE(with({1, 3, 2, 4}, {1, 2, 2}, -2, 0), "");
  EXPECT_NE(with({1, 3, 2, 4}, {}, 0, 0), "");
  EXPECT_NE(with({1, 3, 4}, {1, 3, 2}, 0, 0), "");
  EXPECT_NE(with({1}, {1, 3, 2}, 0, 0), "");
}

TEST(SkipLayerNormalization, GivesTheSumToo) {
  TestModel m;
  m.input("x", {1, 2});
  m.floats("skip", {1, 2}, {1, 1});
  m.floats("gamma", {2}, {2, 2});
  m.floats("beta", {2}, {0, 1});
  m.floats("bias", {2}, {0, 2});
  m.node("SkipLayerNormalization", {"x", "skip", "gamma", "beta", "bias"}, {"y", "", "", "sum"})
      .domain("com.microsoft");
  m.output("y");
  m.output("sum");
  const auto outputs = run(m, {floats({1, 2}, {3, 5})});
  expect_near(numbers<float>(outputs), {-2, 3}, 1e-5f);
  expect_near(numbers<float>(outputs, 1), {4, 8}, 1e-5f);
}

TEST(FusedMatMul, TransposesAndScales) {
  TestModel m;
  m.input("a", {2, 1});
  m.floats("b", {3, 2}, {1, 2, 3, 4, 5, 6});
  m.node("FusedMatMul", {"a", "b"}, {"y"}).domain("com.microsoft").set("transA", 1).set("transB", 1).set("alpha", 0.5f);
  m.output("y");
  expect_near(numbers<float>(run(m, {floats({2, 1}, {2, 4})})), {5, 11, 17});
}

}  // namespace
}  // namespace berth::onnx

// Experts of mixtures: rows that are sorted by the matrix that multiplies them.
#include <cmath>

#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

// Three matrices, [2, 1] each: (1, 10), (100, 1000), (10000, 100000).
TestProgram experts() {
  TestProgram p;
  p.payload("weight_0", {1, 10, 100, 1000, 10000, 100000});
  p.parameter("p_w", "w", tensor_meta({3, 2, 1}), "weight_0");
  p.input("x", {4, 2});
  p.input("ends", {3}, kI64);
  p.node("transformers.grouped_mm_fallback.default",
         {{"input", tensor("x")}, {"weight", tensor("p_w")}, {"offs", tensor("ends")}}, "y", {4, 1});
  p.output("y");
  return p;
}

Floats with_ends(const Ints& ends, const Floats& x = {1, 2, 3, 4, 5, 6, 7, 8}) {
  const auto outputs = run(experts(), {floats({4, 2}, x), array(DType::kI64, {3}, ends)});
  return outputs.empty() ? Floats() : numbers(outputs[0]);
}

TEST(GroupedPt2, RowsGoToTheExpertThatTheyAreSortedTo) {
  EXPECT_EQ(with_ends({1, 2, 4}), Floats({21, 4300, 650000, 870000}));
}

TEST(GroupedPt2, ExpertsWithoutRowsAreSkipped) {
  EXPECT_EQ(with_ends({0, 4, 4}), Floats({2100, 4300, 6500, 8700}));
  EXPECT_EQ(with_ends({4, 4, 4}), Floats({21, 43, 65, 87}));
}

TEST(GroupedPt2, RowsBehindTheLastExpertAreZero) { EXPECT_EQ(with_ends({0, 1, 2}), Floats({2100, 430000, 0, 0})); }

TEST(GroupedPt2, NumbersOfOneRowDoNotSpoilAnother) {
  const Floats y = with_ends({1, 2, 4}, {NAN, 2, 3, 4, INFINITY, 6, 7, 8});
  ASSERT_EQ(y.size(), 4u);
  EXPECT_EQ(Floats({y[1], y[2], y[3]}), Floats({4300, INFINITY, 870000}));
}

TEST(GroupedPt2, MatricesOfGroupsAloneAreRefused) {
  TestProgram p;
  p.input("x", {2, 4, 2});
  p.input("w", {2, 2, 3});
  p.node("aten._grouped_mm.default", {{"self", tensor("x")}, {"mat2", tensor("w")}}, "y", {2, 4, 3});
  p.output("y");
  says(failure_of(p.import()), "rows that are sorted by group ('offs')");
}

}  // namespace
}  // namespace berth::pt2

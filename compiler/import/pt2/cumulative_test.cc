// Running results and reductions by index.
#include <cmath>

#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

constexpr float kInf = INFINITY;

/// The first result of aten.`name` over dimension 1 of [1, 7] numbers.
Floats running(const std::string& name, const Floats& x) {
  TestProgram p;
  p.input("x", {1, 7});
  p.node("aten." + name + ".default", {{"self", tensor("x")}, {"dim", integer(1)}}, "y", {1, 7});
  p.output("y");
  return numbers(run(p, {floats({1, 7}, x)})[0]);
}

TEST(CumulativePt2, ProductsOfAllBefore) {
  EXPECT_EQ(running("cumprod", {2, 3, -1, 0.5F, 4, 0, 7}), Floats({2, 6, -6, -3, -12, 0, 0}));
}

TEST(CumulativePt2, SumsOfExponentialsStayFinite) {
  const Floats y = running("logcumsumexp", {-kInf, -kInf, 1000, 1000, -5, 1001, kInf});
  EXPECT_EQ(y[0], -kInf);
  EXPECT_EQ(y[1], -kInf);
  EXPECT_EQ(y[2], 1000);
  EXPECT_FLOAT_EQ(y[3], 1000 + std::log(2.0F));
  EXPECT_FLOAT_EQ(y[4], 1000 + std::log(2.0F));
  EXPECT_FLOAT_EQ(y[5], 1001 + std::log1p(2 * std::exp(-1.0F)));
  EXPECT_EQ(y[6], kInf);
}

TEST(CumulativePt2, ExtremesSayWhereTheyWereSeenLast) {
  TestProgram p;
  p.input("x", {7});
  p.node("aten.cummax.default", {{"self", tensor("x")}, {"dim", integer(0)}}, json::array({tensor("v"), tensor("i")}));
  p.output("v");
  p.output("i");
  const auto outputs = run(p, {floats({7}, {-kInf, 3, 1, 3, 2, NAN, 9})});
  const Floats v = numbers(outputs[0]);
  EXPECT_EQ(Floats(v.begin(), v.begin() + 5), Floats({-kInf, 3, 3, 3, 3}));
  EXPECT_TRUE(std::isnan(v[5]) && std::isnan(v[6]));
  EXPECT_EQ(numbers<int64_t>(outputs[1]), Ints({0, 1, 1, 3, 3, 5, 5}));
}

// Three numbers go to place 1, one to place 0, none to place 2.
Floats scattered(const std::string& how, bool with_self) {
  TestProgram p;
  p.input("x", {3});
  p.input("i", {4}, kI64);
  p.input("v", {4});
  p.node("aten.scatter_reduce.two",
         {{"self", tensor("x")},
          {"dim", integer(0)},
          {"index", tensor("i")},
          {"src", tensor("v")},
          {"reduce", text(how)},
          {"include_self", truth(with_self)}},
         "y", {3});
  p.output("y");
  const auto outputs =
      run(p, {floats({3}, {10, 20, 30}), array(DType::kI64, {4}, Ints({1, 0, 1, 1})), floats({4}, {1, 2, 3, 8})});
  return outputs.empty() ? Floats() : numbers(outputs[0]);
}

TEST(CumulativePt2, MeansCountWhatTheyAdd) {
  EXPECT_EQ(scattered("mean", true), Floats({6, 8, 30}));
  EXPECT_EQ(scattered("mean", false), Floats({2, 4, 30}));
}

TEST(CumulativePt2, OtherReductionsAreTheKernels) {
  EXPECT_EQ(scattered("amax", false), Floats({2, 8, 30}));
  EXPECT_EQ(scattered("prod", true), Floats({20, 480, 30}));
  TestProgram p;
  p.input("x", {3});
  p.input("i", {3}, kI64);
  p.node("aten.scatter_reduce.two",
         {{"self", tensor("x")},
          {"dim", integer(0)},
          {"index", tensor("i")},
          {"src", tensor("x")},
          {"reduce", text("median")}},
         "y", {3});
  p.output("y");
  says(failure_of(p.import()), "not one of sum, prod, mean, amax, amin");
}

TEST(CumulativePt2, HistogramsHaveBothEndsAndNothingOutside) {
  TestProgram p;
  p.input("x", {8});
  p.node("aten.histc.default", {{"self", tensor("x")}, {"bins", integer(3)}, {"min", integer(0)}, {"max", integer(6)}},
         "y", {3});
  p.output("y");
  EXPECT_EQ(numbers(run(p, {floats({8}, {-0.1F, 0, 1.9F, 2, 5.9F, 6, 6.1F, NAN})})[0]), Floats({2, 1, 2}));
}

TEST(CumulativePt2, RowsAreReducedByTheirIndex) {
  TestProgram p;
  p.input("x", {2, 2});
  p.input("i", {3}, kI64);
  p.input("v", {3, 2});
  p.node("aten.index_reduce.default",
         {{"self", tensor("x")},
          {"dim", integer(0)},
          {"index", tensor("i")},
          {"source", tensor("v")},
          {"reduce", text("mean")},
          {"include_self", truth(false)}},
         "y", {2, 2});
  p.output("y");
  const auto outputs = run(
      p, {floats({2, 2}, {1, 2, 3, 4}), array(DType::kI64, {3}, Ints({1, 1, 1})), floats({3, 2}, {3, 0, 6, 0, 9, 3})});
  EXPECT_EQ(numbers(outputs[0]), Floats({1, 2, 6, 1}));
}

}  // namespace
}  // namespace berth::pt2

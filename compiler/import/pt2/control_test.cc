// Branches and loops of torch.export: the regions that they become, and what the evaluator computes of them.
#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

TEST(ControlPt2, CondIsAnIf) {
  TestGraph yes, no;
  yes.placeholder("a", {2});
  yes.node("aten.add.Tensor", {{"self", tensor("a")}, {"other", integer(1)}}, "t", {2});
  yes.result(tensor("t"));
  no.placeholder("b", {2});
  no.node("aten.mul.Tensor", {{"self", tensor("b")}, {"other", integer(10)}}, "f", {2});
  no.result(tensor("f"));
  TestProgram p;
  p.input("x", {2});
  p.input("flag", {}, kBool);
  p.node("higher_order.cond",
         {{"", tensor("flag")}, {"", yes.as_argument()}, {"", no.as_argument()}, {"", tensor_list({"x"})}}, "y", {2});
  p.output("y");
  const std::vector<uint8_t> on{1}, off{0};
  EXPECT_EQ(numbers(run(p, {floats({2}, {1, 2}), array(DType::kBool, {}, on)})[0]), Floats({2, 3}));
  EXPECT_EQ(numbers(run(p, {floats({2}, {1, 2}), array(DType::kBool, {}, off)})[0]), Floats({10, 20}));
}

TEST(ControlPt2, APredicateIsOneBool) {
  constexpr int kComplex128 = 11;
  const std::vector<std::pair<int, std::vector<json>>> cases = {{kI64, {}}, {kComplex128, {}}, {kBool, {2}}};
  for (const auto& [dtype, sizes] : cases) {
    TestGraph yes, no;
    for (TestGraph* graph : {&yes, &no}) {
      graph->placeholder("a", {2});
      graph->node("aten.relu.default", {{"self", tensor("a")}}, "r", {2});
      graph->result(tensor("r"));
    }
    TestProgram p;
    p.input("x", {2});
    p.input("flag", sizes, dtype);
    p.node("higher_order.cond",
           {{"", tensor("flag")}, {"", yes.as_argument()}, {"", no.as_argument()}, {"", tensor_list({"x"})}}, "y", {2});
    p.output("y");
    const bool complex = dtype == kComplex128;
    EXPECT_TRUE(
        says(failure_of(p.import()), complex ? "holds complex numbers" : "expected a condition that is one bool"));
  }
}

TEST(ControlPt2, WhileLoopIsAWhile) {
  TestGraph condition, body;
  for (TestGraph* graph : {&condition, &body}) {
    graph->placeholder("i", {}, kI64);
    graph->placeholder("x", {2});
  }
  condition.node("aten.lt.Scalar", {{"self", tensor("i")}, {"other", integer(3)}}, "less", {}, kBool);
  condition.result(tensor("less"));
  body.node("aten.add.Tensor", {{"self", tensor("i")}, {"other", integer(1)}}, "next", {}, kI64);
  body.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", integer(2)}}, "twice", {2});
  body.result(tensor("next"));
  body.result(tensor("twice"));
  TestProgram p;
  p.input("i", {}, kI64);
  p.input("x", {2});
  p.node(
      "higher_order.while_loop",
      {{"", condition.as_argument()}, {"", body.as_argument()}, {"", tensor_list({"i", "x"})}, {"", tensor_list({})}},
      json::array({tensor("last"), tensor("y")}));
  p.output("last");
  p.output("y");
  const auto outputs = run(p, {array(DType::kI64, {}, Ints{1}), floats({2}, {1, 5})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(numbers<int64_t>(outputs[0]), Ints({3}));
  EXPECT_EQ(numbers(outputs[1]), Floats({4, 20}));
}

TEST(ControlPt2, MapAndScanGoThroughRows) {
  TestGraph body;  // (carry, row, k) → carry + row, row * k
  body.placeholder("carry", {2});
  body.placeholder("row", {2});
  body.placeholder("k", {2});
  body.node("aten.add.Tensor", {{"self", tensor("carry")}, {"other", tensor("row")}}, "sum", {2});
  body.node("aten.mul.Tensor", {{"self", tensor("row")}, {"other", tensor("k")}}, "product", {2});
  body.result(tensor("sum"));
  body.result(tensor("product"));
  TestProgram p;
  p.input("start", {2});
  p.input("x", {3, 2});
  p.input("k", {2});
  p.node("higher_order.scan",
         {{"", body.as_argument()}, {"", tensor_list({"start"})}, {"", tensor_list({"x"})}, {"", tensor_list({"k"})}},
         json::array({tensor("last"), tensor("all")}));
  p.output("last");
  p.output("all");
  const auto outputs = run(p, {floats({2}, {100, 200}), floats({3, 2}, {1, 2, 3, 4, 5, 6}), floats({2}, {10, 0})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(numbers(outputs[0]), Floats({109, 212}));
  EXPECT_EQ(numbers(outputs[1]), Floats({10, 0, 30, 0, 50, 0}));
}

/// A region of torch.autocast: x y, the product of its elements, and x + x.
TestProgram autocast_region(const char* device, bool enabled) {
  constexpr int kSchemaBF16 = 13;
  TestGraph region;
  region.placeholder("a", {1, 2});
  region.placeholder("w", {2, 2});
  region.node("aten.mm.default", {{"self", tensor("a")}, {"mat2", tensor("w")}}, "m", {1, 2}, kSchemaBF16);
  region.node("aten.prod.default", {{"self", tensor("m")}}, "p", {});
  region.node("aten.add.Tensor", {{"self", tensor("a")}, {"other", tensor("a")}}, "s", {1, 2});
  for (const char* result : {"m", "p", "s"}) region.result(tensor(result));
  TestProgram p;
  p.input("x", {1, 2});
  p.input("y", {2, 2});
  p.node("higher_order.wrap_with_autocast",
         {{"", text(device)},
          {"", element_type(kSchemaBF16)},
          {"", truth(enabled)},
          {"", truth(false)},
          {"", region.as_argument()},
          {"", tensor("x")},
          {"", tensor("y")}},
         json::array({tensor("m"), tensor("p"), tensor("s")}));
  for (const char* result : {"m", "p", "s"}) p.output(result);
  return p;
}

TEST(ControlPt2, AutocastRoundsWhatProductsReadAlone) {
  const auto inputs = [] { return std::vector<eval::Item>{floats({1, 2}, {1.001f, 1}), floats({2, 2}, {1, 0, 0, 1})}; };
  const auto rounded = run(autocast_region("cpu", true), inputs());
  EXPECT_EQ(std::get<eval::Array>(rounded[0]).dtype, DType::kBF16);
  EXPECT_EQ(std::get<eval::Array>(rounded[1]).dtype, DType::kF32);
  EXPECT_EQ(numbers(rounded[1]), Floats({1}));
  EXPECT_EQ(numbers(rounded[2]), Floats({2.002f, 2}));
  const auto plain = run(autocast_region("cpu", false), inputs());
  EXPECT_EQ(numbers(plain[0]), Floats({1.001f, 1}));
  EXPECT_EQ(numbers(run(autocast_region("cuda", false), inputs())[0]), Floats({1.001f, 1}));
  EXPECT_TRUE(says(failure_of(autocast_region("cuda", true).import()), "run_decompositions()"));
}

}  // namespace
}  // namespace berth::pt2

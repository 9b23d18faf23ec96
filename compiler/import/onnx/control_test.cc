// If, Loop and Scan: what is decided while importing leaves no trace, what is not becomes regions, and what neither can
// carry is refused with a sentence. Figures are worked out by hand.
#include "compiler/import/onnx/graph_testing.h"
#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

void truth(TestModel& m, const std::string& name, bool value) {
  m.tensor(name, {}, ElementType::kBool).add_int32_data(value ? 1 : 0);
}

/// y = condition ? x + x : x · x
void add_if(TestModel& m, const std::string& condition) {
  TestNode node = m.node("If", {condition}, {"y"});
  Inner* yes = graph(node, "then_branch");
  add_node(yes, "Add", {"x", "x"}, {"sum"});
  add_output(yes, "sum");
  Inner* no = graph(node, "else_branch");
  add_node(no, "Mul", {"x", "x"}, {"product"});
  add_output(no, "product");
}

TEST(If, OfAKnownConditionIsOneBranchAlone) {
  for (const bool value : {false, true}) {
    TestModel m;
    m.input("x", {2});
    truth(m, "c", value);
    add_if(m, "c");
    m.output("y");
    EXPECT_EQ(body(m),
              value ? "%y: f32[2] = aten::add.Tensor(%x, %x, 1)\n" : "%y: f32[2] = aten::mul.Tensor(%x, %x)\n");
  }
}

// What torch.onnx writes for squeeze: If (shape[0] == 1) Squeeze else Identity, whose ranks differ.
TEST(If, OfAShapeMayGiveAnotherRank) {
  TestModel m;
  m.input("x", {1, 3});
  m.ints("zero", {0});
  m.ints("one", {1});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"n"});
  m.node("Equal", {"n", "one"}, {"c"});
  TestNode node = m.node("If", {"c"}, {"y"});
  Inner* yes = graph(node, "then_branch");
  add_node(yes, "Squeeze", {"x", "zero"}, {"a"});
  add_output(yes, "a");
  Inner* no = graph(node, "else_branch");
  add_node(no, "Identity", {"x"}, {"b"});
  add_output(no, "b");
  m.output("y");
  EXPECT_CONTAINS(body(m), "%y: f32[3] = ");
}

TEST(If, OfDataRunsOneBranch) {
  TestModel m;
  m.input("x", {2});
  m.input("c", {}, ElementType::kBool);
  add_if(m, "c");
  m.output("y");
  EXPECT_CONTAINS(body(m), "berth::if");
  for (const uint8_t value : {uint8_t{0}, uint8_t{1}}) {
    const auto y = run(m, {floats({2}, {3, 4}), array<uint8_t>(DType::kBool, {}, {value})});
    EXPECT_EQ(numbers<float>(y), value ? (Floats{6, 8}) : (Floats{9, 16}));
  }
}

TEST(If, BranchesOfUnequalTypesAreRefused) {
  TestModel m;
  m.input("x", {1, 3});
  m.input("c", {}, ElementType::kBool);
  m.ints("zero", {0});
  TestNode node = m.node("If", {"c"}, {"y"});
  Inner* yes = graph(node, "then_branch");
  add_node(yes, "Squeeze", {"x", "zero"}, {"a"});
  add_output(yes, "a");
  Inner* no = graph(node, "else_branch");
  add_node(no, "Relu", {"x"}, {"b"});
  add_output(no, "b");
  m.output("y");
  EXPECT_CONTAINS(failure(m), "both branches must give the same types: f32[3] and f32[1,3]");
}

TEST(If, HostileBranchesAreRefused) {
  const auto with = [](bool input, bool output, bool typed) {
    TestModel m;
    m.input("x", {2});
    m.input("c", {}, typed ? ElementType::kBool : ElementType::kFloat);
    TestNode node = m.node("If", {"c"}, {"y"});
    for (const char* name : {"then_branch", "else_branch"}) {
      Inner* g = graph(node, name);
      if (input) add_input(g, "i");
      add_node(g, "Relu", {"x"}, {"r"});
      if (output) add_output(g, "r");
    }
    m.output("y");
    return failure(m);
  };
  EXPECT_EQ(with(false, true, true), "");
  EXPECT_CONTAINS(with(true, true, true), "takes 1 inputs, expected 0");
  EXPECT_CONTAINS(with(false, false, true), "a branch gives fewer results");
  EXPECT_CONTAINS(with(false, true, false), "the condition must be a bool");
  TestModel none;
  none.input("x", {2});
  none.input("c", {}, ElementType::kBool);
  none.node("If", {"c"}, {"y"});
  none.output("y");
  EXPECT_CONTAINS(failure(none), "attribute 'then_branch' must be a graph");
}

// Sizes that are followed become tensors where they are asked for: in a branch, and again outside of it.
TEST(If, SizesMadeATensorInABranchExistOutside) {
  TestModel m;
  m.symbolic_input("x", {"n", "3"});
  m.input("c", {}, ElementType::kBool);
  m.node("Shape", {"x"}, {"s"});
  m.scalar("one", 1);
  TestNode node = m.node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    Inner* g = graph(node, name);
    add_node(g, name[0] == 't' ? "Abs" : "Neg", {"s"}, {"r"});
    add_node(g, "Cast", {"r"}, {"f"}).set("to", 1);
    add_node(g, "Cast", {"f"}, {"i"}).set("to", 7);
    add_output(g, "i");
  }
  m.node("Add", {"y", "s"}, {"z"});
  m.output("z");
  ImportOptions options;
  options.input_shapes = {{"x", "1..4x3"}};
  EXPECT_CONTAINS(body(m, options), "%z: i64[2] = aten::add.Tensor(%y, ");
}

/// y, stacked = loop of `turns` over v ← v + x, stacking v · v; `break_at`: while v's sum stays below it.
void add_loop(TestModel& m, const std::string& turns, const std::string& condition, bool stack, bool data) {
  std::vector<std::string> outputs = {"y"};
  if (stack) outputs.push_back("all");
  TestNode node = m.node("Loop", {turns, condition, "x"}, outputs);
  Inner* g = graph(node, "body");
  for (const char* name : {"i", "c", "v"}) add_input(g, name);
  add_node(g, "Add", {"v", "x"}, {"w"});
  if (data) {
    add_node(g, "ReduceSum", {"w"}, {"sum"}).set("keepdims", 0);
    add_node(g, "Less", {"sum", "limit"}, {"more"});
  } else {
    add_node(g, "Identity", {"c"}, {"more"});
  }
  add_output(g, "more");
  add_output(g, "w");
  if (stack) {
    add_node(g, "Cast", {"i"}, {"number"}).set("to", 1);
    add_node(g, "Mul", {"w", "number"}, {"square"});
    add_output(g, "square");
  }
}

TEST(Loop, ShortOnesAreUnrolled) {
  TestModel m;
  m.input("x", {2});
  m.scalar("turns", 3);
  add_loop(m, "turns", "", true, false);
  m.output("y");
  m.output("all");
  EXPECT_FALSE(contains(body(m), "berth::")) << body(m);
  const auto outputs = run(m, {floats({2}, {1, 2})});
  EXPECT_EQ(numbers<float>(outputs), (Floats{4, 8}));
  EXPECT_EQ(numbers<float>(outputs, 1), (Floats{0, 0, 3, 6, 8, 16}));
}

TEST(Loop, LongOnesAreScans) {
  TestModel m;
  m.input("x", {2});
  m.scalar("turns", 100);
  add_loop(m, "turns", "", true, false);
  m.output("y");
  m.output("all");
  EXPECT_CONTAINS(body(m), "berth::scan");
  const auto outputs = run(m, {floats({2}, {1, 2})});
  EXPECT_EQ(numbers<float>(outputs), (Floats{101, 202}));
  const Floats all = numbers<float>(outputs, 1);
  ASSERT_EQ(all.size(), 200u);
  EXPECT_EQ(all[2 * 7], 9 * 7);  // w is 9 in turn 7
}

TEST(Loop, WithoutIterationsKeepsTheInitialValues) {
  TestModel m;
  m.input("x", {2});
  m.scalar("turns", -5);
  add_loop(m, "turns", "", true, false);
  m.output("y");
  m.output("all");
  const auto outputs = run(m, {floats({2}, {1, 2})});
  EXPECT_EQ(numbers<float>(outputs), (Floats{1, 2}));
  EXPECT_EQ(numbers<float>(outputs, 1), Floats());
}

TEST(Loop, AConditionOfDataIsAWhile) {
  TestModel m;
  m.input("x", {2});
  m.floats("limit", {}, {10});
  m.scalar("turns", 1000);
  truth(m, "go", true);
  add_loop(m, "turns", "go", false, true);
  m.output("y");
  EXPECT_CONTAINS(body(m), "berth::while");
  EXPECT_EQ(numbers<float>(run(m, {floats({2}, {1, 2})})), (Floats{4, 8}));  // 6, 9, 12: not below 10
}

TEST(Loop, ATripCountOfDataIsAWhile) {
  TestModel m;
  m.input("x", {2});
  m.input("turns", {}, ElementType::kInt64);
  add_loop(m, "turns", "", false, false);
  m.output("y");
  for (const int64_t turns : {-1, 0, 5}) {
    const auto y = run(m, {floats({2}, {1, 2}), array<int64_t>(DType::kI64, {}, {turns})});
    const float times = static_cast<float>(std::max<int64_t>(turns, 0) + 1);
    EXPECT_EQ(numbers<float>(y), (Floats{times, 2 * times}));
  }
}

TEST(Loop, UnsupportedResultsAreReported) {
  TestModel stacked;
  stacked.input("x", {2});
  stacked.input("turns", {}, ElementType::kInt64);
  add_loop(stacked, "turns", "", true, false);
  stacked.output("all");
  EXPECT_CONTAINS(failure(stacked),
                  "the number of turns must be known when the model is compiled, and the condition always true, "
                  "for results of each turn (output 1)");

  TestModel endless;
  endless.input("x", {2});
  endless.floats("limit", {}, {10});
  add_loop(endless, "", "", false, false);
  endless.output("y");
  EXPECT_CONTAINS(failure(endless), "a loop without end");

  TestModel growing;
  growing.input("x", {2});
  growing.input("turns", {}, ElementType::kInt64);
  Inner* g = graph(growing.node("Loop", {"turns", "", "x"}, {"y"}), "body");
  for (const char* name : {"i", "c", "v"}) add_input(g, name);
  add_node(g, "Concat", {"v", "x"}, {"w"}).set("axis", 0);
  add_output(g, "c");
  add_output(g, "w");
  growing.output("y");
  EXPECT_CONTAINS(failure(growing), "what goes around must keep its type: f32[2] and f32[4]");

  TestModel few;
  few.input("x", {2});
  graph(few.node("Loop", {"", "", "x"}, {"y"}), "body");
  few.output("y");
  EXPECT_CONTAINS(failure(few), "its body gives less than goes around");
}

// A list that grows turn by turn: its type changes, but each turn is known.
TEST(Loop, ShortOnesMayGrow) {
  TestModel m;
  m.input("x", {1});
  m.scalar("turns", 3);
  Inner* g = graph(m.node("Loop", {"turns", "", "x"}, {"y"}), "body");
  for (const char* name : {"i", "c", "v"}) add_input(g, name);
  add_node(g, "Concat", {"v", "x"}, {"w"}).set("axis", 0);
  add_output(g, "c");
  add_output(g, "w");
  m.output("y");
  EXPECT_EQ(numbers<float>(run(m, {floats({1}, {5})})), (Floats{5, 5, 5, 5}));
}

/// Running sums of the rows of x, and the last of them.
void add_scan(TestModel& m, int64_t in_axis, int64_t in_direction, int64_t out_axis, int64_t out_direction) {
  TestNode node = m.node("Scan", {"start", "x"}, {"last", "all"}).set("num_scan_inputs", 1);
  node.set("scan_input_axes", Ints{in_axis}).set("scan_input_directions", Ints{in_direction});
  node.set("scan_output_axes", Ints{out_axis}).set("scan_output_directions", Ints{out_direction});
  Inner* g = graph(node, "body");
  for (const char* name : {"sum", "row"}) add_input(g, name);
  add_node(g, "Add", {"sum", "row"}, {"next"});
  add_node(g, "Identity", {"next"}, {"copy"});
  add_output(g, "next");
  add_output(g, "copy");
}

TEST(Scan, WalksAnyAxisInBothDirections) {
  struct Case {
    int64_t in_axis, in_direction, out_axis, out_direction;
    Floats last, all;
  };
  // x = [[1 2 3] [4 5 6]]
  const std::vector<Case> cases = {
      {0, 0, 0, 0, {5, 7, 9}, {1, 2, 3, 5, 7, 9}},  {0, 1, 0, 0, {5, 7, 9}, {4, 5, 6, 5, 7, 9}},
      {0, 0, 0, 1, {5, 7, 9}, {5, 7, 9, 1, 2, 3}},  {1, 0, 0, 0, {6, 15}, {1, 4, 3, 9, 6, 15}},
      {-1, 0, -1, 0, {6, 15}, {1, 3, 6, 4, 9, 15}},
  };
  for (const Case& c : cases) {
    TestModel m;
    m.input("x", {2, 3});
    m.floats("start", {static_cast<int64_t>(c.last.size())}, Floats(c.last.size(), 0));
    add_scan(m, c.in_axis, c.in_direction, c.out_axis, c.out_direction);
    m.output("last");
    m.output("all");
    const auto outputs = run(m, {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
    EXPECT_EQ(numbers<float>(outputs), c.last);
    EXPECT_EQ(numbers<float>(outputs, 1), c.all);
  }
}

TEST(Scan, HostileAttributesAreRefused) {
  const auto with = [](int64_t count, int64_t axis) {
    TestModel m;
    m.input("x", {2, 3});
    m.floats("start", {3}, {0, 0, 0});
    TestNode node = m.node("Scan", {"start", "x"}, {"last"}).set("num_scan_inputs", count);
    node.set("scan_input_axes", Ints{axis});
    Inner* g = graph(node, "body");
    for (const char* name : {"sum", "row"}) add_input(g, name);
    add_node(g, "Add", {"sum", "row"}, {"next"});
    add_output(g, "next");
    m.output("last");
    return failure(m);
  };
  EXPECT_EQ(with(1, 0), "");
  EXPECT_CONTAINS(with(3, 0), "'num_scan_inputs' must be from 1");
  EXPECT_CONTAINS(with(0, 0), "'num_scan_inputs' must be from 1");
  EXPECT_CONTAINS(with(2, 0), "'scan_input_axes' has 1 numbers, expected 2");
  EXPECT_CONTAINS(with(1, 5), "axis 5 does not exist");
  EXPECT_CONTAINS(with(1, 1), "aten::add");  // a column of 2 does not fit a sum of 3
}

TEST(Subgraph, NestingTooDeepIsRefused) {
  TestModel m;
  m.input("x", {2});
  m.input("c", {}, ElementType::kBool);
  proto::Graph* around = m.model.mutable_graph();
  for (int i = 0; i < 40; ++i) {
    TestNode node = TestModel::fill(around->add_node(), "If", {"c"}, {"y"});
    Inner* no = graph(node, "else_branch");
    add_node(no, "Relu", {"x"}, {"y"});
    add_output(no, "y");
    around = graph(node, "then_branch");
    add_output(around, "y");
  }
  add_node(around, "Abs", {"x"}, {"y"});
  m.output("y");
  EXPECT_CONTAINS(failure(m), "graphs lie more than 16 deep within each other");
}

TEST(Subgraph, MissingOperatorsAreFoundBeforeAnythingIsImported) {
  TestModel m;
  m.input("x", {2});
  m.input("c", {}, ElementType::kBool);
  TestNode node = m.node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    Inner* g = graph(node, name);
    add_node(g, "NoSuchThing", {"x"}, {"r"});
    add_output(g, "r");
  }
  m.output("y");
  EXPECT_CONTAINS(failure(m), "operators that Berth does not have: NoSuchThing");
}

}  // namespace
}  // namespace berth::onnx

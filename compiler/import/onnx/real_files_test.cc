// What exporters' files were refused for, each fault in a model of a few nodes. tests/compat/real_models.py
// fetches the files themselves.
#include <cmath>

#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

using Inner = proto::Graph;

Inner* graph_of(TestNode node, const char* attribute) { return node.add(attribute, AttributeType::kGraph).mutable_g(); }

std::vector<eval::Item> run_with(const TestModel& model, const ImportOptions& options,
                                 const std::vector<eval::Item>& inputs) {
  auto module = model.import(options);
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  auto outputs = eval::evaluate(*module, module->methods[0], inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().text();
  return outputs.ok() ? std::move(*outputs) : std::vector<eval::Item>();
}

// PaddlePaddle's exporter.
TEST(RealFiles, MinusOneIsAnOpenDimension) {
  TestModel m;
  m.input("x", {-1, 2});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  ImportOptions options;
  options.input_shapes = {{"x", "1..8x2"}};
  EXPECT_EQ(numbers<float>(run_with(m, options, {floats({2, 2}, {1, -2, 3, -4})})), (Floats{1, 0, 3, 0}));
  EXPECT_CONTAINS(m.import().error().text(),
                  "is ?x2 in the model, which has no bounds for x_0; pass --where x_0=1..512");
}

// Two sizes that are called "?" are not the same size.
TEST(RealFiles, AQuestionMarkNamesNoDimension) {
  TestModel m;
  m.symbolic_input("x", {"?", "?"});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  ImportOptions options;
  options.input_shapes = {{"x", "2x3"}};
  EXPECT_TRUE(m.import(options).ok()) << m.import(options).error().text();
}

// A detector of voices has a branch for each sampling rate, and a file is compiled for the sizes of one of them.
TestModel two_rates() {
  TestModel m;
  m.input("x", {2, 3});
  m.input("fast", {}, ElementType::kBool);
  m.ints("three", {3, 2});
  m.ints("seven", {7, 1});
  TestNode node = m.node("If", {"fast"}, {"y"});
  Inner* yes = graph_of(node, "then_branch");
  TestModel::fill(yes->add_node(), "Reshape", {"x", "three"}, {"a"});
  yes->add_output()->set_name("a");
  Inner* no = graph_of(node, "else_branch");
  TestModel::fill(no->add_node(), "Reshape", {"x", "seven"}, {"b"});
  no->add_output()->set_name("b");
  m.output("y");
  return m;
}

TEST(RealFiles, ABranchThatDoesNotFitTheSizesIsRefusedWhenItIsTaken) {
  const TestModel m = two_rates();
  const eval::Item x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = run(m, {x, array<uint8_t>(DType::kBool, {}, {1})});
  EXPECT_EQ(numbers<float>(y), (Floats{1, 2, 3, 4, 5, 6}));
  auto module = m.import();
  ASSERT_TRUE(module.ok());
  EXPECT_CONTAINS(ir::print(*module), "berth::refuse([3, 2]");
  const auto taken = eval::evaluate(*module, module->methods[0], {x, array<uint8_t>(DType::kBool, {}, {0})});
  ASSERT_FALSE(taken.ok());
  EXPECT_CONTAINS(taken.error().text(), "cannot run with the sizes");
}

TEST(RealFiles, TwoBranchesThatDoNotFitAreAnError) {
  TestModel m = two_rates();
  m.model.mutable_graph()->mutable_initializer(0)->set_int64_data(0, 5);
  EXPECT_FALSE(m.import().ok());
}

// What Berth lacks is not a reason to drop a branch.
TEST(RealFiles, ABranchThatIsNotSupportedIsAnError) {
  TestModel m;
  m.input("x", {2});
  m.input("c", {}, ElementType::kBool);
  TestNode node = m.node("If", {"c"}, {"y"});
  Inner* yes = graph_of(node, "then_branch");
  TestModel::fill(yes->add_node(), "Cast", {"x"}, {"a"}).set("to", 14);
  yes->add_output()->set_name("a");
  Inner* no = graph_of(node, "else_branch");
  TestModel::fill(no->add_node(), "Relu", {"x"}, {"b"});
  no->add_output()->set_name("b");
  m.output("y");
  ASSERT_FALSE(m.import().ok());
  EXPECT_CONTAINS(m.import().error().text(), "COMPLEX64");
}

/// An LSTM of one feature and one hidden number, as loops: weights for the gates i, o, f, c.
struct Lstm {
  double w[4], r[4], b[4];

  Floats over(const Floats& x, bool reverse) const {
    Floats all(x.size());
    double h = 0;
    double c = 0;
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    for (size_t k = 0; k < x.size(); ++k) {
      const size_t t = reverse ? x.size() - 1 - k : k;
      double g[4];
      for (int i = 0; i < 4; ++i) g[i] = w[i] * x[t] + r[i] * h + b[i];
      c = sigmoid(g[2]) * c + sigmoid(g[0]) * std::tanh(g[3]);
      h = sigmoid(g[1]) * std::tanh(c);
      all[t] = static_cast<float>(h);
    }
    return all;
  }
};

constexpr Lstm kLstm = {{0.5, -1, 1.5, 2}, {0.25, 0.5, -0.75, 1}, {0.1, 0.2, 0.3, -0.4}};

// Recognisers of text: as many steps as the picture is wide.
TEST(RealFiles, AnLstmRunsOverAnOpenNumberOfSteps) {
  TestModel m;
  m.symbolic_input("x", {"t", "1", "1"});
  m.floats("w", {2, 4, 1}, {0.5f, -1, 1.5f, 2, 0.5f, -1, 1.5f, 2});
  m.floats("r", {2, 4, 1}, {0.25f, 0.5f, -0.75f, 1, 0.25f, 0.5f, -0.75f, 1});
  m.floats("b", {2, 8}, {0.1f, 0.2f, 0.3f, -0.4f, 0, 0, 0, 0, 0.1f, 0.2f, 0.3f, -0.4f, 0, 0, 0, 0});
  m.node("LSTM", {"x", "w", "r", "b"}, {"all", "last"}).set("hidden_size", 1).set("direction", "bidirectional");
  m.output("all");
  m.output("last");
  ImportOptions options;
  options.input_shapes = {{"x", "1..9x1x1"}};
  for (const size_t steps : {size_t{1}, size_t{2}, size_t{7}}) {
    Floats x;
    for (size_t t = 0; t < steps; ++t) x.push_back(static_cast<float>(std::sin(static_cast<double>(t) + 1)));
    const auto y = run_with(m, options, {floats({static_cast<int32_t>(steps), 1, 1}, x)});
    const Floats forward = kLstm.over(x, false);
    const Floats backward = kLstm.over(x, true);
    Floats both;
    for (size_t t = 0; t < steps; ++t) both.insert(both.end(), {forward[t], backward[t]});
    expect_near(numbers<float>(y, 0), both);
    expect_near(numbers<float>(y, 1), {forward.back(), backward.front()});
  }
}

// The last of an open number of words.
TEST(RealFiles, ANegativeIndexCountsFromTheEndOfAnOpenDimension) {
  TestModel m;
  m.symbolic_input("x", {"t", "2"});
  m.scalar("last", -1);
  m.ints("ends", {0, -1});
  m.node("Gather", {"x", "last"}, {"a"});
  m.node("Gather", {"x", "ends"}, {"b"});
  m.output("a");
  m.output("b");
  ImportOptions options;
  options.input_shapes = {{"x", "1..9x2"}};
  const auto y = run_with(m, options, {floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers<float>(y, 0), (Floats{5, 6}));
  EXPECT_EQ(numbers<float>(y, 1), (Floats{1, 2, 5, 6}));
  options.input_shapes = {{"x", "0..9x2"}};
  EXPECT_FALSE(m.import(options).ok());
}

// tf2onnx, of keras's recurrent layers: a loop without a number of turns, whose condition counts.
TEST(RealFiles, ALoopIsFollowedWhoseConditionCounts) {
  TestModel m;
  m.input("x", {2});
  m.scalar("zero", 0);
  m.scalar("one", 1);
  m.scalar("turns", 300);
  m.node("Less", {"zero", "turns"}, {"begin"});
  TestNode node = m.node("Loop", {"", "begin", "zero", "x"}, {"i", "last", "all"});
  Inner* body = graph_of(node, "body");
  for (const char* name : {"turn", "go", "count", "v"}) body->add_input()->set_name(name);
  TestModel::fill(body->add_node(), "Add", {"count", "one"}, {"next"});
  TestModel::fill(body->add_node(), "Add", {"v", "v"}, {"twice"});
  TestModel::fill(body->add_node(), "Sub", {"twice", "v"}, {"same"});
  TestModel::fill(body->add_node(), "Less", {"next", "turns"}, {"more"});
  for (const char* name : {"more", "next", "same", "twice"}) body->add_output()->set_name(name);
  m.output("all");
  m.output("i");
  const auto y = run(m, {floats({2}, {1, 2})});
  const Floats all = numbers<float>(y, 0);
  ASSERT_EQ(all.size(), 600u);
  EXPECT_EQ(all[598], 2);
  EXPECT_EQ(all[599], 4);
  EXPECT_EQ(numbers<int64_t>(y, 1), Ints{300});
}

// Where a sequence ends before the last step, the rest is zero and the state stays.
TEST(RealFiles, AnLstmOfAnOpenNumberOfStepsKnowsLengths) {
  TestModel m;
  m.symbolic_input("x", {"t", "1", "1"});
  m.floats("w", {1, 4, 1}, {0.5f, -1, 1.5f, 2});
  m.floats("r", {1, 4, 1}, {0.25f, 0.5f, -0.75f, 1});
  m.floats("b", {1, 8}, {0.1f, 0.2f, 0.3f, -0.4f, 0, 0, 0, 0});
  m.tensor("lengths", {1}, ElementType::kInt32).add_int32_data(2);
  m.node("LSTM", {"x", "w", "r", "b", "lengths"}, {"all", "last"}).set("hidden_size", 1);
  m.output("all");
  m.output("last");
  ImportOptions options;
  options.input_shapes = {{"x", "1..9x1x1"}};
  const auto y = run_with(m, options, {floats({4, 1, 1}, {1, -2, 3, 4})});
  const Floats two = kLstm.over({1, -2}, false);
  expect_near(numbers<float>(y, 0), {two[0], two[1], 0, 0});
  expect_near(numbers<float>(y, 1), {two[1]});
}

// ONNX Runtime's quantiser. Steps of 1 / 255 of the range: the integers of 1 and -1 are exact, and so are their sums.
TEST(RealFiles, AQuantisedLstmIsWhatItsWeightsSay) {
  TestModel m;
  m.input("x", {1, 1, 1});
  m.model.add_opset_import()->set_domain("com.microsoft");
  m.model.mutable_opset_import()->rbegin()->set_version(1);
  for (const char* name : {"w", "r"}) {
    proto::Tensor& t = m.tensor(name, {1, 1, 4}, ElementType::kInt8);
    for (int i : {1, -2, 3, 4}) t.add_int32_data(i);
  }
  m.floats("b", {1, 8}, {0.1f, 0.2f, 0.3f, -0.4f, 0, 0, 0, 0});
  m.floats("scale", {1}, {0.5f});
  m.tensor("zero", {1}, ElementType::kInt8).add_int32_data(0);
  m.node("DynamicQuantizeLSTM", {"x", "w", "r", "b", "", "", "", "", "scale", "zero", "scale", "zero"}, {"all"})
      .domain("com.microsoft")
      .set("hidden_size", 1);
  m.output("all");
  constexpr Lstm kReal = {{0.5, -1, 1.5, 2}, {0.5, -1, 1.5, 2}, {0.1, 0.2, 0.3, -0.4}};
  for (const float x : {1.0f, -1.0f}) {
    expect_near(numbers<float>(run(m, {floats({1, 1, 1}, {x})})), kReal.over({x}, false), 1e-5f);
  }
}

}  // namespace
}  // namespace berth::onnx

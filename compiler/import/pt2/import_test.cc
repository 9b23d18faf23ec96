// What whole programs become: state, writes in place, symbols, regions, odd inputs and outputs. The evaluator runs the
// IR; the figures are worked out by hand.
#include "compiler/import/pt2/run_testing.h"
#include "compiler/ir/own_operators.h"

namespace berth::pt2 {
namespace {

json mutation_of(const std::string& kind, const std::string& field, const std::string& value,
                 const std::string& target) {
  return {{kind, {{"arg", {{"name", value}}}, {field, target}}}};
}

// A buffer of 5 to which every call adds 2.
TestProgram counter() {
  TestProgram p;
  p.payload("weight_0", {5});
  p.buffer("b_count", "count", tensor_meta({}), "weight_0");
  p.input("x", {2});
  p.node("aten.add.Tensor", {{"self", tensor("b_count")}, {"other", integer(2)}}, "add", {});
  p.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", tensor("add")}}, "mul", {2});
  p.special_output(tensor("add"), mutation_of("buffer_mutation", "buffer_name", "add", "count"));
  p.output("mul");
  return p;
}

TEST(ImportPt2, BuffersThatChangeAreStates) {
  const auto module = counter().import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->states.size(), 1u);
  EXPECT_EQ(module->states[{0}].name, "count");
  std::map<ir::StateId, eval::Array> states;
  EXPECT_EQ(numbers(run(*module, {floats({2}, {1, 10})}, &states)[0]), Floats({7, 70}));
  EXPECT_EQ(numbers(run(*module, {floats({2}, {1, 10})}, &states)[0]), Floats({9, 90}));
  EXPECT_EQ(numbers(run(*module, {floats({2}, {1, 10})}, &states)[0]), Floats({11, 110}));
}

TEST(ImportPt2, BuffersWrittenInPlaceAreStatesToo) {
  TestProgram p;  // count[1:] += 1, before decomposition: the signature does not say it
  p.payload("weight_0", {5, 6, 7});
  p.buffer("b_count", "count", tensor_meta({3}), "weight_0");
  p.node("aten.slice.Tensor", {{"self", tensor("b_count")}, {"dim", integer(0)}, {"start", integer(1)}}, "slice", {2});
  p.node("aten.add_.Tensor", {{"self", tensor("slice")}, {"other", integer(1)}}, "add_", {2});
  p.node("aten.sum.default", {{"self", tensor("b_count")}}, "sum", {});
  p.output("sum");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  std::map<ir::StateId, eval::Array> states;
  EXPECT_EQ(numbers(run(*module, {}, &states)[0]), Floats({20}));
  EXPECT_EQ(numbers(run(*module, {}, &states)[0]), Floats({22}));
}

TEST(ImportPt2, ViewsAndTheirBasesChangeTogether) {
  // y = x * 1; row = y[0]; flat = y.view(4); row.add_(10); column = y.t()[1]; column.mul_(2); return y, flat, row
  TestProgram p;
  p.input("x", {2, 2});
  p.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", integer(1)}}, "y", {2, 2});
  p.node("aten.select.int", {{"self", tensor("y")}, {"dim", integer(0)}, {"index", integer(0)}}, "row", {2});
  p.node("aten.view.default", {{"self", tensor("y")}, {"size", integers({4})}}, "flat", {4});
  p.node("aten.add_.Tensor", {{"self", tensor("row")}, {"other", integer(10)}}, "add_", {2});
  p.node("aten.t.default", {{"self", tensor("y")}}, "turned", {2, 2});
  p.node("aten.select.int", {{"self", tensor("turned")}, {"dim", integer(0)}, {"index", integer(1)}}, "column", {2});
  p.node("aten.mul_.Tensor", {{"self", tensor("column")}, {"other", integer(2)}}, "mul_", {2});
  for (const char* name : {"y", "flat", "row", "add_", "mul_"}) p.output(name);
  const auto outputs = run(p, {floats({2, 2}, {1, 2, 3, 4})});
  ASSERT_EQ(outputs.size(), 5u);
  EXPECT_EQ(numbers(outputs[0]), Floats({11, 24, 3, 8}));
  EXPECT_EQ(numbers(outputs[1]), Floats({11, 24, 3, 8}));
  EXPECT_EQ(numbers(outputs[2]), Floats({11, 24}));
  EXPECT_EQ(numbers(outputs[3]), Floats({11, 24}));
  EXPECT_EQ(numbers(outputs[4]), Floats({24, 8}));
}

// part = (x * 1)[:, :2]; rows = part.reshape(2, 1, 2); all = y.reshape(-1); rows.add_(10); return y, all
TEST(ImportPt2, AReshapeOfAPartIsAViewWhereItsMemoryAllowsIt) {
  TestProgram p;
  p.input("x", {2, 3});
  p.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", integer(1)}}, "y", {2, 3});
  p.node("aten.reshape.default", {{"self", tensor("y")}, {"shape", integers({-1})}}, "all", {6});
  p.node("aten.slice.Tensor", {{"self", tensor("y")}, {"dim", integer(1)}, {"start", integer(0)}, {"end", integer(2)}},
         "part", {2, 2});
  p.strides("part", {3, 1});
  p.node("aten.reshape.default", {{"self", tensor("part")}, {"shape", integers({2, 1, 2})}}, "rows", {2, 1, 2});
  p.node("aten.reshape.default", {{"self", tensor("part")}, {"shape", integers({4})}}, "copy", {4});
  p.node("aten.add_.Tensor", {{"self", tensor("rows")}, {"other", integer(10)}}, "add_", {2, 1, 2});
  for (const char* name : {"y", "all", "copy"}) p.output(name);
  const auto outputs = run(p, {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(outputs[0]), Floats({11, 12, 3, 14, 15, 6}));
  EXPECT_EQ(numbers(outputs[1]), Floats({11, 12, 3, 14, 15, 6}));
  EXPECT_EQ(numbers(outputs[2]), Floats({1, 2, 4, 5}));
}

TEST(ImportPt2, PaddingByTheSmallestNumberIsRefused) {
  for (const char* target : {"aten._pad_circular.default", "aten.constant_pad_nd.default"}) {
    TestProgram p;
    p.input("x", {1, 1, 4});
    p.node(target, {{"self", tensor("x")}, {"pad", integers({INT64_MIN, 1})}}, "y", {1, 1, 4});
    p.output("y");
    const auto module = p.import();
    ASSERT_FALSE(module.ok());
    EXPECT_NE(module.error().text().find("padding this large"), std::string::npos) << module.error().text();
  }
}

TEST(ImportPt2, CopiesDoNotChange) {
  TestProgram p;  // y = x.clone(); z = y.clone(); y.zero_(); return y, z
  p.input("x", {2});
  p.node("aten.clone.default", {{"self", tensor("x")}}, "y", {2});
  p.node("aten.clone.default", {{"self", tensor("y")}}, "z", {2});
  p.node("aten.zero_.default", {{"self", tensor("y")}}, "zero_", {2});
  p.output("y");
  p.output("z");
  const auto outputs = run(p, {floats({2}, {1, 2})});
  EXPECT_EQ(numbers(outputs[0]), Floats({0, 0}));
  EXPECT_EQ(numbers(outputs[1]), Floats({1, 2}));
}

// Holds row 154. A program that Berth compiles never writes to memory that the caller only lends: the new value is an
// output of its own, behind the model's.
TEST(ImportPt2, TheNewValueOfAnInputIsAnOutputAfterTheModels) {
  TestProgram p;
  p.input("x", {2});
  p.input("y", {2});
  p.node("aten.add.Tensor", {{"self", tensor("x")}, {"other", integer(2)}}, "add", {2});
  p.node("aten.mul.Tensor", {{"self", tensor("add")}, {"other", tensor("y")}}, "mul", {2});
  p.special_output(tensor("add"), mutation_of("user_input_mutation", "user_input_name", "add", "x"));
  p.output("mul");
  const auto outputs = run(p, {floats({2}, {1, 2}), floats({2}, {10, 100})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(numbers(outputs[0]), Floats({30, 400}));
  EXPECT_EQ(numbers(outputs[1]), Floats({3, 4}));
  EXPECT_TRUE(says(ir::print(*p.import()), "%x.changed"));
}

TEST(ImportPt2, InputsWrittenByInPlaceOperatorsToo) {
  TestProgram p;
  p.input("x", {2});
  p.node("aten.add_.Tensor", {{"self", tensor("x")}, {"other", integer(2)}}, "add_", {2});
  p.node("aten.neg.default", {{"self", tensor("x")}}, "neg", {2});
  p.output("neg");
  const auto outputs = run(p, {floats({2}, {1, 2})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(numbers(outputs[0]), Floats({-3, -4}));
  EXPECT_EQ(numbers(outputs[1]), Floats({3, 4}));
}

// x.copy_(y): the new value of one input is the other, which keeps its own name.
TEST(ImportPt2, InputsWrittenWithOneAnother) {
  TestProgram p;
  p.input("x", {2});
  p.input("y", {2});
  p.special_output(tensor("y"), mutation_of("user_input_mutation", "user_input_name", "y", "x"));
  p.output("x");
  const auto outputs = run(p, {floats({2}, {1, 2}), floats({2}, {3, 4})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(numbers(outputs[0]), Floats({1, 2}));
  EXPECT_EQ(numbers(outputs[1]), Floats({3, 4}));
}

TEST(ImportPt2, MutatedInputsThatDoNotExistAreRefused) {
  TestProgram p;
  p.input("x", {2});
  p.special_output(tensor("x"), mutation_of("user_input_mutation", "user_input_name", "x", "z"));
  EXPECT_TRUE(says(failure_of(p.import()), "pt2 input \"z\": is said to be changed"));
}

TEST(ImportPt2, NonesNumbersAndInputsAsOutputsAreKept) {
  TestProgram p;
  p.input("x", {2});
  p.special_input(integer(2), {{"constant_input", {{"name", "k"}, {"value", integer(2)}}}});
  p.special_input(nothing(), {{"constant_input", {{"name", "n"}, {"value", nothing()}}}});
  p.output("x");
  for (const json& literal : {nothing(), integer(3), real(2.5), truth(true), text("hi")}) {
    p.special_output(literal, {{"user_output", {{"arg", literal}}}});
  }
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(ir::print(*module), "\nmethod forward(%x: f32[2]) {\n  return %x, none, 3, 2.5, true, \"hi\"\n}\n");
}

TEST(ImportPt2, UnknownOperatorsAreNamedWithTheLine) {
  TestProgram p;
  p.input("x", {2});
  json& node = p.node("aten.lgamma.default", {{"self", tensor("x")}}, "lgamma", {2});
  node["metadata"] = {
      {"stack_trace", "  File \"/home/me/model.py\", line 12, in forward\n    return torch.lgamma(x)\n"}};
  node["name"] = "lgamma";
  p.output("lgamma");
  const std::string message = failure_of(p.import());
  EXPECT_TRUE(says(message, "torch.ops.aten.lgamma.default"));
  EXPECT_TRUE(says(message, "node \"lgamma\""));
  EXPECT_TRUE(says(message, "File \"/home/me/model.py\", line 12, in forward: return torch.lgamma(x)"));
}

TEST(ImportPt2, NodesAreNamedAfterTheirModules) {
  TestProgram p;
  p.input("x", {2});
  json& node = p.node("aten.relu.default", {{"self", tensor("x")}}, "relu", {2});
  node["metadata"] = {{"nn_module_stack", "L__self__,,net.Net;L__self___act,layer1.0.act,torch.nn.ReLU"}};
  node["name"] = "relu";
  p.output("relu");
  EXPECT_TRUE(says(ir::print(*p.import()), "%relu: f32[2] = aten::relu(%x) \"layer1.0.act/relu\""));
}

TEST(ImportPt2, OtherSchemasAreRefused) {
  TestProgram p;
  p.input("x", {2});
  p.output("x");
  p.major = 9;
  EXPECT_TRUE(says(failure_of(p.import()), "has schema 9.20 of PyTorch 2.15.0; Berth reads schema 8"));
  TestArchive old;
  old.add("version", "6.1");
  old.add("serialized_exported_program.json", "{}");
  const std::string bytes = old.bytes();
  EXPECT_TRUE(
      says(failure_of(import_pt2(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()))),
           "PyTorch 2.7 or older"));
}

TEST(ImportPt2, UnsupportedElementTypesAreRefused) {
  constexpr int kComplex64 = 10;
  TestProgram p;
  p.input("x", {1, 1, 2, 2}, kComplex64);
  p.node("aten.upsample_bicubic2d.vec", {{"input", tensor("x")}, {"output_size", integers({4, 4})}}, "y", {1, 1, 4, 4});
  p.output("y");
  EXPECT_TRUE(says(failure_of(p.import()), "is not read for complex numbers"));
}

TEST(ImportPt2, ErrorsNameTheNode) {
  TestProgram undefined;
  undefined.node("aten.relu.default", {{"self", tensor("missing")}}, "y", {2});
  undefined.output("y");
  EXPECT_TRUE(says(failure_of(undefined.import()), "\"missing\" is not defined before this node"));
  TestProgram ill;
  ill.input("x", {2});
  ill.node("aten.relu.default", {{"self", text("x")}}, "y", {2});
  ill.output("y");
  EXPECT_TRUE(says(failure_of(ill.import()), "pt2 node \"y\""));
  TestProgram shape;
  shape.input("x", {2});
  shape.node("aten.view.default", {{"self", tensor("x")}, {"size", integers({3})}}, "y", {3});
  shape.output("y");
  EXPECT_TRUE(says(failure_of(shape.import()), "aten::view_copy"));
}

// Two weights a layer are whole without biases; with them, they are two too few.
TEST(ImportPt2, ARecurrentLayerHasAllItsWeightsOrIsRefused) {
  const auto recurrent = [](const char* kind, bool biases, size_t weights) {
    TestProgram p;
    p.input("x", {2, 1, 2});
    p.input("h", {1, 1, 2});
    p.input("w", {2, 2});
    json& node = p.node(kind,
                        {{"input", tensor("x")},
                         {"hx", tensor("h")},
                         {"params", tensor_list(std::vector<std::string>(weights, "w"))},
                         {"has_biases", truth(biases)},
                         {"num_layers", integer(1)}},
                        "y", {2, 1, 2});
    node["outputs"].push_back(tensor("last"));
    p.output("y");
    return p.import();
  };
  EXPECT_TRUE(recurrent("aten.rnn_relu.input", false, 2).ok());
  for (const size_t weights : {size_t{2}, size_t{3}, size_t{5}}) {
    EXPECT_TRUE(
        says(failure_of(recurrent("aten.rnn_relu.input", true, weights)), "the number of weights does not fit"));
  }
  EXPECT_TRUE(says(failure_of(recurrent("aten.rnn_relu.input", false, 3)), "the number of weights does not fit"));
}

TEST(ImportPt2, InputsKeepTheirDimensionOrder) {
  TestProgram p;  // [1, 2, 2, 2] with the channels last: element (0, c, h, w) lies at 4 h + 2 w + c
  p.input("x", {1, 2, 2, 2});
  p.strides("x", {8, 1, 4, 2});
  p.output("x");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_TRUE(says(ir::print(*module), "method forward(%x: f32[1,2,2,2]{0,2,3,1})"));
}

// By the batch's own mean and deviation, which are results; the running statistics that it would change are read by
// no other node here.
TEST(ImportPt2, BatchNormsThatTrainWithoutStatisticsUseTheBatchs) {
  TestProgram p;
  p.input("x", {2, 1, 2});
  p.input("mean", {1});
  p.input("var", {1});
  p.node("aten._native_batch_norm_legit_functional.default",
         {{"input", tensor("x")},
          {"weight", nothing()},
          {"bias", nothing()},
          {"running_mean", tensor("mean")},
          {"running_var", tensor("var")},
          {"training", {{"as_bool", true}}},
          {"momentum", {{"as_float", 0.1}}},
          {"eps", {{"as_float", 0.0}}}},
         json::array({tensor("y"), tensor("m"), tensor("r"), tensor("new_mean"), tensor("new_var")}));
  p.output("y");
  p.output("m");
  p.output("r");
  const auto outputs = run(p, {floats({2, 1, 2}, {0, 4, 0, 4}), floats({1}, {9}), floats({1}, {9})});
  EXPECT_EQ(numbers(outputs[0]), Floats({-1, 1, -1, 1}));
  EXPECT_EQ(numbers(outputs[1]), Floats({2}));
  EXPECT_EQ(numbers(outputs[2]), Floats({0.5F}));
}

// torch.ops.my.gain.default, in place too; overloads have their names, and one that is not there is named.
TEST(ImportPt2, OperatorsOfOnesOwnComeInByName) {
  ir::OperatorSet set;
  const auto like = [](const ir::OwnCall& call) { return Expected<std::vector<ir::TensorType>>({call.tensor(0)}); };
  ASSERT_TRUE(set.add({"my::gain", "Tensor self, float factor=1 -> Tensor out", like}).ok());
  ASSERT_TRUE(set.add({"my::gain.Scalar", "Tensor self, int[] k -> Tensor a, Tensor b",
                       [](const ir::OwnCall& call) {
                         return Expected<std::vector<ir::TensorType>>({call.tensor(0), call.tensor(0)});
                       }})
                  .ok());
  ImportOptions options;
  options.operators = std::make_shared<const ir::OperatorSet>(std::move(set));
  TestProgram p;
  p.input("x", {2, 3});
  p.node("my.gain.default", {{"self", tensor("x")}, {"factor", real(2.5)}}, "a", {2, 3});
  p.node("my.gain.default", {{"self", tensor("a")}}, "b", {2, 3});
  p.output("b");
  const auto module = p.import(options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  const std::string text = ir::print(*module);
  EXPECT_TRUE(says(text, "%a: f32[2,3] = my::gain(%x, 2.5)")) << text;
  EXPECT_TRUE(says(text, "%b: f32[2,3] = my::gain(%a, 1.0)")) << text;
  const auto unknown = p.import();
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(says(unknown.error().text(), "torch.ops.my.gain.default"));
  TestProgram q;
  q.input("x", {2});
  q.node("my.gain.Other", {{"self", tensor("x")}}, "a", {2});
  q.output("a");
  const auto other = q.import(options);
  ASSERT_FALSE(other.ok());
  EXPECT_TRUE(says(other.error().text(), "torch.ops.my.gain.Other"));
  TestProgram r;
  r.input("x", {2});
  r.node("my.gain.default", {{"self", tensor("x")}, {"bias", real(1)}}, "a", {2});
  r.output("a");
  const auto strange = r.import(options);
  ASSERT_FALSE(strange.ok());
  EXPECT_TRUE(says(strange.error().text(), "argument 'bias' is not supported"));
}

// Exported without run_decompositions(), such an operator changes `x` in the file, and the change would be lost.
TEST(ImportPt2, AnOperatorOfOnesOwnWithMoreResultsThanTheFileIsRefused) {
  ir::OperatorSet set;
  const auto twice = [](const ir::OwnCall& call) {
    return Expected<std::vector<ir::TensorType>>(std::vector<ir::TensorType>(2, call.tensor(0)));
  };
  ASSERT_TRUE(set.add({"my::push", "Tensor x -> Tensor out, Tensor new_x", twice}).ok());
  ImportOptions options;
  options.operators = std::make_shared<const ir::OperatorSet>(std::move(set));
  TestProgram p;
  p.input("x", {2});
  p.node("my.push.default", {{"x", tensor("x")}}, "out", {2});
  p.output("out");
  const auto module = p.import(options);
  ASSERT_FALSE(module.ok());
  EXPECT_TRUE(says(module.error().text(), "its 2 results are 1 in the file")) << module.error().text();
}

}  // namespace
}  // namespace berth::pt2

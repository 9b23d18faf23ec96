// Nodes that stand behind their readers are moved, and no others. Figures are worked out by hand.
#include "compiler/import/onnx/graph_testing.h"
#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

eval::Item truth(bool value) { return array<uint8_t>(DType::kBool, {}, {static_cast<uint8_t>(value ? 1 : 0)}); }

/// r = c ? … : -x, of which the caller writes the first.
Inner* add_if(TestModel& m) {
  TestNode node = m.node("If", {"c"}, {"r"});
  Inner* no = graph(node, "else_branch");
  add_node(no, "Neg", {"x"}, {"z"});
  add_output(no, "z");
  return graph(node, "then_branch");
}

TestModel with_condition() {
  TestModel m;
  m.input("x", {2});
  m.input("c", {}, ElementType::kBool);
  return m;
}

void expect_results(const TestModel& m, const Floats& yes, const Floats& no) {
  expect_near(numbers<float>(run(m, {floats({2}, {3, -4}), truth(true)})), yes);
  expect_near(numbers<float>(run(m, {floats({2}, {3, -4}), truth(false)})), no);
}

// The fear: a branch that calls something of its own y is taken for a reader of the y behind it, a circle that there is
// not, and what reads the branch is moved before it.
TEST(OrderNodes, ANameOfABranchIsNotTheOneBehindIt) {
  TestModel m = with_condition();
  Inner* yes = add_if(m);
  add_node(yes, "Abs", {"x"}, {"y"});
  add_output(yes, "y");
  m.node("Neg", {"r"}, {"y"});
  m.output("y");
  expect_results(m, {-3, -4}, {3, -4});
}

TEST(OrderNodes, NorIsTheNameOfAConstantOfABranch) {
  for (const bool sparse : {false, true}) {
    TestModel m = with_condition();
    Inner* yes = add_if(m);
    proto::Tensor* tensor = sparse ? yes->add_sparse_initializer()->mutable_values() : yes->add_initializer();
    TestModel::fill(tensor, "y", {2}, ElementType::kFloat);
    for (const float number : {5.0F, 6.0F}) tensor->add_float_data(number);
    if (sparse) {
      proto::SparseTensor* whole = yes->mutable_sparse_initializer(0);
      TestModel::fill(whole->mutable_indices(), "", {2}, ElementType::kInt64);
      for (const int64_t place : {0, 1}) whole->mutable_indices()->add_int64_data(place);
      whole->add_dims(2);
    }
    add_node(yes, "Add", {"x", "y"}, {"sum"});
    add_output(yes, "sum");
    m.node("Neg", {"r"}, {"y"});
    m.output("y");
    expect_results(m, {-8, -2}, {3, -4});
  }
}

TEST(OrderNodes, NorIsTheNameOfAGraphWithinABranch) {
  TestModel m = with_condition();
  Inner* yes = add_if(m);
  TestNode within = add_node(yes, "If", {"c"}, {"s"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    Inner* g = graph(within, branch);
    add_node(g, "Abs", {"x"}, {"y"});
    add_output(g, "y");
  }
  add_output(yes, "s");
  m.node("Neg", {"r"}, {"y"});
  m.output("y");
  expect_results(m, {-3, -4}, {3, -4});
}

TEST(OrderNodes, TheInputsOfALoopAreItsOwn) {
  TestModel m;
  m.input("x", {1});
  m.input("xs", {3, 1});
  TestNode scan = m.node("Scan", {"x", "xs"}, {"last", "all"}).set("num_scan_inputs", 1);
  Inner* step = graph(scan, "body");
  for (const char* name : {"s", "t"}) add_input(step, name);
  add_node(step, "Add", {"s", "t"}, {"u"});
  add_node(step, "Identity", {"u"}, {"v"});
  for (const char* name : {"u", "v"}) add_output(step, name);
  m.node("Neg", {"last"}, {"t"});
  m.output("t");
  expect_near(numbers<float>(run(m, {floats({1}, {1}), floats({3, 1}, {2, 3, 4})})), {-10});
}

// What is read out of a branch must stand before it all the same.
TEST(OrderNodes, WhatABranchReadsIsMovedBeforeIt) {
  TestModel m = with_condition();
  Inner* yes = add_if(m);
  add_node(yes, "Abs", {"later"}, {"y"});
  add_output(yes, "y");
  m.node("Add", {"x", "x"}, {"later"});
  m.node("Neg", {"r"}, {"y"});
  m.output("y");
  expect_results(m, {-6, -8}, {3, -4});
}

TEST(OrderNodes, NodesOfABranchAreMovedToo) {
  TestModel m = with_condition();
  Inner* yes = add_if(m);
  add_node(yes, "Neg", {"later"}, {"y"});
  add_node(yes, "Abs", {"x"}, {"later"});
  add_output(yes, "y");
  m.output("r");
  expect_results(m, {-3, -4}, {-3, 4});
}

TEST(OrderNodes, NodesOfAFunctionAreMovedToo) {
  TestModel m;
  m.model.add_opset_import()->set_domain("local");
  m.model.mutable_opset_import(1)->set_version(1);
  m.input("x", {2});
  proto::Function* f = m.model.add_functions();
  f->set_name("F");
  f->set_domain("local");
  f->add_input("a");
  f->add_output("b");
  f->add_opset_import()->set_version(17);
  TestModel::fill(f->add_node(), "Neg", {"later"}, {"b"});
  TestModel::fill(f->add_node(), "Abs", {"a"}, {"later"});
  m.node("F", {"x"}, {"y"}).domain("local");
  m.output("y");
  expect_near(numbers<float>(run(m, {floats({2}, {3, -4})})), {-3, -4});
}

}  // namespace
}  // namespace berth::onnx

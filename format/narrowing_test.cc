// Which nested programs may write over their input. The fear: one that reads it again, or elsewhere than from the
// front.
#include "format/narrowing.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "format/nested.h"
#include "format/write/programs_testing.h"

namespace berth::format {
namespace {

// Floats to bytes: a cast, as code and constants of berth::elementwise, which nothing here looks at.
ProgramDesc to_bytes() {
  MethodDesc method;
  method.name = kNestedMethodName;
  method.values = {testing::tensor({4, 8}),
                   TensorListDesc{{0}},
                   IntListDesc{{}},
                   DoubleListDesc{{}},
                   testing::tensor({4, 8}, -1, DType::kI8),
                   testing::tensor({4, 8})};
  method.inputs = {0};
  method.outputs = {4};
  method.operators = {{"berth::elementwise", "out"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {1, 2, 3, 4, 4}}};
  ProgramDesc program;
  program.methods = {method};
  return program;
}

bool narrows(const ProgramDesc& program) {
  const std::vector<uint8_t> bytes = testing::bytes_of(program);
  ProgramView view;
  Report report;
  EXPECT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, &report), Error::kOk) << report.message;
  return narrows_in_place(view);
}

TEST(Narrowing, FloatsMayBecomeBytesWhereTheyLie) { EXPECT_TRUE(narrows(to_bytes())); }

TEST(Narrowing, WhatDoesMoreMayNot) {
  struct Case {
    std::string what;
    std::function<void(MethodDesc&)> bend;
  };
  const auto tensor_at = [](MethodDesc& m, int v) -> TensorDesc& { return std::get<TensorDesc>(m.values[v]); };
  const Case cases[] = {{"another operator", [](MethodDesc& m) { m.operators[0].name = "berth::other"; }},
                        {"a second instruction",
                         [](MethodDesc& m) {
                           m.instructions.push_back(KernelCallDesc{1, {0, 5, 5}});
                         }},
                        {"a second input",
                         [](MethodDesc& m) {
                           m.inputs = {0, 5};
                           m.values[1] = TensorListDesc{{0}};
                         }},
                        {"a chain of two tensors",
                         [](MethodDesc& m) {
                           m.values[1] = TensorListDesc{{0, 0}};
                         }},
                        {"a chain of another tensor",
                         [](MethodDesc& m) {
                           m.values[0] = testing::constant({4, 8}, 1);
                           m.inputs = {5};
                         }},
                        {"a second output",
                         [](MethodDesc& m) {
                           m.outputs = {4, 5};
                         }},
                        {"an output that it does not make", [](MethodDesc& m) { m.outputs = {5}; }},
                        {"elements as wide", [&](MethodDesc& m) { tensor_at(m, 4).dtype = DType::kI32; }},
                        {"other sizes",
                         [&](MethodDesc& m) {
                           tensor_at(m, 4).sizes = {8, 4};
                         }},
                        {"another order",
                         [&](MethodDesc& m) {
                           tensor_at(m, 4).dim_order = {1, 0};
                         }},
                        {"open sizes", [&](MethodDesc& m) { tensor_at(m, 0).bounded = true; }},
                        {"a planned output", [&](MethodDesc& m) {
                           tensor_at(m, 4).planned = ArenaOffset{1, 0};
                           m.arenas = {{32, Device()}};
                         }}};
  for (const Case& one : cases) {
    ProgramDesc program = to_bytes();
    one.bend(program.methods[0]);
    EXPECT_FALSE(narrows(program)) << one.what;
  }
}

}  // namespace
}  // namespace berth::format

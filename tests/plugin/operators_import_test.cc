// Operators of one's own in models: by the names of their schemas in ONNX, and in compiled programs.
#include <gtest/gtest.h>

#include <functional>

#include "compiler/import/onnx/model_testing.h"
#include "compiler/import/pte/import_pte.h"
#include "tests/plugin/own_operators.h"

namespace berth::own_operators_testing {
namespace {

TEST(OwnOperators, AForeignDomainOfOnnxRunsWithThePluginsKernel) {
  onnx::TestModel m(17);
  m.input("x", {2, 3});
  m.node("gain", {"x"}, {"a"}).domain("my").set("factor", 3.0f).name("first");
  m.node("Relu", {"a"}, {"b"});
  m.node("gain", {"b"}, {"y"}).domain("my").name("second");
  m.output("y");
  CompileReport report;
  const Bytes program = compiled(m.import(with_operators()), options_for(), &report);
  EXPECT_EQ(report.in_place, 3);
  const Outcome out = run(program, {{{2, 3}, {-1, 2, -3, 4, 5, -6}}});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  EXPECT_EQ(out.results, std::vector<Floats>({{0, 12, 0, 24, 30, 0}}));
  EXPECT_EQ(own_operators_of(program), "my::gain=1");
}

TEST(OwnOperators, AttributesInputsAndOutputsGoByTheSchema) {
  onnx::TestModel m(17);
  m.input("b", {3});
  m.input("x", {3});
  m.input("y", {3});
  m.node("blend", {"b", "x", "y"}, {"sum", "half"})
      .domain("my")
      .set("weights", std::vector<float>{0.5f, 2})
      .set("signs", std::vector<int64_t>{1, -1})
      .set("twice", 1);
  m.node("blend", {"", "x"}, {"alone"})
      .domain("my")
      .set("weights", std::vector<float>{1})
      .set("signs", std::vector<int64_t>{-1});
  for (const char* name : {"sum", "half", "alone"}) m.output(name);
  const Outcome out =
      run(compiled(m.import(with_operators())), {{{3}, {1, 1, 1}}, {{3}, {2, 4, 6}}, {{3}, {1, 0, -1}}});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  EXPECT_EQ(out.results, std::vector<Floats>({{-1, 5, 11}, {-0.5, 2.5, 5.5}, {-2, -4, -6}}));
}

TEST(OwnOperators, WhatTheSchemaDoesNotHaveIsRefusedByName) {
  const auto said = [](const std::function<void(onnx::TestModel&)>& add) {
    onnx::TestModel m(17);
    m.input("x", {2, 3});
    add(m);
    m.output("y");
    return onnx::failure(m, with_operators());
  };
  has(said([](onnx::TestModel& m) { m.node("gain", {"x"}, {"y"}).domain("my").set("factr", 3.0f).name("n"); }),
      "onnx node \"n\": gain: attribute 'factr' is not in the schema of my::gain");
  has(said([](onnx::TestModel& m) { m.node("gain", {"x", "x"}, {"y"}).domain("my"); }), "at most 1 inputs, found 2");
  has(said([](onnx::TestModel& m) {
        m.node("gain", {"x"}, {"y", "z"}).domain("my");
      }),
      "has 2 outputs in the model, and 1");
  has(said([](onnx::TestModel& m) { m.node("gain", {"x"}, {"y"}).domain("my").set("factor", "3"); }),
      "'factor' must be");
  has(said([](onnx::TestModel& m) { m.node("grow", {"x"}, {"y"}).domain("my"); }), "attribute 'parts' is missing");
  has(said([](onnx::TestModel& m) { m.node("grow", {}, {"y"}).domain("my").set("parts", 2); }),
      "input 'self' is missing");
  has(said([](onnx::TestModel& m) { m.node("lost", {"x"}, {"y"}).domain("my"); }), "my.lost");
  onnx::TestModel none(17);
  none.input("x", {2, 3});
  none.node("gain", {"x"}, {"y"}).domain("my");
  none.output("y");
  has(onnx::failure(none), "uses operators that Berth does not have: my.gain");
  has(onnx::failure(none), "come with --plugin");
}

// What a function of that name says is for who has no kernel.
TEST(OwnOperators, AKernelOfOnesOwnComesBeforeTheModelsFunction) {
  onnx::TestModel m(17);
  m.input("x", {2});
  auto* f = m.model.add_functions();
  f->set_name("gain");
  f->set_domain("my");
  f->add_input("a");
  f->add_output("b");
  f->add_opset_import()->set_version(17);
  onnx::TestModel::fill(f->add_node(), "Neg", {"a"}, {"b"});
  m.node("gain", {"x"}, {"y"}).domain("my");
  m.output("y");
  EXPECT_EQ(run(compiled(m.import(with_operators())), {{{2}, {1, 2}}}).results.at(0), Floats({2, 4}));
  EXPECT_EQ(run(compiled(m.import()), {{{2}, {1, 2}}}).results.at(0), Floats({-1, -2}));
}

TEST(OwnOperators, ACompiledProgramComesInAgain) {
  const Bytes once = compiled(parsed(twice("gain")));
  const Span<const uint8_t> file(once.data(), once.size());
  const auto unknown = import_pte(file, {});
  ASSERT_FALSE(unknown.ok());
  has(unknown.error().text(), "my::gain.out");
  has(unknown.error().text(), "is an operator that Berth does not have; one of your own comes with --plugin");
  const Bytes again = compiled(import_pte(file, with_operators()));
  const Floats x = ramp(64);
  expect_close(run(again, {{{64}, x}}), expected_twice(x));
}

TEST(OwnOperators, OverloadsAreTold) {
  const Bytes program = compiled(parsed(
      "method forward(%x: f32[2]) {\n%a: f32[2] = my::gain(%x, 3)\n%y: f32[2] = my::gain.Twice(%a, 5)\nreturn %y\n}"));
  EXPECT_EQ(run(program, {{{2}, {1, 2}}}).results.at(0), Floats({15, 30}));
  const Bytes again = compiled(import_pte(Span<const uint8_t>(program.data(), program.size()), with_operators()));
  EXPECT_EQ(run(again, {{{2}, {1, 2}}}).results.at(0), Floats({15, 30}));
}

}  // namespace
}  // namespace berth::own_operators_testing

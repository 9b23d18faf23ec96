// States out of inputs and outputs. The fears: a wrong pair, an output that moves to another's place or name, two
// models that share what they should not, and a state whose type is not what the model gives.
#include "compiler/passes/state_ports.h"

#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

std::string made(const std::string& text, const std::vector<StatePorts>& pairs) {
  ir::Module module = parsed(text);
  const Status done = make_states(module, pairs);
  if (!done.ok()) return done.error().text();
  const Status sound = ir::verify(module);
  EXPECT_TRUE(sound.ok()) << sound.error().text() << "\n" << ir::print(module);
  return ir::print(module);
}

void expect_has(const std::string& text, const char* part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

constexpr char kStream[] = R"(
    method f(%x: f32[2], %h: f32[2]) {
      %hn: f32[2] = aten::tanh(%h)
      %y: f32[2] = aten::relu(%x)
      return %hn, %y
    })";

TEST(StatePorts, TheOtherPortsStay) {
  EXPECT_EQ(made(kStream, {{"h", "hn", ""}}), as_printed(R"(
    state @h: f32[2]
    method f(%x: f32[2]) {
      %h: f32[2] = berth::state_read() @h
      %hn: f32[2] = aten::tanh(%h)
      %y: f32[2] = aten::relu(%x)
      berth::state_write(%hn) @h
      return %y
    })"));
}

TEST(StatePorts, TheOtherOutputsKeepTheirNames) {
  ir::Module module = parsed(kStream);
  module.methods[0].output_names = {"memory", "speech"};
  ASSERT_TRUE(make_states(module, {{"h", "memory", "f"}}).ok());
  EXPECT_EQ(module.methods[0].output_name(0), "speech");
}

TEST(StatePorts, AStateOfThatNameIsAnother) {
  const std::string text = made(R"(
    state @h: f32[3]
    method f(%h: f32[2]) {
      %old: f32[3] = berth::state_read() @h
      %hn: f32[2] = aten::tanh(%h)
      return %old, %hn
    })",
                                {{"h", "hn", ""}});
  expect_has(text, "state @h: f32[3]");
  expect_has(text, "state @h_1: f32[2]");
}

constexpr char kTwo[] = R"(
    method prefill(%h: f32[2]) {
      %hn: f32[2] = aten::tanh(%h)
      return %hn
    }
    method decode(%h: f32[2]) {
      %hn: f32[2] = aten::relu(%h)
      return %hn
    })";

TEST(StatePorts, MethodsShareWhatIsSaidOfAll) {
  const std::string text = made(kTwo, {{"h", "hn", ""}});
  expect_has(text, "state @h: f32[2]");
  EXPECT_EQ(text.find("@h_1"), std::string::npos) << text;
}

TEST(StatePorts, MethodsShareNothingThatIsSaidOfOne) {
  const std::string text = made(kTwo, {{"h", "hn", "prefill"}, {"h", "hn", "decode"}});
  expect_has(text, "state @h_1: f32[2]");
}

TEST(StatePorts, WhatDoesNotFitIsRefusedWithWhatThereIs) {
  expect_has(made(kStream, {{"g", "gn", ""}}), "no such input and output; inputs: x, h; outputs: hn, y");
  expect_has(made(kStream, {{"h", "gn", ""}}), "has only the input");
  expect_has(made(kStream, {{"g", "hn", ""}}), "has only the output");
  expect_has(made(kStream, {{"h", "hn", ""}, {"x", "hn", ""}}), "state \"x=hn\": method f has only the input");
  expect_has(made(kTwo, {{"h", "hn", "encode"}}), "outputs: prefill:hn, decode:hn");
  expect_has(made("method f(%h: f32[2], %n: f64[2]) { return %n }", {{"h", "n", ""}}),
             "the input is f32[2] and the output f64[2]");
  expect_has(
      made("symbol n in [1, 8]\nmethod f(%h: f32[n]) {\n %m: f32[n] = aten::relu(%h)\n return %m }", {{"h", "m", ""}}),
      "--input-shape h=SIZES");
  expect_has(made(R"(
    method a(%h: f32[2]) { return %h }
    method b(%h: f32[3]) { return %h })",
                  {{"h", "h", ""}}),
             "is f32[2] in one method and f32[3] in another");
}

TEST(StatePorts, APairOfNamesIsRead) {
  const auto pair = parse_state_ports("h=out=1");
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->input, "h");
  EXPECT_EQ(pair->output, "out=1");
  for (const char* text : {"", "h", "=h", "h="}) EXPECT_FALSE(parse_state_ports(text).ok()) << text;
}

}  // namespace
}  // namespace berth::passes

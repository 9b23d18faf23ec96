// Whoever makes or takes a program asks the judge of plans: the compiler's last look, and the load of a method, which
// is not to be talked out of it by what the file records.
#include <gtest/gtest.h>

#include <string>

#include "compiler/check_program.h"
#include "format/write/test_programs.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

using format::JumpFalseDesc;
using format::KernelCallDesc;
using format::testing::tensor;

/// An input x of eight floats; r is its first half under one condition, and relu(y) otherwise; out = (x, r). The file
/// says that r lies at `place` and is a view of x, so that x's own half is never copied.
format::ProgramDesc piece_of_an_input(int64_t place) {
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({1}, 64, DType::kBool), tensor({8}, 0), tensor({4}, 32), tensor({4}, place), false};
  method.inputs = {0, 1, 2};
  method.outputs = {1, 3};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {JumpFalseDesc{0, 2}, JumpFalseDesc{4, 3}, KernelCallDesc{0, {2, 3, 3}}};
  method.arenas = {{96, Device()}};
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.relations = {fb::Relation(3, 1, fb::RelationKind::VIEW)};
  format::ProgramDesc program;
  program.methods = {method};
  program.named_data = {format::meta_blob({"berth test", {meta}})};
  return program;
}

/// A straight line: h = relu(x), i = relu(h), y = relu(h), with i over h.
format::ProgramDesc line(int64_t i) {
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({4}, 0), tensor({4}, 16), tensor({4}, i), tensor({4}, 48)};
  method.inputs = {0};
  method.outputs = {2, 3};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{0, {1, 2, 2}}, KernelCallDesc{0, {1, 3, 3}}};
  method.arenas = {{64, Device()}};
  format::ProgramDesc program;
  program.methods = {method};
  return program;
}

/// "loaded", or why not.
std::string load(const format::ProgramDesc& desc, Verification verification = Verification::kFull) {
  const std::vector<uint8_t> file = format::testing::bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(file)};
  LoadOptions load_options;
  load_options.verification = verification;
  const auto program = Program::load(loader, portable::kernels(), load_options);
  if (!program.ok()) return "no program";
  Report report;
  HostOptions options;
  options.report = &report;
  const auto method = HostMethod::load(*program, "forward", options);
  return method.ok() ? "loaded" : std::string(report.place) + ": " + report.message;
}

std::string checked(const format::ProgramDesc& desc) {
  const auto status = check_program(format::testing::bytes_of(desc));
  return status.ok() ? "sound" : status.error().text();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Limits 1.7. Always, for every file, unless whoever loads says that he knows better.
TEST(TheJudgeIsAsked, AtEveryLoadAndAfterEveryCompilation) {
  EXPECT_EQ(load(line(32)), "loaded");
  EXPECT_EQ(checked(line(32)), "sound");
  const std::string fault = "it writes value 2 over bytes of value 1, which instruction 2 still reads";
  EXPECT_TRUE(has(load(line(16)), "methods[0].instructions[1]: " + fault)) << load(line(16));
  EXPECT_TRUE(has(checked(line(16)), fault)) << checked(line(16));
  EXPECT_EQ(load(line(16), Verification::kMinimal), "loaded");
}

// Limits 1.6. An emitter once made this: the branch that computes the result wrote into the living input.
TEST(TheJudgeIsAsked, AndARecordedViewExcusesNothing) {
  const std::string fault = "it writes value 3 over bytes of value 1, which is an output";
  EXPECT_TRUE(has(load(piece_of_an_input(0)), fault)) << load(piece_of_an_input(0));
  EXPECT_TRUE(has(checked(piece_of_an_input(0)), fault)) << checked(piece_of_an_input(0));
}

}  // namespace
}  // namespace berth

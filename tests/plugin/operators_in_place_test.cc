// Operators of one's own in place: who may say so, and who is asked.
#include <gtest/gtest.h>

#include "compiler/memory/replan/replan.h"
#include "format/plan_check/verify_plan.h"
#include "format/program_view.h"
#include "tests/plugin/own_operators.h"

namespace berth::own_operators_testing {
namespace {

// %a is read after the first call, and nothing after the second.
TEST(OwnOperators, WorksInPlaceWhereItsMakerSaysAndTheInputIsDead) {
  CompileReport own;
  CompileReport never;
  CompileReport plain;
  const Bytes in_place = compiled(parsed(twice("gain")), options_for(), &own);
  CompileOptions off = options_for();
  off.in_place = false;
  const Bytes apart = compiled(parsed(twice("gain")), off, &never);
  const Bytes without = compiled(parsed(twice("plain")), options_for(), &plain);
  EXPECT_EQ(own.in_place, 3);    // exp, add, the second gain
  EXPECT_EQ(plain.in_place, 2);  // exp, add
  EXPECT_EQ(never.in_place, 0);
  EXPECT_EQ(own_operators_of(in_place), "my::gain=1");
  EXPECT_EQ(own_operators_of(apart), "my::gain=0");
  EXPECT_EQ(own_operators_of(without), "my::plain=0");
  const Floats x = ramp(64);
  for (const Bytes& program : {in_place, apart, without}) expect_close(run(program, {{{64}, x}}), expected_twice(x));
}

TEST(OwnOperators, AKernelThatDoesNotWorkInPlaceRefusesThePlan) {
  const Bytes program = compiled(parsed(twice("gain")));
  std::vector<KernelEntry> careful(own_kernels().begin(), own_kernels().end());
  for (KernelEntry& entry : careful) entry.in_place_arguments = 0;
  const Outcome out = run(program, {{{64}, ramp(64)}}, {careful.data(), careful.size()});
  EXPECT_EQ(out.error, Error::kNotSupported);
  has(out.said, "the program computes my::gain.out in place of argument 0, and its kernel does not allow that");
}

// --inplace my::plain=self: wider than the maker says. The plan is proved, and the kernel is asked.
TEST(OwnOperators, TheCallerMayWidenWhatTheMakerSaysAndTheKernelIsAsked) {
  CompileOptions options = options_for();
  options.in_place_operators = {"+my::plain=self"};
  CompileReport report;
  const Bytes program = compiled(parsed(twice("plain")), options, &report);
  EXPECT_EQ(report.in_place, 3);
  EXPECT_EQ(own_operators_of(program), "my::plain=1");
  const Floats x = ramp(64);
  const Outcome refused = run(program, {{{64}, x}});
  EXPECT_EQ(refused.error, Error::kNotSupported);
  has(refused.said, "my::plain.out in place of argument 0");
  std::vector<KernelEntry> willing(own_kernels().begin(), own_kernels().end());
  for (KernelEntry& entry : willing) entry.in_place_arguments = 1;
  expect_close(run(program, {{{64}, x}}, {willing.data(), willing.size()}), expected_twice(x));

  options.in_place_operators = {"my::plain=self"};  // without '+', only this
  compiled(parsed(twice("plain")), options, &report);
  EXPECT_EQ(report.in_place, 1);
}

TEST(OwnOperators, WideningThatCannotBeIsRefused) {
  const auto said = [](const std::string& entry, Planner planner = Planner::kBest) {
    CompileOptions options = options_for();
    options.planner = planner;
    options.in_place_operators = {entry};
    auto module = parsed(twice("plain"));
    const auto program = compile(std::move(*module), options);
    return program.ok() ? "is taken" : program.error().text();
  };
  has(said("my::plain"), "its maker does not say of which argument");
  has(said("my::plain=factor"), "factor is not a tensor");
  has(said("my::plain=nothing"), "has no argument nothing");
  has(said("my::plain="), "has no argument ");
  has(said("+my::lost=self"), "there is no such operator");
  has(said("+aten::sum.dim_IntList=self"), "never works in place");
  has(said("+my::plain=self", Planner::kNaive), "would have no effect");
}

TEST(OwnOperators, ReplanningKeepsWhatTheFileAllows) {
  CompileOptions loose = options_for();
  loose.planner = Planner::kGreedy;
  loose.reorder = false;
  const Bytes program = compiled(parsed(twice("gain")), loose);
  const auto replanned = replan::replan(Span<const uint8_t>(program.data(), program.size()));
  ASSERT_TRUE(replanned.ok()) << replanned.error().text();
}

// A file that was bent: without the permission its own check refuses the plan, and it cannot permit what the operator
// table forbids.
TEST(OwnOperators, APlanInPlaceStandsAndFallsWithThePermission) {
  Bytes program = compiled(parsed(twice("gain")));
  format::ProgramView view;
  const auto check = [&] {
    format::Report report;
    EXPECT_EQ(format::ProgramView::open(Span<const uint8_t>(program.data(), program.size()), &view, nullptr),
              Error::kOk);
    std::vector<uint8_t> scratch(format::plan_scratch_bytes(view, 0));
    const Error error = format::verify_plan(view, 0, scratch, nullptr, &report);
    return error == Error::kOk ? std::string("sound") : std::string(report.message);
  };
  EXPECT_EQ(check(), "sound");
  auto* own = const_cast<fb::OwnOperator*>(view.meta()->methods()->Get(0)->own_operators()->Get(0));
  const auto field = const_cast<uint8_t*>(
      reinterpret_cast<const flatbuffers::Table*>(own)->GetAddressOf(fb::OwnOperator::VT_IN_PLACE));
  ASSERT_NE(field, nullptr);
  ASSERT_EQ(*field, 1);
  *field = 2;
  has(check(), "the operator does not allow that");
  *field = 0;
  has(check(), "the operator does not allow that");
  // The same of an operator of the table: aten::exp computes in place, and would not if the file had a say.
  const auto index =
      const_cast<uint8_t*>(reinterpret_cast<const flatbuffers::Table*>(own)->GetAddressOf(fb::OwnOperator::VT_INDEX));
  ASSERT_NE(index, nullptr);
  *field = 1;
  *index = 77;
  format::Report report;
  Outcome out = run(program, {{{64}, ramp(64)}});
  EXPECT_EQ(out.error, Error::kInvalidProgram);
  has(out.said, "own_operators");
}

}  // namespace
}  // namespace berth::own_operators_testing

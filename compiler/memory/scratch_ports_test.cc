// Inputs and outputs of delegates in their scratch. The fears: an input that is still read is overwritten; one of the
// caller's is; the plan around the delegate has it elsewhere than the nested program; two outputs share bytes; an arena
// becomes larger than without.
#include "compiler/memory/scratch_ports.h"

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "format/nested.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;
using testing::only_method;
using testing::value_text;

/// The options of these tests: inputs may lie in the scratch, nodes run as written.
MemoryOptions in_scratch() {
  MemoryOptions options = testing::as_written();
  options.inputs_in_scratch = true;
  return options;
}

/// x, 64 floats, is twice as large as the temporary that is made of it, and dead when that is doubled again.
std::string call_text(const std::string& before, const std::string& input, const std::string& rest) {
  return filled(R"(
    delegate @d0 "berth.cpu"
    method forward(%x: f32[64]) {
      $before
      %y: f32[1] = berth::delegate([$input]) @d0 { (%a: f32[64])
        %b: f32[32] = aten::slice_copy.Tensor(%a, 0, 0, 64, 2)
        %c: f32[32] = aten::exp(%b)
        %d: f32[64] = aten::repeat(%c, [2])
        %e: f32[1] = aten::sum.dim_IntList(%d, [0], true, none)
        yield %e
      }
      $rest
    })",
                {{"before", before}, {"input", input}, {"rest", rest}});
}

/// How many inputs of its delegates lie in the scratch.
int64_t inputs_in_scratch(const EmittedProgram& emitted) {
  int64_t count = 0;
  for (const DelegateReport& delegate : emitted.delegates) count += delegate.scratch_inputs;
  return count;
}

int64_t inputs_in_scratch(const std::string& text, const MemoryOptions& options = in_scratch()) {
  return inputs_in_scratch(testing::program_of(text, options));
}

uint32_t payload_version(const EmittedProgram& emitted) {
  const std::vector<uint8_t> bytes = testing::written(emitted.program.payloads.at(0));
  uint32_t version = 0;
  EXPECT_TRUE(format::open_nested({bytes.data(), bytes.size()}, nullptr, &version).ok());
  return version;
}

TEST(ScratchPorts, WhatDiesInACallIsPartOfItsScratch) {
  const std::string text = call_text("", "%x", "return %y");
  const EmittedProgram apart = testing::program_of(text, testing::as_written());
  const EmittedProgram inside = testing::program_of(text, in_scratch());
  EXPECT_EQ(inputs_in_scratch(apart), 0);
  EXPECT_EQ(inputs_in_scratch(inside), 1);
  EXPECT_EQ(payload_version(inside), format::kNestedPortInScratchVersion);
  EXPECT_LT(payload_version(apart), format::kNestedPortInScratchVersion);
  EXPECT_EQ(apart.delegates.at(0).scratch_bytes, 384) << "b and d";
  EXPECT_EQ(inside.delegates.at(0).scratch_bytes, 384) << "x and b, then b and d";
  EXPECT_EQ(only_method(apart).arenas[0].bytes, 256u + 384 + 4);
  EXPECT_EQ(only_method(inside).arenas[0].bytes, 384u + 4);
  EXPECT_TRUE(inside.arenas.at(0).optimal);
  const auto& call = std::get<format::DelegateCallDesc>(only_method(inside).instructions.at(0));
  EXPECT_EQ(value_text(only_method(inside), call.args[0]), "f32[64]+0");
  EXPECT_EQ(value_text(only_method(inside), call.args[2]), "u8[384]+0") << "the scratch begins where x does";
}

TEST(ScratchPorts, WhatAnotherReadsIsLeftAlone) {
  EXPECT_EQ(inputs_in_scratch(call_text("", "%x", "%z: f32[64] = aten::exp(%x)\n return %y, %z")), 0);
  EXPECT_EQ(inputs_in_scratch(call_text("%z: f32[64] = aten::exp(%x)", "%x", "return %y, %z")), 0)
      << "before, but a copy of it may not have ended";
  EXPECT_EQ(inputs_in_scratch(call_text("", "%x", "return %y, %x")), 0) << "the caller";
  EXPECT_EQ(inputs_in_scratch(call_text("%z: f32[64] = aten::exp(%x)", "%z", "return %y")), 1);
}

TEST(ScratchPorts, WhatHasOtherNamesIsLeftAlone) {
  EXPECT_EQ(inputs_in_scratch(call_text("%v: f32[8,8] = aten::view_copy(%x, [8, 8])\n"
                                        "%z: f32[64] = aten::view_copy(%v, [64])",
                                        "%z", "%w: f32[8,8] = aten::exp(%v)\n return %y, %w")),
            0)
      << "a view of what is read later";
  const std::string state =
      "state @s: f32[64] = splat<0>" +
      call_text("%s: f32[64] = berth::state_read() @s\n berth::state_write(%x) @s", "%s", "return %y");
  EXPECT_EQ(inputs_in_scratch(state), 0) << "state";
  EXPECT_EQ(inputs_in_scratch("const @c: f32[64] = splat<1>" + call_text("%k: f32[64] = const @c", "%k", "return %y")),
            0)
      << "a constant";
}

TEST(ScratchPorts, TheCallersMemoryIsNotWritten) {
  const std::string text = call_text("", "%x", "return %y");
  MemoryOptions options = in_scratch();
  options.callers = [](const ir::Method&, ir::ValueId) { return true; };
  EXPECT_EQ(inputs_in_scratch(text, options), 0);
  options = in_scratch();
  options.plan_inputs_and_outputs = false;
  EXPECT_EQ(inputs_in_scratch(text, options), 0);
  options = in_scratch();
  options.inputs_in_scratch = false;
  EXPECT_EQ(inputs_in_scratch(text, options), 0);
}

TEST(ScratchPorts, AnInputThatIsReturnedOrReadByNothingIsNotInIt) {
  const auto text = [](const std::string& results, const std::string& inside) {
    return filled(R"(
      delegate @d0 "berth.cpu"
      method forward(%x: f32[64]) {
        $results = berth::delegate([%x]) @d0 { (%a: f32[64])
          $inside
        }
        return %y
      })",
                  {{"results", results}, {"inside", inside}});
  };
  EXPECT_EQ(inputs_in_scratch(text("%y: f32[64], %z: f32[64]", R"(%b: f32[64] = aten::exp(%a)
    %c: f32[64] = aten::exp(%b)
    yield %c, %a)")),
            0);
  EXPECT_EQ(inputs_in_scratch(text("%y: f32[64]", R"(%b: f32[64] = aten::full([64], 1.0)
    %c: f32[64] = aten::exp(%b)
    yield %c)")),
            0);
  EXPECT_EQ(inputs_in_scratch(text("%y: f32[64]", R"(%b: f32[64] = aten::exp(%a)
    yield %b)")),
            0)
      << "one step has nothing to put there";
}

TEST(ScratchPorts, SeveralInputsLieThereTogether) {
  const std::string text = R"(
    delegate @d0 "berth.cpu"
    method forward(%x: f32[64], %z: f32[16]) {
      %y: f32[1] = berth::delegate([%z, %x]) @d0 { (%k: f32[16], %a: f32[64])
        %b: f32[32] = aten::slice_copy.Tensor(%a, 0, 0, 64, 2)
        %c: f32[64] = aten::repeat(%b, [2])
        %d: f32[1] = aten::sum.dim_IntList(%c, [0], true, none)
        %e: f32[1] = aten::sum.dim_IntList(%k, [0], true, none)
        %f: f32[1] = aten::add.Tensor(%d, %e, 1)
        yield %f
      }
      return %y
    })";
  const EmittedProgram apart = testing::program_of(text, testing::as_written());
  const EmittedProgram inside = testing::program_of(text, in_scratch());
  EXPECT_EQ(inputs_in_scratch(inside), 2);
  EXPECT_EQ(only_method(apart).arenas[0].bytes - only_method(inside).arenas[0].bytes, 256u)
      << "c lies where x was, and z is read behind it";
}

// The nested program's order changes with the sizes, but for what lies at its front.
TEST(ScratchPorts, WhereSizesChangeOneInputLiesAtTheFront) {
  const std::string text = R"(
    symbol n in [1, 64]
    delegate @d0 "berth.cpu"
    method forward(%z: f32[n], %x: f32[n,4]) {
      %y: f32[n] = berth::delegate([%z, %x]) @d0 { (%k: f32[n], %a: f32[n,4])
        %b: f32[n] = aten::sum.dim_IntList(%a, [1], false, none)
        %c: f32[n] = aten::exp(%b)
        %d: f32[n] = aten::mul.Tensor(%c, %k)
        %e: f32[n] = aten::exp(%d)
        yield %e
      }
      return %y
    })";
  const EmittedProgram emitted = testing::program_of(text, in_scratch());
  EXPECT_EQ(inputs_in_scratch(emitted), 1);
  const auto& call = std::get<format::DelegateCallDesc>(only_method(emitted).instructions.at(0));
  const auto place = [&](size_t argument) { return value_text(only_method(emitted), call.args[argument]); };
  const std::string scratch = place(3);
  EXPECT_EQ(scratch.substr(scratch.find('+')), place(1).substr(place(1).find('+'))) << place(1) << " in " << scratch;
}

/// The options of these tests: outputs may lie in the scratch, too.
MemoryOptions all_in_scratch() {
  MemoryOptions options = in_scratch();
  options.outputs_in_scratch = true;
  return options;
}

/// y is made last, of a temporary that is as large; another one, four times as large, is dead by then.
std::string made_last(const std::string& results, const std::string& more, const std::string& rest) {
  return filled(R"(
    delegate @d0 "berth.cpu"
    method forward(%x: f32[64]) {
      $results = berth::delegate([%x]) @d0 { (%a: f32[64])
        %b: f32[256] = aten::repeat(%a, [4])
        %c: f32[64] = aten::slice_copy.Tensor(%b, 0, 0, 256, 4)
        %d: f32[64] = aten::flip(%c, [0])
        $more
      }
      $rest
    })",
                {{"results", results}, {"more", more}, {"rest", rest}});
}

int64_t outputs_in_scratch(const std::string& text, const MemoryOptions& options = all_in_scratch()) {
  int64_t count = 0;
  for (const DelegateReport& delegate : testing::program_of(text, options).delegates) count += delegate.scratch_outputs;
  return count;
}

TEST(ScratchPorts, WhatACallMakesIsPartOfItsScratch) {
  const std::string text = made_last("%y: f32[64]", "yield %d", "return %y");
  const EmittedProgram apart = testing::program_of(text, in_scratch());
  const EmittedProgram inside = testing::program_of(text, all_in_scratch());
  EXPECT_EQ(apart.delegates.at(0).scratch_outputs, 0);
  EXPECT_EQ(inside.delegates.at(0).scratch_outputs, 1);
  EXPECT_EQ(payload_version(inside), format::kNestedPortInScratchVersion);
  EXPECT_EQ(only_method(apart).arenas[0].bytes, 1280u + 256) << "b and c, and y beside them";
  EXPECT_EQ(only_method(inside).arenas[0].bytes, 1280u) << "y lies where b was";
  EXPECT_EQ(inside.arenas.at(0).bytes, inside.arenas.at(0).lower_bound);
}

TEST(ScratchPorts, OutputsAreInUseAsLongAsTheyAreRead) {
  const std::string text = made_last("%y: f32[64]", "yield %d",
                                     "%z: f32[64] = aten::exp(%y)\n %w: f32[64] = aten::add.Tensor(%z, %y, 1)\n"
                                     " return %w");
  EXPECT_EQ(outputs_in_scratch(text), 1);
  EXPECT_LE(only_method(testing::program_of(text, all_in_scratch())).arenas[0].bytes, 1280u + 512);
}

// All of the scratch would be in use while what is large is made of y: then y lies beside it.
TEST(ScratchPorts, AnOutputThatKeepsTooMuchInUseLiesElsewhere) {
  const std::string text = made_last("%y: f32[64]", "yield %d",
                                     "%z: f32[320] = aten::repeat(%y, [5])\n %w: f32[320] = aten::flip(%z, [0])\n"
                                     " %v: f32[1] = aten::sum.dim_IntList(%w, [0], true, none)\n"
                                     " %u: f32[64] = aten::mul.Tensor(%y, %v)\n return %u");
  EXPECT_EQ(outputs_in_scratch(text), 0);
  EXPECT_LE(only_method(testing::program_of(text, all_in_scratch())).arenas[0].bytes,
            only_method(testing::program_of(text, testing::as_written())).arenas[0].bytes);
}

// Where inputs are the call's, a view of one would be as well.
TEST(ScratchPorts, AViewOfAnInputIsCopiedIntoTheScratch) {
  const std::string text = made_last("%y: f32[64], %z: f32[8,8]", R"(%e: f32[8,8] = aten::view_copy(%a, [8, 8])
        yield %d, %e)",
                                     "return %y, %z");
  for (const bool inputs : {false, true}) {
    MemoryOptions options = all_in_scratch();
    options.inputs_in_scratch = inputs;
    EXPECT_EQ(outputs_in_scratch(text, options), 2) << inputs;
  }
}

TEST(ScratchPorts, OutputsThatShareBytesOrAreTheCallersLieElsewhere) {
  EXPECT_EQ(
      outputs_in_scratch(made_last("%y: f32[64], %z: f32[32]", R"(%e: f32[32] = aten::slice_copy.Tensor(%d, 0, 0, 32, 1)
        yield %d, %e)",
                                   "return %y, %z")),
      0)
      << "one is the other's front";
  EXPECT_EQ(outputs_in_scratch(made_last("%y: f32[64], %z: f32[64]", "yield %d, %d", "return %y, %z")), 0);
  MemoryOptions options = all_in_scratch();
  options.callers = [](const ir::Method&, ir::ValueId) { return true; };
  EXPECT_EQ(outputs_in_scratch(made_last("%y: f32[64]", "yield %d", "return %y"), options), 0);
  EXPECT_EQ(outputs_in_scratch("state @s: f32[64] = splat<0>" +
                               made_last("%y: f32[64]", "yield %d", "berth::state_write(%y) @s\n return %x")),
            0)
      << "a run that fails leaves the state";
}

}  // namespace
}  // namespace berth::memory

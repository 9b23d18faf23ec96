// When a result may take the bytes of an input.
#include "compiler/memory/in_place.h"

#include "compiler/memory/in_place_testing.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;
using packing::Planner;

using testing::module_of;
using testing::only_method;
using testing::program_of;
using testing::value_text;
using testing::why;
using testing::why_of;

/// The one arena's bytes.
uint64_t arena(const EmittedProgram& emitted) { return only_method(emitted).arenas.at(0).bytes; }

// Holds row 176, row 177: the sum is an input of no one else, the product takes its bytes; the file's judge agrees.
TEST(InPlace, AResultTakesTheBytesOfADyingInputAndThePlanCheckAgrees) {
  const std::string text = forward("%a: f32[4,8], %b: f32[4,8]", R"(
    %c: f32[4,8] = aten::add.Tensor(%a, %b)
    %d: f32[4,8] = aten::mul.Tensor(%c, %b)
    return %d
  )");
  EXPECT_EQ(why(text),
            (std::vector<std::string>{"%c (aten::add.Tensor): reuse %a", "%d (aten::mul.Tensor): reuse %c"}));
  const EmittedProgram emitted = program_of(text);
  EXPECT_EQ(arena(emitted), 256u) << "two values are live at once, never three";
  EXPECT_EQ(emitted.in_place, 2u);
}

// Holds row 178.
TEST(InPlace, AnInputThatIsReadLaterIsKept) {
  EXPECT_EQ(why_of("d", forward("%a: f32[4,8], %b: f32[4,8]", R"(
    %c: f32[4,8] = aten::add.Tensor(%a, %b)
    %d: f32[4,8] = aten::exp(%c)
    %e: f32[4,8] = aten::mul.Tensor(%c, %d)
    return %e
  )")),
            "keep: %c still-read");
}

// Holds row 179, row 193: nothing is in place when it is switched off, nor for the planner without reuse.
TEST(InPlace, SwitchedOffEveryValueHasItsOwnBytes) {
  const std::string text = forward("%a: f32[4,8]", R"(
    %b: f32[4,8] = aten::exp(%a)
    %c: f32[4,8] = aten::exp(%b)
    %d: f32[4,8] = aten::exp(%c)
    return %d
  )");
  EXPECT_EQ(arena(program_of(text)), 128u);
  MemoryOptions off = testing::as_written();
  off.in_place = false;
  EXPECT_EQ(arena(program_of(text, off)), 256u);
  EXPECT_EQ(why_of("c", text, off), "keep: off");
  MemoryOptions naive = testing::as_written();
  naive.planner = Planner::kNaive;
  EXPECT_EQ(arena(program_of(text, naive)), 512u);
}

TEST(InPlace, StateIsNotOverwrittenButAnotherInputIs) {
  const std::string text = R"(
    state @s: f32[4]
    method forward(%x: f32[4], %y: f32[4]) {
      %old: f32[4] = berth::state_read() @s
      %a: f32[4] = aten::add.Tensor(%old, %x)
      %b: f32[4] = aten::exp(%old)
      return %a, %b
    })";
  EXPECT_EQ(why_of("a", text), "reuse %x");
  EXPECT_EQ(why_of("b", text), "keep: %old state");
}

// Holds row 187: what the caller brings is never written, so of a chain only the second result may be in place.
TEST(InPlace, TheCallersMemoryIsNeverOverwrittenNorReused) {
  const ir::Module module = module_of(R"(
    method forward(%x: f32[4]) {
      %a: f32[4] = aten::exp(%x)
      %b: f32[4] = aten::exp(%a)
      %c: f32[4] = aten::exp(%b)
      return %c
    })");
  MemoryOptions callers;
  callers.plan_inputs_and_outputs = false;
  EXPECT_EQ(reasons(module, callers), (std::vector<std::string>{"callers-memory", "reuse", "not-in-arena"}));
}

// Limits 1.4.
// Holds row 190, row 191. The old bytes go to one of two results, or to none; never to both.
TEST(InPlace, OneBufferIsTakenByOneOfSeveral) {
  const std::string text = forward("%x: f32[4,8]", R"(
    %t: f32[4,8] = aten::exp(%x)
    %a: f32[4,8] = aten::sin(%t)
    %b: f32[4,8] = aten::cos(%t)
    %c: f32[4,8] = aten::mul.Tensor(%a, %b)
    return %c
  )");
  EXPECT_EQ(why_of("a", text), "keep: %t still-read");
  EXPECT_EQ(why_of("b", text), "reuse %t");
  EXPECT_EQ(arena(program_of(text)), 256u);
}

// Holds row 187, row 195. A chain lies in the bytes of its first value. A planned input may be overwritten: each run
// sets it anew.
TEST(InPlace, AChainUsesOneOffsetFromTheInputOn) {
  const std::string text = forward("%x: f32[4,8], %y: f32[4,8]", R"(
    %a: f32[4,8] = aten::add.Tensor(%x, %y)
    %b: f32[4,8] = aten::relu(%a)
    %c: f32[4,8] = aten::add.Tensor(%b, %w)
    %d: f32[4,8] = aten::relu(%c)
    return %d
  )");
  EXPECT_EQ(arena(program_of(text)), 256u);
  EXPECT_EQ(program_of(text).in_place, 4u);
}

// Limits 1.1.
// Holds row 180: result and base are one place before anything is packed, so a third value is never put over them.
TEST(InPlace, AShortLivedValueNeverTakesBytesOfALiveBase) {
  const EmittedProgram emitted = program_of(forward("%x: f32[4,8]", R"(
    %base: f32[4,8] = aten::exp(%x)
    %r: f32[4,8] = aten::relu(%base)
    %third: f32[4,8] = aten::full([4, 8], 2.0)
    %s: f32[4,8] = aten::mul.Tensor(%third, %w)
    %t: f32[4,8] = aten::sub.Tensor(%r, %s)
    return %t
  )"));
  EXPECT_EQ(arena(emitted), 256u);
  // By hand: r is made by the second call and read by the last; the others write beside it.
  const format::MethodDesc& method = only_method(emitted);
  const auto offset = [&](size_t call) {
    const auto& kernel = std::get<format::KernelCallDesc>(method.instructions.at(call));
    return std::get<format::TensorDesc>(method.values[kernel.args.back()]).planned->offset;
  };
  EXPECT_EQ(offset(0), offset(1)) << "r is in its base";
  EXPECT_NE(offset(1), offset(2));
  EXPECT_NE(offset(1), offset(3));
}

// Holds row 182: a chain through views resolves in order.
TEST(InPlace, ViewsTakePartAsAliases) {
  const std::string text = forward("%x: f32[4,8]", R"(
    %a: f32[4,8] = aten::exp(%x)
    %v: f32[32] = aten::view_copy(%a, [32])
    %b: f32[32] = aten::relu(%v)
    %u: f32[8,4] = aten::view_copy(%b, [8, 4])
    %c: f32[8,4] = aten::neg(%u)
    return %c
  )");
  EXPECT_EQ(arena(program_of(text)), 128u);
}

// Limits 1.5.
// Holds row 206.
TEST(InPlace, AViewThatIsReadLaterKeepsItsBytes) {
  EXPECT_EQ(why_of("b", forward("%x: f32[4,8]", R"(
    %t: f32[4,8] = aten::exp(%x)
    %v: f32[32] = aten::view_copy(%t, [32])
    %b: f32[4,8] = aten::relu(%t)
    %s: f32[32] = aten::neg(%v)
    return %b, %s
  )")),
            "keep: %t view-alive");
}

// Holds row 192.
TEST(InPlace, OnlyEqualSymbolicSizesAreEqual) {
  const std::string text = R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[n,4], %y: f32[n,4], %z: f32[1,4], %w: f32[m,4], %o: f32[m,4]) {
      %a: f32[n,4] = aten::exp(%y)
      %b: f32[n,4] = aten::add.Tensor(%x, %a)
      %c: f32[n,4] = aten::add.Tensor(%z, %b)
      %d: f32[n,4] = aten::exp(%c)
      %e: f32[m,4] = aten::exp(%w)
      %f: f32[m,4] = aten::view_copy(%d, [m, 4])
      %g: f32[m,4] = aten::add.Tensor(%e, %o)
      %h: f32[m,4] = aten::sub.Tensor(%f, %g)
      return %h
    })";
  EXPECT_EQ(why_of("b", text), "reuse %x");
  EXPECT_EQ(why_of("c", text), "reuse %b");
  EXPECT_EQ(why_of("g", text), "reuse %e");
  // n and m have one range, so d's bytes would do; the view fails where they differ.
  EXPECT_EQ(why_of("h", text), "reuse %f");
}

// Holds row 192: an input that is stretched over symbolic sizes keeps its bytes, though they are as many as the
// result's may be.
TEST(InPlace, ABroadcastInputOfASymbolicSizeIsKept) {
  EXPECT_EQ(why_of("c", R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[n,1], %y: f32[1,m], %z: f32[n,m]) {
      %a: f32[n,1] = aten::exp(%x)
      %b: f32[1,m] = aten::exp(%y)
      %c: f32[n,m] = aten::add.Tensor(%a, %b)
      %d: f32[n,m] = aten::mul.Tensor(%c, %z)
      return %d
    })"),
            "keep: %a size-differs, %b size-differs");
  EXPECT_EQ(why_of("c", R"(
    symbol n in [1, 1]
    symbol m in [1, 1]
    method forward(%x: f32[n,1], %y: f32[1,m]) {
      %a: f32[n,1] = aten::exp(%x)
      %b: f32[1,m] = aten::exp(%y)
      %c: f32[n,m] = aten::add.Tensor(%a, %b)
      return %c
    })"),
            "keep: %a size-differs, %b size-differs");
}

// Two symbols that are equal when the program runs, with other upper ends: a view of 32 bytes may have up to 64.
TEST(InPlace, AliasesWithOtherUpperBoundsAreNotOverwritten) {
  const std::string text = R"(
    symbol n in [1, 8]
    symbol m in [1, 16]
    method forward(%x: f32[n], %y: f32[m], %k: f32[m]) {
      %a: f32[n] = aten::exp(%x)
      %v: f32[m] = aten::view_copy(%a, [m])
      %z: f32[m] = aten::add.Tensor(%v, %y)
      %b: f32[m] = aten::exp(%k)
      %w: f32[n] = aten::view_copy(%b, [n])
      %c: f32[n] = aten::exp(%w)
      return %z, %c
    })";
  EXPECT_EQ(why_of("a", text), "keep: %x size-differs") << "its other name is larger than x";
  EXPECT_EQ(why_of("z", text), "reuse %y");
  EXPECT_EQ(why_of("c", text), "keep: %w size-differs");
  const std::string only = R"(
    symbol n in [1, 8]
    symbol m in [1, 16]
    method forward(%x: f32[n]) {
      %a: f32[n] = aten::exp(%x)
      %v: f32[m] = aten::view_copy(%a, [m])
      %z: f32[m] = aten::exp(%v)
      return %z
    })";
  EXPECT_EQ(why_of("z", only), "keep: %v size-differs");
}

// A picture of floats that one delegate makes bytes of, `before` before it, `more` behind it, and a second that reads
// them.
std::string entry(const std::string& backend, const std::string& more = "", const std::string& results = "%r",
                  const std::string& before = "") {
  return filled(R"(
    delegate @d0 "$backend"
    delegate @d1 "berth.cpu"
    method forward(%x: f32[1,3,32,32]) {
      $before
      %q: i8[1,3,32,32] = berth::delegate([%x]) @d0 { (%a: f32[1,3,32,32])
        %b: i8[1,3,32,32] = berth::elementwise([%a], [3, 0, 1, 0, 30, 4, 0, 0, 19, 5, 3, 2, 33, 6, 0, 0], [0.04, 127.0, -128.0])
        yield %b
      }
      %r: i8[1,3,32,32] = berth::delegate([%q]) @d1 { (%c: i8[1,3,32,32])
        %d: i8[1,3,32,32] = berth::elementwise([%c], [1, 0, 1, 0, 33, 2, 0, 0], [-3.0])
        yield %d
      }
      $more
      return $results
    })",
                {{"backend", backend}, {"more", more}, {"results", results}, {"before", before}});
}

TEST(InPlace, ACallThatNarrowsItsInputWritesOverIt) {
  EXPECT_EQ(why_of("q", entry("berth.cpu")), "reuse %x");
  EXPECT_EQ(arena(program_of(entry("berth.cpu"))), 12288u) << "the picture's floats and nothing else";
  EXPECT_EQ(why_of("q", entry("berth.sim")), "keep: never") << "other kernels";
  EXPECT_EQ(why_of("q", entry("berth.cpu", "%z: f32[1,3,32,32] = aten::exp(%x)", "%r, %z")), "keep: %x still-read");
  MemoryOptions off = testing::as_written();
  off.in_place = false;
  EXPECT_EQ(why_of("q", entry("berth.cpu"), off), "keep: %x off");
  EXPECT_EQ(arena(program_of(entry("berth.cpu"), off)), 12288u + 3072);
  for (const auto& [op, why] : {std::pair{"aten::relu", "keep: %x off"}, {"berth::elementwise", "reuse %x"}}) {
    MemoryOptions chosen = testing::as_written();
    chosen.in_place_set = InPlaceSet::only({op}).value();
    EXPECT_EQ(why_of("q", entry("berth.cpu"), chosen), why) << op;
  }
}

// The same floats, of which a maximum is wanted too: it has to be taken first, and a claim that no order is lower has
// to count so.
TEST(InPlace, ACallThatNarrowsRunsBehindWhoeverReadsTheFloats) {
  for (const bool first : {false, true}) {
    const std::string largest = "%z: f32[1,3,1,1] = aten::amax(%x, [2, 3], true)";
    const std::string text = entry("berth.cpu", first ? "" : largest, "%r, %z", first ? largest : "");
    EXPECT_EQ(arena(program_of(text)), first ? 12300u : 18432u) << "as written";
    const EmittedProgram emitted = program_of(text, MemoryOptions{});
    EXPECT_EQ(arena(emitted), 12300u) << (first ? "the maximum first" : "the bytes first");
    EXPECT_TRUE(emitted.order_optimal);
  }
}

// A program that is read again has the delegate as its nested program alone.
TEST(InPlace, ADelegateThatIsANestedProgramNarrowsWhereThatSaysSo) {
  const EmittedProgram emitted = program_of(entry("berth.cpu"));
  const auto compiled = [&](size_t payload) {
    std::string digits;
    for (const uint8_t byte : testing::written(emitted.program.payloads.at(payload))) {
      digits += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
    }
    return filled(R"(
      delegate @d0 "berth.cpu" = hex"$digits"
      method forward(%x: f32[1,3,32,32]) {
        %q: i8[1,3,32,32] = berth::delegate([%x]) @d0
        return %q
      })",
                  {{"digits", digits}});
  };
  EXPECT_EQ(why_of("q", compiled(0)), "reuse %x");
  EXPECT_EQ(why_of("q", compiled(1)), "keep: never") << "it reads bytes, whatever the call says";
}

TEST(InPlace, OnlyTheFirstResultTakesAnInput) {
  const EmittedProgram emitted = program_of(R"(
    const @g: f32[8] = splat<1>
    method forward(%x: f32[4,8]) {
      %g: f32[8] = const @g
      %y: f32[4,8], %m: f32[4,1], %r: f32[4,1] = aten::native_layer_norm(%x, [8], %g, %g, 1e-5)
      return %y
    })");
  EXPECT_EQ(value_text(only_method(emitted), only_method(emitted).outputs[0]), "f32[4,8]+0");
}

// ExecuTorch's kernel clears its output before it reads: found by ./dev compat inplace.
TEST(InPlace, TrilNeverWorksInPlace) {
  const EmittedProgram emitted = testing::program_of(R"(
    method forward(%x: f32[4,4]) {
      %a: f32[4,4] = aten::exp(%x)
      %r: f32[4,4] = aten::tril(%a, 0)
      return %r
    })");
  EXPECT_EQ(emitted.in_place, 1u);
}

}  // namespace
}  // namespace berth::memory

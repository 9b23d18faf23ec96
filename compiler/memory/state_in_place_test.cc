// State that is computed where it lies. The fears: old contents that are still to be read, a value larger than the
// state.
#include "compiler/memory/state_in_place.h"

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;

using testing::listing;
using testing::only_method;
using testing::program_of;
using testing::value_text;
using testing::why_of;

// Holds row 147, row 183. The cache is written where it lies; no copy follows.
TEST(StateInPlace, StateIsComputedInPlaceWhenItsOldValueIsDead) {
  const std::string text = R"(
    state @cache: f32[4,8] = splat<0>
    method forward(%v: f32[1,8], %i: i64[1]) {
      %old: f32[4,8] = berth::state_read() @cache
      %new: f32[4,8] = aten::index_put(%old, [%i], %v, false)
      berth::state_write(%new) @cache
      %s: f32[8] = aten::sum.dim_IntList(%new, [0], false)
      return %s
    })";
  const EmittedProgram emitted = program_of(text);
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::index_put.out(v2, [v1], v0, false, v3, v3)
    aten::sum.IntList_out(v3, [0], false, none, v6, v6)
  )"));
  EXPECT_EQ(value_text(only_method(emitted), 2), "f32[4,8]@2+0#1");
  EXPECT_EQ(value_text(only_method(emitted), 3), "f32[4,8]@2+0");
  EXPECT_EQ(why_of("new", text), "reuse state @cache");
}

// Holds row 184, row 185.
TEST(StateInPlace, StateThatIsReadAgainIsCopiedAtTheEnd) {
  const auto copies = [](const std::string& body) {
    const std::string module = filled(R"(
      state @s: f32[4] = splat<0>
      state @t: f32[4]
      method forward(%x: f32[4]) {
        %old: f32[4] = berth::state_read() @s
        $body
      })",
                                      {{"body", body}});
    const std::string text = listing(only_method(program_of(module)));
    return text.find("aten::copy_") != std::string::npos;
  };
  EXPECT_FALSE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    berth::state_write(%new) @s
    return %new
  )"));
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    %y: f32[4] = aten::exp(%old)
    berth::state_write(%new) @s
    return %y
  )"));
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    berth::state_write(%new) @s
    return %old
  )"));
  // The kernel reads it in another order than it writes it.
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::flip(%old, [0])
    berth::state_write(%new) @s
    return %x
  )"));
  // Another state is to get the old contents.
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    berth::state_write(%new) @s
    berth::state_write(%old) @t
    return %x
  )"));
  // A view of it is read again.
  EXPECT_TRUE(copies(R"(
    %v: f32[2,2] = aten::view_copy(%old, [2, 2])
    %new: f32[4] = aten::add.Tensor(%old, %x)
    %y: f32[2,2] = aten::exp(%v)
    berth::state_write(%new) @s
    return %y
  )"));
  // An input that is to become the state is where the caller sets it.
  EXPECT_TRUE(copies(R"(
    berth::state_write(%x) @s
    return %old
  )"));
}

// Holds row 148, row 194.
TEST(StateInPlace, TwoCachesAreWrittenInPlace) {
  const EmittedProgram emitted = program_of(testing::kTwoCaches);
  EXPECT_EQ(listing(only_method(emitted)).find("aten::copy_"), std::string::npos) << listing(only_method(emitted));
  EXPECT_EQ(only_method(emitted).arenas.at(1).bytes, 256u);
}

TEST(StateInPlace, TwoStatesSwapWithoutLosingEither) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[4] = splat<1>
    state @t: f32[4] = splat<2>
    method forward(%x: f32[4]) {
      %s: f32[4] = berth::state_read() @s
      %t: f32[4] = berth::state_read() @t
      %s2: f32[4] = aten::add.Tensor(%t, %x)
      %t2: f32[4] = aten::exp(%s)
      berth::state_write(%s2) @s
      berth::state_write(%t2) @t
      return %x
    })");
  // The old s is read after the new one is made; the old t is not.
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::add.out(v2, v0, 1, v3, v3)
    aten::exp.out(v1, v5, v5)
    aten::copy_(v1, v3, false, v1)
  )")) << listing(only_method(emitted));
}

// What the kernel reads as it writes a result behind the first.
TEST(StateInPlace, StateIsNotTheSecondResultOfItsReader) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[4,1] = splat<0>
    const @g: f32[1] = splat<1>
    method forward(%x: f32[4,1]) {
      %g: f32[1] = const @g
      %old: f32[4,1] = berth::state_read() @s
      %y: f32[4,1], %m: f32[4,1], %r: f32[4,1] = aten::native_layer_norm(%old, [1], %g, %g, 1e-5)
      berth::state_write(%m) @s
      return %y
    })");
  EXPECT_NE(listing(only_method(emitted)).find("aten::copy_"), std::string::npos) << listing(only_method(emitted));
}

// A value whose bytes may be more than the state's is copied there.
TEST(StateInPlace, StateIsNotComputedInPlaceWhenAnAliasIsLarger) {
  const EmittedProgram emitted = program_of(R"(
    symbol m in [1, 16]
    state @s: f32[8] = splat<0>
    method forward(%y: f32[m]) {
      %b: f32[m] = aten::exp(%y)
      %v: f32[8] = aten::view_copy(%b, [8])
      berth::state_write(%v) @s
      return %y
    })");
  EXPECT_EQ(only_method(emitted).arenas.at(1).bytes, 32u);
  EXPECT_NE(listing(only_method(emitted)).find("aten::copy_"), std::string::npos) << listing(only_method(emitted));
}

// Also where state, or a loop, would be updated through such a name.
TEST(StateInPlace, AliasesWithOtherUpperBoundsAreNotUpdatedInStateOrLoops) {
  const std::string text = R"(
    symbol m in [1, 16]
    state @s: f32[8] = splat<0>
    state @t: f32[4] = splat<1>
    method forward(%y: f32[m]) {
      %old: f32[8] = berth::state_read() @s
      %o: f32[4] = berth::state_read() @t
      %v: f32[m] = aten::view_copy(%old, [m])
      %w: f32[m] = aten::add.Tensor(%v, %y)
      %n: f32[8] = aten::view_copy(%w, [8])
      berth::state_write(%n) @s
      return %o
    }
    method look(%y: f32[8]) {
      %o: f32[4] = berth::state_read() @t
      %old: f32[8] = berth::state_read() @s
      %w: f32[8] = aten::add.Tensor(%old, %y)
      return %o, %w
    })";
  EXPECT_EQ(why_of("v", text), "keep: state-of-symbols");
  const EmittedProgram emitted = program_of(text);
  for (const format::MethodDesc& method : emitted.program.methods) EXPECT_EQ(method.arenas.at(1).bytes, 48u);
  EXPECT_NE(listing(emitted.program.methods[0]).find("aten::copy_"), std::string::npos);

  const EmittedProgram loop = program_of(R"(
    symbol m in [1, 16]
    method forward(%h: f32[8], %z: f32[m], %x: f32[5,4]) {
      %last: f32[8], %all: f32[5,4] = berth::scan(5, [%h], [%x]) { (%c: f32[8], %s: f32[4])
        %v: f32[m] = aten::view_copy(%c, [m])
        %a: f32[m] = aten::add.Tensor(%v, %z)
        %b: f32[8] = aten::view_copy(%a, [8])
        yield %b, %s
      }
      return %last, %all
    })");
  EXPECT_NE(listing(only_method(loop)).rfind("aten::clone"), listing(only_method(loop)).find("aten::clone"));
}

}  // namespace
}  // namespace berth::memory

// State that delegates change in place. The fears: a cache that is copied, an old value that is read after it was
// overwritten, a program whose call and payload disagree.
#include "compiler/memory/delegate_state.h"

#include <algorithm>

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "format/nested.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;

using testing::only_method;
using testing::program_of;
using testing::why_of;
using testing::written;

/// A cache of 4 rows to which a delegate adds %v at row %i; `more` reads it in the region, which yields %new and
/// `yields`.
std::string text_of(const std::string& more, const std::string& yields, const std::string& results,
                    const std::string& rest) {
  return filled(R"(
    state @cache: f32[4,8] = splat<0>
    delegate @d0 "berth.cpu"
    method forward(%v: f32[1,8], %i: i64[1]) {
      %old: f32[4,8] = berth::state_read() @cache
      %new: f32[4,8]$results = berth::delegate([%v, %old, %i]) @d0 { (%a: f32[1,8], %c: f32[4,8], %k: i64[1])
        %d: f32[4,8] = aten::index_put(%c, [%k], %a, false)
        $more
        yield %d$yields
      }
      berth::state_write(%new) @cache
      $rest
    })",
                {{"more", more}, {"yields", yields}, {"results", results}, {"rest", rest}});
}

std::string sum_of_new() {
  return text_of("%s: f32[8] = aten::sum.dim_IntList(%d, [0], false)", ", %s", ", %y: f32[8]", "return %y");
}

bool calls_copy(const EmittedProgram& emitted) {
  const auto& operators = only_method(emitted).operators;
  return std::any_of(operators.begin(), operators.end(), [](const auto& op) { return op.name == "aten::copy_"; });
}

bool copies_cache(const std::string& text) { return calls_copy(program_of(text)); }

uint32_t version_of(const EmittedProgram& emitted) {
  const std::vector<uint8_t> bytes = written(emitted.program.payloads.at(0));
  uint32_t version = 0;
  EXPECT_TRUE(format::open_nested({bytes.data(), bytes.size()}, nullptr, &version).ok());
  return version;
}

TEST(DelegateState, ACacheIsWrittenWhereItLies) {
  const EmittedProgram emitted = program_of(sum_of_new());
  EXPECT_FALSE(calls_copy(emitted));
  EXPECT_EQ(version_of(emitted), format::kNestedInPlaceVersion);
  EXPECT_EQ(only_method(emitted).arenas.at(1).bytes, 128u) << "the state";
  EXPECT_LT(only_method(emitted).arenas.at(0).bytes, 128u + 128u) << "no second cache";
  EXPECT_EQ(why_of("new", sum_of_new()), "reuse state @cache");
}

TEST(DelegateState, AChainOfWritesIsOneCache) {
  const std::string text = text_of(R"(
    %e: f32[4,8] = aten::index_put(%d, [%k], %a, true)
    %s: f32[8] = aten::sum.dim_IntList(%e, [0], false)
  )",
                                   ", %s", ", %y: f32[8]", "return %y");
  std::string chained = text;
  chained.replace(chained.find("yield %d"), 8, "yield %e");
  EXPECT_FALSE(copies_cache(chained));
  EXPECT_FALSE(copies_cache(text)) << "the first link is the result; the second is made of it elsewhere";
}

TEST(DelegateState, AnOldValueThatIsReadAgainIsKept) {
  EXPECT_TRUE(
      copies_cache(text_of("%s: f32[8] = aten::sum.dim_IntList(%c, [0], false)", ", %s", ", %y: f32[8]", "return %y")));
  EXPECT_TRUE(copies_cache(text_of("%s: f32[8] = aten::sum.dim_IntList(%d, [0], false)", ", %s", ", %y: f32[8]",
                                   "%z: f32[4,8] = aten::exp(%old)\n return %y, %z")))
      << "the method reads it itself";
  EXPECT_TRUE(copies_cache(
      text_of("%s: f32[8] = aten::sum.dim_IntList(%d, [0], false)", ", %s", ", %y: f32[8]", "return %y, %new")))
      << "the new value is returned";
  const std::string twice = text_of("%s: f32[8] = aten::sum.dim_IntList(%d, [0], false)", ", %s, %d",
                                    ", %y: f32[8], %t: f32[4,8]", "return %y, %t");
  EXPECT_TRUE(copies_cache(twice)) << "one value, two results";
}

TEST(DelegateState, OptionsThatForbidItAreHeard) {
  MemoryOptions options = testing::as_written();
  options.in_place = false;
  const EmittedProgram emitted = program_of(sum_of_new(), options);
  EXPECT_TRUE(calls_copy(emitted));
  EXPECT_LT(version_of(emitted), format::kNestedInPlaceVersion);
}

TEST(DelegateState, StateThatAnotherReadsIsNotAPort) {
  const std::string text = R"(
    state @cache: f32[4,8] = splat<0>
    delegate @d0 "berth.cpu"
    method forward(%v: f32[1,8], %i: i64[1]) {
      %old: f32[4,8] = berth::state_read() @cache
      %also: f32[4,8] = berth::state_read() @cache
      %new: f32[4,8] = berth::delegate([%v, %old, %i]) @d0 { (%a: f32[1,8], %c: f32[4,8], %k: i64[1])
        %d: f32[4,8] = aten::index_put(%c, [%k], %a, false)
        yield %d
      }
      berth::state_write(%new) @cache
      %z: f32[4,8] = aten::exp(%also)
      return %z
    })";
  EXPECT_TRUE(copies_cache(text));
}

}  // namespace
}  // namespace berth::memory

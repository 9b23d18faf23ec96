#include "tools/timeline.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "tools/report_page.h"

namespace berth::tool {
namespace {

struct ReadProgram {
  std::vector<uint8_t> bytes;
  format::ProgramView view;
};

ReadProgram compiled(const char* text, const char* target = "portable") {
  ReadProgram out;
  CompileOptions options;
  options.target = target;
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text();
  auto bytes = compile(std::move(module).value(), options);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  out.bytes = std::move(bytes).value();
  EXPECT_EQ(format::ProgramView::open(out.bytes, &out.view, nullptr), Error::kOk);
  return out;
}

const TimelineValue& find(const TimelineArena& arena, const std::string& name) {
  for (const TimelineValue& value : arena.values) {
    if (value.name == name) return value;
  }
  ADD_FAILURE() << "no value " << name;
  return arena.values.front();
}

TEST(Timeline, ShowsWhatIsAliveWhen) {
  const ReadProgram program = compiled(R"(
method forward(%x: f32[8,8]) {
  %a: f32[8,8] = aten::mm(%x, %x) "first"
  %b: f32[8,8] = aten::mm(%a, %x) "second"
  %c: f32[8,8] = aten::mm(%b, %a) "third"
  return %c
})");
  const Timeline timeline = timeline_of(program.view, 0);
  ASSERT_EQ(timeline.steps.size(), 5u);
  EXPECT_EQ(timeline.steps[2], "aten::mm.out second");
  ASSERT_EQ(timeline.arenas.size(), 1u);
  const TimelineArena& arena = timeline.arenas[0];
  EXPECT_EQ(find(arena, "x").role, "input");
  EXPECT_EQ(find(arena, "c").role, "output");
  EXPECT_EQ(find(arena, "x").last, 2);
  EXPECT_EQ(find(arena, "a").first, 1);
  EXPECT_EQ(find(arena, "a").last, 3);
  EXPECT_EQ(find(arena, "a").type, "f32[8,8]");
  // x, a and b together; then a, b and c.
  EXPECT_EQ(arena.peak_bytes, 3 * 256);
  EXPECT_EQ(arena.peak_step, 2);
  EXPECT_EQ(arena.bytes, 3 * 256);
  EXPECT_EQ(arena.lower_bound, 3 * 256);
  EXPECT_TRUE(arena.proven);
}

TEST(Timeline, CountsBytesSharedWithAViewOnce) {
  const ReadProgram program = compiled(R"(
method forward(%x: f32[8,8]) {
  %a: f32[8,8] = aten::mm(%x, %x)
  %v: f32[4,16] = aten::view_copy(%a, [4, 16])
  %w: f32[4,4] = aten::slice_copy.Tensor(%v, 1, 0, 4, 1)
  %c: f32[8,8] = aten::mm(%a, %a)
  return %c, %w
})");
  const Timeline timeline = timeline_of(program.view, 0);
  const TimelineArena& arena = timeline.arenas[0];
  EXPECT_EQ(find(arena, "v").relation, "view of a");
  EXPECT_EQ(find(arena, "v").offset, find(arena, "a").offset);
  EXPECT_LE(arena.peak_bytes, 256 + 256 + 64);
}

TEST(Timeline, ScratchSaysOfWhichDelegate) {
  const ReadProgram program = compiled(R"(
method forward(%x: f32[8,8]) {
  %a: f32[8,8] = aten::mm(%x, %x)
  %b: f32[8,8] = aten::mm(%a, %x)
  return %b
})",
                                       "sim:0");
  const Timeline timeline = timeline_of(program.view, 0);
  const TimelineArena& arena = timeline.arenas.at(1);
  EXPECT_EQ(find(arena, "scratch of delegate 0").bytes, 512) << "x, which lies in it, and a";
}

TEST(Timeline, NodeNamesDoNotBreakThePage) {
  const Json data = {{"files", {{{"path", "</script><b>\xff"}, {"bytes", 1}, {"methods", Json::array()}}}}};
  const std::string page = report_page(data);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
}

}  // namespace
}  // namespace berth::tool

#include "compiler/memory/hoist_slices.h"

#include <gtest/gtest.h>

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "compiler/memory/make_model.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;

std::vector<std::string> order_of(const ir::Method& method) {
  std::vector<std::string> names;
  for (const ir::NodeId id : method.body.nodes) names.push_back(method.value(method.node(id).results[0]).name);
  return names;
}

std::vector<std::string> hoisted(const std::string& text) {
  const ir::Module module = testing::module_of(text);
  const auto model = make_model(module, module.methods[0]);
  EXPECT_TRUE(model.ok()) << model.error().text();
  const auto changed = hoist_slices(module.methods[0], model->candidates);
  return changed.has_value() ? order_of(*changed) : std::vector<std::string>{};
}

// Four rows of 1024 bytes, each turned into 256 more that are kept: as an unrolled recurrent layer does.
constexpr const char* kRows = R"(
method forward(%x: f32[1,256]) {
  %w: f32[4,256] = aten::repeat(%x, [4, 1])
  %r0: f32[256] = aten::select_copy.int(%w, 0, 0)
  %s0: f32[64] = aten::slice_copy.Tensor(%r0, 0, 0, 64, 1)
  %h0: f32[64] = aten::exp(%s0)
  %r1: f32[256] = aten::select_copy.int(%w, 0, 1)
  %s1: f32[64] = aten::slice_copy.Tensor(%r1, 0, 0, 64, 1)
  %h1: f32[64] = aten::exp(%s1)
  %r2: f32[256] = aten::select_copy.int(%w, 0, 2)
  %s2: f32[64] = aten::slice_copy.Tensor(%r2, 0, 0, 64, 1)
  %h2: f32[64] = aten::exp(%s2)
  %m: f32[64] = aten::add.Tensor(%h0, %h1, 1)
  %n: f32[64] = aten::mul.Tensor(%m, %h2)
  return %n
})";

TEST(HoistSlices, SlicesOfSlicesComeAfterTheirSource) {
  EXPECT_EQ(hoisted(kRows),
            (std::vector<std::string>{"w", "r0", "r1", "r2", "s0", "s1", "s2", "h0", "h1", "h2", "m", "n"}));
}

TEST(HoistSlices, SlicesOfInputsComeFirst) {
  EXPECT_EQ(hoisted(R"(
method forward(%x: f32[2,8], %y: f32[8]) {
  %a: f32[8] = aten::exp(%y)
  %b: f32[8] = aten::select_copy.int(%x, 0, 1)
  %c: f32[8] = aten::mul.Tensor(%a, %b)
  return %c
})"),
            (std::vector<std::string>{"b", "a", "c"}));
}

TEST(HoistSlices, SlicesThatCopyStay) {
  EXPECT_TRUE(hoisted(R"(
method forward(%x: f32[8,2], %y: f32[8]) {
  %a: f32[8] = aten::exp(%y)
  %b: f32[8] = aten::select_copy.int(%x, 1, 1)
  %c: f32[8] = aten::mul.Tensor(%a, %b)
  return %c
})")
                  .empty());
}

// Each step leaves 512 bytes that stay; with all of w alive to the last cut they come on top of it.
std::string unrolled(int steps) {
  std::string rows;
  std::string list;
  for (int i = 0; i < steps; ++i) {
    const std::string k = std::to_string(i);
    rows += filled(R"(
      %r$k: f32[256] = aten::select_copy.int(%w, 0, $k)
      %q$k: f32[1,256] = aten::view_copy(%r$k, [1, 256])
      %h$k: f32[1,128] = aten::slice_copy.Tensor(%q$k, 1, 0, 256, 2)
    )",
                   {{"k", k}});
    list += (i == 0 ? "%h" : ", %h") + k;
  }
  return filled(R"(
    method forward(%x: f32[1,256]) {
      %w: f32[$steps,256] = aten::repeat(%x, [$steps, 1])
      $rows
      %c: f32[$steps,128] = aten::cat([$list], 0)
      return %c
    })",
                {{"steps", std::to_string(steps)}, {"rows", rows}, {"list", list}});
}

TEST(HoistSlices, UsedRowsAreFreed) {
  const std::string text = unrolled(8);
  MemoryOptions as_given;
  as_given.reorder = false;
  const EmittedProgram given = testing::program_of(text, as_given);
  const EmittedProgram better = testing::program_of(text, MemoryOptions{});
  EXPECT_EQ(given.arenas[0].bytes, 8u * 1024 + 7 * 512);
  EXPECT_EQ(better.arenas[0].bytes, 8u * 1024 + 1024);  // w and x, before the first row has been used
  EXPECT_EQ(better.saved_by_order, 7 * 512 - 1024);
}

}  // namespace
}  // namespace berth::memory

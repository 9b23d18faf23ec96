// What views cost in the plan of a program: their bytes are those of their base, and no instruction copies them.
#include <algorithm>

#include "compiler/memory/planned_testing.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;
using packing::Planner;
using testing::listing;
using testing::program_of;

// Holds row 129, row 199, row 204.
TEST(PlanViews, AViewHasItsBasesBytesWhileEitherIsRead) {
  const std::string text = R"(
    const @w: f32[8,8] = splat<0.5>
    method forward(%x: f32[4,8]) {
      %w: f32[8,8] = const @w
      %a: f32[4,8] = aten::mm(%x, %w)
      %v: f32[32] = aten::view_copy(%a, [32])
      %b: f32[4,8] = aten::mm(%a, %w)
      %c: f32[4,8] = aten::mm(%b, %w)
      %d: f32[32] = aten::flip(%v, [0])
      %u: f32[64] = aten::view_copy(%w, [64])
      %e: f32[64] = aten::flip(%u, [0])
      return %c, %d, %e
    })";
  const NamedModel model(text);
  EXPECT_EQ(model.home("u"), Home::kConstant);
  EXPECT_EQ(&model.life("v"), &model.life("a"));
  EXPECT_EQ(model.life("a").lower, model.step_of("a"));
  EXPECT_EQ(model.life("a").upper, model.step_of("d") + 1) << "the last read is the view's";
  const EmittedProgram emitted = program_of(text, with_planner(Planner::kGreedy));
  const format::MethodDesc& method = emitted.program.methods[0];
  std::string lines = listing(method);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5) << "views are not instructions";
  const auto& relation = emitted.program.named_data;
  EXPECT_EQ(relation.size(), 1u);
  EXPECT_GT(pairs(method), 1) << "greedy reuses, beside the view";
  int views = 0;
  const std::vector<format::TensorDesc> all = planned(method);
  for (const format::TensorDesc& view : all) {
    if (view.sizes != std::vector<int32_t>{32}) continue;
    for (const format::TensorDesc& base : all) {
      if (base.sizes != std::vector<int32_t>{4, 8} || base.planned->offset != view.planned->offset) continue;
      EXPECT_EQ(bytes_of(base), bytes_of(view));
      EXPECT_EQ(base.dtype, view.dtype);
      EXPECT_EQ(base.bounded, view.bounded);
      EXPECT_EQ(base.device, view.device);
      ++views;
    }
  }
  EXPECT_GE(views, 1);
}

// Holds row 200, row 202, row 203, row 205. A view costs no instruction unless the method returns what is the caller's.
TEST(PlanViews, ChainsOfViewsAliasTheFirst) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%x: f32[2,3]) {
      %h: f32[2,3] = aten::sin(%x)
      %a: f32[6] = aten::view_copy(%h, [6])
      %b: f32[3,2] = aten::view_copy(%a, [3, 2])
      %c: f32[1,6] = aten::view_copy(%b, [1, 6])
      %d: f32[6,1] = aten::view_copy(%c, [6, 1])
      %y: f32[6,1] = aten::relu(%d)
      return %y
    })");
  const format::MethodDesc& method = emitted.program.methods[0];
  EXPECT_EQ(method.instructions.size(), 2u) << listing(method);
  const auto& relu = std::get<format::KernelCallDesc>(method.instructions[1]);
  EXPECT_EQ(tensor(method, relu.args.front()).planned->offset, tensor(method, relu.args.back()).planned->offset);
  EXPECT_EQ(emitted.views, 4u);

  const EmittedProgram returned = program_of(R"(
    method forward(%x: f32[2,3]) {
      %a: f32[6] = aten::view_copy(%x, [6])
      %h: f32[6] = aten::mul.Scalar(%a, 2)
      %b: f32[3,2] = aten::view_copy(%h, [3, 2])
      return %a, %b
    })");
  EXPECT_EQ(listing(returned.program.methods[0]).find("aten::mul.Scalar_out") != std::string::npos, true);
  EXPECT_EQ(returned.program.methods[0].instructions.size(), 2u) << "the input is copied, as it is returned";
}

// Holds row 197, row 205. Switched off there is no view, and each is copied; switched on nothing of them is left.
TEST(PlanViews, ViewsSwitchedOffAreCopies) {
  const std::string text = R"(
    symbol n in [1, 8]
    method forward(%x: f32[2,3], %z: f32[n,6]) {
      %h: f32[2,3] = aten::sin(%x)
      %a: f32[6] = aten::view_copy(%h, [6])
      %y: f32[6] = aten::relu(%a)
      %i: f32[n,6] = aten::sin(%z)
      %b: f32[n,2,3] = aten::view_copy(%i, [n, 2, 3])
      %w: f32[n,2,3] = aten::relu(%b)
      return %y, %w
    })";
  const auto count = [](const EmittedProgram& emitted, const char* name) {
    const std::string lines = listing(emitted.program.methods[0]);
    int times = 0;
    for (size_t at = lines.find(name); at != std::string::npos; at = lines.find(name, at + 1)) ++times;
    return times;
  };
  const EmittedProgram on = program_of(text, with_planner(Planner::kBest));
  EXPECT_EQ(on.views, 2u);
  EXPECT_EQ(count(on, "view_copy"), 0);
  EXPECT_EQ(count(on, "et_view"), 1);
  MemoryOptions options = with_planner(Planner::kBest);
  options.alias = false;
  const EmittedProgram off = program_of(text, options);
  EXPECT_EQ(off.views, 0u);
  EXPECT_EQ(count(off, "aten::view_copy"), 2);
  EXPECT_EQ(count(off, "et_view"), 0);
}

// Holds row 201.
TEST(PlanViews, ADynamicViewIsOneInstructionThatMovesNothing) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    method forward(%x: f32[n,6]) {
      %h: f32[n,6] = aten::exp(%x)
      %v: f32[n,2,3] = aten::view_copy(%h, [n, 2, 3])
      %y: f32[n,2,3] = aten::neg(%v)
      return %y
    })");
  const std::string lines = listing(emitted.program.methods[0]);
  EXPECT_NE(lines.find("executorch_prim::et_view"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("copy"), std::string::npos) << lines;
}

}  // namespace
}  // namespace berth::memory

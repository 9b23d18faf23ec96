// Views of what a device gives, on the host. The fears: a result whose bytes something else reads in their old sizes;
// two results of the same bytes; a view of what the device did not make.
#include "compiler/fuse/lift_last_views.h"

#include "compiler/fuse/fuse_testing.h"
#include "compiler/ir/verify.h"

namespace berth::fuse {
namespace {

// A delegate's nodes, what it gives, and what becomes of that.
std::string delegated(const std::string& nodes, const std::string& given, const std::string& rest) {
  return R"(
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    method forward(%x: f32[2,3]) {
      %x.sim: f32[2,3]@sim:0 = et_copy::_h2d_copy(%x)
      )" +
         given +
         R"( = berth::delegate([%x.sim]) @d0 {
        (%i: f32[2,3]@sim:0)
        )" +
         nodes +
         R"(
      }
      )" +
         rest +
         R"(
    })";
}

struct Lifted {
  std::string text;
  bool changed = false;
};

// What the pass makes of it, whose results stay.
Lifted lifted(const std::string& text) {
  const ir::Module before = passes::parsed(text);
  ir::Module module = passes::parsed(text);
  const auto changed = lift_last_views(module, *targets::parse_targets("sim:0"), {});
  EXPECT_TRUE(changed.ok()) << changed.error().text();
  const Status valid = ir::verify(module);
  EXPECT_TRUE(valid.ok()) << valid.error().text() << "\n" << ir::print(module);
  const auto inputs = passes::random_inputs(before, before.methods[0], 5);
  const auto expected = eval::evaluate(before, before.methods[0], inputs);
  const auto found = eval::evaluate(module, module.methods[0], inputs);
  EXPECT_TRUE(expected.ok() && found.ok());
  if (expected.ok() && found.ok()) {
    for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], 0);
  }
  return {ir::print(module), changed.ok() && *changed == passes::Changed::kYes};
}

TEST(LiftLastViews, AViewThatIsCopiedToTheHostStandsThere) {
  const Lifted one = lifted(delegated(R"(
        %r: f32[2,3]@sim:0 = aten::relu(%i)
        %a: f32[3,1,2]@sim:0 = aten::view_copy(%r, [3, 1, 2])
        %v: f32[6]@sim:0 = aten::view_copy(%a, [6])
        yield %v)",
                                      "%y: f32[6]@sim:0", R"(
      %h: f32[6] = et_copy::_d2h_copy(%y)
      %g: f32[6] = et_copy::_d2h_copy(%y)
      return %h, %g)"));
  EXPECT_TRUE(one.changed);
  EXPECT_NE(one.text.find("yield %r"), std::string::npos) << one.text;
  EXPECT_NE(one.text.find("%y: f32[2,3]@sim:0 = berth::delegate"), std::string::npos) << one.text;
  EXPECT_NE(one.text.find("%h: f32[6] = aten::view_copy("), std::string::npos) << one.text;
  EXPECT_NE(one.text.find("%g: f32[6] = aten::view_copy("), std::string::npos) << one.text;
}

TEST(LiftLastViews, AScalarIsAViewToo) {
  const Lifted one = lifted(delegated(R"(
        %r: f32[1,1]@sim:0 = aten::sum.dim_IntList(%i, [0, 1], true, none)
        %v: f32[]@sim:0 = aten::view_copy(%r, [])
        yield %v)",
                                      "%y: f32[]@sim:0", R"(
      %h: f32[] = et_copy::_d2h_copy(%y)
      return %h)"));
  EXPECT_TRUE(one.changed);
  EXPECT_NE(one.text.find("%h: f32[] = aten::view_copy("), std::string::npos) << one.text;
}

TEST(LiftLastViews, OthersStayWhereTheyAre) {
  const std::string view = R"(
        %r: f32[2,3]@sim:0 = aten::relu(%i)
        %v: f32[6]@sim:0 = aten::view_copy(%r, [6])
        yield )";
  const std::string copy = "%h: f32[6] = et_copy::_d2h_copy(%y)\n";
  const std::string again = R"(%z: f32[6]@sim:0 = berth::delegate([%y]) @d0 {
        (%j: f32[6]@sim:0)
        %n: f32[6]@sim:0 = aten::neg(%j)
        yield %n
      }
      %k: f32[6] = et_copy::_d2h_copy(%z)
)";
  // Read by another delegate; given as itself as well; a view of the input; moved.
  EXPECT_FALSE(lifted(delegated(view + "%v", "%y: f32[6]@sim:0", copy + again + "return %h, %k")).changed);
  EXPECT_FALSE(lifted(delegated(view + "%v, %r", "%y: f32[6]@sim:0, %w: f32[2,3]@sim:0", copy + R"(
      %k: f32[2,3] = et_copy::_d2h_copy(%w)
      return %h, %k)"))
                   .changed);
  EXPECT_FALSE(
      lifted(delegated("%v: f32[6]@sim:0 = aten::view_copy(%i, [6])\nyield %v", "%y: f32[6]@sim:0", copy + "return %h"))
          .changed);
  EXPECT_FALSE(lifted(delegated(R"(
        %r: f32[2,3]@sim:0 = aten::relu(%i)
        %v: f32[3,2]@sim:0 = aten::permute_copy(%r, [1, 0])
        yield %v)",
                                "%y: f32[3,2]@sim:0", "%h: f32[3,2] = et_copy::_d2h_copy(%y)\nreturn %h"))
                   .changed);
}

}  // namespace
}  // namespace berth::fuse

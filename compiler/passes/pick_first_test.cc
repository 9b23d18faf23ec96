#include "compiler/passes/pick_first.h"

#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

// Tables of constants that folding would compute at once here; the pass alone must not need it.
constexpr char kTable[] = R"(
    const @t: i8[4,2] = dense<[1, 2, 3, 4, 5, 6, 7, 8]>
    const @s: f32[] = dense<[0.5]>
    const @r: f32[4,1] = dense<[1, 10, 100, 1000]>)";

bool picks_from_constants(const std::string& text) {
  for (size_t at = text.find("aten::index.Tensor("); at != std::string::npos;
       at = text.find("aten::index.Tensor(", at + 1)) {
    const std::string table = text.substr(at + 19, 3);
    if (table != "%t," && table != "%r,") return false;
  }
  return text.find("aten::index.Tensor(") != std::string::npos;
}

void expect_picked(const std::string& body, const std::string& name) {
  const std::string text = kTable + body;
  std::vector<std::string> why;
  const std::string now = after(pick_first, text, &why);
  EXPECT_TRUE(picks_from_constants(now)) << name << "\n" << now;
  EXPECT_EQ(why.size(), 1u) << name;
  expect_keeps_outputs(pick_first, text);
}

TEST(PickFirst, RowsOfAWidenedTableArePickedWhileTheyAreSmall) {
  expect_picked(R"(
    method f(%i: i64[3]) {
      %t: i8[4,2] = const @t
      %s: f32[] = const @s
      %r: f32[4,1] = const @r
      %w: f32[4,2] = dim_order_ops::_to_dim_order_copy(%t, false, none, f32)
      %m: f32[4,2] = aten::mul.Tensor(%w, %s)
      %y: f32[3,2] = aten::index.Tensor(%m, [%i])
      return %y
    })",
                "one index");
}

// More dimensions of indices than the one that they take the place of: a scale for each row stays beside its row.
TEST(PickFirst, ScalesOfRowsArePickedWithTheirRows) {
  for (const char* shape : {"3", "1,3", "3,1,1"}) {
    const std::string s = shape;
    const std::string picked = s + ",2";
    expect_picked("\n    method f(%i: i64[" + s + R"(]) {
      %t: i8[4,2] = const @t
      %s: f32[] = const @s
      %r: f32[4,1] = const @r
      %w: f32[4,2] = dim_order_ops::_to_dim_order_copy(%t, false, none, f32)
      %m: f32[4,2] = aten::mul.Tensor(%w, %r)
      %y: f32[)" + picked +
                      R"(] = aten::index.Tensor(%m, [%i])
      return %y
    })",
                  s);
  }
}

TEST(PickFirst, ColumnsArePickedToo) {
  expect_picked(R"(
    method f(%i: i64[1]) {
      %t: i8[4,2] = const @t
      %s: f32[] = const @s
      %r: f32[4,1] = const @r
      %w: f32[4,2] = dim_order_ops::_to_dim_order_copy(%t, false, none, f32)
      %m: f32[4,2] = aten::sub.Tensor(%w, %r, 1)
      %y: f32[4,1] = aten::index_select(%m, 1, %i)
      return %y
    })",
                "columns");
}

// Scales in blocks are spread over their rows before they meet them.
TEST(PickFirst, ScalesOfBlocksArePickedBeforeTheyAreSpread) {
  expect_picked(R"(
    method f(%i: i64[2]) {
      %t: i8[4,2] = const @t
      %s: f32[] = const @s
      %r: f32[4,1] = const @r
      %w: f32[4,2] = dim_order_ops::_to_dim_order_copy(%t, false, none, f32)
      %v: f32[4,1,1] = aten::view_copy(%r, [4, 1, 1])
      %e: f32[4,1,2] = aten::expand_copy(%v, [4, 1, 2], false)
      %b: f32[4,2] = aten::view_copy(%e, [4, 2])
      %m: f32[4,2] = aten::mul.Tensor(%w, %b)
      %y: f32[2,2] = aten::index.Tensor(%m, [%i])
      return %y
    })",
                "blocks");
}

TEST(PickFirst, LeavesWhatIsAsLargeAsTheTable) {
  const std::string text = std::string(kTable) + R"(
    method f(%i: i64[4]) {
      %t: i8[4,2] = const @t
      %s: f32[] = const @s
      %r: f32[4,1] = const @r
      %w: f32[4,2] = dim_order_ops::_to_dim_order_copy(%t, false, none, f32)
      %y: f32[4,2] = aten::index.Tensor(%w, [%i])
      return %y
    })";
  EXPECT_EQ(after(pick_first, text), as_printed(text));
}

// A softmax along the rows' dimension needs all of them.
TEST(PickFirst, LeavesRowsThatNeedEachOther) {
  const std::string text = std::string(kTable) + R"(
    method f(%i: i64[2]) {
      %t: i8[4,2] = const @t
      %s: f32[] = const @s
      %r: f32[4,1] = const @r
      %w: f32[4,2] = dim_order_ops::_to_dim_order_copy(%t, false, none, f32)
      %m: f32[4,2] = aten::_softmax(%w, 0, false)
      %y: f32[2,2] = aten::index.Tensor(%m, [%i])
      return %y
    })";
  std::vector<std::string> why;
  EXPECT_EQ(after(pick_first, text, &why), as_printed(text));
  ASSERT_EQ(why.size(), 1u);
  EXPECT_NE(why[0].find("rows are mixed"), std::string::npos);
}

// What changes from call to call may be needed whole anyway.
TEST(PickFirst, LeavesWhatIsNotConstant) {
  const std::string text = R"(
    method f(%x: f32[4,2], %i: i64[2]) {
      %m: f32[4,2] = aten::neg(%x)
      %y: f32[2,2] = aten::index.Tensor(%m, [%i])
      return %y
    })";
  EXPECT_EQ(after(pick_first, text), as_printed(text));
}

}  // namespace
}  // namespace berth::passes

// Rows that nothing reads. The fears: another row than the one that is read, rows that something else reads too, attention,
// whose rows read each other.
#include "compiler/fuse/take_rows.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// A product with its residual, and what reads it.
std::string layer(const std::string& body) {
  return R"(
    const @w: f32[6,8] = dense<[1, 2, 3, -4, 5, 6, -7, 8, 9, 1, -2, 3, 4, 5, 6, 7, 8, -9, 1, 2, -3, 4, 5, 6,
                                -1, 2, 3, 4, -5, 6, 7, -8, 9, 1, 2, -3, 4, 5, 6, -7, 8, 9, 1, 2, 3, 4, -5, 6]>
    const @d: f32[8,6] = dense<[3, 2, 3, -4, 5, 6, -7, 8, 9, 1, -2, 3, 4, 5, 6, 7, 8, -9, 1, 2, -3, 4, 5, 6,
                                -1, 2, 3, 4, -5, 6, 7, -8, 9, 1, 2, -3, 4, 5, 6, -7, 8, 9, 1, 2, 3, 4, -5, 6]>
    method forward(%x: f32[1,5,6]) {
      %w: f32[6,8] = const @w
      %d: f32[8,6] = const @d
      %v: f32[5,6] = aten::view_copy(%x, [5, 6])
      %a: f32[5,8] = aten::mm(%v, %w)
      %h: f32[5,8] = aten::relu(%a)
      %b: f32[5,6] = aten::mm(%h, %d)
      %c: f32[1,5,6] = aten::view_copy(%b, [1, 5, 6])
      %y: f32[1,5,6] = aten::add.Tensor(%x, %c, 1)
)" + body +
         "}";
}

TEST(TakeRows, TheLastRowAloneIsComputed) {
  for (const char* which : {"%l: f32[1,1,6] = aten::slice_copy.Tensor(%y, 1, -1, 9223372036854775807, 1)\nreturn %l\n",
                            "%l: f32[1,1,6] = aten::slice_copy.Tensor(%y, 1, 4, 5, 1)\nreturn %l\n",
                            "%l: f32[1,6] = aten::select_copy.int(%y, 1, -1)\nreturn %l\n",
                            "%l: f32[1,6] = aten::select_copy.int(%y, -2, 4)\nreturn %l\n"}) {
    const Fused one = fused(layer(which));
    EXPECT_EQ(one.text.find("[5,8]"), std::string::npos) << one.text;
    EXPECT_NE(one.text.find("f32[1,8] = berth::linear("), std::string::npos) << one.text;
  }
}

TEST(TakeRows, SomeRowsInTheMiddleAreThose) {
  const Fused one = fused(layer("%l: f32[1,2,6] = aten::slice_copy.Tensor(%y, 1, 1, 3, 1)\nreturn %l\n"));
  EXPECT_NE(one.text.find("f32[2,8] = berth::linear("), std::string::npos) << one.text;
}

TEST(TakeRows, RowsThatOthersReadAreComputed) {
  const std::string slice = "%l: f32[1,1,6] = aten::slice_copy.Tensor(%y, 1, 4, 5, 1)\n";
  EXPECT_NE(fused(layer(slice + "return %l, %y\n")).text.find("[5,8]"), std::string::npos);
  // The wide rows are read elsewhere, the last product's are not.
  const Fused one = fused(layer(slice + "return %l, %h\n"));
  EXPECT_NE(one.text.find("[5,8]"), std::string::npos) << one.text;
  EXPECT_EQ(one.text.find("f32[5,6] = berth::linear("), std::string::npos) << one.text;
}

TEST(TakeRows, OtherSlicesMoveNothing) {
  for (const char* which : {"%l: f32[1,3,6] = aten::slice_copy.Tensor(%y, 1, 0, 5, 2)\nreturn %l\n",
                            "%l: f32[1,5,2] = aten::slice_copy.Tensor(%y, 2, 0, 2, 1)\nreturn %l\n",
                            "%l: f32[1,5,6] = aten::slice_copy.Tensor(%y, 1, 0, 5, 1)\nreturn %l\n",
                            "%l: f32[1,5] = aten::select_copy.int(%y, 2, 0)\nreturn %l\n"}) {
    EXPECT_NE(fused(layer(which)).text.find("[5,8]"), std::string::npos) << which;
  }
}

// Each row of a softmax over rows reads the others.
TEST(TakeRows, ReductionsOverRowsStayWhole) {
  const Fused one = fused(layer(R"(
      %s: f32[1,5,6] = aten::_softmax(%y, 1, false)
      %l: f32[1,1,6] = aten::slice_copy.Tensor(%s, 1, 4, 5, 1)
      return %l
)"));
  EXPECT_NE(one.text.find("[5,8]"), std::string::npos) << one.text;
}

}  // namespace
}  // namespace berth::fuse

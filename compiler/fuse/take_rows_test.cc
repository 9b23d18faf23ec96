// Rows that nothing reads. The fears: another row than the one that is read, rows that something else reads too,
// attention, whose rows read each other.
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

// A mean of all rows is that of the rows that are not taken, too; a mean of each row is its own.
TEST(TakeRows, AMeanOfAllRowsIsOneOfAll) {
  const std::string slice = "%l: f32[1,1,6] = aten::slice_copy.Tensor(%s, 1, 4, 5, 1)\nreturn %l\n";
  const Fused all = fused(layer(R"(
      %m: f32[1,1,6] = aten::mean.dim(%y, [-2], true)
      %s: f32[1,5,6] = aten::sub.Tensor(%y, %m, 1)
)" + slice));
  EXPECT_NE(all.text.find("[5,8]"), std::string::npos) << all.text;
  const Fused each = fused(layer(R"(
      %m: f32[1,5,1] = aten::mean.dim(%y, [2], true)
      %s: f32[1,5,6] = aten::sub.Tensor(%y, %m, 1)
)" + slice));
  EXPECT_EQ(each.text.find("[5,8]"), std::string::npos) << each.text;
}

// What stretches over rows is the same for all of them, also where there are as many columns as rows.
TEST(TakeRows, WhatIsTheSameForAllRowsStaysWhole) {
  for (const char* type : {"f32[6]", "f32[1,6]", "f32[1,1,6]", "f32[]", "f32[1,1,1]"}) {
    const Fused one = fused(filled(R"(
      method forward(%x: f32[1,6,6], %v: $t) {
        %a: f32[1,6,6] = aten::maximum(%x, %v)
        %b: f32[1,6,6] = aten::sign(%a)
        %l: f32[1,2,6] = aten::slice_copy.Tensor(%b, 1, 2, 4, 1)
        return %l
      })",
                                   {{"t", type}}));
    EXPECT_NE(one.text.find("f32[1,2,6] = aten::maximum("), std::string::npos) << one.text;
    EXPECT_EQ(one.text.find("f32[1,6,6] = aten::maximum("), std::string::npos) << one.text;
  }
}

// Rows of several images, and rows that a view makes of others, are not those of a slice.
TEST(TakeRows, OtherRowsStayWhole) {
  const Fused images = fused(R"(
    method forward(%x: f32[2,3,4]) {
      %a: f32[2,3,4] = aten::sign(%x)
      %l: f32[2,1,4] = aten::slice_copy.Tensor(%a, 1, 2, 3, 1)
      return %l
    })");
  EXPECT_NE(images.text.find("f32[2,3,4] = aten::sign("), std::string::npos) << images.text;
  const Fused views = fused(R"(
    method forward(%x: f32[1,4,3]) {
      %a: f32[1,4,3] = aten::sign(%x)
      %v: f32[1,3,4] = aten::view_copy(%a, [1, 3, 4])
      %b: f32[1,3,4] = aten::round(%v)
      %l: f32[1,1,4] = aten::slice_copy.Tensor(%b, 1, 2, 3, 1)
      return %l
    })");
  EXPECT_NE(views.text.find("f32[1,4,3] = aten::sign("), std::string::npos) << views.text;
  EXPECT_NE(views.text.find("f32[1,1,4] = aten::round("), std::string::npos) << views.text;
}

// To cut them would take a copy in each call.
TEST(TakeRows, RowsOfAConstantStayWhole) {
  const Fused one = fused(R"(
    const @p: f32[3,4] = dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]>
    method forward(%x: f32[1,3,4]) {
      %p: f32[3,4] = const @p
      %a: f32[1,3,4] = aten::maximum(%x, %p)
      %b: f32[1,3,4] = aten::sign(%a)
      %l: f32[1,1,4] = aten::slice_copy.Tensor(%b, 1, 2, 3, 1)
      return %l
    })");
  EXPECT_NE(one.text.find("f32[1,3,4] = aten::maximum("), std::string::npos) << one.text;
  EXPECT_NE(one.text.find("f32[1,1,4] = aten::sign("), std::string::npos) << one.text;
}

// A scale for each row stands in a line, as if it were one for each column.
TEST(TakeRows, WhatHasScalesOfRowsStaysWhole) {
  const std::string scales = R"(
    const @s: f32[5] = dense<[0.5, 0.25, 1, 2, 0.125]>
    const @z: i64[5] = dense<[1, 2, 3, -4, 5]>
)";
  const std::string values = R"(
      %s: f32[5] = const @s
      %z: i64[5] = const @z
)";
  const std::string row = R"(
      %l: i8[1,5] = aten::slice_copy.Tensor(%q, 0, 3, 4, 1)
      return %l
    })";
  const Fused channels = fused(scales + "method forward(%x: f32[5,5]) {" + values + R"(
      %q: i8[5,5] = quantized_decomposed::quantize_per_channel(%x, %s, %z, 0, -128, 127, i8)
)" + row);
  EXPECT_NE(channels.text.find("i8[5,5] = quantized_decomposed"), std::string::npos) << channels.text;
  const Fused tokens = fused("method forward(%x: f32[5,5], %s: f64[5], %z: i64[5]) {" + std::string(R"(
      %q: i8[5,5] = quantized_decomposed::quantize_per_token(%x, %s, %z, -128, 127, i8)
)") + row);
  EXPECT_NE(tokens.text.find("i8[5,5] = quantized_decomposed"), std::string::npos) << tokens.text;
}

}  // namespace
}  // namespace berth::fuse

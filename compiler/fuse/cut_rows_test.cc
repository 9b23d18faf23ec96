// Products of a long prompt for some rows at a time. The fears: a row in another's place, a strip too few, a wide
// tensor that others read and that is cut all the same, weights that are taken for rows, rows that read each other.
#include "compiler/fuse/cut_rows.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

std::string constant(const std::string& name, int rows, int columns, unsigned state) {
  std::string text = "const @" + name + ": f32[" + std::to_string(rows) + "," + std::to_string(columns) + "] = dense<[";
  for (int i = 0; i < rows * columns; ++i) {
    state = state * 1103515245 + 12345;
    text += (i == 0 ? "" : ", ") + std::to_string(static_cast<double>(state >> 20) / 4096 - 0.5);
  }
  return text + "]>\n";
}

// A gate and what it lets through, [rows, 4] to [rows, 1400] and back, behind a norm.
std::string gated(int rows, const std::string& result, const std::string& norm = "[-1]") {
  return constant("g", 4, 1400, 1) + constant("u", 4, 1400, 2) + constant("d", 1400, 4, 3) +
         filled(R"(
    method forward(%x: f32[1,$n,4]) {
      %g: f32[4,1400] = const @g
      %u: f32[4,1400] = const @u
      %d: f32[1400,4] = const @d
      %sq: f32[1,$n,4] = aten::mul.Tensor(%x, %x)
      %me: f32[1,$m,1] = aten::mean.dim(%sq, $axes, true)
      %ep: f32[1,$m,1] = aten::add.Scalar(%me, 0.01, 1)
      %rs: f32[1,$m,1] = aten::rsqrt(%ep)
      %xn: f32[1,$n,4] = aten::mul.Tensor(%x, %rs)
      %xv: f32[$n,4] = aten::view_copy(%xn, [$n, 4])
      %a: f32[$n,1400] = aten::mm(%xv, %g)
      %s: f32[$n,1400] = aten::sigmoid(%a)
      %as: f32[$n,1400] = aten::mul.Tensor(%a, %s)
      %b: f32[$n,1400] = aten::mm(%xv, %u)
      %m: f32[$n,1400] = aten::mul.Tensor(%as, %b)
      %y: f32[$n,4] = aten::mm(%m, %d)
      %yv: f32[1,$n,4] = aten::view_copy(%y, [1, $n, 4])
      %r: f32[1,$n,4] = aten::add.Tensor(%x, %yv, 1)
      return $result
    })",
                {{"n", std::to_string(rows)},
                 {"m", norm == "[-1]" ? std::to_string(rows) : "1"},
                 {"axes", norm},
                 {"result", result}});
}

int products_in(const Fused& fused) {
  int count = 0;
  for (size_t at = fused.text.find("= berth::linear("); at != std::string::npos;
       at = fused.text.find("= berth::linear(", at + 1)) {
    ++count;
  }
  return count;
}

TEST(CutRows, WideTensorsOfManyRowsAreThereInStrips) {
  // 601 rows of 11200 bytes are 6.4 MiB; 374 of them are 4.
  const Fused one = fused(gated(601, "%r"));
  EXPECT_EQ(products_in(one), 6) << one.text;
  EXPECT_EQ(one.text.find("[601,1400]"), std::string::npos) << one.text;
  EXPECT_NE(one.text.find("f32[300,1400]"), std::string::npos) << one.text;
  EXPECT_NE(one.text.find("f32[301,1400]"), std::string::npos) << one.text;
  EXPECT_NE(one.operators().find("aten::cat"), std::string::npos);
}

TEST(CutRows, FewRowsStayWhole) {
  const Fused one = fused(gated(500, "%r"));
  EXPECT_EQ(products_in(one), 3);
  EXPECT_EQ(one.operators().find("aten::cat"), std::string::npos) << one.text;
}

TEST(CutRows, WhatOthersReadStaysWhole) {
  const Fused one = fused(gated(601, "%r, %m"));
  EXPECT_NE(one.text.find("[601,1400]"), std::string::npos) << one.text;
  EXPECT_EQ(one.operators().find("aten::cat"), std::string::npos) << one.text;
}

// The mean over all rows is one of all strips.
TEST(CutRows, WhatReadsAllRowsIsComputedOnce) {
  const Fused one = fused(gated(601, "%r", "[0, 1, 2]"));
  EXPECT_EQ(products_in(one), 6) << one.text;
  size_t means = 0;
  for (size_t at = one.text.find("aten::mean"); at != std::string::npos; at = one.text.find("aten::mean", at + 1))
    ++means;
  EXPECT_EQ(means, 1U) << one.text;
}

// A weight with as many rows as the prompt.
TEST(CutRows, AWeightIsNotCut) {
  const Fused one = fused(constant("w", 4, 1300, 1) + constant("d", 1300, 4, 2) + R"(
    method forward(%x: f32[1300,4]) {
      %w: f32[4,1300] = const @w
      %d: f32[1300,4] = const @d
      %a: f32[1300,1300] = aten::mm(%x, %w)
      %h: f32[1300,1300] = aten::relu(%a)
      %y: f32[1300,4] = aten::mm(%h, %d)
      return %y
    })");
  EXPECT_EQ(products_in(one), 4) << one.text;
}

// Rows that stay wide stay there, in strips or whole.
TEST(CutRows, WhatIsNotBroughtBackStaysWhole) {
  const Fused one = fused(constant("w", 4, 1400, 1) + R"(
    method forward(%x: f32[1300,4]) {
      %w: f32[4,1400] = const @w
      %a: f32[1300,1400] = aten::mm(%x, %w)
      %h: f32[1300,1400] = aten::relu(%a)
      %y: f32[1300,1400] = aten::mul.Tensor(%h, %h)
      return %y
    })");
  EXPECT_EQ(products_in(one), 1) << one.text;
  EXPECT_EQ(one.operators().find("aten::cat"), std::string::npos) << one.text;
}

// A product that narrows its rows gives what all strips read: no strip computes it again.
TEST(CutRows, ABlockBeginsBehindAProductThatNarrows) {
  const Fused one = fused(constant("n", 40, 4, 1) + constant("w", 4, 1400, 2) + constant("d", 1400, 4, 3) + R"(
    method forward(%x: f32[1300,40]) {
      %n: f32[40,4] = const @n
      %w: f32[4,1400] = const @w
      %d: f32[1400,4] = const @d
      %a: f32[1300,4] = aten::mm(%x, %n)
      %h: f32[1300,1400] = aten::mm(%a, %w)
      %m: f32[1300,1400] = aten::mul.Tensor(%h, %h)
      %y: f32[1300,4] = aten::mm(%m, %d)
      return %y
    })");
  EXPECT_EQ(products_in(one), 1 + 2 * 2) << one.text;
  EXPECT_NE(one.text.find("f32[1300,4] = berth::linear("), std::string::npos) << one.text;
}

// To cut them would take a copy in each call.
TEST(CutRows, RowsOfAConstantStayWhole) {
  const Fused one = fused(constant("w", 4, 1400, 1) + constant("d", 1400, 4, 2) + constant("r", 1300, 4, 3) + R"(
    method forward(%x: f32[1300,4]) {
      %w: f32[4,1400] = const @w
      %d: f32[1400,4] = const @d
      %r: f32[1300,4] = const @r
      %h: f32[1300,1400] = aten::mm(%x, %w)
      %m: f32[1300,1400] = aten::mul.Tensor(%h, %h)
      %y: f32[1300,4] = aten::mm(%m, %d)
      %s: f32[1300,4] = aten::add.Tensor(%y, %r, 1)
      return %s
    })");
  EXPECT_EQ(products_in(one), 2) << one.text;
  EXPECT_EQ(one.operators().find("aten::cat"), std::string::npos) << one.text;
}

}  // namespace
}  // namespace berth::fuse

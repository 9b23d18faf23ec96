// Rotary position embeddings. The fears: the wrong half turned, a half that is not one, sines that something else reads
// too, a turned row that others read.
#include "compiler/fuse/fuse_rotations.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Two heads of three rows; `body` gives %b, the part that is negated, and %a.
std::string rotated(const std::string& halves, const std::string& result = "%r",
                    const std::string& joined = "[%n, %a], -1") {
  return filled(R"(
    method forward(%x: f32[1,2,3,8], %cos: f32[1,1,3,8], %sin: f32[1,1,3,8]) {
      $halves
      %n: f32[1,2,3,4] = aten::neg(%b)
      %t: f32[1,2,3,8] = aten::cat($joined)
      %u: f32[1,2,3,8] = aten::mul.Tensor(%t, %sin)
      %v: f32[1,2,3,8] = aten::mul.Tensor(%x, %cos)
      %r: f32[1,2,3,8] = aten::add.Tensor(%v, %u, 1)
      return $out
    })",
                {{"halves", halves}, {"joined", joined}, {"out", result}});
}

const std::string kRotatedHalves = R"(
      %a: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 0, 4, 1)
      %b: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, -1, 4, 9223372036854775807, 1)
)";

TEST(FuseRotations, ATurnedHalfIsOneMove) {
  EXPECT_EQ(fused(rotated(kRotatedHalves)).operators(), "aten::roll aten::mul.Tensor berth::elementwise");
}

TEST(FuseRotations, SinesAreSignedOnce) {
  const Fused two = fused(R"(
    method forward(%x: f32[1,2,3,4], %y: f32[1,2,3,4], %sin: f32[1,1,3,4]) {
      %a: f32[1,2,3,2] = aten::slice_copy.Tensor(%x, 3, 0, 2, 1)
      %b: f32[1,2,3,2] = aten::slice_copy.Tensor(%x, 3, 2, 4, 1)
      %n: f32[1,2,3,2] = aten::neg(%b)
      %t: f32[1,2,3,4] = aten::cat([%n, %a], 3)
      %u: f32[1,2,3,4] = aten::mul.Tensor(%sin, %t)
      %c: f32[1,2,3,2] = aten::slice_copy.Tensor(%y, 3, 0, 2, 1)
      %d: f32[1,2,3,2] = aten::slice_copy.Tensor(%y, 3, 2, 4, 1)
      %m: f32[1,2,3,2] = aten::neg(%d)
      %s: f32[1,2,3,4] = aten::cat([%m, %c], 3)
      %v: f32[1,2,3,4] = aten::mul.Tensor(%s, %sin)
      return %u, %v
    })");
  EXPECT_EQ(two.operators(), "aten::roll aten::mul.Tensor aten::mul.Tensor aten::roll aten::mul.Tensor") << two.text;
}

TEST(FuseRotations, OtherHalvesStay) {
  const std::string swapped = R"(
      %b: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 0, 4, 1)
      %a: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 4, 8, 1)
)";
  const std::string overlapping = R"(
      %a: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 1, 5, 1)
      %b: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 4, 8, 1)
)";
  const std::string strided = R"(
      %a: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 0, 8, 2)
      %b: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 1, 8, 2)
)";
  for (const std::string& halves : {swapped, overlapping, strided}) {
    EXPECT_EQ(fused(rotated(halves)).operators().find("aten::roll"), std::string::npos) << halves;
  }
  EXPECT_EQ(fused(rotated(kRotatedHalves, "%r", "[%a, %n], -1")).operators().find("aten::roll"), std::string::npos);
  EXPECT_EQ(fused(rotated(kRotatedHalves, "%r, %t")).operators().find("aten::roll"), std::string::npos);
}

// A factor that is one for a whole row has no place for signs; one of more rows than the turned ones would take longer.
TEST(FuseRotations, OtherFactorsStay) {
  const auto times = [](const std::string& factor, const std::string& result) {
    return fused(filled(R"(
      method forward(%x: f32[1,2,3,4], %sin: f32$f) {
        %a: f32[1,2,3,2] = aten::slice_copy.Tensor(%x, 3, 0, 2, 1)
        %b: f32[1,2,3,2] = aten::slice_copy.Tensor(%x, 3, 2, 4, 1)
        %n: f32[1,2,3,2] = aten::neg(%b)
        %t: f32[1,2,3,4] = aten::cat([%n, %a], 3)
        %u: f32$r = aten::mul.Tensor(%t, %sin)
        return %u
      })",
                        {{"f", factor}, {"r", result}}));
  };
  EXPECT_NE(times("[4]", "[1,2,3,4]").operators().find("aten::roll"), std::string::npos);
  EXPECT_NE(times("[6,1,1,4]", "[6,2,3,4]").operators().find("aten::roll"), std::string::npos);
  for (const auto& [factor, result] :
       {std::pair{"[1,1,3,1]", "[1,2,3,4]"}, std::pair{"[]", "[1,2,3,4]"}, std::pair{"[7,1,1,4]", "[7,2,3,4]"}}) {
    const Fused one = times(factor, result);
    EXPECT_EQ(one.operators().find("aten::roll"), std::string::npos) << one.text;
  }
}

// Halves of a row of seven, of a part of a row, of columns, of two tensors; one that is negated twice.
TEST(FuseRotations, WhatIsNotAHalfOfARowStays) {
  const std::string parts[] = {R"(
      %a: f32[1,2,3,3] = aten::slice_copy.Tensor(%x, 3, 0, 3, 1)
      %b: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 3, 7, 1)
      %n: f32[1,2,3,4] = aten::neg(%b)
      %t: f32[1,2,3,7] = aten::cat([%n, %a], 3)
)",
                               R"(
      %a: f32[1,2,3,3] = aten::slice_copy.Tensor(%x, 3, 0, 3, 1)
      %b: f32[1,2,3,3] = aten::slice_copy.Tensor(%x, 3, 3, 6, 1)
      %n: f32[1,2,3,3] = aten::neg(%b)
      %t: f32[1,2,3,6] = aten::cat([%n, %a], 3)
)",
                               R"(
      %a: f32[1,1,3,7] = aten::slice_copy.Tensor(%x, 1, 0, 1, 1)
      %b: f32[1,1,3,7] = aten::slice_copy.Tensor(%x, 1, 1, 2, 1)
      %n: f32[1,1,3,7] = aten::neg(%b)
      %t: f32[1,2,3,7] = aten::cat([%n, %a], 1)
)",
                               R"(
      %a: f32[1,2,3,7] = aten::slice_copy.Tensor(%y, 3, 0, 7, 1)
      %b: f32[1,2,3,7] = aten::slice_copy.Tensor(%z, 3, 7, 14, 1)
      %n: f32[1,2,3,7] = aten::neg(%b)
      %t: f32[1,2,3,14] = aten::cat([%n, %a], 3)
)",
                               R"(
      %a: f32[1,2,3,7] = aten::slice_copy.Tensor(%y, 3, 0, 7, 1)
      %b: f32[1,2,3,7] = aten::slice_copy.Tensor(%y, 3, 7, 14, 1)
      %n: f32[1,2,3,7] = aten::neg(%b)
      %t: f32[1,2,3,21] = aten::cat([%n, %a, %n], 3)
)",
                               R"(
      %a: f32[1,2,3,7] = aten::slice_copy.Tensor(%y, 3, 0, 7, 1)
      %b: f32[1,2,3,7] = aten::slice_copy.Tensor(%y, 3, 7, 14, 1)
      %n: f32[1,2,3,7] = aten::abs(%b)
      %t: f32[1,2,3,14] = aten::cat([%n, %a], 3)
)"};
  for (const std::string& part : parts) {
    const size_t at = part.find("aten::cat");
    const std::string type =
        part.substr(part.rfind("%t: ", at) + 4, part.rfind(" = ", at) - part.rfind("%t: ", at) - 4);
    const Fused one = fused(filled(R"(
    method forward(%x: f32[1,2,3,7], %y: f32[1,2,3,14], %z: f32[1,2,3,14], %sin: $t) {
      $part
      %u: $t = aten::mul.Tensor(%t, %sin)
      return %u
    })",
                                   {{"part", part}, {"t", type}}));
    EXPECT_EQ(one.operators().find("aten::roll"), std::string::npos) << one.text;
  }
}

const std::string kSines = "const @sin: f32[3,4] = dense<[1, 2, -3, 4, 5, -6, 7, 8, 9, 10, 11, 0]>\n";

// %u, the turned half of the rows %i times %sin; the names of all values but the last end in `k`.
std::string turned(const std::string& k = "") {
  return filled(R"(
      %a$k: f32[1,2,3,2] = aten::slice_copy.Tensor(%i$k, 3, 0, 2, 1)
      %b$k: f32[1,2,3,2] = aten::slice_copy.Tensor(%i$k, 3, 2, 4, 1)
      %n$k: f32[1,2,3,2] = aten::neg(%b$k)
      %t$k: f32[1,2,3,4] = aten::cat([%n$k, %a$k], 3)
      %u$k: f32[1,2,3,4] = aten::mul.Tensor(%t$k, %sin)
)",
                {{"k", k}});
}

TEST(FuseRotations, ConstantSinesAreOfAllDelegates) {
  const Fused two = fuse_delegates(passes::parsed(kSines + R"(
    delegate @d0 "berth.cpu"
    delegate @d1 "berth.cpu"
    method forward(%x: f32[1,2,3,4]) {
      %sin: f32[3,4] = const @sin
      %m: f32[1,2,3,4] = berth::delegate([%x]) @d0 {
        (%i: f32[1,2,3,4]))" + turned() + R"(
        yield %u
      }
      %y: f32[1,2,3,4] = berth::delegate([%m]) @d1 {
        (%i2: f32[1,2,3,4]))" + turned("2") + R"(
        yield %u2
      }
      return %y
    })"));
  EXPECT_EQ(two.operators(), "aten::roll aten::mul.Tensor aten::roll aten::mul.Tensor") << two.text;
  EXPECT_EQ(occurrences(two.text, "const @sin_signed"), 1u + 1u) << two.text;
}

TEST(FuseRotations, ConstantSinesOfTwoMethodsAreOneConstant) {
  const std::string method = "(%i: f32[1,2,3,4]) {\n%sin: f32[3,4] = const @sin" + turned() + "return %u\n}\n";
  const Fused both = fuse_module(passes::parsed(kSines + "method forward" + method + "method other" + method));
  EXPECT_EQ(occurrences(both.text, "const @sin_signed: "), 1u) << both.text;
  EXPECT_EQ(occurrences(both.text, "aten::roll("), 2u) << both.text;
}

// Signs are bits: of zeros, of other types, of tables that stretch.
TEST(FuseRotations, ConstantsOfAllKindsAreSigned) {
  for (const std::string type : {"f32", "f16", "bf16", "f64"}) {
    for (const std::string table : {"[3,4] = dense<[1, 2, -3, 4, 5, -6, 7, 8, 9, 10, 11, 0]>", "[4] = splat<-0.5>",
                                    "[1,1,1,4] = dense<[0, -0.0, 0, 3]>"}) {
      std::string text = "const @sin: " + type + table + "\nmethod forward(%i: f32[1,2,3,4]) {\n%sin: " + type +
                         table.substr(0, table.find(" =")) + " = const @sin" + turned() + "return %u\n}";
      for (size_t at = text.find("f32[1,2"); at != std::string::npos; at = text.find("f32[1,2", at + 1)) {
        text.replace(at, 3, type);
      }
      const Fused one = fuse_module(passes::parsed(text), 7, 0);
      const bool narrow = type == "f16" || type == "bf16";
      EXPECT_EQ(one.operators(), narrow ? "aten::roll berth::elementwise" : "aten::roll aten::mul.Tensor") << one.text;
    }
  }
}

}  // namespace
}  // namespace berth::fuse

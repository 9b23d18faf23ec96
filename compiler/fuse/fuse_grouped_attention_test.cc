// Attention over a cache as exporters write it. The fears: a mask taken for a length that it is not, heads that read
// another group's keys, a mask lost, scores that others read.
#include "compiler/fuse/fuse_grouped_attention.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

constexpr const char* kKeys = "const @keys: i64[1,1,1,6] = dense<[0, 1, 2, 3, 4, 5]>";

// Four heads that read two heads of six keys; `made` makes the bool %see.
std::string attention(const std::string& constants, const std::string& made, int queries = 2) {
  return filled(R"(
    $constants
    const @low: f32[] = dense<[-inf]>
    const @zero: f32[] = dense<[0]>
    method forward(%q: f32[1,4,$n,8], %k: f32[1,2,6,8], %v: f32[1,2,6,8], %p: i64[1,1,$n,1], %m: bool[1,1,$n,6]) {
      %low: f32[] = const @low
      %zero: f32[] = const @zero
      $made
      %k1: f32[1,2,1,6,8] = aten::view_copy(%k, [1, 2, 1, 6, 8])
      %k5: f32[1,2,2,6,8] = aten::expand_copy(%k1, [1, 2, 2, 6, 8], false)
      %k4: f32[1,4,6,8] = aten::view_copy(%k5, [1, 4, 6, 8])
      %v1: f32[1,2,1,6,8] = aten::view_copy(%v, [1, 2, 1, 6, 8])
      %v5: f32[1,2,2,6,8] = aten::expand_copy(%v1, [1, 2, 2, 6, 8], false)
      %t: f32[1,4,8,6] = aten::transpose_copy.int(%k4, -2, -1)
      %t3: f32[4,8,6] = aten::view_copy(%t, [4, 8, 6])
      %d: f32[1,4,$n,8] = aten::mul.Scalar(%q, 0.25)
      %q3: f32[4,$n,8] = aten::view_copy(%d, [4, $n, 8])
      %s: f32[4,$n,6] = aten::bmm(%q3, %t3)
      %s4: f32[1,4,$n,6] = aten::view_copy(%s, [1, 4, $n, 6])
      %h: f32[1,4,$n,6] = aten::where.self(%see, %s4, %low)
      %f: f32[1,4,$n,6] = aten::_softmax(%h, -1, false)
      %a: f32[1,4,$n,1] = aten::amax(%h, [-1], true)
      %e: bool[1,4,$n,1] = aten::eq.Scalar(%a, -inf)
      %g: f32[1,4,$n,6] = aten::where.self(%e, %zero, %f)
      %g3: f32[4,$n,6] = aten::view_copy(%g, [4, $n, 6])
      %w3: f32[4,6,8] = aten::view_copy(%v5, [4, 6, 8])
      %o: f32[4,$n,8] = aten::bmm(%g3, %w3)
      return %o
    })",
                {{"constants", constants}, {"made", made}, {"n", std::to_string(queries)}});
}

std::string call_of(const Fused& fused) {
  const size_t at = fused.text.find("berth::grouped_attention(");
  return at == std::string::npos ? fused.text : fused.text.substr(at, fused.text.find('\n', at) - at);
}

TEST(FuseGroupedAttention, AComparisonWithPositionsIsALength) {
  const char* const kForms[] = {"aten::le.Tensor(%keys, %p)", "aten::ge.Tensor(%p, %keys)"};
  for (const char* form : kForms) {
    const Fused one =
        fused(attention(kKeys, std::string("%keys: i64[1,1,1,6] = const @keys\n%see: bool[1,1,2,6] = ") + form));
    EXPECT_EQ(one.operators(), "aten::mul.Scalar berth::grouped_attention") << one.text;
    EXPECT_NE(call_of(one).find("none, %"), std::string::npos) << call_of(one);
    EXPECT_NE(call_of(one).find(", none, 1.0, true)"), std::string::npos) << call_of(one);
    EXPECT_FALSE(one.says("mask-not-a-length"));
  }
}

// torch.onnx shares the scale out to queries and keys, before or after these are turned.
TEST(FuseGroupedAttention, TheScaleOfKeysIsThatOfScores) {
  const std::string text =
      attention(kKeys, "%keys: i64[1,1,1,6] = const @keys\n%see: bool[1,1,2,6] = aten::le.Tensor(%keys, %p)");
  const std::pair<std::string, std::string> kForms[] = {
      {"%t3: f32[4,8,6] = aten::view_copy(%t, [4, 8, 6])",
       "%ts: f32[1,4,8,6] = aten::mul.Scalar(%t, 0.5)\n%t3: f32[4,8,6] = aten::view_copy(%ts, [4, 8, 6])"},
      {"aten::transpose_copy.int(%k4, -2, -1)", "aten::transpose_copy.int(%k9, -2, -1)"},
  };
  for (const auto& [from, to] : kForms) {
    std::string scaled = text;
    scaled.replace(scaled.find(from), from.size(), to);
    if (to.find("%k9") != std::string::npos) {
      const std::string before = "%t: f32[1,4,8,6]";
      scaled.insert(scaled.find(before), "%k9: f32[1,4,6,8] = aten::mul.Scalar(%k4, 0.5)\n");
    }
    const Fused one = fused(scaled);
    EXPECT_EQ(one.operators(), "aten::mul.Scalar berth::grouped_attention") << one.text;
    EXPECT_NE(call_of(one).find(", none, 0.5, true)"), std::string::npos) << call_of(one);
  }
}

// A model of 16 bits keeps its caches; what is computed from them is f32, and rounded once.
TEST(FuseGroupedAttention, CachesOf16BitsAreReadAsTheyAre) {
  for (const std::string type : {"bf16", "f16"}) {
    std::string text =
        attention(kKeys, "%keys: i64[1,1,1,6] = const @keys\n%see: bool[1,1,2,6] = aten::le.Tensor(%keys, %p)");
    for (size_t at = text.find("f32["); at != std::string::npos; at = text.find("f32[", at + 5)) {
      text.replace(at, 3, type);
    }
    const Fused one = fuse_module(passes::parsed(text), 7, type == "f16" ? 2e-3 : 1e-2);
    EXPECT_EQ(one.operators(), "berth::elementwise berth::grouped_attention dim_order_ops::_to_dim_order_copy")
        << one.text;
    EXPECT_NE(call_of(one).find(", %k.in, %v.in, none, %"), std::string::npos) << call_of(one);
    EXPECT_FALSE(one.says("mask-not-a-length"));
  }
}

// Caches [b, n, g, d], as ExecuTorch has them, stay where they are: those of 16 bits too, which the model widens first.
TEST(FuseGroupedAttention, CachesWhoseRowsHoldAllHeadsAreNotCopied) {
  for (const std::string type : {"f32", "bf16", "f16"}) {
    const bool wide = type == "f32";
    std::string text =
        attention(kKeys, "%keys: i64[1,1,1,6] = const @keys\n%see: bool[1,1,2,6] = aten::le.Tensor(%keys, %p)");
    const auto replace = [&](const std::string& from, const std::string& to) {
      ASSERT_NE(text.find(from), std::string::npos) << from;
      text.replace(text.find(from), from.size(), to);
    };
    replace("%k: f32[1,2,6,8], %v: f32[1,2,6,8]", "%kr: " + type + "[1,6,2,8], %vr: " + type + "[1,6,2,8]");
    std::string made =
        "%k: f32[1,2,6,8] = aten::transpose_copy.int(%kr, 1, -2)\n"
        "%v: f32[1,2,6,8] = aten::permute_copy(%vr, [0, 2, 1, 3])\n";
    if (!wide) {
      made =
          "%kw: f32[1,6,2,8] = dim_order_ops::_to_dim_order_copy(%kr, false, [0, 1, 2, 3], f32)\n"
          "%k: f32[1,2,6,8] = aten::transpose_copy.int(%kw, 2, 1)\n"
          "%vt: " +
          type +
          "[1,2,6,8] = aten::permute_copy(%vr, [0, 2, 1, 3])\n"
          "%v: f32[1,2,6,8] = dim_order_ops::_to_dim_order_copy(%vt, false, [0, 1, 2, 3], f32)\n";
    }
    replace("%k1: f32", made + "%k1: f32");
    const Fused one = fused(text);
    EXPECT_EQ(one.operators(), "aten::mul.Scalar berth::grouped_attention.rows") << one.text;
    EXPECT_NE(one.text.find("grouped_attention.rows("), std::string::npos);
    EXPECT_NE(one.text.find(", %kr.in, %vr.in, none, %"), std::string::npos) << one.text;
  }
  // A permutation of something else, and a cache of which one is in another order.
  std::string text =
      attention(kKeys, "%keys: i64[1,1,1,6] = const @keys\n%see: bool[1,1,2,6] = aten::le.Tensor(%keys, %p)");
  const std::string inputs = "%k: f32[1,2,6,8], ";
  text.replace(text.find(inputs), inputs.size(), "%kr: f32[1,6,2,8], ");
  text.replace(text.find("%k1: f32"), 0, "%k: f32[1,2,6,8] = aten::permute_copy(%kr, [0, 2, 1, 3])\n");
  EXPECT_EQ(fused(text).text.find("grouped_attention.rows("), std::string::npos);
}

TEST(FuseGroupedAttention, AWindowHasTwoEnds) {
  const Fused window = fused(attention(kKeys, R"(
    %keys: i64[1,1,1,6] = const @keys
    %le: bool[1,1,2,6] = aten::le.Tensor(%keys, %p)
    %b: i64[1,1,2,1] = aten::sub.Scalar(%p, 3, 1)
    %gt: bool[1,1,2,6] = aten::gt.Tensor(%keys, %b)
    %see: bool[1,1,2,6] = aten::bitwise_and.Tensor(%gt, %le)
  )"));
  EXPECT_EQ(window.operators(), "aten::sub.Scalar aten::mul.Scalar berth::grouped_attention") << window.text;
  EXPECT_EQ(call_of(window).find("none, none"), std::string::npos) << call_of(window);
  EXPECT_FALSE(window.says("mask-not-a-length"));
}

TEST(FuseGroupedAttention, ARowOfATriangleIsALength) {
  std::string triangle = "const @tri: bool[7,6] = dense<[";
  for (int i = 0; i < 42; ++i) triangle += std::string(i == 0 ? "" : ", ") + (i % 6 <= i / 6 ? "true" : "false");
  const std::string pick = R"(
    %tri: bool[7,6] = const @tri
    %at: i64[2] = aten::view_copy(%p, [2])
    %row: bool[2,6] = aten::index.Tensor(%tri, [%at])
    %see: bool[1,1,2,6] = aten::view_copy(%row, [1, 1, 2, 6])
  )";
  const Fused picked = fused(attention(triangle + "]>", pick));
  EXPECT_EQ(picked.operators(), "aten::mul.Scalar berth::grouped_attention") << picked.text;
  std::string other = triangle + "]>";
  other.replace(other.find("false"), 5, "true");
  const Fused kept = fused(attention(other, pick));
  EXPECT_TRUE(kept.says("mask-not-a-length")) << kept.text;
}

TEST(FuseGroupedAttention, OtherMasksStay) {
  const Fused given = fused(attention("", "%see: bool[1,1,2,6] = aten::logical_not(%m)"));
  EXPECT_EQ(given.operators(), "aten::logical_not aten::mul.Scalar berth::grouped_attention") << given.text;
  EXPECT_NE(call_of(given).find("%see, none, none"), std::string::npos) << call_of(given);
  EXPECT_TRUE(given.says("mask-not-a-length"));
  // Keys that are not numbered from 0, and a conjunction of which one part is something else.
  std::string shifted = kKeys;
  shifted.replace(shifted.find("[0, 1"), 5, "[1, 1");
  const std::string le = "%keys: i64[1,1,1,6] = const @keys\n%see: bool[1,1,2,6] = aten::le.Tensor(%keys, %p)";
  EXPECT_TRUE(fused(attention(shifted, le)).says("mask-not-a-length"));
  const Fused both = fused(attention(kKeys, R"(
    %keys: i64[1,1,1,6] = const @keys
    %le: bool[1,1,2,6] = aten::le.Tensor(%keys, %p)
    %see: bool[1,1,2,6] = aten::bitwise_and.Tensor(%m, %le)
  )"));
  EXPECT_NE(call_of(both).find("%see, none, none"), std::string::npos) << call_of(both);
}

TEST(FuseGroupedAttention, RowsOfMinusInfinityGiveZerosOnlyWhereTheModelGuardsThem) {
  std::string text = attention("", "%see: bool[1,1,2,6] = aten::logical_not(%m)");
  EXPECT_NE(call_of(fused(text)).find("none, none, 1.0, true)"), std::string::npos);
  const size_t guard = text.find("%a: f32");
  text.erase(guard, text.find("%g3: f32") - guard);
  text.replace(text.find("view_copy(%g,"), 13, "view_copy(%f,");
  const Fused plain = fused(text);
  EXPECT_NE(call_of(plain).find("none, none, 1.0, false)"), std::string::npos) << plain.text;
}

// The same as torch.onnx writes it: where(isnan(softmax), 0, softmax).
TEST(FuseGroupedAttention, AGuardForNaNIsOneToo) {
  std::string text = attention("", "%see: bool[1,1,2,6] = aten::logical_not(%m)");
  const size_t guard = text.find("%a: f32");
  text.erase(guard, text.find("%g: f32") - guard);
  text.insert(guard, "%e: bool[1,4,2,6] = aten::isnan(%f)\n");
  const Fused one = fused(text);
  EXPECT_NE(call_of(one).find("none, none, 1.0, true)"), std::string::npos) << one.text;
  text.replace(text.find("aten::isnan(%f)"), 15, "aten::isnan(%s4)");
  EXPECT_EQ(fused(text).operators().find("berth::grouped_attention"), std::string::npos);
}

// Tokens outermost, then the batch, as torch.nn.MultiheadAttention has them: one permutation makes the keys' columns.
TEST(FuseGroupedAttention, KeysOfAnyPermutationAreTurnedBack) {
  const char* const kText = R"(
    method forward(%x: f32[5,$b,8], %k: f32[5,$b,8], %v: f32[5,$b,8]) {
      %x3: f32[5,$h,4] = aten::view_copy(%x, [5, $h, 4])
      %q: f32[$h,5,4] = aten::permute_copy(%x3, [1, 0, 2])
      %k3: f32[5,$h,4] = aten::view_copy(%k, [5, $h, 4])
      %t: f32[$h,4,5] = aten::permute_copy(%k3, [1, 2, 0])
      %v3: f32[5,$h,4] = aten::view_copy(%v, [5, $h, 4])
      %w: f32[$h,5,4] = aten::permute_copy(%v3, [1, 0, 2])
      %s: f32[$h,5,5] = aten::bmm(%q, %t)
      %f: f32[$h,5,5] = aten::_softmax(%s, -1, false)
      %o: f32[$h,5,4] = aten::bmm(%f, %w)
      return %o
    })";
  const std::string all = "aten::permute_copy aten::permute_copy aten::permute_copy berth::grouped_attention";
  EXPECT_EQ(fused(filled(kText, {{"b", "3"}, {"h", "6"}})).operators(), all);
  EXPECT_EQ(fused_at_every_size({{"n", 1, 4}}, filled(kText, {{"b", "n"}, {"h", "(n * 2)"}})).operators(), all);
}

TEST(FuseGroupedAttention, ScoresWithOtherReadersStayWrittenOut) {
  std::string text = attention("", "%see: bool[1,1,2,6] = aten::logical_not(%m)");
  text.replace(text.find("return %o"), 9, "return %o, %f");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("berth::grouped_attention"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("result-read-elsewhere: berth::grouped_attention"));
}

// Where there are as many queries as keys, what is known of rows may be said of columns.
TEST(FuseGroupedAttention, AGuardOfColumnsIsNotOneOfRows) {
  std::string text = attention("", "%see: bool[1,1,6,6] = aten::logical_not(%m)", 6);
  EXPECT_NE(fused(text).operators().find("berth::grouped_attention"), std::string::npos);
  const std::string rows = "%g: f32[1,4,6,6] = aten::where.self(%e,";
  ASSERT_NE(text.find(rows), std::string::npos);
  text.replace(text.find(rows), rows.size(),
               "%e2: bool[1,4,1,6] = aten::view_copy(%e, [1, 4, 1, 6])\n"
               "%g: f32[1,4,6,6] = aten::where.self(%e2,");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("berth::grouped_attention"), std::string::npos) << one.text;
}

// Two images of two heads, whose mask is one for each image where it is added: as many as there are heads.
TEST(FuseGroupedAttention, AMaskOfImagesIsNotOneOfHeads) {
  const auto masked = [](const std::string& mask, const std::string& grouped) {
    return fused(filled(R"(
    method forward(%q: f32[4,3,8], %k: f32[2,2,6,8], %v: f32[4,6,8], %m: f32$m) {
      %t: f32[2,2,8,6] = aten::transpose_copy.int(%k, -2, -1)
      %t3: f32[4,8,6] = aten::view_copy(%t, [4, 8, 6])
      %s: f32[4,3,6] = aten::bmm(%q, %t3)
      %g: f32$g = aten::view_copy(%s, $g)
      %a: f32$g = aten::add.Tensor(%g, %m, 1)
      %s4: f32[2,2,3,6] = aten::view_copy(%a, [2, 2, 3, 6])
      %f: f32[2,2,3,6] = aten::_softmax(%s4, -1, false)
      %f3: f32[4,3,6] = aten::view_copy(%f, [4, 3, 6])
      %o: f32[4,3,8] = aten::bmm(%f3, %v)
      return %o
    })",
                        {{"m", mask}, {"g", grouped}}))
        .operators();
  };
  EXPECT_EQ(masked("[2,1,6]", "[2,6,6]").find("berth::grouped_attention"), std::string::npos);
  EXPECT_EQ(masked("[2,6,6]", "[2,6,6]").find("berth::grouped_attention"), std::string::npos);
  EXPECT_EQ(masked("[2,1,3,6]", "[2,2,3,6]"), "berth::grouped_attention");
  EXPECT_EQ(masked("[1,3,6]", "[4,3,6]"), "berth::grouped_attention");
  // The same for all heads, however they are grouped.
  EXPECT_EQ(masked("[1,3,6]", "[1,4,1,3,6]"), "berth::grouped_attention");
}

// Views that make other rows of keys, or of shares, than the products' own.
TEST(FuseGroupedAttention, RowsThatAViewCutsIntoOthersAreNotKeysOrShares) {
  const std::string head = "method forward(%q: f32[2,6,8], %k: f32[2,$x,$y], %v: f32[$h,$n,8]) {\n";
  const auto cut = [&](const std::string& x, const std::string& y, const std::string& heads, const std::string& keys) {
    return fused(filled(head + R"(
      %t: f32[2,$y,$x] = aten::transpose_copy.int(%k, 1, 2)
      %t3: f32[2,8,6] = aten::view_copy(%t, [2, 8, 6])
      %s: f32[2,6,6] = aten::bmm(%q, %t3)
      %f: f32[2,6,6] = aten::_softmax(%s, -1, false)
      %f3: f32[$h,6,$n] = aten::view_copy(%f, [$h, 6, $n])
      %o: f32[$h,6,8] = aten::bmm(%f3, %v)
      return %o
    })",
                        {{"x", x}, {"y", y}, {"h", heads}, {"n", keys}}))
        .operators();
  };
  EXPECT_EQ(cut("6", "8", "2", "6"), "berth::grouped_attention");
  // These are turned once more, as they are cut.
  EXPECT_EQ(cut("12", "4", "2", "6"), "aten::transpose_copy.int aten::permute_copy berth::grouped_attention");
  EXPECT_EQ(cut("6", "8", "4", "3").find("berth::grouped_attention"), std::string::npos);
}

}  // namespace
}  // namespace berth::fuse

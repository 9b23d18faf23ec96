// Attention as exporters write it out. The fears: a mask taken for a causal one, scores that others read.
#include "compiler/fuse/fuse_attention.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Three heads of four columns over five tokens, as exporters write it.
std::string attention(const std::string& mask_type, const std::string& mask, const std::string& sum,
                      const std::string& batch, const std::string& heads, const std::string& tokens) {
  return filled(R"(
    $constant
    method forward(%x: f32[$n,$t,36]$mask_type) {
      $mask
      %v: f32[$n,$t,3,3,4] = aten::view_copy(%x, [$n, $t, 3, 3, 4])
      %p: f32[3,$n,3,$t,4] = aten::permute_copy(%v, [2, 0, 3, 1, 4])
      %q: f32[$n,3,$t,4] = aten::select_copy.int(%p, 0, 0)
      %k: f32[$n,3,$t,4] = aten::select_copy.int(%p, 0, 1)
      %w: f32[$n,3,$t,4] = aten::select_copy.int(%p, 0, 2)
      %t: f32[$n,3,4,$t] = aten::permute_copy(%k, [0, 1, 3, 2])
      %q3: f32[$heads,$t,4] = aten::view_copy(%q, [$heads, $t, 4])
      %t3: f32[$heads,4,$t] = aten::view_copy(%t, [$heads, 4, $t])
      %s: f32[$heads,$t,$t] = aten::bmm(%q3, %t3)
      %s4: f32[$n,3,$t,$t] = aten::view_copy(%s, [$n, 3, $t, $t])
      %d: f32[$n,3,$t,$t] = aten::mul.Scalar(%s4, 0.5)
      $sum
      %f: f32[$n,3,$t,$t] = aten::_softmax(%e, 3, false)
      %f3: f32[$heads,$t,$t] = aten::view_copy(%f, [$heads, $t, $t])
      %w3: f32[$heads,$t,4] = aten::view_copy(%w, [$heads, $t, 4])
      %o: f32[$heads,$t,4] = aten::bmm(%f3, %w3)
      %o4: f32[$n,3,$t,4] = aten::view_copy(%o, [$n, 3, $t, 4])
      %r: f32[$n,$t,3,4] = aten::permute_copy(%o4, [0, 2, 1, 3])
      %y: f32[$n,$t,12] = aten::view_copy(%r, [$n, $t, 12])
      return %y
    })",
                {{"mask_type", mask_type},
                 {"constant", mask},
                 {"mask", mask.empty() ? "" : "%m: f32[5,5] = const @m"},
                 {"sum", sum},
                 {"n", batch},
                 {"heads", heads},
                 {"t", tokens}});
}

std::string attention(const std::string& mask_type, const std::string& mask, const std::string& sum, int batch) {
  return attention(mask_type, mask, sum, std::to_string(batch), std::to_string(3 * batch), "5");
}

std::string plus_mask(int batch) {
  return "%e: f32[" + std::to_string(batch) + ",3,5,5] = aten::add.Tensor(%d, %m, 1)";
}

TEST(FuseAttention, AttentionWrittenOutIsOneOperatorOverTheRowsOfTokens) {
  const Fused plain = fused(attention("", "", "%e: f32[1,3,5,5] = aten::mul.Scalar(%d, 0.75)", 1));
  EXPECT_EQ(plain.operators(), "berth::attention") << plain.text;
  EXPECT_NE(plain.text.find("none, 3, 4, 0, 12, 24, 0.375, false)"), std::string::npos) << plain.text;
  EXPECT_EQ(fused(attention(", %m: f32[5,5]", "", plus_mask(2), 2)).operators(), "berth::attention");
}

// The usual one of text: of each sequence, computed from what it is given.
TEST(FuseAttention, AMaskMayBeComputedAndStandFirst) {
  for (const std::string sum : {"%d, %c", "%c, %d"}) {
    const Fused one = fused(attention(", %m: f32[2,1,1,5]", "", R"(
      %c: f32[2,1,1,5] = aten::mul.Scalar(%m, -10000.0)
      %e: f32[2,3,5,5] = aten::add.Tensor()" + sum + ", 1)",
                                      2));
    EXPECT_EQ(one.operators(), "aten::mul.Scalar berth::attention") << one.text;
  }
  // As many images as heads: the mask is one for each image where it is added, not for each head.
  const Fused images = fused(attention(", %m: f32[3,1,5]", "", R"(
      %d3: f32[9,5,5] = aten::view_copy(%d, [9, 5, 5])
      %dv: f32[3,3,5,5] = aten::view_copy(%d3, [3, 3, 5, 5])
      %dt: f32[3,15,5] = aten::view_copy(%dv, [3, 15, 5])
      %a: f32[3,15,5] = aten::add.Tensor(%dt, %m, 1)
      %e: f32[3,3,5,5] = aten::view_copy(%a, [3, 3, 5, 5]))",
                                       3));
  EXPECT_EQ(images.operators().find("berth::attention"), std::string::npos) << images.text;
}

// where(isnan(softmax), 0, softmax), as torch.onnx guards rows that see nothing: none does here.
TEST(FuseAttention, AGuardForNaNIsFollowed) {
  std::string mask = "const @zero: f32[] = dense<[0]>\nconst @m: f32[5,5] = dense<[";
  for (int i = 0; i < 25; ++i) mask += std::string(i == 0 ? "" : ", ") + (i % 5 <= i / 5 ? "0.0" : "-inf");
  std::string text = attention("", mask + "]>", plus_mask(1), 1);
  const std::string read = "aten::view_copy(%f, [3, 5, 5])";
  text.replace(text.find(read), read.size(), "aten::view_copy(%g, [3, 5, 5])");
  text.insert(text.find("%f3: f32"), R"(%zero: f32[] = const @zero
      %b: bool[1,3,5,5] = aten::isnan(%f)
      %g: f32[1,3,5,5] = aten::where.self(%b, %zero, %f)
      )");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators(), "berth::attention") << one.text;
  // Another reader of the softmax.
  text.replace(text.find("return %y"), 9, "return %y, %f");
  EXPECT_EQ(fused(text).operators().find("berth::attention"), std::string::npos);
}

// As importers have PyTorch's safe softmax, under a mask of truths. `hidden`: what query 2 sees of the keys.
std::string safe_attention(const std::string& hidden) {
  std::string mask =
      "const @zero: f32[] = dense<[0]>\nconst @low: f32[] = dense<[-inf]>\nconst @m: bool[5,5] = dense<[";
  for (int i = 0; i < 25; ++i) {
    const bool sees = i / 5 == 2 ? hidden[i % 5] == '1' : i % 5 <= i / 5;
    mask += std::string(i == 0 ? "" : ", ") + (sees ? "true" : "false");
  }
  std::string text = attention("", mask + "]>", "%e: f32[1,3,5,5] = aten::where.self(%m, %d, %low)", 1);
  const auto replace = [&](const std::string& from, const std::string& to) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
  };
  replace("%m: f32[5,5] = const @m", "%m: bool[5,5] = const @m\n%zero: f32[] = const @zero\n%low: f32[] = const @low");
  replace("aten::view_copy(%f, [3, 5, 5])", "aten::view_copy(%g, [3, 5, 5])");
  text.insert(text.find("%f3: f32"), R"(%b: f32[1,3,5,1] = aten::amax(%e, [3], true)
      %c: bool[1,3,5,1] = aten::eq.Scalar(%b, -inf)
      %g: f32[1,3,5,5] = aten::where.self(%c, %zero, %f)
      )");
  return text;
}

TEST(FuseAttention, ASafeSoftmaxUnderTruthsIsOneOperatorWhereEachQuerySeesAKey) {
  const Fused causal = fused(safe_attention("11100"));
  EXPECT_EQ(causal.operators(), "berth::attention") << causal.text;
  EXPECT_NE(causal.text.find("0.5, true)"), std::string::npos) << causal.text;
  const Fused masked = fused(safe_attention("10101"));
  EXPECT_EQ(masked.operators(), "berth::attention") << masked.text;
  EXPECT_NE(masked.text.find("0.5, false)"), std::string::npos) << masked.text;
  const Fused blind = fused(safe_attention("00000"));
  EXPECT_EQ(blind.count("berth::attention"), 0u) << "its result would be NaN:\n" << blind.text;
}

TEST(FuseAttention, TruthsThatAreAddedAreNotAMask) {
  std::string mask = "const @m: bool[5,5] = dense<[";
  for (int i = 0; i < 25; ++i) mask += std::string(i == 0 ? "" : ", ") + (i % 5 <= i / 5 ? "true" : "false");
  std::string text = attention("", mask + "]>", plus_mask(1), 1);
  text.replace(text.find("%m: f32[5,5] = const @m"), 23, "%m: bool[5,5] = const @m");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("attention"), std::string::npos) << one.text;
}

// Batch and heads joined, keys turned, and both split again; queries, keys and values with a dimension of one in front.
TEST(FuseAttention, KeysThatAreTurnedWithBatchAndHeadsJoinedAreColumnsToo) {
  std::string text = attention("", "", "%e: f32[2,3,5,5] = aten::mul.Scalar(%d, 0.75)", 2);
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
  };
  replace("%k: f32[2,3,5,4] = aten::select_copy.int(%p, 0, 1)",
          "%k: f32[1,2,3,5,4] = aten::slice_copy.Tensor(%p, 0, 1, 2, 1)");
  replace("%w: f32[2,3,5,4] = aten::select_copy.int(%p, 0, 2)",
          "%w: f32[1,2,3,5,4] = aten::slice_copy.Tensor(%p, 0, 2, 3, 1)");
  replace("%t: f32[2,3,4,5] = aten::permute_copy(%k, [0, 1, 3, 2])", R"(%kj: f32[6,5,4] = aten::view_copy(%k, [6, 5, 4])
      %kt: f32[6,4,5] = aten::permute_copy(%kj, [0, 2, 1])
      %ks: f32[2,3,4,5] = aten::view_copy(%kt, [2, 3, 4, 5])
      %t: f32[2,3,4,5] = aten::mul.Scalar(%ks, 0.5))");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators(), "berth::attention") << one.text;
  EXPECT_NE(one.text.find("none, 3, 4, 0, 12, 24, 0.1875, false)"), std::string::npos) << one.text;
}

TEST(FuseAttention, AMaskOfLaterTokensIsCausal) {
  std::string mask = "const @m: f32[5,5] = dense<[";
  for (int i = 0; i < 25; ++i) mask += std::string(i == 0 ? "" : ", ") + (i % 5 <= i / 5 ? "0.0" : "-inf");
  const Fused causal = fused(attention("", mask + "]>", plus_mask(1), 1));
  EXPECT_EQ(causal.operators(), "berth::attention") << causal.text;
  EXPECT_NE(causal.text.find("0.5, true)"), std::string::npos) << causal.text;
  std::string other = "const @m: f32[5,5] = dense<[";
  for (int i = 0; i < 25; ++i) other += std::string(i == 0 ? "" : ", ") + (i % 5 <= i / 5 + 1 ? "0.0" : "-inf");
  const Fused masked = fused(attention("", other + "]>", plus_mask(1), 1));
  EXPECT_NE(masked.text.find("0.5, false)"), std::string::npos) << masked.text;
}

TEST(FuseAttention, AnyNumberOfTokensAndOfSequencesIsOneOperatorToo) {
  const std::string masked =
      attention(", %m: f32[n,1,s,s]", "", "%e: f32[n,3,s,s] = aten::add.Tensor(%d, %m, 1)", "n", "(n * 3)", "s");
  const Fused open = fused_at_every_size({{"n", 1, 3}, {"s", 1, 9}}, masked);
  EXPECT_EQ(open.operators(), "berth::attention") << open.text;
  const std::string plain = attention("", "", "%e: f32[1,3,s,s] = aten::mul.Scalar(%d, 0.75)", "1", "3", "s");
  EXPECT_EQ(fused_at_every_size({{"s", 1, 40}}, plain).operators(), "berth::attention");
}

// Two images of three windows, in the manner of shifted windows.
std::string windows(const std::string& bias, const std::string& mask, const std::string& sums) {
  return attention(", %b: f32[" + bias + "], %m: f32[" + mask + "]", "", sums, 6);
}

TEST(FuseAttention, ABiasAndAMaskAreTwoArguments) {
  const std::string sums = R"(
      %d1: f32[6,3,5,5] = aten::add.Tensor(%d, %b, 1)
      %e: f32[6,3,5,5] = aten::add.Tensor($order, 1))";
  for (const std::string order : {"%m, %d1", "%d1, %m"}) {
    const Fused one = fused(windows("1,3,5,5", "6,1,5,5", filled(sums, {{"order", order}})));
    EXPECT_EQ(one.operators(), "berth::attention.biased") << one.text;
    EXPECT_NE(one.text.find("%b.in, %m.in, 3, 4, 0, 12, 24, 0.5)"), std::string::npos) << one.text;
  }
  // A third one stays where it is, and all with it.
  const Fused three = fused(windows("1,3,5,5", "6,1,5,5", R"(
      %d1: f32[6,3,5,5] = aten::add.Tensor(%d, %b, 1)
      %d2: f32[6,3,5,5] = aten::add.Tensor(%d1, %b, 1)
      %e: f32[6,3,5,5] = aten::add.Tensor(%d2, %m, 1))"));
  EXPECT_EQ(three.operators().find("berth::attention"), std::string::npos) << three.text;
}

// [heads, queries, keys] beside [windows, heads, queries, keys]: only a sum over heads says that they are heads.
TEST(FuseAttention, ABiasOfHeadsMayHaveThreeDimensions) {
  const Fused one = fused(attention(", %m: f32[3,5,5]", "", "%e: f32[2,3,5,5] = aten::add.Tensor(%d, %m, 1)", 2));
  EXPECT_EQ(one.count("berth::attention"), 1u) << one.text;
  EXPECT_NE(one.text.find("f32[1,3,5,5] = aten::view_copy(%m.in"), std::string::npos) << one.text;
  const Fused two = fused(windows("3,5,5", "6,1,5,5", R"(
      %d1: f32[6,3,5,5] = aten::add.Tensor(%d, %b, 1)
      %e: f32[6,3,5,5] = aten::add.Tensor(%d1, %m, 1))"));
  EXPECT_EQ(two.count("berth::attention.biased"), 1u) << two.text;
}

TEST(FuseAttention, AMaskOfWindowsMayBeAddedWhereTheyAreADimensionOfTheirOwn) {
  const std::string sums = R"(
      %d1: f32[6,3,5,5] = aten::add.Tensor(%d, %b, 1)
      %d5: f32[2,3,3,5,5] = aten::view_copy(%d1, [2, 3, 3, 5, 5])
      %e5: f32[2,3,3,5,5] = aten::add.Tensor(%d5, %m, 1)
      %e: f32[6,3,5,5] = aten::view_copy(%e5, [6, 3, 5, 5]))";
  for (const std::string mask : {"2,3,1,5,5", "2,3,3,5,5", "1,1,1,5,5", "1,1,3,1,5", "3,5,1", "5"}) {
    const Fused one = fused(windows("1,3,5,5", mask, sums));
    EXPECT_EQ(one.count("berth::attention.biased"), 1u) << mask << '\n' << one.text;
  }
  // For each image the masks of the windows again: neither one for all nor one for each.
  for (const std::string mask : {"1,3,1,5,5", "2,1,1,5,5", "3,1,5,5"}) {
    const Fused one = fused(windows("1,3,5,5", mask, sums));
    EXPECT_EQ(one.count("berth::attention.biased"), 0u) << mask << '\n' << one.text;
  }
}

TEST(FuseAttention, OfTwoMasksOneThatIsKnownIsCausalOrGoes) {
  const auto with = [](const std::string& later) {
    std::string mask = "const @m: f32[5,5] = dense<[";
    for (int i = 0; i < 25; ++i) mask += std::string(i == 0 ? "" : ", ") + (i % 5 <= i / 5 ? "0.0" : later);
    return fused(attention(", %b: f32[1,3,5,5]", mask + "]>", R"(
      %d1: f32[2,3,5,5] = aten::add.Tensor(%d, %b, 1)
      %e: f32[2,3,5,5] = aten::add.Tensor(%d1, %m, 1))",
                           2));
  };
  // Where %b hides all that a query sees, it sees the keys behind it, whose scores are finite.
  const Fused finite = with("-1e38");
  EXPECT_EQ(finite.count("berth::attention.biased"), 1u) << finite.text;
  const Fused causal = with("-inf"), zeros = with("0.0");
  EXPECT_NE(causal.text.find("%b.in, 3, 4, 0, 12, 24, 0.5, true)"), std::string::npos) << causal.text;
  EXPECT_EQ(zeros.count("berth::attention"), 1u) << zeros.text;
  EXPECT_NE(zeros.text.find("0.5, false)"), std::string::npos) << zeros.text;
}

// %d is masked by truths; `sum` makes %h of it and of constants of numbers, of which @n hides the first key.
Fused safe_sum(const std::string& sum) {
  std::string text = safe_attention("11100");
  const std::string scores = "aten::where.self(%m, %d, %low)";
  text.replace(text.find(scores), scores.size(), "aten::where.self(%m, %h, %low)");
  text.insert(text.find("%e: f32"), "%n: f32[5,5] = const @n\n" + sum);
  std::string numbers;
  for (int i = 0; i < 25; ++i) numbers += i == 0 ? "-inf" : i % 5 == 0 ? ", -inf" : ", 1.0";
  return fused("const @n: f32[5,5] = dense<[" + numbers + "]>\n" + text);
}

// The first query sees the first key alone: under the guard it gives zeros.
TEST(FuseAttention, WhatEachOfTwoMasksShowsTheOtherMayHide) {
  const Fused one = safe_sum("%h: f32[1,3,5,5] = aten::add.Tensor(%d, %n, 1)\n");
  EXPECT_EQ(one.count("berth::attention") + one.count("berth::attention.biased"), 0u) << one.text;
}

TEST(FuseAttention, ThreeMasksAreTooMany) {
  std::string text =
      attention(", %b: f32[1,3,5,5]",
                "const @low: f32[] = dense<[-inf]>\nconst @seen: bool[5] = dense<[true, true, true, true, false]>",
                R"(%low: f32[] = const @low
      %seen: bool[5] = const @seen
      %d1: f32[1,3,5,5] = aten::add.Tensor(%d, %b, 1)
      %d2: f32[1,3,5,5] = aten::add.Tensor(%d1, %b, 1)
      %e: f32[1,3,5,5] = aten::where.self(%seen, %d2, %low))",
                1);
  text.replace(text.find("%m: f32[5,5] = const @m"), 23, "");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("berth::attention"), std::string::npos) << one.text;
}

// As with positions that are relative: a product, and a mask beside it, that are added to the scores.
TEST(FuseAttention, AMaskMayBeAProductWithAMask) {
  const Fused one = fused(attention(", %z: f32[3,4,5], %m: f32[1,1,5,5]", "", R"(
      %r3: f32[3,5,5] = aten::bmm(%q3, %z)
      %r4: f32[1,3,5,5] = aten::view_copy(%r3, [1, 3, 5, 5])
      %a: f32[1,3,5,5] = aten::add.Tensor(%r4, %m, 1)
      %e: f32[1,3,5,5] = aten::add.Tensor(%a, %d, 1))",
                                    1));
  EXPECT_EQ(one.count("berth::attention"), 1u) << one.text;
}

// Rows of which one mask hides a part and the other the rest give zeros under the guard, and NaN without.
TEST(FuseAttention, TwoMasksUnderAGuardStayWrittenOut) {
  std::string text = attention(", %b: f32[5,5]", "const @zero: f32[] = dense<[0]>", R"(
      %d1: f32[1,3,5,5] = aten::add.Tensor(%d, %b, 1)
      %e: f32[1,3,5,5] = aten::add.Tensor(%d1, %b, 1))",
                               1);
  text.replace(text.find("%m: f32[5,5] = const @m"), 23, "%zero: f32[] = const @zero");
  const std::string read = "aten::view_copy(%f, [3, 5, 5])";
  text.replace(text.find(read), read.size(), "aten::view_copy(%g, [3, 5, 5])");
  text.insert(text.find("%f3: f32"), R"(%n: bool[1,3,5,5] = aten::isnan(%f)
      %g: f32[1,3,5,5] = aten::where.self(%n, %zero, %f)
      )");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("berth::attention"), std::string::npos) << one.text;
}

TEST(FuseAttention, ScoresWithOtherReadersStayWrittenOut) {
  std::string text = attention("", "", "%e: f32[1,3,5,5] = aten::mul.Scalar(%d, 0.75)", 1);
  text.replace(text.find("return %y"), 9, "return %y, %f");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("berth::attention"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("result-read-elsewhere: berth::attention"));
}

}  // namespace
}  // namespace berth::fuse

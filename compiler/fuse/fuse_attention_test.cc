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

TEST(FuseAttention, ScoresWithOtherReadersStayWrittenOut) {
  std::string text = attention("", "", "%e: f32[1,3,5,5] = aten::mul.Scalar(%d, 0.75)", 1);
  text.replace(text.find("return %y"), 9, "return %y, %f");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("berth::attention"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("result-read-elsewhere: berth::attention"));
}

}  // namespace
}  // namespace berth::fuse

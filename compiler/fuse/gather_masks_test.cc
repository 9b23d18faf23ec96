// Several constants that are added to scores. The fears: one window's mask for another's, a factor that an earlier mask
// escapes, or a later one does not, a sum that others read.
#include "compiler/fuse/gather_masks.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const Constants kScores = {
    {"bias", {1, 2, 4, 4}}, {"shift", {1, 3, 1, 4, 4}}, {"each", {6, 1, 4, 4}}, {"images", {2, 1, 1, 4, 4}},
    {"row", {4}},           {"factor", {2, 1, 1}},      {"whole", {6, 2, 4, 4}}};

// Two heads of five columns in `count` windows of four tokens; `made` makes %e of %s.
Fused windows(const std::string& made, int count = 3, const std::string& results = "%y") {
  const std::string text = filled(R"(
      %q3: f32[$h,4,5] = aten::view_copy(%q, [$h, 4, 5])
      %k3: f32[$h,5,4] = aten::view_copy(%k, [$h, 5, 4])
      %v3: f32[$h,4,5] = aten::view_copy(%v, [$h, 4, 5])
      %s3: f32[$h,4,4] = aten::bmm(%q3, %k3)
      %s: f32[$w,2,4,4] = aten::view_copy(%s3, [$w, 2, 4, 4])
      $made
      %f: f32[$w,2,4,4] = aten::_softmax(%e, -1, false)
      %f3: f32[$h,4,4] = aten::view_copy(%f, [$h, 4, 4])
      %o: f32[$h,4,5] = aten::bmm(%f3, %v3)
      %y: f32[$w,2,4,5] = aten::view_copy(%o, [$w, 2, 4, 5])
      return $results
)",
                                  {{"made", made}, {"results", results}});
  const std::vector<std::pair<std::string, std::string>> sizes = {{"w", std::to_string(count)},
                                                                  {"h", std::to_string(2 * count)}};
  return fused(with_constants(kScores, filled("%q: f32[$w,2,4,5], %k: f32[$w,2,5,4], %v: f32[$w,2,4,5]", sizes),
                              filled(text, sizes)));
}

// The mask of the one operator.
std::string mask_of(const Fused& one) {
  const size_t at = one.text.find("%mask: ");
  return at == std::string::npos ? one.text : one.text.substr(at + 7, one.text.find(' ', at + 7) - at - 7);
}

TEST(GatherMasks, ABiasAndAMaskOfWindowsAreOneMask) {
  const Fused one = windows(R"(
      %a: f32[3,2,4,4] = aten::add.Tensor(%s, %bias, 1)
      %w: f32[1,3,2,4,4] = aten::view_copy(%a, [1, 3, 2, 4, 4])
      %b: f32[1,3,2,4,4] = aten::add.Tensor(%shift, %w, 1)
      %e: f32[3,2,4,4] = aten::view_copy(%b, [3, 2, 4, 4]))");
  EXPECT_EQ(one.count("berth::grouped_attention"), 1u) << one.text;
  EXPECT_EQ(mask_of(one), "f32[3,2,4,4]");
}

// Two images of three windows.
TEST(GatherMasks, EachImageHasTheMasksOfItsWindows) {
  const Fused one = windows(R"(
      %a: f32[6,2,4,4] = aten::add.Tensor(%s, %row, 1)
      %w: f32[2,3,2,4,4] = aten::view_copy(%a, [2, 3, 2, 4, 4])
      %b: f32[2,3,2,4,4] = aten::add.Tensor(%w, %shift, 1)
      %e: f32[6,2,4,4] = aten::view_copy(%b, [6, 2, 4, 4]))",
                            6);
  EXPECT_EQ(one.count("berth::grouped_attention"), 1u) << one.text;
  EXPECT_EQ(mask_of(one), "f32[6,1,4,4]");
  const Fused images = windows(R"(
      %w: f32[2,3,2,4,4] = aten::view_copy(%s, [2, 3, 2, 4, 4])
      %a: f32[2,3,2,4,4] = aten::add.Tensor(%w, %images, 1)
      %b: f32[2,3,2,4,4] = aten::add.Tensor(%a, %shift, 1)
      %e: f32[6,2,4,4] = aten::view_copy(%b, [6, 2, 4, 4]))",
                               6);
  EXPECT_EQ(mask_of(images), "f32[6,1,4,4]");
  EXPECT_EQ(mask_of(windows(R"(
      %a: f32[6,2,4,4] = aten::add.Tensor(%s, %each, 1)
      %b: f32[6,2,4,4] = aten::add.Tensor(%a, %whole, 1)
      %e: f32[6,2,4,4] = aten::add.Tensor(%b, %row, 1))",
                            6)),
            "f32[6,2,4,4]");
  EXPECT_EQ(mask_of(windows(R"(
      %a: f32[3,2,4,4] = aten::add.Tensor(%s, %row, 1)
      %e: f32[3,2,4,4] = aten::add.Tensor(%a, %bias, 1))")),
            "f32[1,2,4,4]");
}

// Those that come later apply to what was added before.
TEST(GatherMasks, FactorsOfHeadsAreThoseOfQueries) {
  const Fused first = windows(R"(
      %a: f32[3,2,4,4] = aten::mul.Tensor(%s, %factor)
      %e: f32[3,2,4,4] = aten::add.Tensor(%a, %bias, 1))");
  EXPECT_EQ(first.count("berth::grouped_attention"), 1u) << first.text;
  const Fused last = windows(R"(
      %a: f32[3,2,4,4] = aten::div.Scalar(%s, 2.0)
      %b: f32[3,2,4,4] = aten::add.Tensor(%a, %row, 1)
      %c: f32[3,2,4,4] = aten::mul.Tensor(%factor, %b)
      %e: f32[3,2,4,4] = aten::add.Tensor(%c, %row, 1))");
  EXPECT_EQ(last.count("berth::grouped_attention"), 1u) << last.text;
  EXPECT_EQ(mask_of(last), "f32[1,2,4,4]");
  EXPECT_EQ(windows("%e: f32[3,2,4,4] = aten::mul.Tensor(%s, %factor)").count("berth::grouped_attention"), 1u);
}

TEST(GatherMasks, OtherScoresStay) {
  // Twice what is there; a factor of each key; sums that others read.
  for (const char* made :
       {"%a: f32[3,2,4,4] = aten::add.Tensor(%s, %bias, 2)", "%a: f32[3,2,4,4] = aten::mul.Tensor(%s, %row)",
        "%a: f32[3,2,4,4] = aten::add.Tensor(%s, %s, 1)"}) {
    const Fused one = windows(std::string(made) + "\n%e: f32[3,2,4,4] = aten::add.Tensor(%a, %row, 1)");
    EXPECT_EQ(one.count("aten::_softmax"), 1u) << one.text;
  }
  const Fused read = windows(R"(
      %a: f32[3,2,4,4] = aten::add.Tensor(%s, %bias, 1)
      %e: f32[3,2,4,4] = aten::add.Tensor(%a, %row, 1))",
                             3, "%y, %a");
  EXPECT_EQ(read.count("aten::_softmax"), 1u) << read.text;
}

TEST(GatherMasks, NoWindowsAndNoHeadsStayWhatTheyAre) {
  const Fused none = windows(R"(
      %a: f32[0,2,4,4] = aten::add.Tensor(%s, %bias, 1)
      %e: f32[0,2,4,4] = aten::add.Tensor(%a, %row, 1))",
                             0);
  EXPECT_EQ(none.text.find("%mask"), std::string::npos) << none.text;
  for (const std::string sum : {"aten::add.Tensor(%a, %row, 1)", "aten::mul.Scalar(%a, 2.0)"}) {
    const Fused heads = fused(with_constants(kScores, "%q: f32[2,0,4,5], %k: f32[2,0,5,4], %v: f32[2,0,4,5]", R"(
      %q3: f32[0,4,5] = aten::view_copy(%q, [0, 4, 5])
      %k3: f32[0,5,4] = aten::view_copy(%k, [0, 5, 4])
      %v3: f32[0,4,5] = aten::view_copy(%v, [0, 4, 5])
      %s3: f32[0,4,4] = aten::bmm(%q3, %k3)
      %s: f32[2,0,4,4] = aten::view_copy(%s3, [2, 0, 4, 4])
      %a: f32[2,0,4,4] = aten::add.Tensor(%s, %row, 1)
      %e: f32[2,0,4,4] = )" + sum + R"(
      %f: f32[2,0,4,4] = aten::_softmax(%e, -1, false)
      %f3: f32[0,4,4] = aten::view_copy(%f, [0, 4, 4])
      %o: f32[0,4,5] = aten::bmm(%f3, %v3)
      return %o
)"));
    EXPECT_EQ(heads.text.find("%mask"), std::string::npos) << heads.text;
  }
}

// Their sum would be in the file as often as there are layers.
TEST(GatherMasks, SumsOfMoreThanFourMebibytesStay) {
  for (const auto& [tokens, stays] : {std::pair{"1024", 0u}, {"1025", 1u}}) {
    const Fused one = fused(filled(R"(
      const @row: f32[$n] = splat<0.5>
      const @column: f32[$n,1] = splat<0.25>
      method forward(%q: f32[1,1,$n,2], %k: f32[1,1,2,$n], %v: f32[1,1,$n,2]) {
        %row: f32[$n] = const @row
        %column: f32[$n,1] = const @column
        %q3: f32[1,$n,2] = aten::view_copy(%q, [1, $n, 2])
        %k3: f32[1,2,$n] = aten::view_copy(%k, [1, 2, $n])
        %v3: f32[1,$n,2] = aten::view_copy(%v, [1, $n, 2])
        %s3: f32[1,$n,$n] = aten::bmm(%q3, %k3)
        %s: f32[1,1,$n,$n] = aten::view_copy(%s3, [1, 1, $n, $n])
        %a: f32[1,1,$n,$n] = aten::add.Tensor(%s, %row, 1)
        %e: f32[1,1,$n,$n] = aten::add.Tensor(%a, %column, 1)
        %f: f32[1,1,$n,$n] = aten::_softmax(%e, -1, false)
        %f3: f32[1,$n,$n] = aten::view_copy(%f, [1, $n, $n])
        %o: f32[1,$n,2] = aten::bmm(%f3, %v3)
        return %o
      })",
                                   {{"n", tokens}}));
    EXPECT_EQ(one.count("aten::_softmax"), stays) << tokens;
  }
}

// A quotient of each head is not read; a sum may have the constant first.
TEST(GatherMasks, OtherOrdersAreReadOrLeft) {
  const Fused first = windows(R"(
      %a: f32[3,2,4,4] = aten::add.Tensor(%bias, %s, 1)
      %e: f32[3,2,4,4] = aten::add.Tensor(%row, %a, 1))");
  EXPECT_EQ(mask_of(first), "f32[1,2,4,4]");
  const Fused quotient = windows(R"(
      %a: f32[3,2,4,4] = aten::div.Tensor(%s, %factor)
      %e: f32[3,2,4,4] = aten::add.Tensor(%a, %row, 1))");
  EXPECT_EQ(quotient.count("aten::_softmax"), 1u) << quotient.text;
}

}  // namespace
}  // namespace berth::fuse

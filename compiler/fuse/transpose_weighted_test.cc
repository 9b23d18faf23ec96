// Attention whose values are columns. The fears: shares that others read are computed twice, or a softmax over another
// dimension is taken for one over the last.
#include "compiler/fuse/transpose_weighted.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

std::string weighted(const std::string& dim, const std::string& results, const std::string& queries = "7") {
  return filled(R"(
    method forward(%q: f32[2,$n,3], %k: f32[2,5,3], %v: f32[2,4,5]) {
      %t: f32[2,3,5] = aten::permute_copy(%k, [0, 2, 1])
      %s: f32[2,$n,5] = aten::bmm(%q, %t)
      %f: f32[2,$n,5] = aten::_softmax(%s, $dim, false)
      %g: f32[2,5,$n] = aten::transpose_copy.int(%f, 1, 2)
      %o: f32[2,4,$n] = aten::bmm(%v, %g)
      return $results
    })",
                {{"dim", dim}, {"results", results}, {"n", queries}});
}

TEST(TransposeWeighted, ValuesInColumnsBecomeRowsOfOneOperator) {
  for (const char* dim : {"-1", "2"}) {
    const Fused one = fused(weighted(dim, "%o"));
    EXPECT_EQ(one.operators(), "aten::permute_copy berth::grouped_attention aten::permute_copy") << one.text;
  }
  const Fused square = fused(weighted("2", "%o", "5"));
  EXPECT_EQ(square.count("berth::grouped_attention"), 1u) << square.text;
}

TEST(TransposeWeighted, ASoftmaxOverAnotherDimensionStays) {
  for (const char* queries : {"7", "5"}) {
    const Fused one = fused(weighted("1", "%o", queries));
    EXPECT_EQ(one.operators(), "aten::permute_copy aten::bmm aten::_softmax aten::transpose_copy.int aten::bmm")
        << one.text;
  }
}

TEST(TransposeWeighted, SharesThatOthersReadStay) {
  for (const char* results : {"%o, %f", "%o, %g"}) {
    const Fused one = fused(weighted("2", results));
    EXPECT_EQ(one.count("aten::bmm"), 2u) << one.text;
    EXPECT_EQ(one.count("berth::grouped_attention"), 0u) << one.text;
  }
}

}  // namespace
}  // namespace berth::fuse

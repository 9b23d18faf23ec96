// Rotary position embeddings. The fears: the wrong half turned, a half that is not one, sines that something else reads too,
// a turned row that others read.
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

const std::string kHalves = R"(
      %a: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, 3, 0, 4, 1)
      %b: f32[1,2,3,4] = aten::slice_copy.Tensor(%x, -1, 4, 9223372036854775807, 1)
)";

TEST(FuseRotations, ATurnedHalfIsOneMove) {
  EXPECT_EQ(fused(rotated(kHalves)).operators(), "aten::roll aten::mul.Tensor berth::elementwise");
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
  EXPECT_EQ(fused(rotated(kHalves, "%r", "[%a, %n], -1")).operators().find("aten::roll"), std::string::npos);
  EXPECT_EQ(fused(rotated(kHalves, "%r, %t")).operators().find("aten::roll"), std::string::npos);
}

}  // namespace
}  // namespace berth::fuse

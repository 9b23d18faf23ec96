// Columns that nothing reads. The fears: columns of another half, a bias that is not cut with its matrix, columns that
// are read elsewhere.
#include "compiler/fuse/take_columns.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

constexpr const char* kFourColumns = R"(
    const @w: f32[3,4] = dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]>
    const @b: f32[4] = dense<[1, 3, 5, 7]>
    method forward(%x: f32[2,3]) {
      %w: f32[3,4] = const @w
      %b: f32[4] = const @b
)";

std::string method_of_product(const std::string& statements) {
  return kFourColumns + statements + "\n      return %y\n    }";
}

TEST(TakeColumns, OnlyTheColumnsThatAreReadAreComputed) {
  for (const std::string made : {"aten::mm(%x, %w)", "aten::addmm(%b, %x, %w, 1, 1)"}) {
    const Fused one = fused(method_of_product("%m: f32[2,4] = " + made + R"(
      %v: f32[1,2,4] = aten::view_copy(%m, [1, 2, 4])
      %y: f32[1,2,2] = aten::slice_copy.Tensor(%v, -1, 1, 3, 1))"));
    EXPECT_EQ(one.operators(), "berth::linear") << one.text;
    EXPECT_NE(one.text.find("f32[2,2] = berth::linear"), std::string::npos) << one.text;
  }
}

TEST(TakeColumns, ColumnsThatOthersReadAreComputed) {
  for (const std::string made : {"aten::mm(%x, %w)", "aten::addmm(%b, %x, %w, 1, 1)"}) {
    const Fused one = fused(method_of_product("%m: f32[2,4] = " + made + R"(
      %s: f32[2,2] = aten::slice_copy.Tensor(%m, 1, 2, 4, 1)
      %t: f32[2,2] = aten::slice_copy.Tensor(%m, 1, 0, 2, 1)
      %y: f32[2,2] = aten::mul.Tensor(%s, %t))"));
    EXPECT_NE(one.text.find("f32[2,4] = berth::linear"), std::string::npos) << one.text;
  }
}

TEST(TakeColumns, ProductsOfOneMatrixEachHaveTheirColumns) {
  const Fused one = fused(method_of_product(R"(%m: f32[2,4] = aten::mm(%x, %w)
      %r: f32[2,3] = aten::relu(%x)
      %n: f32[2,4] = aten::addmm(%b, %r, %w, 1, 1)
      %s: f32[2,2] = aten::slice_copy.Tensor(%m, 1, -2, 4, 1)
      %t: f32[2,2] = aten::slice_copy.Tensor(%n, 1, 0, 2, 1)
      %y: f32[2,2] = aten::mul.Tensor(%s, %t))"));
  EXPECT_EQ(one.text.find("f32[2,4] = berth::linear"), std::string::npos) << one.text;
}

TEST(TakeColumns, AProductThatIsReadBesideItsViewIsComputedOnce) {
  const Fused one = fused(std::string(kFourColumns) + R"(
      %m: f32[2,4] = aten::mm(%x, %w)
      %v: f32[1,2,4] = aten::view_copy(%m, [1, 2, 4])
      %y: f32[1,2,2] = aten::slice_copy.Tensor(%v, -1, 1, 3, 1)
      return %y, %m
    })");
  EXPECT_EQ(one.count("berth::linear"), 1u) << one.text;
}

// A copy of more than a mebibyte, of a matrix that the file has anyway.
TEST(TakeColumns, LargeMatricesThatOthersReadStayWhole) {
  for (const auto& [rows, whole] : {std::pair{"512", false}, {"513", true}}) {
    const Fused one = fused(filled(R"(
      const @w: f32[$k,1024] = splat<0.125>
      method forward(%x: f32[2,$k], %z: f32[1,$k]) {
        %w: f32[$k,1024] = const @w
        %m: f32[2,1024] = aten::mm(%x, %w)
        %s: f32[2,512] = aten::slice_copy.Tensor(%m, 1, 512, 1024, 1)
        %n: f32[1,1024] = aten::mm(%z, %w)
        return %s, %n
      })",
                                   {{"k", rows}}));
    EXPECT_EQ(one.text.find("f32[2,1024] = berth::linear") != std::string::npos, whole) << rows;
  }
}

// Every second column, and the columns of a view with other rows.
TEST(TakeColumns, OtherPartsAreTakenOfTheProduct) {
  const char* const kForms[] = {
      "%y: f32[2,2] = aten::slice_copy.Tensor(%m, 1, 0, 4, 2)",
      "%v: f32[4,2] = aten::view_copy(%m, [4, 2])\n%y: f32[4,1] = aten::slice_copy.Tensor(%v, 1, 1, 2, 1)",
  };
  for (const std::string form : kForms) {
    const Fused one = fused(method_of_product("%m: f32[2,4] = aten::mm(%x, %w)\n" + form));
    EXPECT_EQ(one.operators(), "berth::linear aten::slice_copy.Tensor") << one.text;
  }
}

}  // namespace
}  // namespace berth::fuse

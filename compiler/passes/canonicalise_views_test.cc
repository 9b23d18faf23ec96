#include "compiler/passes/canonicalise_views.h"

#include "base/text_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

std::string view_method(const std::string& statement) {
  return filled(R"(
    symbol n in [1, 8]
    method f(%x: f32[2,1,3], %n: f32[n,3], %s: f32[1,1,2,2]) {
      $statement
      return %y
    })",
                {{"statement", statement}});
}

struct ViewCase {
  const char* before;
  const char* after;
};

class CanonicaliseViewsRewriteTest : public testing::TestWithParam<ViewCase> {};

TEST_P(CanonicaliseViewsRewriteTest, WhatKeepsTheBytesBecomesAView) {
  const std::string before = view_method(GetParam().before);
  EXPECT_EQ(after(canonicalise_views, before), as_printed(view_method(GetParam().after)));
  expect_keeps_outputs(canonicalise_views, before);
}

const ViewCase kViews[] = {
    {"%y: f32[2,3] = aten::squeeze_copy.dim(%x, 1)", "%y: f32[2,3] = aten::view_copy(%x, [2, 3])"},
    {"%y: f32[2,3] = aten::squeeze_copy.dims(%x, [1])", "%y: f32[2,3] = aten::view_copy(%x, [2, 3])"},
    {"%y: f32[2,1,1,3] = aten::unsqueeze_copy(%x, 1)", "%y: f32[2,1,1,3] = aten::view_copy(%x, [2, 1, 1, 3])"},
    {"%y: f32[1,2,3] = aten::permute_copy(%x, [1, 0, 2])", "%y: f32[1,2,3] = aten::view_copy(%x, [1, 2, 3])"},
    {"%y: f32[2,3,1] = aten::transpose_copy.int(%x, -1, 1)", "%y: f32[2,3,1] = aten::view_copy(%x, [2, 3, 1])"},
    {"%y: f32[2,3] = aten::select_copy.int(%x, 1, 0)", "%y: f32[2,3] = aten::view_copy(%x, [2, 3])"},
    {"%y: f32[1,1,2,1,3] = aten::expand_copy(%x, [1, 1, 2, 1, 3])",
     "%y: f32[1,1,2,1,3] = aten::view_copy(%x, [1, 1, 2, 1, 3])"},
};
INSTANTIATE_TEST_SUITE_P(All, CanonicaliseViewsRewriteTest, testing::ValuesIn(kViews));

class CanonicaliseViewsKeepTest : public testing::TestWithParam<const char*> {};

TEST_P(CanonicaliseViewsKeepTest, WhatMovesBytesOrHasSymbolsStays) {
  const std::string text = view_method(GetParam());
  EXPECT_EQ(after(canonicalise_views, text), as_printed(text));
}

const char* const kNoViews[] = {
    "%y: f32[3,1,2] = aten::permute_copy(%x, [2, 1, 0])",    "%y: f32[1,3] = aten::select_copy.int(%x, 0, 1)",
    "%y: f32[2,4,3] = aten::expand_copy(%x, [2, 4, 3])",     "%y: f32[n,1,3] = aten::unsqueeze_copy(%n, 1)",
    "%y: f32[1,1,2,2] = aten::transpose_copy.int(%s, 2, 3)",
};
INSTANTIATE_TEST_SUITE_P(All, CanonicaliseViewsKeepTest, testing::ValuesIn(kNoViews));

}  // namespace
}  // namespace berth::passes

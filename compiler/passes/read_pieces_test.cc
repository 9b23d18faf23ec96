// Pieces of joined tensors. The fears: the piece beside, a dimension that a permutation has moved, a tensor that two
// callers get.
#include "compiler/passes/read_pieces.h"

#include "base/text_testing.h"
#include "compiler/passes/dce.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

struct PieceCase {
  const char* name;
  const char* before;  // statements behind `(%a: f32[2,3], %b: f32[2,3], %c: f32[2,4])`; the last result is %y
  const char* after;
};

std::string method_of_pieces(const std::string& statements) {
  return "method forward(%a: f32[2,3], %b: f32[2,3], %c: f32[2,4]) {\n" + statements + "\nreturn %y\n}";
}

// Without what nothing reads any more.
std::string pieces(const std::string& text) {
  ir::Module module = parsed(text);
  EXPECT_TRUE(read_pieces(module, {}).ok());
  EXPECT_TRUE(ir::verify(module).ok()) << ir::print(module);
  return after(dce, ir::print(module));
}

class ReadPiecesTest : public testing::TestWithParam<PieceCase> {};

TEST_P(ReadPiecesTest, ReadsThePieceItself) {
  const std::string before = method_of_pieces(GetParam().before);
  EXPECT_EQ(pieces(before), as_printed(method_of_pieces(GetParam().after)));
  expect_keeps_outputs(read_pieces, before);
}

const PieceCase kPieces[] = {
    {"SelectOfStack", R"(
      %s: f32[2,3,2] = aten::stack([%a, %b], -1)
      %x: f32[2,3] = aten::select_copy.int(%s, 2, 1)
      %y: f32[2,3] = aten::relu(%x))",
     "%y: f32[2,3] = aten::relu(%b)"},
    {"SelectFromTheEnd", R"(
      %s: f32[2,2,3] = aten::stack([%a, %b], 1)
      %x: f32[2,3] = aten::select_copy.int(%s, -2, -2)
      %y: f32[2,3] = aten::relu(%x))",
     "%y: f32[2,3] = aten::relu(%a)"},
    {"SelectOfPermutedStack", R"(
      %s: f32[2,3,2] = aten::stack([%a, %b], -1)
      %t: f32[2,3,2] = aten::permute_copy(%s, [2, 1, 0])
      %y: f32[3,2] = aten::select_copy.int(%t, 0, 1))",
     "%y: f32[3,2] = aten::permute_copy(%b, [1, 0])"},
    {"SelectOfTwicePermutedStack", R"(
      %s3: f32[2,2,3] = aten::stack([%a, %b], 0)
      %t: f32[3,2,2] = aten::permute_copy(%s3, [2, 0, 1])
      %u: f32[2,3,2] = aten::transpose_copy.int(%t, 0, 1)
      %y: f32[3,2] = aten::select_copy.int(%u, 0, 0))",
     "%y: f32[3,2] = aten::permute_copy(%a, [1, 0])"},
    {"SliceOfStack", R"(
      %s: f32[2,2,3] = aten::stack([%a, %b], 1)
      %y: f32[2,1,3] = aten::slice_copy.Tensor(%s, 1, 1, 2, 1))",
     "%y: f32[2,1,3] = aten::view_copy(%b, [2, 1, 3])"},
    {"SliceThatIsAPiece", R"(
      %s: f32[2,7] = aten::cat([%a, %c], 1)
      %x: f32[2,4] = aten::slice_copy.Tensor(%s, 1, 3, 7, 1)
      %y: f32[2,4] = aten::relu(%x))",
     "%y: f32[2,4] = aten::relu(%c)"},
    {"SliceWithinAPiece", R"(
      %s: f32[2,10] = aten::cat([%a, %c, %b], -1)
      %y: f32[2,2] = aten::slice_copy.Tensor(%s, 1, -6, -4, 1))",
     "%y: f32[2,2] = aten::slice_copy.Tensor(%c, 1, 1, 3, 1)"},
    {"SelectOfCat", R"(
      %s: f32[2,7] = aten::cat([%a, %c], 1)
      %y: f32[2] = aten::select_copy.int(%s, 1, 4))",
     R"(
      %v_1: f32[2,1] = aten::slice_copy.Tensor(%c, 1, 1, 2, 1)
      %y: f32[2] = aten::view_copy(%v_1, [2]))"},
    {"SliceOfPermutedCat", R"(
      %s: f32[2,7] = aten::cat([%a, %c], 1)
      %t: f32[7,2] = aten::permute_copy(%s, [1, 0])
      %y: f32[2,2] = aten::slice_copy.Tensor(%t, 0, 4, 6, 1))",
     R"(
      %v_1: f32[2,2] = aten::slice_copy.Tensor(%c, 1, 1, 3, 1)
      %y: f32[2,2] = aten::permute_copy(%v_1, [1, 0]))"},
};

std::string case_name(const testing::TestParamInfo<PieceCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(ReadPieces, ReadPiecesTest, testing::ValuesIn(kPieces), case_name);

const PieceCase kOthers[] = {
    {"SliceOfTwoPieces", R"(
      %s: f32[2,7] = aten::cat([%a, %c], 1)
      %y: f32[2,2] = aten::slice_copy.Tensor(%s, 1, 2, 4, 1))",
     ""},
    {"AnotherDimension", R"(
      %s: f32[2,7] = aten::cat([%a, %c], 1)
      %y: f32[1,7] = aten::slice_copy.Tensor(%s, 0, 0, 1, 1))",
     ""},
    {"EverySecondColumn", R"(
      %s: f32[2,7] = aten::cat([%a, %c], 1)
      %y: f32[2,2] = aten::slice_copy.Tensor(%s, 1, 3, 7, 2))",
     ""},
    {"TheCallersOwn", R"(
      %s: f32[2,2,3] = aten::stack([%a, %b], 0)
      %y: f32[2,3] = aten::select_copy.int(%s, 0, 0))",
     ""},
};

class ReadPiecesKeepsTest : public testing::TestWithParam<PieceCase> {};

TEST_P(ReadPiecesKeepsTest, LeavesWhatIsNotAPiece) {
  const std::string before = method_of_pieces(GetParam().before);
  EXPECT_EQ(pieces(before), as_printed(before));
}

INSTANTIATE_TEST_SUITE_P(ReadPieces, ReadPiecesKeepsTest, testing::ValuesIn(kOthers), case_name);

}  // namespace
}  // namespace berth::passes

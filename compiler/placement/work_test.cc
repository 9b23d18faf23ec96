#include "compiler/placement/work.h"

#include <gtest/gtest.h>

#include "compiler/placement/work_testing.h"

namespace berth::placement {
namespace {

int64_t bytes_and_work(const std::string& inputs, const std::string& node) { return measured(inputs, node, work_of); }

TEST(Work, IsBytesPlusComputation) {
  // 2 * 3 * 4 * 5 products and sums; 4 bytes for each of 12 + 20 + 15 elements.
  EXPECT_EQ(bytes_and_work("%a: f32[3,4], %b: f32[4,5]", "%y: f32[3,5] = aten::mm(%a, %b)"),
            2 * 3 * 4 * 5 + 4 * (12 + 20 + 15));
  // A 3 x 3 convolution of 8 channels to 16 on 10 x 10, padded: 2 * 16 * 100 * 8 * 9.
  EXPECT_EQ(
      bytes_and_work("%x: f32[1,8,10,10], %w: f32[16,8,3,3]",
                     "%y: f32[1,16,10,10] = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)"),
      2 * 16 * 100 * 8 * 9 + 4 * (800 + 1152 + 1600));
  EXPECT_EQ(bytes_and_work("%x: f32[10]", "%y: f32[10] = aten::relu(%x)"), 10 + 80);
  EXPECT_EQ(bytes_and_work("%x: f32[10]", "%y: f32[2,5] = aten::view_copy(%x, [2, 5])"), 80);
}

// A split model would have its table alone on one device.
TEST(Work, OfATableIsThatOfTheRowsThatArePicked) {
  EXPECT_EQ(bytes_and_work("%t: f32[1000,4], %i: i64[2]", "%y: f32[2,4] = aten::embedding(%t, %i)"), 8 + 32 + 16 + 32);
  EXPECT_EQ(bytes_and_work("%t: f32[1,4], %i: i64[2]", "%y: f32[2,4] = aten::embedding(%t, %i)"), 8 + 16 + 16 + 32);
}

TEST(Work, HugeTensorsDoNotOverflow) {
  const int64_t huge = bytes_and_work("%a: f32[134217728,134217728], %b: f32[134217728,134217728]",
                                      "%y: f32[134217728,134217728] = aten::mm(%a, %b)");
  EXPECT_EQ(huge, int64_t{1} << 52);
}

using Cuts = std::vector<size_t>;

TEST(Work, CutsAreAtEqualShares) {
  EXPECT_EQ(cut({1, 1, 1, 1, 1, 1}, {0, 4, 4, 4, 4, 4}, 3), (Cuts{0, 2, 4}));
  EXPECT_EQ(cut({10, 1, 1, 1, 1, 6}, {0, 4, 4, 4, 4, 4}, 2), (Cuts{0, 1}));
  EXPECT_EQ(cut({5}, {0}, 2), (Cuts{0, 0}));
  EXPECT_EQ(cut({}, {}, 2), (Cuts{0, 0}));
}

TEST(Work, CutsMoveALittleToWhereLessCrosses) {
  std::vector<int64_t> bytes_and_work(40, 1);
  std::vector<int64_t> crossing(40, 100);
  crossing[19] = 5;
  EXPECT_EQ(cut(bytes_and_work, crossing, 2), (Cuts{0, 19}));
  // Not further than a tenth of a part, 2 of 20.
  crossing[17] = 1;
  EXPECT_EQ(cut(bytes_and_work, crossing, 2), (Cuts{0, 19}));
}

}  // namespace
}  // namespace berth::placement

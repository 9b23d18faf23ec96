// Views as strides of a base.
#include "compiler/fuse/strided.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Sizes of 0 do not divide each other.
TEST(Strided, LeavesViewsOfEmptyTensors) {
  fused(R"(
    method forward(%x: f32[0,12]) {
      %v: f32[0,3,4] = aten::view_copy(%x, [0, 3, 4])
      %p: f32[0,4,3] = aten::permute_copy(%v, [0, 2, 1])
      %w: f32[0,12] = aten::view_copy(%p, [0, 12])
      %y: f32[0,12] = aten::relu(%w)
      return %y
    })");
}

// What divides sizes that are open, and what may leave a remainder.
TEST(Strided, QuotientsAreWholeWhateverSymbolsBecome) {
  ir::Symbols symbols;
  const ir::Dim n = *symbols.input("n", 0, 64), m = *symbols.input("m", 1, 9);
  const auto times = [&](ir::Dim a, ir::Dim b) { return symbols.mul(a, b); };
  EXPECT_EQ(quotient(symbols, times(n, 12), ir::Dim(4)), times(n, 3));
  EXPECT_EQ(quotient(symbols, times(times(n, m), 12), times(m, 4)), times(n, 3));
  EXPECT_EQ(quotient(symbols, times(n, m), times(n, m)), ir::Dim(1));
  EXPECT_EQ(quotient(symbols, symbols.add(times(n, 4), ir::Dim(8)), ir::Dim(4)), symbols.add(n, ir::Dim(2)));
  EXPECT_EQ(quotient(symbols, n, ir::Dim(2)), std::nullopt);
  EXPECT_EQ(quotient(symbols, times(n, 6), ir::Dim(4)), std::nullopt);
  EXPECT_EQ(quotient(symbols, ir::Dim(12), m), std::nullopt);
  EXPECT_EQ(quotient(symbols, symbols.floor_div(n, ir::Dim(2)), ir::Dim(2)), std::nullopt);
}

}  // namespace
}  // namespace berth::fuse

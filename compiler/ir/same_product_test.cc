#include "compiler/ir/same_product.h"

#include <gtest/gtest.h>

namespace berth::ir {
namespace {

class SameProductTest : public testing::Test {
 protected:
  bool same(const DimList& a, const DimList& b) const { return same_product(symbols_, a, b); }

  Symbols symbols_;
  Dim n_ = *symbols_.input("n", 0, 8);
  Dim m_ = *symbols_.input("m", 0, 8);
};

TEST_F(SameProductTest, EqualProductsMeetHoweverTheyAreGrouped) {
  EXPECT_TRUE(same({n_, m_, 4}, {symbols_.mul(m_, 2), symbols_.mul(n_, 2)}));
  EXPECT_TRUE(same({symbols_.mul(symbols_.mul(n_, m_), 6)}, {3, m_, 2, n_}));
  EXPECT_TRUE(same({symbols_.add(n_, 4), 4}, {symbols_.add(symbols_.mul(n_, 4), 16)}));
  EXPECT_TRUE(same({symbols_.add(symbols_.mul(n_, 2), symbols_.mul(m_, 2))}, {2, symbols_.add(m_, n_)}));
  EXPECT_TRUE(same({symbols_.max(n_, m_), 3}, {3, symbols_.max(m_, n_)}));
  EXPECT_TRUE(same({symbols_.add(symbols_.mul(n_, -1), -1), -2}, {symbols_.add(n_, 1), 2}));
  EXPECT_TRUE(same({}, {1, 1}));
  EXPECT_TRUE(same({n_, 0}, {m_, 0}));
}

TEST_F(SameProductTest, ProductsOfOtherSymbolsDiffer) {
  EXPECT_FALSE(same({n_}, {m_}));
  EXPECT_FALSE(same({n_, n_}, {n_, m_}));
  EXPECT_FALSE(same({n_}, {symbols_.add(n_, 1)}));
  EXPECT_FALSE(same({n_}, {symbols_.mul(symbols_.floor_div(n_, 2), 2)}));
  EXPECT_FALSE(same({symbols_.add(n_, 4)}, {symbols_.add(n_, 2), 2}));
}

TEST_F(SameProductTest, AProductThatOverflowsIsUnknown) {
  const Dim large(int64_t{1} << 62);
  EXPECT_FALSE(same({large, 4, n_}, {large, 4, n_}));
}

}  // namespace
}  // namespace berth::ir

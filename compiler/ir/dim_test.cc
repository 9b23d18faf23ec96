#include "compiler/ir/dim.h"

#include <gtest/gtest.h>

#include <random>

namespace berth::ir {
namespace {

class DimTest : public testing::Test {
 protected:
  Dim input(const char* name, int64_t min, int64_t max) {
    auto made = symbols_.input(name, min, max);
    EXPECT_TRUE(made.ok());
    return *made;
  }
  Symbols symbols_;
  Dim n_ = input("n", 1, 8);
  Dim m_ = input("m", 2, 5);
};

TEST_F(DimTest, EqualSizesMeetHoweverTheyAreWritten) {
  EXPECT_EQ(symbols_.add(n_, 1), symbols_.add(1, n_));
  EXPECT_EQ(symbols_.add(n_, m_), symbols_.add(m_, n_));
  EXPECT_EQ(symbols_.mul(symbols_.mul(n_, 2), 3), symbols_.mul(n_, 6));
  EXPECT_EQ(symbols_.add(symbols_.add(n_, 3), -3), n_);
  EXPECT_EQ(symbols_.sub(symbols_.add(n_, 5), n_), Dim(5));
  EXPECT_EQ(symbols_.sub(n_, n_), Dim(0));
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(n_, 6), 3), symbols_.mul(n_, 2));
  // Windows of 2 over n: (n - 2) / 2 + 1 is n / 2.
  EXPECT_EQ(symbols_.add(symbols_.floor_div(symbols_.add(n_, -2), 2), 1), symbols_.floor_div(n_, 2));
  // Halved twice, as three convolutions of stride 2 or one of stride 8 would.
  const auto halved = [&](Dim d) { return symbols_.floor_div(symbols_.add(d, 1), 2); };
  EXPECT_EQ(halved(halved(halved(n_))), symbols_.floor_div(symbols_.add(n_, 7), 8));
  EXPECT_EQ(symbols_.floor_div(symbols_.add(symbols_.floor_div(n_, 2), -5), 3),
            symbols_.floor_div(symbols_.add(n_, -10), 6));
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(n_, 2), 4), symbols_.floor_div(n_, 2));
  EXPECT_EQ(symbols_.max(n_, 1), n_);
  EXPECT_EQ(symbols_.min(m_, 9), m_);
}

TEST_F(DimTest, SizesOfDifferentSymbolsStayDifferent) {
  EXPECT_NE(n_, m_);
  EXPECT_NE(symbols_.add(n_, 1), symbols_.add(m_, 1));
  EXPECT_NE(symbols_.floor_div(n_, 2), symbols_.floor_div(n_, 3));
}

TEST_F(DimTest, SizesSaturateInsteadOfOverflowing) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_EQ(symbols_.mul(Dim(huge), Dim(huge)), Dim(huge));
  EXPECT_EQ(symbols_.add(Dim(-huge), Dim(INT64_MIN)), Dim(-huge));
  const Dim wide = input("wide", 0, huge);
  EXPECT_EQ(symbols_.upper(symbols_.mul(wide, wide)), huge);
}

// What stays when a part is taken away has the bounds of the sizes that there are, so that it may be a size again.
TEST_F(DimTest, TheRestOfAPartHasItsOwnRange) {
  const Dim half = symbols_.floor_div(n_, 2);
  const Dim rest = symbols_.sub(n_, half);
  EXPECT_EQ(symbols_.lower(rest), 1);
  EXPECT_EQ(symbols_.upper(rest), 4);
  const Dim odd = symbols_.sub(n_, symbols_.mul(half, 2));
  EXPECT_EQ(symbols_.lower(odd), 0);
  EXPECT_EQ(symbols_.upper(odd), 1);
  // The last of three parts of which the others are rounded up: 5 is 2 + 2 + 1.
  const Dim last = symbols_.sub(m_, symbols_.mul(symbols_.ceil_div(m_, 3), 2));
  EXPECT_EQ(symbols_.lower(last), 0);
  EXPECT_GE(symbols_.upper(last), 1);
}

TEST_F(DimTest, BadRangesAreRefused) {
  EXPECT_FALSE(symbols_.input("bad", 5, 4).ok());
  EXPECT_FALSE(symbols_.input("bad", -1, 4).ok());
  EXPECT_FALSE(symbols_.input("n", 1, 9).ok());
  EXPECT_EQ(*symbols_.input("n", 1, 8), n_);
}

// Evaluates `dim` with numbers for n and m, by Python's definitions.
int64_t number(const Symbols& symbols, Dim dim, int64_t n, int64_t m) {
  if (dim.is_constant()) return dim.value;
  const Symbol& s = symbols[dim.symbol];
  if (s.kind == SymbolKind::kInput) return s.name == "n" ? n : m;
  const int64_t a = number(symbols, s.a, n, m);
  const int64_t b = number(symbols, s.b, n, m);
  const int64_t mod = s.kind == SymbolKind::kMod || s.kind == SymbolKind::kFloorDiv ? ((a % b) + b) % b : 0;
  switch (s.kind) {
    case SymbolKind::kAdd: return a + b;
    case SymbolKind::kMul: return a * b;
    case SymbolKind::kFloorDiv: return (a - mod) / b;
    case SymbolKind::kMod: return mod;
    case SymbolKind::kMax: return a > b ? a : b;
    default: return a < b ? a : b;
  }
}

TEST_F(DimTest, RewritingKeepsTheValue) {
  const unsigned seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  struct Known {
    Dim dim;
    int64_t at[2];  // with (n, m) = (3, 4) and (8, 2)
  };
  std::vector<Known> pool = {{n_, {3, 8}}, {m_, {4, 2}}, {Dim(2), {2, 2}}, {Dim(-3), {-3, -3}}};
  for (int i = 0; i < 3000; ++i) {
    const Known a = pool[random() % pool.size()];
    const Known b = pool[random() % pool.size()];
    if (symbols_.terms(a.dim) + symbols_.terms(b.dim) > 8) continue;
    const int64_t by = 1 + static_cast<int64_t>(random() % 4);
    Known c;
    const unsigned kind = static_cast<unsigned>(random() % 6);
    for (int k = 0; k < 2; ++k) {
      const int64_t x = a.at[k];
      const int64_t y = b.at[k];
      const int64_t mod = ((x % by) + by) % by;
      const int64_t results[] = {x + y, x * y, (x - mod) / by, mod, x > y ? x : y, x < y ? x : y};
      c.at[k] = results[kind];
    }
    switch (kind) {
      case 0: c.dim = symbols_.add(a.dim, b.dim); break;
      case 1: c.dim = symbols_.mul(a.dim, b.dim); break;
      case 2: c.dim = symbols_.floor_div(a.dim, by); break;
      case 3: c.dim = symbols_.mod(a.dim, by); break;
      case 4: c.dim = symbols_.max(a.dim, b.dim); break;
      default: c.dim = symbols_.min(a.dim, b.dim); break;
    }
    ASSERT_EQ(number(symbols_, c.dim, 3, 4), c.at[0]) << symbols_.text(c.dim);
    ASSERT_EQ(number(symbols_, c.dim, 8, 2), c.at[1]) << symbols_.text(c.dim);
    ASSERT_LE(symbols_.lower(c.dim), std::min(c.at[0], c.at[1])) << symbols_.text(c.dim);
    ASSERT_GE(symbols_.upper(c.dim), std::max(c.at[0], c.at[1])) << symbols_.text(c.dim);
    pool.push_back(c);
  }
}

}  // namespace
}  // namespace berth::ir

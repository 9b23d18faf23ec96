#include "compiler/ir/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/ir/sums.h"

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
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(n_, 64), n_), Dim(64));
  const Dim sum = symbols_.add(symbols_.add(n_, symbols_.mul(m_, 3)), 2);
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(sum, -5), sum), Dim(-5));
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(n_, 3), symbols_.mul(n_, 2)), Dim(1));
  const Dim both = symbols_.mul(n_, m_);
  EXPECT_EQ(symbols_.floor_div(both, n_), m_);
  EXPECT_EQ(symbols_.mod(both, n_), Dim(0));
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(both, 6), symbols_.mul(m_, 4)), symbols_.floor_div(symbols_.mul(n_, 3), 2));
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(both, n_), both), n_);
  EXPECT_EQ(symbols_.floor_div(symbols_.add(both, symbols_.mul(n_, 5)), n_), symbols_.add(m_, 5));
  EXPECT_EQ(symbols_.floor_div(symbols_.mul(sum, n_), sum), n_);
  EXPECT_EQ(symbols_.max(n_, 1), n_);
  EXPECT_EQ(symbols_.min(m_, 9), m_);
}

TEST_F(DimTest, SizesOfDifferentSymbolsStayDifferent) {
  EXPECT_NE(n_, m_);
  EXPECT_NE(symbols_.add(n_, 1), symbols_.add(m_, 1));
  EXPECT_NE(symbols_.floor_div(n_, 2), symbols_.floor_div(n_, 3));
  EXPECT_FALSE(symbols_.floor_div(symbols_.add(symbols_.mul(n_, 64), 1), n_).is_constant());
  EXPECT_FALSE(symbols_.floor_div(symbols_.mul(m_, 64), n_).is_constant());
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

TEST_F(DimTest, SizesOfWholeStepsDivideWithoutARest) {
  const Dim h = *symbols_.input("h", 32, 512, 32);
  const Dim t = *symbols_.input("t", 1, 257, 8);  // 1, 9, …
  EXPECT_EQ(symbols_.mul(symbols_.floor_div(h, 32), 32), h);
  EXPECT_EQ(symbols_.mul(symbols_.floor_div(h, 4), 4), h);
  EXPECT_EQ(symbols_.mod(h, 16), Dim(0));
  EXPECT_EQ(symbols_.mod(symbols_.add(h, 5), 16), Dim(5));
  EXPECT_EQ(symbols_.mod(t, 4), Dim(1));
  // A U-Net: halved by convolutions, by pooling, and doubled again.
  const auto halved = [&](Dim d) { return symbols_.floor_div(symbols_.add(d, 1), 2); };
  const Dim quarter = halved(halved(h));
  EXPECT_EQ(quarter, symbols_.floor_div(symbols_.floor_div(h, 2), 2));
  EXPECT_EQ(quarter, symbols_.ceil_div(h, 4));
  EXPECT_EQ(symbols_.mul(symbols_.mul(quarter, 2), 2), h);
  EXPECT_EQ(symbols_.add(symbols_.floor_div(h, 2), symbols_.floor_div(h, 4)),
            symbols_.mul(symbols_.floor_div(h, 4), 3));
  EXPECT_EQ(symbols_.sub(symbols_.mul(symbols_.floor_div(t, 8), 8), t), Dim(-1));
  EXPECT_EQ(symbols_.upper(symbols_.floor_div(h, 64)), 8);
  EXPECT_NE(symbols_.mul(symbols_.floor_div(h, 64), 64), h);
}

TEST_F(DimTest, RelationsNarrowWhatIsComputed) {
  const Dim past = *symbols_.input("past", 0, 511);
  const Dim next = *symbols_.input("next", 1, 512);
  EXPECT_EQ(symbols_.upper(symbols_.add(symbols_.add(past, next), 1)), 1024);
  Symbols other;
  const Dim p = *other.input("past", 0, 511);
  const Dim t = *other.input("next", 1, 512);
  const Dim all = other.add(p, t);
  other.assume({SizeRelation::Kind::kAtMost, "", all, Dim(512)});
  EXPECT_EQ(other.upper(all), 512);
  EXPECT_EQ(other.upper(other.add(all, 1)), 513);
  EXPECT_EQ(other.upper(other.add(other.mul(p, 2), other.mul(t, 2))), 1024);
  EXPECT_EQ(other.min(all, 600), all);
  const Dim h = *other.input("h", 1, 64);
  const Dim w = *other.input("w", 1, 64);
  EXPECT_NE(other.max(h, w), w);
  other.assume({SizeRelation::Kind::kAtMost, "", h, w});
  EXPECT_EQ(other.max(h, w), w);
  EXPECT_EQ(other.min(other.add(h, -3), w), other.add(h, -3));
  EXPECT_EQ(other.lower(other.sub(w, h)), 0);
}

// Where each was tried behind each, for each symbol, sixteen took more than fifteen seconds and fifty more than a
// minute.
TEST_F(DimTest, ManyRelationsAreTriedOnlySoOften) {
  std::mt19937 random(1);
  Symbols symbols;
  std::vector<Dim> sizes;
  for (int i = 0; i < 12; ++i) sizes.push_back(*symbols.input("s" + std::to_string(i), 1, 1000));
  Dim sum;
  for (int relation = 0; relation < 200; ++relation) {
    sum = sizes[0];
    for (size_t i = 1; i < sizes.size(); ++i) {
      sum = symbols.add(sum, symbols.mul(sizes[i], Dim(1 + static_cast<int64_t>(random() % 3))));
    }
    symbols.assume({SizeRelation::Kind::kAtMost, "", sum, Dim(12'000 + relation)});
  }
  EXPECT_LE(symbols.upper(sum), 33'000);
  EXPECT_EQ(symbols.relations().size(), 200u);
}

TEST_F(DimTest, SumsMeetInWhateverOrderTheyAreMade) {
  const Dim k = input("k", 0, 9);
  EXPECT_EQ(symbols_.add(symbols_.add(n_, k), m_), symbols_.add(n_, symbols_.add(m_, k)));
  EXPECT_EQ(symbols_.sub(symbols_.add(symbols_.add(n_, k), m_), k), symbols_.add(m_, n_));
  EXPECT_EQ(symbols_.mul(symbols_.add(n_, k), 2), symbols_.add(symbols_.mul(k, 2), symbols_.mul(n_, 2)));
  EXPECT_EQ(symbols_.ceil_div(n_, 2), symbols_.floor_div(symbols_.add(n_, 1), 2));
  // What is longer than a sum may be stays as it is made.
  Dim sum(0);
  Dim first;
  for (int i = 0; i < 40; ++i) {
    const Dim next = input(("s" + std::to_string(i)).c_str(), 1, 3);
    if (i == 0) first = next;
    sum = symbols_.add(sum, next);
  }
  EXPECT_EQ(symbols_.upper(sum), 120);
  EXPECT_GE(symbols_.lower(symbols_.sub(sum, first)), 40 - 3);
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

// Random sizes of n and m against what they are in numbers, for every n and m that there may be. `m` at most `n` where
// that is assumed.
void expect_values_kept(unsigned seed, int64_t step_of_n, bool ordered) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Symbols symbols;
  const int64_t offset = static_cast<int64_t>(random() % 3);
  const Dim n = *symbols.input("n", offset, offset + 6 * step_of_n, step_of_n);
  const Dim m = *symbols.input("m", 2, 5);
  if (ordered) symbols.assume({SizeRelation::Kind::kAtMost, "", m, n});
  std::vector<std::pair<int64_t, int64_t>> at;
  for (int64_t x = offset; x <= offset + 6 * step_of_n; x += step_of_n) {
    for (int64_t y = 2; y <= 5; ++y) {
      if (!ordered || y <= x) at.emplace_back(x, y);
    }
  }
  struct Known {
    Dim dim;
    std::vector<int64_t> values;
  };
  std::vector<Known> pool(4);
  pool[0].dim = n;
  pool[1].dim = m;
  pool[2].dim = Dim(2);
  pool[3].dim = Dim(-3);
  for (const auto& [x, y] : at) {
    pool[0].values.push_back(x);
    pool[1].values.push_back(y);
    pool[2].values.push_back(2);
    pool[3].values.push_back(-3);
  }
  for (int i = 0; i < 800; ++i) {
    const Known a = pool[random() % pool.size()];
    const Known b = pool[random() % pool.size()];
    if (symbols.terms(a.dim) + symbols.terms(b.dim) > 8) continue;
    const int64_t by = 1 + static_cast<int64_t>(random() % 6);
    unsigned kind = static_cast<unsigned>(random() % 10);
    if (kind >= 7 && symbols.lower(b.dim) < 1) kind = 2;
    Known c;
    for (size_t k = 0; k < at.size(); ++k) {
      const int64_t x = a.values[k];
      const int64_t y = b.values[k];
      const int64_t mod = ((x % by) + by) % by;
      const int64_t results[] = {x + y,          x * y,
                                 (x - mod) / by, mod,
                                 x > y ? x : y,  x < y ? x : y,
                                 x * by,         y < 1 ? 0 : floor_div(x, y),
                                 (x - mod) / by, y < 1 ? 0 : x * y - floor_div(x * y, y * by) * y * by};
      c.values.push_back(results[kind]);
    }
    switch (kind) {
      case 0: c.dim = symbols.add(a.dim, b.dim); break;
      case 1: c.dim = symbols.mul(a.dim, b.dim); break;
      case 2: c.dim = symbols.floor_div(a.dim, by); break;
      case 3: c.dim = symbols.mod(a.dim, by); break;
      case 4: c.dim = symbols.max(a.dim, b.dim); break;
      case 5: c.dim = symbols.min(a.dim, b.dim); break;
      case 7: c.dim = symbols.floor_div(a.dim, b.dim); break;
      // What is joined and split off again.
      case 8: c.dim = symbols.floor_div(symbols.mul(a.dim, b.dim), symbols.mul(b.dim, by)); break;
      case 9: c.dim = symbols.mod(symbols.mul(a.dim, b.dim), symbols.mul(b.dim, by)); break;
      default: c.dim = symbols.mul(a.dim, by); break;
    }
    for (size_t k = 0; k < at.size(); ++k) {
      ASSERT_EQ(number(symbols, c.dim, at[k].first, at[k].second), c.values[k]) << symbols.text(c.dim);
    }
    ASSERT_LE(symbols.lower(c.dim), *std::min_element(c.values.begin(), c.values.end())) << symbols.text(c.dim);
    ASSERT_GE(symbols.upper(c.dim), *std::max_element(c.values.begin(), c.values.end())) << symbols.text(c.dim);
    pool.push_back(std::move(c));
  }
}

TEST_F(DimTest, RewritingKeepsTheValue) {
  for (unsigned seed = 11; seed < 17; ++seed) {
    for (const int64_t step : {1, 4, 6}) {
      for (const bool ordered : {false, true}) expect_values_kept(seed, step, ordered);
    }
  }
}

}  // namespace
}  // namespace berth::ir

// What is said of sizes, against every number that they may have.
#include "compiler/import/lowering/named_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace berth::lowering {
namespace {

using ir::Dim;
using Numbers = std::map<std::string, int64_t>;

int64_t floor_mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

// The number that `dim` is, by Python's definitions.
int64_t number(const ir::Symbols& symbols, Dim dim, const Numbers& of) {
  if (dim.is_constant()) return dim.value;
  const ir::Symbol& s = symbols[dim.symbol];
  if (s.kind == ir::SymbolKind::kInput) return of.at(s.name);
  const int64_t a = number(symbols, s.a, of);
  const int64_t b = number(symbols, s.b, of);
  switch (s.kind) {
    case ir::SymbolKind::kAdd: return a + b;
    case ir::SymbolKind::kMul: return a * b;
    case ir::SymbolKind::kFloorDiv: return (a - floor_mod(a, b)) / b;
    case ir::SymbolKind::kMod: return floor_mod(a, b);
    case ir::SymbolKind::kMax: return std::max(a, b);
    default: return std::min(a, b);
  }
}

// Whether a run with these numbers is taken: free symbols in their ranges and steps, relations, and sizes that others
// tell.
bool is_taken(const ir::Symbols& symbols, const NamedSizes& sizes, const Numbers& of) {
  for (const ir::SymbolId id : symbols.ids()) {
    const ir::Symbol& s = symbols[id];
    const int64_t value = number(symbols, Dim::of_symbol(id), of);
    if (s.kind == ir::SymbolKind::kInput && (value < s.min || value > s.max || (value - s.min) % s.step != 0))
      return false;
  }
  for (const auto& [name, value] : of) {
    if (number(symbols, sizes.find(name), of) != value) return false;
  }
  for (const ir::SizeRelation& relation : symbols.relations()) {
    const int64_t a = number(symbols, relation.a, of);
    const int64_t b = number(symbols, relation.b, of);
    if (relation.kind == ir::SizeRelation::Kind::kEqual && a != b) return false;
    if (relation.kind == ir::SizeRelation::Kind::kAtMost && a > b) return false;
  }
  return true;
}

struct Said {
  std::string text;
  std::function<bool(int64_t a, int64_t b, int64_t c)> holds;
};

Said random_relation(std::mt19937& random) {
  const int64_t k = 1 + static_cast<int64_t>(random() % 6);
  const int64_t r = static_cast<int64_t>(random() % static_cast<uint32_t>(k));
  const std::string n = std::to_string(k);
  switch (random() % 12) {
    case 0: return {"a%" + n + "==" + std::to_string(r), [=](auto a, auto, auto) { return a % k == r; }};
    case 1: return {"(b+1)%" + n + "==0", [=](auto, auto b, auto) { return (b + 1) % k == 0; }};
    case 2: return {"b == 2*a", [=](auto a, auto b, auto) { return b == 2 * a; }};
    case 3: return {"a + c <= 9 + " + n, [=](auto a, auto, auto c) { return a + c <= 9 + k; }};
    case 4: return {"c >= b", [=](auto, auto b, auto c) { return c >= b; }};
    case 5: return {"c == a + b - " + n, [=](auto a, auto b, auto c) { return c == a + b - k; }};
    case 6: return {"a < c", [=](auto a, auto, auto c) { return a < c; }};
    case 7: return {"(a + b) % " + n + " == 0", [=](auto a, auto b, auto) { return (a + b) % k == 0; }};
    case 8: return {"3*a == 2*b", [=](auto a, auto b, auto) { return 3 * a == 2 * b; }};
    case 9: return {"max(a, b) <= c/2 + " + n, [=](auto a, auto b, auto c) { return std::max(a, b) <= c / 2 + k; }};
    case 10: return {"a*b <= 30", [=](auto a, auto b, auto) { return a * b <= 30; }};
    default: return {"2*b % " + n + " == 0", [=](auto, auto b, auto) { return 2 * b % k == 0; }};
  }
}

TEST(NamedSizes, ExactlyTheSizesThatFulfilAllRelationsAreTaken) {
  constexpr unsigned kSeed = 77;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  int possible = 0;
  for (int trial = 0; trial < 600; ++trial) {
    ir::Symbols symbols;
    NamedSizes sizes(symbols);
    Extent extents[3];
    const char* const names[] = {"a", "b", "c"};
    std::string all;
    for (int i = 0; i < 3; ++i) {
      extents[i].lower = static_cast<int64_t>(random() % 3);
      extents[i].upper = extents[i].lower + static_cast<int64_t>(random() % 11);
      sizes.declare(names[i]);
      ASSERT_TRUE(sizes.bound(names[i], extents[i]));
      all += std::string(names[i]) + "=" + text_of(extents[i]) + "; ";
    }
    std::vector<Said> said(random() % 4);
    for (Said& one : said) {
      one = random_relation(random);
      all += one.text + "; ";
      ASSERT_TRUE(sizes.where(one.text).ok()) << one.text;
    }
    SCOPED_TRACE("trial " + std::to_string(trial) + ": " + all);
    std::vector<Numbers> right;
    std::vector<Numbers> wrong;
    for (int64_t a = extents[0].lower; a <= extents[0].upper; ++a) {
      for (int64_t b = extents[1].lower; b <= extents[1].upper; ++b) {
        for (int64_t c = extents[2].lower; c <= extents[2].upper; ++c) {
          const bool holds = std::all_of(said.begin(), said.end(), [&](const Said& s) { return s.holds(a, b, c); });
          (holds ? right : wrong).push_back({{"a", a}, {"b", b}, {"c", c}});
        }
      }
    }
    const Status solved = sizes.solve();
    if (!solved.ok()) {
      EXPECT_TRUE(right.empty()) << solved.error().text();
      continue;
    }
    ++possible;
    for (const Numbers& one : right)
      ASSERT_TRUE(is_taken(symbols, sizes, one)) << one.at("a") << one.at("b") << one.at("c");
    for (const Numbers& one : wrong)
      ASSERT_FALSE(is_taken(symbols, sizes, one)) << one.at("a") << one.at("b") << one.at("c");
  }
  EXPECT_GT(possible, 300);
}

std::string failure_of(const std::string& text) {
  ir::Symbols symbols;
  NamedSizes sizes(symbols);
  for (const char* name : {"H", "W"}) {
    sizes.declare(name);
    sizes.bound(name, {32, 512});
  }
  const Status said = sizes.where(text);
  if (!said.ok()) return said.error().text();
  const Status solved = sizes.solve();
  return solved.ok() ? "none" : solved.error().text();
}

TEST(NamedSizes, WhatIsNotARelationIsRefusedWithWhatToWrite) {
  EXPECT_EQ(failure_of("H%32==0"), "none");
  EXPECT_EQ(failure_of("Q<=H"), "--where Q<=H: there is no size called Q; the model has H, W");
  EXPECT_EQ(failure_of("Q=1..8"), "--where Q=1..8: there is no size called Q; the model has H, W");
  EXPECT_EQ(failure_of("W=2*H"), "--where W=2*H: expected NAME=1..512 or NAME=8; between sizes it is ==, as in W==2*H");
  EXPECT_EQ(failure_of("H+1"), "--where H+1: is not a relation; write H=32..512, H%32==0 or T+P<=512");
  EXPECT_EQ(failure_of("H%W==0"),
            "--where H%W==0: it divides by W, expected a number above 0; write H=32..512, H%32==0 or T+P<=512");
  EXPECT_EQ(failure_of("H == 16"), "--where H == 16: no sizes fulfil this, beside all else that is said of them");
  EXPECT_EQ(failure_of("H%32==40"), "--where H%32==40: no sizes fulfil this, beside all else that is said of them");
  for (const char* bad :
       {"", "==", "H==", "H<=>W", "(H<=W", "H<=W)", "H<=W<=3", "99999999999<=H", "H!=W", "min(H)<=W"}) {
    EXPECT_NE(failure_of(bad), "none") << bad;
  }
  EXPECT_NE(failure_of(std::string(5000, '(')), "none");
}

TEST(NamedSizes, RangesAreAsNarrowAsRelationsMakeThem) {
  ir::Symbols symbols;
  NamedSizes sizes(symbols);
  for (const char* name : {"H", "W", "T"}) sizes.declare(name);
  for (const char* text : {"H = 1..500", "H%32==0", "W==2*H", "W<=640", "T<=H"}) ASSERT_TRUE(sizes.where(text).ok());
  ASSERT_TRUE(sizes.solve().ok());
  EXPECT_EQ(symbols.lower(sizes.find("H")), 32);
  EXPECT_EQ(symbols.upper(sizes.find("H")), 320);
  EXPECT_EQ(symbols.upper(sizes.find("W")), 640);
  EXPECT_EQ(symbols.upper(sizes.find("T")), 320);
  EXPECT_EQ(symbols.mod(sizes.find("W"), 64), Dim(0));
}

// Whether sizes of 1 to 100000 fulfil all of these.
bool are_possible(const std::vector<std::string>& relations) {
  ir::Symbols symbols;
  NamedSizes sizes(symbols);
  for (const char* name : {"H", "W", "T"}) {
    sizes.declare(name);
    sizes.bound(name, {1, 100000});
  }
  for (const std::string& relation : relations) EXPECT_TRUE(sizes.where(relation).ok()) << relation;
  return sizes.solve().ok();
}

// Each round of narrowing takes little off their ranges.
TEST(NamedSizes, RelationsThatExcludeEachOtherAreRefusedWhateverTheRanges) {
  EXPECT_FALSE(are_possible({"H<W", "W<H"}));
  EXPECT_FALSE(are_possible({"H<W", "W<T", "T<=H"}));
  EXPECT_FALSE(are_possible({"2*H+1<=W", "W<=2*T", "T<=H"}));
  EXPECT_FALSE(are_possible({"H<W", "3*W<=3*T", "T<H+1"}));
  EXPECT_TRUE(are_possible({"H<W", "W<T", "T<=H+2"}));
  EXPECT_TRUE(are_possible({"H<=W", "W<=T", "T<=H"}));
}

TEST(NamedSizes, SizesWithoutABoundAreNamed) {
  ir::Symbols symbols;
  NamedSizes sizes(symbols);
  for (const char* name : {"H", "W", "T"}) sizes.declare(name);
  ASSERT_TRUE(sizes.where("W=8").ok());
  ASSERT_TRUE(sizes.solve().ok());
  EXPECT_EQ(sizes.unbounded(), (std::vector<std::string>{"H", "T"}));
}

}  // namespace
}  // namespace berth::lowering

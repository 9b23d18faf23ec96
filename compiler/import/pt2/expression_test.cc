#include "compiler/import/pt2/expression.h"

#include "compiler/import/pt2/archive_testing.h"

namespace berth::pt2 {
namespace {

using ir::Dim;

// s is [2, 64], t is [1, 8]; figures at s = 13, t = 5 are worked out by hand.
class ExpressionTest : public ::testing::Test {
 protected:
  ExpressionTest() : s_(*symbols_.input("s", 2, 64)), t_(*symbols_.input("t", 1, 8)) {}

  Expected<Dim> value(const std::string& text) {
    const SymbolValue known = [this](const std::string& name) -> const Dim* {
      return name == "s" ? &s_ : name == "t" ? &t_ : nullptr;
    };
    return evaluate_expression(text, symbols_, known);
  }
  std::string shown(const std::string& text) {
    const auto dim = value(text);
    return dim.ok() ? symbols_.text(*dim) : dim.error().message;
  }
  /// With numbers in the place of the symbols.
  int64_t at(const std::string& text, int64_t s, int64_t t) {
    const Dim a(s), b(t);
    const SymbolValue known = [&](const std::string& name) { return name == "s" ? &a : &b; };
    const auto dim = evaluate_expression(text, symbols_, known);
    EXPECT_TRUE(dim.ok()) << dim.error().text();
    return dim.ok() ? dim->value : -1;
  }

  ir::Symbols symbols_;
  Dim s_, t_;
};

const char kS[] = "Symbol('s', positive=True, integer=True)";
const char kT[] = "Symbol('t', integer=True)";

TEST_F(ExpressionTest, AreTheirSizes) {
  EXPECT_EQ(shown(kS), "s");
  EXPECT_EQ(shown("Integer(7)"), "7");
  EXPECT_EQ(shown(std::string("Mul(Integer(2), ") + kS + ")"), "(s * 2)");
  EXPECT_EQ(shown(std::string("Add(Integer(-1), ") + kS + ")"), "(s + -1)");
  EXPECT_EQ(shown(std::string("FloorDiv(") + kS + ", Integer(2))"), "floordiv(s, 2)");
}

TEST_F(ExpressionTest, FractionsRoundAsWritten) {
  const std::string s = kS, t = kT;
  EXPECT_EQ(at("floor(Mul(Rational(1, 2), " + s + "))", 13, 5), 6);
  EXPECT_EQ(at("ceiling(Mul(Rational(1, 2), " + s + "))", 13, 5), 7);
  EXPECT_EQ(at("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(" + s + ")))", 13, 5), 19);
  EXPECT_EQ(at("CeilToInt(IntTrueDiv(" + s + ", Integer(4)))", 13, 5), 4);
  EXPECT_EQ(at("Add(Pow(" + t + ", Integer(2)), Mul(Integer(-1), " + s + "))", 13, 5), 12);
  EXPECT_EQ(at("Mod(" + s + ", " + t + ")", 13, 5), 3);
  EXPECT_EQ(at("Max(Integer(1), " + s + ", " + t + ")", 13, 5), 13);
  EXPECT_EQ(at("Min(" + s + ", " + t + ")", 13, 5), 5);
  EXPECT_EQ(at("Mul(" + s + ", Pow(Integer(3), Integer(-1)))", 12, 5), 4);
}

TEST_F(ExpressionTest, MeaninglessTextIsRefused) {
  for (const char* bad : {"", "Add(", "Symbol(s)", "Integer(x)", "Integer(99999999999999999999)", "Add(Integer(1)) x",
                          "Symbol('s', positive=)", "Float('x')", "Add()", "Float('inf')"}) {
    EXPECT_NE(shown(bad).find("is not an expression"), std::string::npos) << bad << ": " << shown(bad);
  }
  EXPECT_EQ(shown("Symbol('u0')"), "'u0' is not the size of an input");
  EXPECT_EQ(shown("OpaqueUnaryFn_sqrt(Integer(2))"), "OpaqueUnaryFn_sqrt is not a function that sizes have");
  EXPECT_EQ(shown(std::string("FloorDiv(Integer(8), Add(") + kT + ", Integer(-1)))"), "divides by what may be 0");
  EXPECT_EQ(shown(std::string("Pow(") + kS + ", " + kS + ")"), "has a power that is not a small number");
}

TEST_F(ExpressionTest, AnyDepthEnds) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "Add(";
  EXPECT_EQ(shown(deep), "is nested deeper than 64");
  EXPECT_EQ(shown(std::string(10000, 'x')), "is longer than 8192 characters");
}

}  // namespace
}  // namespace berth::pt2

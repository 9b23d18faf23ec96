#include "compiler/import/pt2/expression.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

namespace berth::pt2 {
namespace {

using ir::Dim;

constexpr size_t kMaxText = 8192;
constexpr int kMaxExpressionDepth = 64;
constexpr int64_t kMaxDenominator = int64_t{1} << 31;
constexpr int64_t kMaxPower = 16;

/// over / under, under > 0.
struct Fraction {
  Dim over;
  int64_t under = 1;
};

class Parser {
 public:
  Parser(const std::string& text, ir::Symbols& symbols, const SymbolValue& value_of)
      : text_(text), symbols_(symbols), value_of_(value_of) {}

  Expected<Dim> run() {
    if (text_.size() > kMaxText) return wrong(Error::kNotSupported, "is longer than 8192 characters");
    const Fraction result = expression(0);
    skip_spaces();
    if (!failure_.has_value() && at_ != text_.size()) syntax();
    if (failure_.has_value()) return *failure_;
    return floor_of(result);
  }

 private:
  Failure wrong(Error code, const std::string& message) const {
    const std::string shown = text_.size() > 200 ? text_.substr(0, 200) + "…" : text_;
    return Failure{code, "size \"" + shown + "\"", message};
  }
  Fraction fail(Error code, const std::string& message) {
    if (!failure_.has_value()) failure_ = wrong(code, message);
    return {};
  }
  Fraction syntax() {
    return fail(Error::kInvalidProgram, "is not an expression, from character " + std::to_string(at_));
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    skip_spaces();
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' ||
                                  text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  std::string quoted() {
    skip_spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return syntax(), std::string();
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) return syntax(), std::string();
    const std::string content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return content;
  }
  /// ", positive=True, …)".
  void close_with_options() {
    while (take(',')) {
      word();
      if (!take('=') || word().empty()) return void(syntax());
    }
    if (!take(')')) syntax();
  }

  Fraction expression(int depth) {
    if (failure_.has_value()) return {};
    if (depth > kMaxExpressionDepth) return fail(Error::kNotSupported, "is nested deeper than 64");
    const std::string name = word();
    if (name.empty()) return syntax();
    if (!take('(')) return number(name);
    if (name == "Symbol") return symbol();
    if (name == "Float") {
      const std::string digits = quoted();
      close_with_options();
      return real(digits);
    }
    std::vector<Fraction> args;
    if (!take(')')) {
      do {
        args.push_back(expression(depth + 1));
        if (failure_.has_value()) return {};
        if (take('=')) return syntax();
      } while (take(','));
      if (!take(')')) return syntax();
    }
    return call(name, args);
  }

  Fraction number(const std::string& digits) {
    char* end = nullptr;
    errno = 0;
    const long long number = std::strtoll(digits.c_str(), &end, 10);
    if (*end != '\0' || errno != 0) return syntax();
    return {Dim(number), 1};
  }

  // Numbers such as 0.5 and 2.0 are fractions of powers of two.
  Fraction real(const std::string& digits) {
    char* end = nullptr;
    double number = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !std::isfinite(number)) return syntax();
    int64_t under = 1;
    while (number != std::floor(number) && under < kMaxDenominator) {
      number *= 2;
      under *= 2;
    }
    if (number != std::floor(number) || std::abs(number) > 9e15) {
      return fail(Error::kNotSupported, digits + " is not a short fraction");
    }
    return {Dim(static_cast<int64_t>(number)), under};
  }

  Fraction symbol() {
    const std::string name = quoted();
    close_with_options();
    if (failure_.has_value()) return {};
    const Dim* value = value_of_(name);
    if (value == nullptr) return fail(Error::kNotSupported, "'" + name + "' is not the size of an input");
    return {*value, 1};
  }

  Fraction add(const Fraction& a, const Fraction& b) {
    const int64_t under = a.under * b.under;
    if (under > kMaxDenominator) return fail(Error::kNotSupported, "has too fine fractions");
    if (a.under == b.under) return {symbols_.add(a.over, b.over), a.under};
    return {symbols_.add(symbols_.mul(a.over, Dim(b.under)), symbols_.mul(b.over, Dim(a.under))), under};
  }
  Fraction mul(const Fraction& a, const Fraction& b) {
    const int64_t under = a.under * b.under;
    if (under > kMaxDenominator) return fail(Error::kNotSupported, "has too fine fractions");
    return {symbols_.mul(a.over, b.over), under};
  }
  Dim floor_of(const Fraction& f) { return symbols_.floor_div(f.over, Dim(f.under)); }
  Dim ceil_of(const Fraction& f) { return symbols_.ceil_div(f.over, Dim(f.under)); }

  Fraction power(const Fraction& base, const Fraction& exponent) {
    if (!exponent.over.is_constant() || exponent.under != 1 || exponent.over.value > kMaxPower) {
      return fail(Error::kNotSupported, "has a power that is not a small number");
    }
    if (exponent.over.value < 0) {
      if (exponent.over.value != -1 || !base.over.is_constant() || base.over.value < 1 ||
          base.over.value > kMaxDenominator) {
        return fail(Error::kNotSupported, "divides by a size");
      }
      return {Dim(base.under), base.over.value};
    }
    Fraction result{Dim(1), 1};
    for (int64_t i = 0; i < exponent.over.value; ++i) result = mul(result, base);
    return result;
  }

  // The quotient of two values, as one that can be floored.
  std::optional<std::pair<Dim, Dim>> quotient(const Fraction& a, const Fraction& b) {
    const Dim over = symbols_.mul(a.over, Dim(b.under));
    const Dim under = symbols_.mul(b.over, Dim(a.under));
    if (symbols_.lower(under) > 0 || symbols_.upper(under) < 0) return std::make_pair(over, under);
    fail(Error::kNotSupported, "divides by what may be 0");
    return std::nullopt;
  }

  Fraction call(const std::string& name, const std::vector<Fraction>& args) {
    const auto is = [&](std::initializer_list<const char*> names) {
      for (const char* one : names) {
        if (name == one) return true;
      }
      return false;
    };
    if (args.empty()) return syntax();
    if (is({"Integer"})) return args[0];
    if (is({"Add", "Mul", "Max", "Min"})) {
      Fraction result = args[0];
      for (size_t i = 1; i < args.size(); ++i) {
        if (name == "Add") result = add(result, args[i]);
        if (name == "Mul") result = mul(result, args[i]);
        if (name == "Max") result = {symbols_.max(floor_of(result), floor_of(args[i])), 1};
        if (name == "Min") result = {symbols_.min(floor_of(result), floor_of(args[i])), 1};
      }
      return result;
    }
    if (is({"floor", "FloorToInt", "TruncToInt", "ToFloat", "Identity"})) {
      return name == "ToFloat" || name == "Identity" ? args[0] : Fraction{floor_of(args[0]), 1};
    }
    if (is({"ceiling", "CeilToInt"})) return {ceil_of(args[0]), 1};
    if (args.size() != 2) return fail(Error::kNotSupported, name + " is not a function that sizes have");
    if (name == "Pow" || name == "PowByNatural") return power(args[0], args[1]);
    if (is({"Rational", "IntTrueDiv", "FloatTrueDiv"})) {
      const auto [over, under] = args[1];
      if (under != 1 || !over.is_constant() || over.value < 1 || over.value > kMaxDenominator) {
        return fail(Error::kNotSupported, "divides by a size");
      }
      return mul(args[0], {Dim(1), over.value});
    }
    if (is({"FloorDiv", "CleanDiv"})) {
      const auto parts = quotient(args[0], args[1]);
      return parts.has_value() ? Fraction{symbols_.floor_div(parts->first, parts->second), 1} : Fraction();
    }
    if (is({"Mod", "PythonMod"})) {
      const auto parts = quotient(args[0], args[1]);
      return parts.has_value() ? Fraction{symbols_.mod(parts->first, parts->second), 1} : Fraction();
    }
    return fail(Error::kNotSupported, name + " is not a function that sizes have");
  }

  const std::string& text_;
  ir::Symbols& symbols_;
  const SymbolValue& value_of_;
  size_t at_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace

Expected<Dim> evaluate_expression(const std::string& text, ir::Symbols& symbols, const SymbolValue& value_of) {
  return Parser(text, symbols, value_of).run();
}

}  // namespace berth::pt2

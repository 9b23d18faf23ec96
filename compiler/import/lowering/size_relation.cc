#include "compiler/import/lowering/size_relation.h"

#include <cctype>

#include "compiler/import/lowering/extents.h"

namespace berth::lowering {
namespace {

using ir::Dim;
using Kind = ir::SizeRelation::Kind;

constexpr size_t kMostText = 1000;
constexpr int kMostDepth = 32;

class Parser {
 public:
  Parser(std::string_view text, ir::Symbols& symbols, const SizeOfName& size_of)
      : text_(text), symbols_(symbols), size_of_(size_of) {}

  Expected<ir::SizeRelation> run() {
    if (text_.size() > kMostText) return wrong("is longer than 1000 characters");
    ir::SizeRelation relation;
    relation.kind = Kind::kNamed;
    BERTH_ASSIGN_OR_RETURN(relation.a, sum(0));
    skip_spaces();
    if (at_ == text_.size()) return relation;
    const std::string op = comparison();
    if (op.empty()) return expected("==, <=, >=, < or >");
    BERTH_ASSIGN_OR_RETURN(relation.b, sum(0));
    skip_spaces();
    if (at_ != text_.size()) return expected("the end");
    relation.kind = op == "==" ? Kind::kEqual : Kind::kAtMost;
    if (op[0] == '>') std::swap(relation.a, relation.b);
    if (op == "<" || op == ">") relation.a = symbols_.add(relation.a, Dim(1));
    return relation;
  }

 private:
  static Failure wrong(std::string message) { return Failure{Error::kInvalidArgument, "", std::move(message)}; }
  Failure expected(const char* what) const {
    const std::string found = at_ < text_.size() ? "\"" + std::string(text_.substr(at_, 20)) + "\"" : "the end";
    return wrong(std::string("expected ") + what + ", found " + found);
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string comparison() {
    for (const char* op : {"==", "<=", ">=", "<", ">"}) {
      if (take(op)) return op;
    }
    return "";
  }

  Expected<Dim> sum(int depth) {
    BERTH_ASSIGN_OR_RETURN(Dim result, product(depth));
    for (;;) {
      const bool plus = take("+");
      if (!plus && !take("-")) return result;
      BERTH_ASSIGN_OR_RETURN(const Dim term, product(depth));
      result = plus ? symbols_.add(result, term) : symbols_.sub(result, term);
    }
  }

  Expected<Dim> product(int depth) {
    BERTH_ASSIGN_OR_RETURN(Dim result, factor(depth));
    for (;;) {
      const char op = take("*") ? '*' : take("//") || take("/") ? '/' : take("%") ? '%' : ' ';
      if (op == ' ') return result;
      BERTH_ASSIGN_OR_RETURN(const Dim other, factor(depth));
      if (op == '*') {
        result = symbols_.mul(result, other);
        continue;
      }
      if (!other.is_constant() || other.value < 1) {
        return wrong("it divides by " + symbols_.text(other) + ", expected a number above 0");
      }
      result = op == '/' ? symbols_.floor_div(result, other) : symbols_.mod(result, other);
    }
  }

  Expected<Dim> factor(int depth) {
    if (depth > kMostDepth) return wrong("is nested deeper than 32");
    if (take("-")) {
      BERTH_ASSIGN_OR_RETURN(const Dim positive, factor(depth + 1));
      return symbols_.mul(positive, Dim(-1));
    }
    if (take("(")) {
      BERTH_ASSIGN_OR_RETURN(const Dim inside, sum(depth + 1));
      return take(")") ? Expected<Dim>(inside) : expected("')'");
    }
    skip_spaces();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return number();
    const std::string name = word();
    if (name.empty()) return expected("a size or a number");
    const bool is_max = name == "max";
    if ((is_max || name == "min") && take("(")) {
      BERTH_ASSIGN_OR_RETURN(const Dim a, sum(depth + 1));
      if (!take(",")) return expected("','");
      BERTH_ASSIGN_OR_RETURN(const Dim b, sum(depth + 1));
      if (!take(")")) return expected("')'");
      return is_max ? symbols_.max(a, b) : symbols_.min(a, b);
    }
    const std::optional<Dim> size = size_of_(name);
    if (!size) return wrong("there is no size called " + name);
    return *size;
  }

  Expected<Dim> number() {
    int64_t result = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      result = result * 10 + (text_[at_++] - '0');
      if (result > kMaxExtent) return wrong("has a number above 2147483647");
    }
    return Dim(result);
  }

  std::string word() {
    std::string name;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      name += text_[at_++];
    }
    return name;
  }

  std::string_view text_;
  ir::Symbols& symbols_;
  const SizeOfName& size_of_;
  size_t at_ = 0;
};

}  // namespace

Expected<ir::SizeRelation> parse_size_relation(std::string_view text, ir::Symbols& symbols, const SizeOfName& size_of) {
  return Parser(text, symbols, size_of).run();
}

}  // namespace berth::lowering

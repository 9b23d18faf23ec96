#include "compiler/ir/lexer.h"

#include "compiler/ir/text.h"

namespace berth::ir {
namespace {

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Token Lexer::next() {
  Token current = std::move(token_);
  last_line_ = current.line;
  token_ = scan();
  return current;
}

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c == '/' && at(1, '/')) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else {
      return;
    }
  }
}

Token Lexer::error(std::string message) {
  at_ = text_.size();
  return Token{TokenKind::kError, std::move(message), line_};
}

Token Lexer::scan() {
  skip_space();
  if (at_ == text_.size()) return Token{TokenKind::kEnd, "the end of the text", line_};
  const char c = text_[at_];
  if (is_digit(c) || c == '-') return number();
  if (c == '"') return string(TokenKind::kString);
  if (c == '%') return name(TokenKind::kValue);
  if (c == '@') return name(TokenKind::kAt);
  if (c == '$' && at(1, '"')) {
    ++at_;
    return string(TokenKind::kQuoted);
  }
  if (is_identifier_start(c)) return word();
  if (text_.substr(at_, 3) == "...") {
    at_ += 3;
    return Token{TokenKind::kPunct, "...", line_};
  }
  if (std::string_view("()[]{}<>,:=+*").find(c) == std::string_view::npos) {
    return error("the character " + quoted(std::string_view(&c, 1)) + " means nothing here");
  }
  ++at_;
  return Token{TokenKind::kPunct, std::string(1, c), line_};
}

Token Lexer::number() {
  const size_t begin = at_;
  if (text_[at_] == '-') ++at_;
  if (text_.substr(at_, 3) == "inf") {
    at_ += 3;
    return Token{TokenKind::kNumber, "-inf", line_};
  }
  const auto digits = [&] {
    const size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > first;
  };
  bool good = digits();
  if (good && at(0, '.')) {
    ++at_;
    good = digits();
  }
  if (good && (at(0, 'e') || at(0, 'E'))) {
    ++at_;
    if (at(0, '-') || at(0, '+')) ++at_;
    good = digits();
  }
  if (!good) return error("expected digits");
  return Token{TokenKind::kNumber, std::string(text_.substr(begin, at_ - begin)), line_};
}

Token Lexer::string(TokenKind kind) {
  Token token{kind, "", line_};
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    const char c = text_[at_];
    if (c == '\n') break;
    if (c != '\\') {
      token.text += c;
      continue;
    }
    if (++at_ == text_.size()) break;
    if (text_[at_] == 'x') {
      const int high = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
      const int low = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 2]) : -1;
      if (high < 0 || low < 0) return error("expected two hexadecimal digits after \\x");
      token.text += static_cast<char>(high * 16 + low);
      at_ += 2;
    } else {
      token.text += text_[at_];
    }
  }
  if (!at(0, '"')) return error("a text lacks its closing quote");
  ++at_;
  return token;
}

Token Lexer::name(TokenKind kind) {
  ++at_;
  if (at(0, '"')) return string(kind);
  const size_t begin = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  if (at_ == begin) return error("expected a name");
  return Token{kind, std::string(text_.substr(begin, at_ - begin)), line_};
}

Token Lexer::word() {
  const size_t begin = at_;
  while (at_ < text_.size()) {
    if (is_identifier_char(text_[at_])) {
      ++at_;
    } else if (at(0, ':') && at(1, ':')) {
      at_ += 2;
    } else {
      break;
    }
  }
  std::string text(text_.substr(begin, at_ - begin));
  const bool number = text == "inf" || text == "nan";
  return Token{number ? TokenKind::kNumber : TokenKind::kWord, std::move(text), line_};
}

}  // namespace berth::ir

// The words of the IR's text form (docs/ir.md).
#pragma once

#include <string>
#include <string_view>

namespace berth::ir {

enum class TokenKind {
  kEnd,
  kError,   // text: what is wrong
  kPunct,   // one of ( ) [ ] { } < > , : = + * and the three dots of an elided constant
  kWord,    // identifier, or `namespace::name.overload`
  kQuoted,  // $"…": an identifier that needs quotes; text without them
  kNumber,  // -12, 1.5, 1e-05, inf, -inf, nan
  kString,  // "…"; text without quotes and escapes
  kValue,   // %name; text without the sigil
  kAt,      // @name; likewise
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 1;

  bool is(std::string_view punctuation) const { return kind == TokenKind::kPunct && text == punctuation; }
  bool is_word(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

/// Cuts text into tokens, one ahead. Spaces, line ends and `// …` comments stand between tokens. Linear time.
class Lexer {
 public:
  /// `text` must outlive the lexer.
  explicit Lexer(std::string_view text) : text_(text) { next(); }

  const Token& peek() const { return token_; }
  /// Moves on and returns what peek() was.
  Token next();
  /// The line of what next() returned last.
  int line() const { return last_line_; }

 private:
  Token scan();
  void skip_space();
  Token number();
  Token string(TokenKind kind);
  Token name(TokenKind kind);
  Token word();
  Token error(std::string message);
  bool at(size_t offset, char c) const { return at_ + offset < text_.size() && text_[at_ + offset] == c; }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int last_line_ = 1;
  Token token_;
};

}  // namespace berth::ir

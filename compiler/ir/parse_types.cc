#include <climits>
#include <cstdlib>
#include <cstring>

#include "compiler/ir/parser.h"
#include "compiler/ir/shape_args.h"
#include "compiler/ir/text.h"

namespace berth::ir {
namespace {

constexpr int kMaxDimDepth = 64;

bool parse_device_type(std::string_view name, DeviceType* out) {
  for (size_t i = 0; i < count_device_types(); ++i) {
    const DeviceType type = device_type_at(i);
    if (name != to_string(type)) continue;
    *out = type;
    return true;
  }
  return false;
}

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Expected<Type> Parser::type() {
  BERTH_ASSIGN_OR_RETURN(const std::string word, take(TokenKind::kWord, "a type"));
  DType dtype;
  if (lexer_.peek().is("[") && parse_dtype(word.data(), word.size(), &dtype)) {
    BERTH_ASSIGN_OR_RETURN(TensorType tensor, tensor_type(dtype));
    return Type(std::move(tensor));
  }
  if (word == "int") return Type(ScalarKind::kInt);
  if (word == "float") return Type(ScalarKind::kFloat);
  if (word == "bool") return Type(ScalarKind::kBool);
  return fail("expected a type such as f32[1,n], int, float or bool, found '" + word + "'");
}

Expected<TensorType> Parser::tensor_type(DType dtype) {
  TensorType tensor;
  tensor.dtype = dtype;
  BERTH_TRY(expect("["));
  while (!accept("]")) {
    if (!tensor.shape.empty()) BERTH_TRY(expect(","));
    BERTH_ASSIGN_OR_RETURN(const Dim size, dim());
    tensor.shape.push_back(size);
    if (tensor.shape.size() > kMaxRank) return fail("expected at most 16 dimensions");
  }
  if (lexer_.peek().is("{")) BERTH_TRY(dimension_order(tensor));
  if (lexer_.peek().kind == TokenKind::kAt) BERTH_TRY(device(tensor));
  const std::string problem = type_problem(tensor, module_.symbols);
  if (!problem.empty()) return fail(problem);
  return tensor;
}

Status Parser::dimension_order(TensorType& type) {
  BERTH_TRY(expect("{"));
  std::vector<bool> seen(type.shape.size());
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (i > 0) BERTH_TRY(expect(","));
    BERTH_ASSIGN_OR_RETURN(const int64_t d, integer());
    if (d < 0 || d >= type.rank() || seen[d]) {
      return fail("expected a dimension order that names each dimension once");
    }
    seen[d] = true;
    type.dim_order.push_back(static_cast<uint8_t>(d));
  }
  return expect("}");
}

Status Parser::device(TensorType& type) {
  const std::string name = lexer_.next().text;
  if (!parse_device_type(name, &type.device.type)) {
    return fail("expected a device such as cpu, cuda:0 or sim:0, found '" + name + "'");
  }
  if (!accept(":")) return Done{};
  BERTH_ASSIGN_OR_RETURN(const int64_t index, integer());
  if (index < 0 || index > 127) return fail("expected a device index between 0 and 127");
  type.device.index = static_cast<DeviceIndex>(index);
  return Done{};
}

Expected<Dim> Parser::dim(int depth) {
  if (depth > kMaxDimDepth) return fail("expected a size of at most 64 nested operations");
  const Token& token = lexer_.peek();
  if (token.is("(")) return operation_on_dims(depth);
  if (token.kind == TokenKind::kNumber) {
    BERTH_ASSIGN_OR_RETURN(const int64_t number, integer());
    return Dim(number);
  }
  if (token.kind == TokenKind::kWord &&
      (token.text == "floordiv" || token.text == "mod" || token.text == "max" || token.text == "min")) {
    return call_on_dims(depth);
  }
  BERTH_ASSIGN_OR_RETURN(const std::string name, identifier_name("a size"));
  SymbolId id;
  if (module_.symbols.find(name, &id) == nullptr) return fail("the symbol '" + name + "' is not declared");
  return Dim::of_symbol(id);
}

// `(a + b)` or `(a * b)`.
Expected<Dim> Parser::operation_on_dims(int depth) {
  BERTH_TRY(expect("("));
  BERTH_ASSIGN_OR_RETURN(const Dim a, dim(depth + 1));
  const bool plus = accept("+");
  if (!plus && !accept("*")) return unexpected("'+' or '*'");
  BERTH_ASSIGN_OR_RETURN(const Dim b, dim(depth + 1));
  BERTH_TRY(expect(")"));
  return plus ? module_.symbols.add(a, b) : module_.symbols.mul(a, b);
}

// `floordiv(a, b)`, `mod(a, b)`, `max(a, b)`, `min(a, b)`.
Expected<Dim> Parser::call_on_dims(int depth) {
  const std::string what = lexer_.next().text;
  BERTH_TRY(expect("("));
  BERTH_ASSIGN_OR_RETURN(const Dim a, dim(depth + 1));
  BERTH_TRY(expect(","));
  BERTH_ASSIGN_OR_RETURN(const Dim b, dim(depth + 1));
  BERTH_TRY(expect(")"));
  Symbols& symbols = module_.symbols;
  if (what == "max") return symbols.max(a, b);
  if (what == "min") return symbols.min(a, b);
  if (symbols.lower(b) <= 0 && symbols.upper(b) >= 0) {
    return fail("expected a divisor that is never 0, found " + symbols.text(b));
  }
  constexpr int64_t kLimit = int64_t{1} << 62;
  if ((a.is_constant() && (a.value < -kLimit || a.value > kLimit)) || symbols.lower(b) < -kLimit) {
    return fail("expected numbers of at most 2^62");
  }
  return what == "mod" ? symbols.mod(a, b) : symbols.floor_div(a, b);
}

Expected<TensorType> Parser::tensor_type() {
  BERTH_ASSIGN_OR_RETURN(const std::string word, take(TokenKind::kWord, "a tensor type"));
  DType dtype;
  if (!parse_dtype(word.data(), word.size(), &dtype)) {
    return fail("expected a tensor type such as f32[1,3], found '" + word + "'");
  }
  return tensor_type(dtype);
}

Expected<Blob> Parser::blob(const TensorType& type) {
  if (!type.is_static()) return fail("expected a type of known sizes for what is written out");
  const size_t bytes = max_bytes(type, module_.symbols);
  const Token token = lexer_.next();
  if (token.is_word("splat")) return splat(type, bytes);
  if (token.is_word("dense")) return dense(type, bytes);
  if (token.is_word("hex")) return sized(hex(), bytes);
  if (token.is_word("file")) return sized(file(), bytes);
  if (token.is("...")) {
    return fail_at(token.line, "the contents of this constant were left out when the text was printed");
  }
  return fail_at(token.line, "expected splat<…>, dense<[…]>, hex\"…\" or file(…), found '" + token.text + "'");
}

Expected<Blob> Parser::splat(const TensorType& type, size_t bytes) {
  BERTH_TRY(expect("<"));
  const Token token = lexer_.next();
  uint8_t element[16];
  const Span<uint8_t> one(element, element_size(type.dtype));
  if (!parse_element(type.dtype, token.text, one)) {
    return fail_at(token.line,
                   "expected a number of " + std::string(to_string(type.dtype)) + ", found '" + token.text + "'");
  }
  BERTH_TRY(expect(">"));
  return Blob::splat(one, bytes / one.size());
}

Expected<Blob> Parser::dense(const TensorType& type, size_t bytes) {
  BERTH_TRY(expect("<"));
  BERTH_TRY(expect("["));
  std::vector<uint8_t> contents;
  uint8_t element[16];
  const Span<uint8_t> one(element, element_size(type.dtype));
  while (!accept("]")) {
    if (!contents.empty()) BERTH_TRY(expect(","));
    const Token token = lexer_.next();
    if (!parse_element(type.dtype, token.text, one)) {
      return fail_at(token.line,
                     "expected a number of " + std::string(to_string(type.dtype)) + ", found '" + token.text + "'");
    }
    contents.insert(contents.end(), one.begin(), one.end());
  }
  BERTH_TRY(expect(">"));
  if (contents.size() != bytes) {
    return fail("expected " + std::to_string(bytes / one.size()) + " numbers, found " +
                std::to_string(contents.size() / one.size()));
  }
  return Blob::owned(std::move(contents));
}

// The bytes of a delegate, which say themselves how many they are.
Expected<Blob> Parser::payload() {
  const Token token = lexer_.next();
  if (token.is_word("hex")) return hex();
  if (token.is_word("file")) return file();
  if (token.is("...")) {
    return fail_at(token.line, "the contents of this delegate were left out when the text was printed");
  }
  return fail_at(token.line, "expected hex\"…\" or file(…), found '" + token.text + "'");
}

Expected<Blob> Parser::sized(Expected<Blob> blob, size_t bytes) const {
  if (blob.ok() && blob->size() != bytes) {
    return fail("expected " + std::to_string(bytes) + " bytes, found " + std::to_string(blob->size()));
  }
  return blob;
}

Expected<Blob> Parser::hex() {
  BERTH_ASSIGN_OR_RETURN(const std::string digits, take(TokenKind::kString, "hexadecimal digits in quotes"));
  if (digits.size() % 2 != 0) return fail("expected two hexadecimal digits a byte, found an odd number of them");
  std::vector<uint8_t> contents(digits.size() / 2);
  for (size_t i = 0; i < contents.size(); ++i) {
    const int high = nibble(digits[2 * i]);
    const int low = nibble(digits[2 * i + 1]);
    if (high < 0 || low < 0) return fail("expected hexadecimal digits");
    contents[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return Blob::owned(std::move(contents));
}

Expected<Blob> Parser::file() {
  BERTH_TRY(expect("("));
  BERTH_ASSIGN_OR_RETURN(const std::string path, take(TokenKind::kString, "a path in quotes"));
  BERTH_TRY(expect(","));
  BERTH_ASSIGN_OR_RETURN(const int64_t offset, integer());
  BERTH_TRY(expect(","));
  BERTH_ASSIGN_OR_RETURN(const int64_t size, integer());
  BERTH_TRY(expect(")"));
  if (size < 0) return fail("expected a number of bytes of " + quoted(path) + ", found " + std::to_string(size));
  const size_t bytes = size;
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> mapped, open(path));
  const size_t whole = mapped->bytes().size();
  if (offset < 0 || static_cast<size_t>(offset) > whole || bytes > whole - static_cast<size_t>(offset)) {
    return fail("expected a range within the " + std::to_string(whole) + " bytes of " + quoted(path) + ", found " +
                std::to_string(bytes) + " bytes from " + std::to_string(offset));
  }
  return Blob::mapped(mapped, offset, bytes);
}

Expected<std::shared_ptr<const MappedFile>> Parser::open(const std::string& path) {
  if (directory_.empty()) return fail("this text may not name files, found " + quoted(path));
  const std::string full = !path.empty() && path[0] == '/' ? path : directory_ + "/" + path;
  char root[PATH_MAX];
  char resolved[PATH_MAX];
  if (path.find('\0') != std::string::npos || ::realpath(directory_.c_str(), root) == nullptr ||
      ::realpath(full.c_str(), resolved) == nullptr) {
    return fail("the file " + quoted(path) + " cannot be found");
  }
  const size_t length = std::strcmp(root, "/") == 0 ? 0 : std::strlen(root);
  if (std::strncmp(root, resolved, length) != 0 || resolved[length] != '/') {
    return fail("expected a file below " + quoted(directory_) + ", found " + quoted(path));
  }
  std::shared_ptr<const MappedFile>& file = files_[resolved];
  if (file == nullptr) {
    auto opened = MappedFile::open(resolved);
    if (!opened.ok()) return fail(opened.error().text());
    file = *opened;
  }
  return file;
}

}  // namespace berth::ir

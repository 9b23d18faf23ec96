#include "compiler/ir/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace berth::ir {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <typename T>
T load(Span<const uint8_t> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename T>
void store(Span<uint8_t> bytes, T value) {
  std::memcpy(bytes.data(), &value, sizeof value);
}

// Shortest in T's own precision; empty for a NaN that is not the usual one, which has no text.
template <typename Storage, typename T>
std::string float_text(Span<const uint8_t> element) {
  const T value = static_cast<T>(load<Storage>(element));
  if (std::isnan(value)) {
    uint8_t usual[sizeof(Storage)];
    store(Span<uint8_t>(usual), Storage(std::numeric_limits<T>::quiet_NaN()));
    return std::memcmp(usual, element.data(), sizeof usual) == 0 ? "nan" : "";
  }
  return fmt::format("{}", value);
}

template <typename T>
bool parse_signed(const std::string& text, Span<uint8_t> element) {
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || *end != '\0') return false;
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
  store(element, static_cast<T>(value));
  return true;
}

template <typename T>
bool parse_unsigned(const std::string& text, Span<uint8_t> element) {
  errno = 0;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
  if (errno != 0 || *end != '\0' || text[0] == '-') return false;
  if (value > std::numeric_limits<T>::max()) return false;
  store(element, static_cast<T>(value));
  return true;
}

template <typename Storage, typename T>
bool parse_float(const std::string& text, Span<uint8_t> element) {
  char* end = nullptr;
  // strtof, not strtod: rounding twice could give another number.
  const T value = sizeof(T) == sizeof(float) ? static_cast<T>(std::strtof(text.c_str(), &end))
                                             : static_cast<T>(std::strtod(text.c_str(), &end));
  if (*end != '\0') return false;
  store(element, Storage(std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value));
  return true;
}

}  // namespace

bool is_identifier_char(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.'; }
bool is_identifier_start(char c) { return is_letter(c) || c == '_'; }
bool is_name_char(char c) { return is_identifier_char(c) || c == '$' || c == '/' || c == '-'; }

bool is_reserved(std::string_view word) {
  constexpr std::string_view kWords[] = {"none", "true", "false", "inf", "nan",   "floordiv",
                                         "mod",  "max",  "min",   "int", "float", "const"};
  if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
  DType dtype;
  return parse_dtype(word.data(), word.size(), &dtype);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string named(char sigil, std::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), is_name_char);
  return sigil + (plain ? std::string(name) : quoted(name));
}

std::string identifier(std::string_view name) {
  const bool plain = !name.empty() && is_identifier_start(name[0]) && !is_reserved(name) &&
                     std::all_of(name.begin(), name.end(), is_identifier_char);
  return plain ? std::string(name) : "$" + quoted(name);
}

std::string real_text(double number) {
  if (std::isnan(number)) return "nan";
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string element_text(DType dtype, Span<const uint8_t> element) {
  switch (dtype) {
    case DType::kBool: return element[0] > 1 ? "" : element[0] == 1 ? "true" : "false";
    case DType::kU8: return fmt::format("{}", static_cast<unsigned>(element[0]));
    case DType::kI8: return fmt::format("{}", static_cast<int>(load<int8_t>(element)));
    case DType::kI16: return fmt::format("{}", load<int16_t>(element));
    case DType::kI32: return fmt::format("{}", load<int32_t>(element));
    case DType::kI64: return fmt::format("{}", load<int64_t>(element));
    case DType::kU16: return fmt::format("{}", load<uint16_t>(element));
    case DType::kU32: return fmt::format("{}", load<uint32_t>(element));
    case DType::kU64: return fmt::format("{}", load<uint64_t>(element));
    case DType::kF16: return float_text<Half, float>(element);
    case DType::kBF16: return float_text<BFloat16, float>(element);
    case DType::kF32: return float_text<float, float>(element);
    case DType::kF64: return float_text<double, double>(element);
    default: return "";
  }
}

bool parse_element(DType dtype, std::string_view text, Span<uint8_t> element) {
  const std::string number(text);
  if (number.empty()) return false;
  if (dtype == DType::kBool) {
    if (number != "true" && number != "false") return false;
    element[0] = number == "true" ? 1 : 0;
    return true;
  }
  switch (dtype) {
    case DType::kU8: return parse_unsigned<uint8_t>(number, element);
    case DType::kI8: return parse_signed<int8_t>(number, element);
    case DType::kI16: return parse_signed<int16_t>(number, element);
    case DType::kI32: return parse_signed<int32_t>(number, element);
    case DType::kI64: return parse_signed<int64_t>(number, element);
    case DType::kU16: return parse_unsigned<uint16_t>(number, element);
    case DType::kU32: return parse_unsigned<uint32_t>(number, element);
    case DType::kU64: return parse_unsigned<uint64_t>(number, element);
    case DType::kF16: return parse_float<Half, float>(number, element);
    case DType::kBF16: return parse_float<BFloat16, float>(number, element);
    case DType::kF32: return parse_float<float, float>(number, element);
    case DType::kF64: return parse_float<double, double>(number, element);
    default: return false;
  }
}

}  // namespace berth::ir

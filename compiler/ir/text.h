// What printer and parser of the IR's text form (docs/ir.md) must agree on: names, quoting and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/span.h"

namespace berth::ir {

/// '0' to '9'.
bool is_digit(char c);
/// Whether `c` may stand in a value's, constant's or state's name without quotes: letters, digits and `_ . $ / -`.
bool is_name_char(char c);
/// Whether `c` may stand in an identifier: letters, digits, `_` and `.`.
bool is_identifier_char(char c);
/// A letter or `_`.
bool is_identifier_start(char c);
/// Words that mean something where a symbol may stand: `none`, `true`, `max`, `f32`…
bool is_reserved(std::string_view word);

/// `text` in double quotes; `\` escapes quotes, backslashes and, as \xHH, every byte outside of printable ASCII.
std::string quoted(std::string_view text);
/// `name` behind `sigil` ('%' or '@'), quoted where it has to be.
std::string named(char sigil, std::string_view name);
/// A symbol's or method's name: an identifier, or quoted behind '$'.
std::string identifier(std::string_view name);

/// The shortest text that reads back as `number` and shows that it is not an integer: "1.0", "1e-05", "-inf", "nan".
std::string real_text(double number);

/// One element's text. Empty where only its bytes say it: a NaN with a payload, a bool that is neither 0 nor 1.
/// REQUIRES: is_real(dtype) and element.size() is the dtype's.
std::string element_text(DType dtype, Span<const uint8_t> element);
/// The inverse: writes the element that `text` (a number, true, false, inf, nan) says. False when it does not fit.
bool parse_element(DType dtype, std::string_view text, Span<uint8_t> element);

}  // namespace berth::ir

#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace berth {
namespace {

// The bytes of the UTF-8 character that `text` begins with; 0: it begins with none.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  }
  // Longer than need be, halves of pairs, beyond the last character.
  const unsigned char second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return wrong ? 0 : size;
}

void append_escaped(char control, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr std::string_view kNamed = "\bb\ff\nn\rr\tt";
  const size_t named = kNamed.find(control);
  if (named != std::string_view::npos && named % 2 == 0) {
    out += {'\\', kNamed[named + 1]};
  } else {
    const auto code = static_cast<unsigned char>(control);
    out += "\\u00";
    out += {kDigits[code >> 4u], kDigits[code & 15u]};
  }
}

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0) {
      out += "\xef\xbf\xbd";
    } else if (static_cast<unsigned char>(text[0]) < 0x20) {
      append_escaped(text[0], out);
    } else {
      if (text[0] == '"' || text[0] == '\\') out += '\\';
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  out += '"';
}

// The shortest text that reads as this number, and not as a whole one.
void append_real(double number, std::string& out) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char digits[32];
  const std::string_view text(digits, std::to_chars(digits, digits + sizeof digits, number).ptr - digits);
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

}  // namespace

Json::Json(std::initializer_list<Json> items) {
  const bool is_object = std::all_of(items.begin(), items.end(), [](const Json& item) {
    return item.is_array() && item.size() == 2 && item[size_t{0}].is_string();
  });
  if (!is_object) {
    value_ = List(items);
    return;
  }
  Object members;
  members.reserve(items.size());
  for (const Json& item : items) members.emplace_back(*item[size_t{0}].get_if<std::string>(), item[1]);
  value_ = std::move(members);
}

Json Json::array(std::initializer_list<Json> items) {
  Json made;
  made.value_ = List(items);
  return made;
}

Json Json::object() {
  Json made;
  made.value_ = Object();
  return made;
}

const Json* Json::begin() const { return is_array() ? std::get_if<List>(&value_)->data() : nullptr; }
const Json* Json::end() const { return is_array() ? begin() + size() : nullptr; }
Json* Json::begin() { return is_array() ? std::get_if<List>(&value_)->data() : nullptr; }
Json* Json::end() { return is_array() ? begin() + size() : nullptr; }

size_t Json::size() const {
  if (const auto* list = std::get_if<List>(&value_)) return list->size();
  return items().size();
}

void Json::push_back(Json item) {
  if (is_null()) value_ = List();
  std::get_if<List>(&value_)->push_back(std::move(item));
}

const Json::Object& Json::items() const {
  static const Object kNone;
  const auto* members = std::get_if<Object>(&value_);
  return members == nullptr ? kNone : *members;
}

const Json* Json::find(std::string_view name) const {
  for (const auto& [key, value] : items()) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Json& Json::operator[](std::string_view name) const {
  static const Json kNull;
  const Json* const found = find(name);
  return found == nullptr ? kNull : *found;
}

Json& Json::operator[](std::string_view name) {
  const Json* const found = find(name);
  return found == nullptr ? append(std::string(name), Json()) : const_cast<Json&>(*found);
}

Json& Json::append(std::string name, Json value) {
  if (is_null()) value_ = Object();
  return std::get_if<Object>(&value_)->emplace_back(std::move(name), std::move(value)).second;
}

void Json::erase(std::string_view name) {
  auto* const members = std::get_if<Object>(&value_);
  if (members == nullptr) return;
  members->erase(std::remove_if(members->begin(), members->end(), [&](const auto& one) { return one.first == name; }),
                 members->end());
}

void Json::update(const Json& other) {
  for (const auto& [name, value] : other.items()) (*this)[name] = value;
}

std::string Json::text() const {
  std::string text;
  append_to(text);
  return text;
}

void Json::append_to(std::string& out) const {
  if (const auto* truth = get_if<bool>()) {
    out += *truth ? "true" : "false";
  } else if (const auto* number = get_if<int64_t>()) {
    out += std::to_string(*number);
  } else if (const auto* large = get_if<uint64_t>()) {
    out += std::to_string(*large);
  } else if (const auto* real = get_if<double>()) {
    append_real(*real, out);
  } else if (const auto* words = get_if<std::string>()) {
    append_quoted(*words, out);
  } else if (is_array()) {
    char before = '[';
    for (const Json& item : *this) {
      out += before;
      item.append_to(out);
      before = ',';
    }
    out += size() == 0 ? "[]" : "]";
  } else if (is_object()) {
    char before = '{';
    for (const auto& [name, value] : items()) {
      out += before;
      append_quoted(name, out);
      out += ':';
      value.append_to(out);
      before = ',';
    }
    out += size() == 0 ? "{}" : "}";
  } else {
    out += "null";
  }
}

}  // namespace berth

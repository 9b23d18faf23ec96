#include "compiler/import/lowering/extents.h"

#include <cctype>

namespace berth::lowering {
namespace {

bool take_number(std::string_view& text, int64_t* out) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return false;
  int64_t number = 0;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
    number = number * 10 + (text[0] - '0');
    if (number > kMaxExtent) return false;
    text.remove_prefix(1);
  }
  *out = number;
  return true;
}

bool take_name(std::string_view& text, std::string* out) {
  const auto is_part = [](char c) {
    return c != 'x' && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
  };
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  while (!text.empty() && is_part(text[0])) {
    *out += text[0];
    text.remove_prefix(1);
  }
  return !out->empty();
}

bool take_known(std::string_view& text, const std::set<std::string>& known, std::string* out) {
  for (const std::string& name : known) {
    const bool ends = text.size() == name.size() || (text.size() > name.size() && text[name.size()] == 'x');
    if (ends && name.size() > out->size() && text.substr(0, name.size()) == name) *out = name;
  }
  text.remove_prefix(out->size());
  return !out->empty();
}

}  // namespace

bool parse_extents(std::string_view text, std::vector<Extent>* out, const std::set<std::string>& known) {
  out->clear();
  while (!text.empty()) {
    Extent e;
    const bool named = take_known(text, known, &e.name) || take_name(text, &e.name);
    if (!named && !take_number(text, &e.lower)) return false;
    e.upper = e.lower;
    if (!named && text.substr(0, 2) == "..") {
      text.remove_prefix(2);
      if (!take_number(text, &e.upper) || e.upper < e.lower) return false;
    }
    out->push_back(e);
    if (text.empty()) return true;
    if (text[0] != 'x') return false;
    text.remove_prefix(1);
    if (text.empty()) return false;
  }
  return true;
}

std::string text_of(const Extent& e) {
  if (!e.name.empty()) return e.name;
  return e.lower == e.upper ? std::to_string(e.lower) : std::to_string(e.lower) + ".." + std::to_string(e.upper);
}

std::string symbol_name(std::string_view name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out.insert(0, "n");
  return out;
}

}  // namespace berth::lowering

#include "compiler/import/lowering/extents.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/dtype.h"

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

bool take_range(std::string_view& text, Extent* out) {
  if (!take_number(text, &out->lower)) return false;
  out->upper = out->lower;
  if (text.substr(0, 2) != "..") return true;
  text.remove_prefix(2);
  return take_number(text, &out->upper) && out->upper >= out->lower;
}

/// `name` stands at the beginning of `text`, before an x or the end.
bool begins_with(std::string_view text, std::string_view name) {
  return text.substr(0, name.size()) == name && (text.size() == name.size() || text[name.size()] == 'x');
}

bool take_known(std::string_view& text, const std::set<std::string>& known, std::string* out) {
  for (const std::string& name : known) {
    if (name.size() > out->size() && begins_with(text, name)) *out = name;
  }
  text.remove_prefix(out->size());
  return !out->empty();
}

/// A search for a way to split a text into a number of sizes.
class SplitOfText {
 public:
  SplitOfText(const std::set<std::string>& known, bool new_names, std::vector<Extent>* out)
      : known_(known), new_names_(new_names), out_(out) {}

  /// Adds `count` sizes to the result, which are all of `text`; false when it cannot be split so.
  bool into(std::string_view text, size_t count) {
    if (count == 0 || !tried_.emplace(text.size(), count).second) return false;
    for (const auto& [extent, length] : first_sizes(text)) {
      const std::string_view rest = text.substr(length);
      out_->push_back(extent);
      if (rest.empty() ? count == 1 : rest[0] == 'x' && into(rest.substr(1), count - 1)) return true;
      out_->pop_back();
    }
    return false;
  }

 private:
  /// What may stand first in `text`, and how long each is.
  std::vector<std::pair<Extent, size_t>> first_sizes(std::string_view text) const {
    std::vector<std::pair<Extent, size_t>> sizes;
    const auto add = [&](Extent extent, size_t length) { sizes.emplace_back(std::move(extent), length); };
    for (const std::string& name : known_) {
      if (begins_with(text, name)) add({0, 0, name}, name.size());
    }
    std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    Extent other;
    std::string_view rest = text;
    const bool numbers = take_range(rest, &other);
    if (!numbers) rest = text;
    if (numbers || (new_names_ && take_name(rest, &other.name))) add(other, text.size() - rest.size());
    return sizes;
  }

  const std::set<std::string>& known_;
  const bool new_names_;
  std::vector<Extent>* out_;
  std::set<std::pair<size_t, size_t>> tried_;  // length of what was left of the text, and into how many sizes
};

}  // namespace

bool parse_extents_of_rank(std::string_view text, size_t rank, const std::set<std::string>& known,
                           std::vector<Extent>* out) {
  out->clear();
  if (rank == 0 || text.empty()) return rank == 0 && text.empty();
  if (rank > kMaxRank) return false;
  return SplitOfText(known, false, out).into(text, rank) || SplitOfText(known, true, out).into(text, rank);
}

bool parse_extents(std::string_view text, std::vector<Extent>* out, const std::set<std::string>& known) {
  out->clear();
  while (!text.empty()) {
    Extent e;
    const bool named = take_known(text, known, &e.name) || take_name(text, &e.name);
    if (!named && !take_range(text, &e)) return false;
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

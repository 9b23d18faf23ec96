// For tests: texts of several lines, indented as the code around them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

/// `raw`, a raw string whose first and last line are empty, without these two and without the indentation that all its
/// lines share. Each line of the result ends in '\n', the last one too unless `)"` follows it at once:
///
///     EXPECT_EQ(text, dedent(R"(
///       jump 3 unless v0
///       aten::relu.out(v3, v7, v7)
///     )"));
inline std::string dedent(std::string_view raw) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin <= raw.size();) {
    const size_t end = std::min(raw.find('\n', begin), raw.size());
    lines.push_back(raw.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto is_blank = [](std::string_view line) { return line.find_first_not_of(' ') == std::string_view::npos; };
  size_t common = std::string_view::npos;
  for (const std::string_view line : lines) {
    if (!is_blank(line)) common = std::min(common, line.find_first_not_of(' '));
  }
  std::string text;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (!is_blank(lines[i])) text += lines[i].substr(common);
    if (i + 1 < lines.size()) text += '\n';
  }
  return text;
}

/// `text` with each `$name` of `values` replaced, the first name first.
inline std::string filled(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values) {
    for (size_t at = text.find("$" + name); at != std::string::npos; at = text.find("$" + name, at + value.size())) {
      text.replace(at, name.size() + 1, value);
    }
  }
  return text;
}

/// How often `what` stands in `text`.
inline size_t occurrences(std::string_view text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace berth

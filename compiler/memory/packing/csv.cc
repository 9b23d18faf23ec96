#include "compiler/memory/packing/csv.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace berth::packing {
namespace {

enum Column : uint8_t { kId, kLower, kUpper, kSize, kAlignment, kOffset, kColumnCount };
constexpr const char* kColumnNames[kColumnCount] = {"id", "lower", "upper", "size", "alignment", "offset"};

std::string_view trimmed(std::string_view text) {
  const char* blanks = " \t\r";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Text from the file as it may stand in a message: short and printable.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 40)) out += (c >= ' ' && c <= '~') ? c : '?';
  if (text.size() > 40) out += "...";
  return out + "\"";
}

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  Expected<CsvProblem> read() {
    BERTH_TRY(read_header());
    while (next_line()) BERTH_TRY(read_row());
    BERTH_TRY(check_names());
    const Status sound = check(out_.problem);
    if (!sound.ok()) return in_file_words(sound.error());
    return std::move(out_);
  }

 private:
  Failure fault(std::string message) const {
    return Failure{Error::kInvalidArgument, "line " + std::to_string(line_number_), std::move(message)};
  }

  /// Moves to the next line that is not blank.
  bool next_line() {
    while (!rest_.empty()) {
      const size_t end = rest_.find('\n');
      line_ = trimmed(rest_.substr(0, end));
      rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
      ++line_number_;
      if (!line_.empty()) return true;
    }
    return false;
  }

  std::string_view next_field() {
    const size_t comma = line_.find(',');
    const std::string_view field = trimmed(line_.substr(0, comma));
    at_end_ = comma == std::string_view::npos;
    line_ = at_end_ ? std::string_view{} : line_.substr(comma + 1);
    return field;
  }

  Status read_header() {
    if (!next_line()) return fault("the file is empty; expected the columns id,lower,upper,size[,alignment]");
    bool seen[kColumnCount] = {};
    do {
      const std::string_view name = next_field();
      uint8_t column = 0;
      while (column < kColumnCount && name != kColumnNames[column]) ++column;
      if (column == kColumnCount) {
        return fault("unknown column " + quoted(name) +
                     "; expected id,lower,upper,size and perhaps alignment and offset");
      }
      if (seen[column]) return fault("column " + quoted(name) + " stands twice");
      seen[column] = true;
      columns_.push_back(static_cast<Column>(column));
    } while (!at_end_);
    for (const Column column : {kId, kLower, kUpper, kSize}) {
      if (!seen[column]) return fault(std::string("column \"") + kColumnNames[column] + "\" is missing");
    }
    has_offset_ = seen[kOffset];
    return Done{};
  }

  Status read_row() {
    if (lines_.size() == kMaxCsvBuffers) {
      return fault("more than " + std::to_string(kMaxCsvBuffers) + " buffers, the limit");
    }
    std::string_view id;
    int64_t numbers[kColumnCount] = {};
    numbers[kAlignment] = 1;
    at_end_ = false;
    for (const Column column : columns_) {
      if (at_end_) return fault("expected " + std::to_string(columns_.size()) + " fields, found fewer");
      const std::string_view field = next_field();
      if (column == kId) {
        if (field.find('"') != std::string_view::npos) return fault("quotes are not understood; ids are plain text");
        id = field;
        continue;
      }
      const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), numbers[column]);
      if (error != std::errc() || end != field.data() + field.size()) {
        return fault(std::string("expected a whole number of 64 bits for ") + kColumnNames[column] + ", found " +
                     quoted(field));
      }
    }
    if (!at_end_) return fault("expected " + std::to_string(columns_.size()) + " fields, found more");
    Buffer buffer;
    buffer.size = numbers[kSize];
    buffer.alignment = numbers[kAlignment];
    buffer.lower = numbers[kLower];
    buffer.upper = numbers[kUpper];
    out_.problem.buffers.push_back(buffer);
    out_.names.emplace_back(id);
    if (has_offset_) out_.offsets.push_back(numbers[kOffset]);
    lines_.push_back(line_number_);
    return Done{};
  }

  Status check_names() {
    std::vector<size_t> order(out_.names.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const int by_name = out_.names[a].compare(out_.names[b]);
      return by_name != 0 ? by_name < 0 : a < b;
    });
    for (size_t i = 1; i < order.size(); ++i) {
      if (out_.names[order[i - 1]] != out_.names[order[i]]) continue;
      line_number_ = lines_[order[i]];
      return fault("id " + quoted(out_.names[order[i]]) + " stands on line " + std::to_string(lines_[order[i - 1]]) +
                   " already");
    }
    return Done{};
  }

  /// The failure of check() with the line instead of the buffer's number.
  Failure in_file_words(const Failure& failure) {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (failure.place == "buffer " + std::to_string(i)) line_number_ = lines_[i];
    }
    return fault(failure.message);
  }

  std::string_view rest_;
  std::string_view line_;
  bool at_end_ = false;  // of the line
  size_t line_number_ = 0;
  std::vector<Column> columns_;
  bool has_offset_ = false;
  std::vector<size_t> lines_;  // of each buffer
  CsvProblem out_;
};

}  // namespace

Expected<CsvProblem> read_csv(std::string_view text) { return CsvReader(text).read(); }

std::string write_csv(const Problem& problem, const std::vector<std::string>& names, const Plan* plan) {
  BERTH_CHECK(names.size() == problem.buffers.size());
  BERTH_CHECK(plan == nullptr || plan->offsets.size() == names.size());
  bool aligned = false;
  for (const Buffer& buffer : problem.buffers) aligned |= buffer.alignment != 1;
  std::string out = "id,lower,upper,size";
  if (aligned) out += ",alignment";
  if (plan != nullptr) out += ",offset";
  out += '\n';
  for (size_t i = 0; i < names.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    out += names[i] + ',' + std::to_string(buffer.lower) + ',' + std::to_string(buffer.upper) + ',' +
           std::to_string(buffer.size);
    if (aligned) out += ',' + std::to_string(buffer.alignment);
    if (plan != nullptr) out += ',' + std::to_string(plan->offsets[i]);
    out += '\n';
  }
  return out;
}

}  // namespace berth::packing

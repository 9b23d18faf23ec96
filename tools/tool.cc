#include "tools/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"
#include "base/output_file.h"
#include "compiler/ir/text.h"

namespace berth::tool {

int report(const Failure& failure) {
  fmt::print(stderr, "berth: {}\n", shortened(failure.text()));
  return failure.code == Error::kInternal || failure.code == Error::kMemoryAllocationFailed ? kOurFault : kYourFault;
}

void Session::finish(const Expected<std::string>& result, const std::string& output) {
  if (!result.ok()) {
    if (keeps) failure = result.error();
    exit_code = keeps ? kYourFault : report(result.error());
  } else if (keeps) {
    text = *result;
  } else {
    fmt::print(is_standard_output(output) ? stderr : stdout, "{}", *result);
  }
}

std::string shortened(const std::string& text) {
  constexpr size_t kMost = 4096;
  constexpr size_t kEnd = 512;
  if (text.size() <= kMost) return text;
  // Never within a character of several bytes.
  const auto boundary = [&](size_t at) {
    while ((static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u && at > 0) --at;
    return at;
  };
  return text.substr(0, boundary(kMost - kEnd)) + " … " + text.substr(boundary(text.size() - kEnd));
}

std::string printable(const std::string& name) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  return shortened(std::any_of(name.begin(), name.end(), is_control) ? ir::quoted(name) : name);
}

std::string bytes_text(int64_t bytes) {
  const double n = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.2f} KiB", n / 1024);
  if (bytes < int64_t{1} << 30) return fmt::format("{:.2f} MiB", n / (1024 * 1024));
  return fmt::format("{:.2f} GiB", n / (1024.0 * 1024 * 1024));
}

std::string duration_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string counted(int64_t count, std::string_view singular, std::string_view plural) {
  if (count == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", count, singular) : fmt::format("{} {}", count, plural);
}

namespace {

// Whether `holds` of the whole text as a number; the words are CLI11's way of saying what was expected.
template <typename Condition>
CLI::Validator number(const char* expected, Condition holds) {
  return CLI::Validator(
      [expected, holds](const std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && holds(value)) return std::string();
        return fmt::format("expected {}, found {}", expected, text);
      },
      "");
}

}  // namespace

CLI::Validator above_zero() {
  return number("a number above zero", [](double value) { return value > 0; });
}
CLI::Validator not_negative() {
  return number("zero or more", [](double value) { return value >= 0; });
}

namespace {

// A line of the kernel's account of this process, in KiB.
int64_t status_kb(std::string_view field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (status >> word) {
    if (word == field && status >> kilobytes) break;
  }
  return kilobytes;
}

}  // namespace

int64_t peak_rss_kb() { return status_kb("VmHWM:"); }
int64_t resident_kb() { return status_kb("VmRSS:"); }

Expected<std::string> read_text(const std::string& path, size_t limit) {
  const auto too_large = [&] {
    return Failure{Error::kInvalidExternalData, path,
                   fmt::format("is larger than {}", bytes_text(static_cast<int64_t>(limit)))};
  };
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status)) {
    std::ifstream pipe(path, std::ios::binary);
    std::string text;
    char piece[1 << 16];
    while (pipe.read(piece, sizeof piece) || pipe.gcount() > 0) {
      if (text.size() + pipe.gcount() > limit) return too_large();
      text.append(piece, pipe.gcount());
    }
    if (!pipe.eof()) return Failure{Error::kAccessFailed, path, "cannot be read"};
    return text;
  }
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  if (file->bytes().size() > limit) return too_large();
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

}  // namespace berth::tool

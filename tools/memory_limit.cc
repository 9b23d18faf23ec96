#include "tools/memory_limit.h"

#include <fmt/format.h>

#include <charconv>

#include "base/math.h"
#include "runtime/host/host_method.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

bool parse_bytes(const std::string& text, uint64_t* bytes) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *bytes);
  if (error != std::errc() || rest + 1 < end) return false;
  if (rest == end) return true;
  const uint64_t unit = *rest == 'K' ? 1 << 10 : *rest == 'M' ? 1 << 20 : *rest == 'G' ? 1 << 30 : 0;
  return unit != 0 && checked_mul(*bytes, unit, bytes);
}

// Saturating sums.
void add(uint64_t bytes, uint64_t* sum) {
  if (!checked_add(*sum, bytes, sum)) *sum = UINT64_MAX;
}

// Memory that the caller provides.
uint64_t port_bytes(const MethodMeta& meta) {
  uint64_t sum = 0;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (info.ok()) add(info->nbytes, &sum);
  }
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const auto info = meta.output_tensor_meta(i);
    if (info.ok() && !info->is_memory_planned) add(info->nbytes, &sum);
  }
  return sum;
}

}  // namespace

void add_max_memory(CLI::App& command, uint64_t& bytes) {
  const auto check = [](const std::string& text) {
    uint64_t parsed = 0;
    if (parse_bytes(text, &parsed)) return std::string();
    return fmt::format("expected a size such as 256K, 8M or 2G, found {}", text);
  };
  command
      .add_option_function<std::string>(
          "--max-memory", [&bytes](const std::string& text) { static_cast<void>(parse_bytes(text, &bytes)); },
          "SIZE, such as 256K, 8M or 2G: refuse a program that needs more memory, before "
          "allocating any")
      ->check(CLI::Validator(check, ""));
}

Status check_memory(const Program& program, const std::string& path, const std::vector<std::string>& methods,
                    bool shared, int threads, uint64_t limit) {
  Report report;
  const auto failure = [&](Error code) { return Failure{code, path + ": " + report.place, report.message}; };
  const auto arenas = shared ? HostArenas::bytes(program) : HostArenas::bytes(program, methods[0].c_str());
  if (!arenas.ok()) return Failure{arenas.error(), path, "the sizes of its arenas are invalid"};
  uint64_t sum = *arenas;
  for (const std::string& name : methods) {
    const auto least = program.memory_needed(name.c_str(), {}, threads, &report);
    if (!least.ok()) return failure(least.error());
    add(least->method_bytes, &sum);
    add(port_bytes(*program.method_meta(name.c_str())), &sum);
    if (least->method_bytes > limit) continue;
    const auto scratch = HostBuffer::make(least->method_bytes);
    if (!scratch.ok()) return Failure{scratch.error(), path, "there is too little memory to measure the method"};
    const auto needed = program.memory_needed(name.c_str(), scratch->bytes(), threads, &report);
    if (!needed.ok()) return failure(needed.error());
    add(needed->temp_bytes, &sum);
  }
  if (sum <= limit) return Done{};
  return Failure{Error::kOutOfResources, path,
                 fmt::format("needs {} bytes ({}) of memory to run, {} of them for arenas; --max-memory allows {}", sum,
                             bytes_text(static_cast<int64_t>(std::min<uint64_t>(sum, INT64_MAX))), *arenas, limit)};
}

}  // namespace berth::tool

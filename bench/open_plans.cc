// What open sizes cost a program that was compiled for ranges of them.
//
//     build/release/bench/open_plans PROGRAM.pte [COUNT [RUNS [METHOD]]]
//
// Draws COUNT (10 000) sizes from the ranges, and prints a line of JSON: microseconds of evaluating the plan for them
// (Method::planned_bytes, on this thread: the median and the slowest hundredth; what other work on the machine adds to
// the very slowest is left out), the bytes of the arenas at a tenth of each range and at the bound, and the resident
// memory of the process, in KiB, after a tenth of RUNS (as many) runs at such sizes and after all of them. Inputs are
// zeros.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"
#include "tools/largest_sizes.h"
#include "tools/tool.h"

namespace berth {
namespace {

using AllSizes = std::vector<std::vector<int32_t>>;

[[noreturn]] void fail(const char* what, const Report& report) {
  std::fprintf(stderr, "%s: %s: %s\n", what, report.place, report.message);
  std::exit(1);
}

double microseconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

class Open {
 public:
  Open(const MethodMeta& meta, Method& method)
      : meta_(meta), method_(method), bytes_(meta.num_memory_planned_buffers()) {}

  AllSizes random_sizes(std::mt19937& random) const {
    return tool::sizes_at(meta_, [&](const char*, int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    });
  }
  AllSizes sizes_of_part(double part) const {
    return tool::sizes_at(meta_, [&](const char*, int64_t low, int64_t high) {
      return low + static_cast<int64_t>(part * static_cast<double>(high - low));
    });
  }

  /// The bytes of all arenas; nothing where a relation forbids these sizes.
  std::optional<uint64_t> planned(const AllSizes& sizes) {
    std::vector<Span<const int32_t>> spans;
    for (const std::vector<int32_t>& one : sizes) spans.emplace_back(one);
    const double start = microseconds();
    const Error error = method_.planned_bytes(spans, {bytes_.data(), bytes_.size()});
    took_ = microseconds() - start;
    if (error != Error::kOk) return std::nullopt;
    uint64_t all = 0;
    for (const uint64_t bytes : bytes_) all += bytes;
    return all;
  }
  double took() const { return took_; }

  /// False where sizes are refused.
  bool run(HostMethod& host, const AllSizes& sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto info = meta_.input_tensor_meta(i);
      if (!info.ok()) continue;
      size_t bytes = element_size(info->dtype);
      for (const int32_t size : sizes[i]) bytes *= size;
      if (zeros_.size() < bytes) zeros_.resize(bytes);
      if (method_.set_input(i, zeros_.data(), sizes[i], info->dtype) != Error::kOk) return false;
    }
    if (host.execute() != Error::kOk) fail("a run", method_.last_report());
    return true;
  }

  /// Takes the memory of the largest inputs ahead.
  void reserve() {
    for (size_t i = 0; i < meta_.num_inputs(); ++i) {
      const auto info = meta_.input_tensor_meta(i);
      if (info.ok()) zeros_.resize(std::max<size_t>(zeros_.size(), info->nbytes));
    }
  }

 private:
  const MethodMeta& meta_;
  Method& method_;
  std::vector<uint64_t> bytes_;
  std::vector<uint8_t> zeros_;
  double took_ = 0;
};

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: open_plans PROGRAM.pte [COUNT [RUNS [METHOD]]]\n");
    return 2;
  }
  const int count = std::max(argc > 2 ? std::atoi(argv[2]) : 10000, 1);
  const int runs = argc > 3 ? std::atoi(argv[3]) : count;
  const char* const name = argc > 4 ? argv[4] : "forward";
  Report report;
  auto loader = MappedFileLoader::open(argv[1]);
  if (!loader.ok()) {
    std::fprintf(stderr, "%s: cannot be opened\n", argv[1]);
    return 1;
  }
  CpuBackend cpu;
  Backend* const backends[] = {&cpu};
  LoadOptions load;
  load.backends = backends;
  load.report = &report;
  const auto program = Program::load(*loader, portable::kernels(), load);
  if (!program.ok()) fail(argv[1], report);
  HostOptions options;
  options.report = &report;
  auto host = HostMethod::load(*program, name, options);
  if (!host.ok()) fail(name, report);
  const auto meta = program->method_meta(name);
  Open open(*meta, host->method());
  open.reserve();
  std::mt19937 random(1);
  std::vector<double> took;
  for (int i = 0; i < count; ++i) {
    if (open.planned(open.random_sizes(random))) took.push_back(open.took());
  }
  if (took.empty()) {
    std::fprintf(stderr, "%s: no sizes that were drawn fulfil its relations\n", argv[1]);
    return 1;
  }
  std::sort(took.begin(), took.end());
  const auto bound = open.planned(open.sizes_of_part(1)), tenth = open.planned(open.sizes_of_part(0.1));
  int64_t before = 0;
  for (int i = 0; i < runs; ++i) {
    if (i == runs / 10) before = tool::resident_kb();
    open.run(*host, open.random_sizes(random));
  }
  std::printf(
      "{\"sizes\": %zu, \"median_us\": %.2f, \"hundredth_us\": %.2f, \"bound\": %lld, \"tenth\": %lld, \"runs\": %d, "
      "\"resident_kb\": [%lld, %lld]}\n",
      took.size(), took[took.size() / 2], took[took.size() - 1 - took.size() / 100],
      static_cast<long long>(bound.value_or(0)), static_cast<long long>(tenth.value_or(0)), runs,
      static_cast<long long>(before), static_cast<long long>(tool::resident_kb()));
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) { return berth::run(argc, argv); }

// For tests: kernels of this room on memory that ends where the process may not read or write, or begins there, so that
// an element beyond either end is a crash at any instruction set, without sanitizers. Not part of any library.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {

class GuardedMemory {
 public:
  explicit GuardedMemory(std::mt19937& random) : random_(random) {}
  ~GuardedMemory() {
    for (const Mapping& mapping : mappings_) munmap(mapping.begin, mapping.bytes);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// `array`, its elements brought to memory of their own.
  const testing::Array& operator()(const testing::Array& array) {
    const size_t bytes = array.tensor().nbytes();
    Span<uint8_t> pages = map(bytes);
    // Mostly the end is guarded: kernels run past it more easily than before the beginning.
    uint8_t* data = pages.data() + (random_() % 4 == 0 ? 0 : pages.size() - bytes);
    if (bytes > 0) std::memcpy(data, array.tensor().raw(), bytes);
    array.tensor().set_data(data);
    return array;
  }

  /// So many bytes of scratch memory, filled with what no kernel may take for numbers.
  Span<uint8_t> temp(size_t bytes) {
    const Span<uint8_t> pages = map(bytes);
    uint8_t* data = pages.data() + (pages.size() - bytes) / 64 * 64;
    if (bytes > 0) std::memset(data, 0xFF, bytes);
    return {data, bytes};
  }

 private:
  struct Mapping {
    void* begin;
    size_t bytes;
  };

  Span<uint8_t> map(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (bytes + page - 1) / page * page;
    const Mapping mapping = {
        mmap(nullptr, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
        inside + 2 * page};
    EXPECT_NE(mapping.begin, MAP_FAILED);
    uint8_t* data = static_cast<uint8_t*>(mapping.begin) + page;
    const bool opened = inside == 0 || mprotect(data, inside, PROT_READ | PROT_WRITE) == 0;
    EXPECT_TRUE(opened);
    mappings_.push_back(mapping);
    return {data, inside};
  }

  std::mt19937& random_;
  std::vector<Mapping> mappings_;
};

/// Prepares the kernel `name` of this room, calls it `runs` times and releases it. Tensors among the arguments are
/// constants where `constants` says so.
inline testing::Outcome call_guarded(const std::string& name, std::vector<testing::Arg> args,
                                     const std::vector<size_t>& constants, int threads, GuardedMemory& memory,
                                     int runs = 1) {
  const KernelEntry& entry = kernel_of(kernels(), name);
  std::vector<EValue*> values;
  for (testing::Arg& arg : args) values.push_back(arg.value());
  const Span<EValue* const> span(values.data(), values.size());
  std::vector<uint8_t> constant(args.size(), 0);
  for (const size_t i : constants) constant[i] = 1;
  testing::TestPool pool(threads);
  ThreadPool* const threads_or_none = threads > 1 ? &pool : nullptr;
  void* state = nullptr;
  testing::Outcome outcome;
  const size_t bytes = entry.temp_bytes == nullptr ? 0 : entry.temp_bytes(span, threads);
  if (entry.prepare != nullptr) {
    PrepareContext context(threads_or_none, nullptr, {reinterpret_cast<const bool*>(constant.data()), constant.size()});
    outcome.error = entry.prepare(context, span, &state);
    if (context.message() != nullptr) outcome.message = context.message();
  }
  for (int run = 0; run < runs && outcome.error == Error::kOk; ++run) {
    KernelContext context(memory.temp(bytes), threads_or_none);
    context.set_state(state);
    outcome.error = entry.call(context, span);
    if (context.message() != nullptr) outcome.message = context.message();
  }
  if (state != nullptr) entry.release(state);
  return outcome;
}

/// The largest of the numbers that are finite.
inline double largest_of(const testing::Array& array) {
  double largest = 0;
  for (const double x : array.values()) largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
  return largest;
}

/// Within 1e-4 of each number and 1e-5 of `largest`; NaN and infinities in the same places.
inline void expect_near(const testing::Array& expected, const testing::Array& found, double largest) {
  ASSERT_EQ(expected.sizes(), found.sizes());
  const std::vector<double> a = expected.values();
  const std::vector<double> b = found.values();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::fabs(a[i] - b[i]) <= 1e-4 * std::fabs(a[i]) + 1e-5 * largest;
    ASSERT_TRUE(same) << "element " << i << " of " << a.size() << ": expected " << a[i] << ", found " << b[i];
  }
}

}  // namespace berth::cpu

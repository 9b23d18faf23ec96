// NestedDelegate::warm_up: the first instructions once, on zeros, in memory that is the delegate's for that long. What
// is cold in a first run (pages of code, threads) is warm then; a small model's first run takes several times as long
// without.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "backends/nested/nested_delegate.h"
#include "base/math.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

// A small model's kernels have all been met by then. Those with more weights have more kinds of layers, and take longer
// to load, of which this stays a small part.
constexpr auto kLeastTime = std::chrono::microseconds(500);
constexpr auto kTimePerMegabyte = std::chrono::microseconds(100);
constexpr auto kMostTime = std::chrono::microseconds(1500);
// Larger inputs belong to models that have other cares.
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kAlignment = 64;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

// Inputs and outputs side by side; without memory, too little of it says how much is needed by failing.
Error NestedDelegate::bind_to(Span<uint8_t> memory) {
  size_t begin = 0;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& port = inner_port(i);
    const size_t bytes = static_cast<size_t>(port.capacity()) * element_size(port.dtype());
    if (bytes > memory.size() - begin) return Error::kMemoryAllocationFailed;
    void* const data = memory.data() + begin;
    const Error error =
        i < inputs ? method->set_input(i, data, port.sizes(), port.dtype()) : give_output(i - inputs, data, bytes);
    if (error != Error::kOk) return error;
    begin += align_up(bytes, kAlignment);
  }
  return Error::kOk;
}

void NestedDelegate::warm_up() {
  if (!backend.host_kernels() || !device.is_cpu()) return;
  size_t bytes = kAlignment;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& port = inner_port(i);
    const int64_t capacity = port.capacity();
    if (capacity < 0 || static_cast<uint64_t>(capacity) > kMostBytes) return;
    bytes += static_cast<size_t>(capacity) * element_size(port.dtype()) + kAlignment;
    if (bytes > kMostBytes) return;
  }
  const std::unique_ptr<void, Free> memory(std::calloc(bytes, 1));
  if (memory == nullptr) return;
  const size_t padding = -reinterpret_cast<uintptr_t>(memory.get()) & (kAlignment - 1);
  if (bind_to({static_cast<uint8_t*>(memory.get()) + padding, bytes - padding}) == Error::kOk) {
    const auto time = std::min(kMostTime, kLeastTime + kTimePerMegabyte * static_cast<int64_t>(read_bytes >> 20));
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
      // Also where an instruction does not like zeros.
      if (method->rehearse_step() != Error::kOk) break;
    }
  }
  method->reset_execution();
}

}  // namespace berth

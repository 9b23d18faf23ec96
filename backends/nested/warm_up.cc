// NestedDelegate::warm_up: on the host, runs the first instructions on zeros, in temporary memory, to warm up pages of code
// and threads. Without it, the first run of a small model takes several times as long as others. On devices, see
// replay.cc.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "backends/nested/nested_delegate.h"
#include "base/math.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

// Enough to reach every kernel of a small model. Models with more weights have more kinds of layers; they also take
// longer to load, so this remains a small part of it.
constexpr auto kLeastTime = std::chrono::microseconds(500);
constexpr auto kTimePerMegabyte = std::chrono::microseconds(100);
constexpr auto kMostTime = std::chrono::microseconds(1500);
// Larger inputs and outputs belong to models whose runs take too long for warm-up to matter.
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kAlignment = 64;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

// Binds inputs and outputs to memory, one after another.
Error NestedDelegate::bind_to(Span<uint8_t> memory) {
  size_t begin = 0;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& port = inner_port(i);
    const size_t bytes = port.capacity() * element_size(port.dtype());
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
  if (backend.records()) {
    record_planned();
  } else if (backend.host_kernels() && device.is_cpu()) {
    run_on_zeros();
  }
}

void NestedDelegate::run_on_zeros() {
  size_t bytes = kAlignment;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& port = inner_port(i);
    const int64_t capacity = port.capacity();
    if (capacity < 0 || static_cast<uint64_t>(capacity) > kMostBytes) return;
    bytes += capacity * element_size(port.dtype()) + kAlignment;
    if (bytes > kMostBytes) return;
  }
  const std::unique_ptr<void, Free> memory(std::calloc(bytes, 1));
  if (memory == nullptr) return;
  const size_t padding = -reinterpret_cast<uintptr_t>(memory.get()) & (kAlignment - 1);
  if (bind_to({static_cast<uint8_t*>(memory.get()) + padding, bytes - padding}) == Error::kOk) {
    const auto time = std::min(kMostTime, kLeastTime + kTimePerMegabyte * static_cast<int64_t>(read_bytes >> 20));
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
      // An instruction may fail on zeros, such as an integer division.
      if (method->step_quietly() != Error::kOk) break;
    }
  }
  method->reset_execution();
}

}  // namespace berth

// NestedDelegate::warm_up: on the host, runs the first instructions on zeros, in temporary memory, to warm up pages of
// code and threads. Without it, the first run of a small model takes several times as long as others. On devices, see
// replay.cc.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "backends/nested/nested_delegate.h"
#include "base/math.h"
#include "format/program_view.h"

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

}  // namespace

// Binds inputs and outputs to memory, one after another, and the scratch to memory of its own where it moves; inputs in
// the scratch are what is there. Sizes that vary are the smallest.
Error NestedDelegate::bind_to(Span<uint8_t> memory, ZeroMemory* scratch) {
  size_t begin = 0;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    if (i == inputs) BERTH_RETURN_IF_ERROR(method->lay_out());
    const Tensor& port = inner_port(i);
    int32_t sizes[kMaxRank];
    if (i < inputs) smallest_sizes(i, sizes);
    const Span<const int32_t> shape(sizes, static_cast<size_t>(port.rank()));
    if (i < inputs && in_scratch[i]) {
      BERTH_RETURN_IF_ERROR(method->set_input_sizes(i, shape, port.dtype()));
      continue;
    }
    if (in_scratch[i]) continue;
    const size_t bytes = port.capacity() * element_size(port.dtype());
    if (bytes > memory.size() - begin) return Error::kMemoryAllocationFailed;
    void* const data = memory.data() + begin;
    const Error error =
        i < inputs ? method->set_input(i, data, shape, port.dtype()) : give_output(i - inputs, data, bytes);
    if (error != Error::kOk) return error;
    begin += align_up(bytes, kAlignment);
  }
  if (!scratch_moves) return Error::kOk;
  if (outputs == 0) BERTH_RETURN_IF_ERROR(method->lay_out());
  BERTH_ASSIGN_OR_RETURN(const uint64_t needed, method->planned_bytes(size_t{0}));
  if (needed > kMostBytes) return Error::kMemoryAllocationFailed;
  scratch->reset(std::calloc(needed + kAlignment, 1));
  if (*scratch == nullptr) return Error::kMemoryAllocationFailed;
  uint8_t* const there = static_cast<uint8_t*>(scratch->get());
  return method->set_planned_buffer(0, there + (-reinterpret_cast<uintptr_t>(there) & (kAlignment - 1)), needed);
}

void NestedDelegate::smallest_sizes(size_t input, int32_t* sizes) const {
  const Tensor& port = inner_port(input);
  std::copy(port.sizes().begin(), port.sizes().end(), sizes);
  const fb::MethodMeta* names = method->meta().names();
  if (names == nullptr || !method->follows_sizes()) return;
  const int32_t value = method->meta().plan()->inputs()->Get(static_cast<uint32_t>(input));
  for (uint32_t d = 0; d < format::length(names->dimensions()); ++d) {
    const fb::SymbolicDimension& entry = *names->dimensions()->Get(d);
    if (entry.value() != value) continue;
    const int64_t least = names->symbols()->Get(static_cast<uint32_t>(entry.symbol()))->min();
    sizes[entry.dimension()] = static_cast<int32_t>(std::clamp<int64_t>(least, 0, INT32_MAX));
  }
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
  ZeroMemory scratch;
  const ZeroMemory memory(std::calloc(bytes, 1));
  if (memory == nullptr) return;
  const size_t padding = -reinterpret_cast<uintptr_t>(memory.get()) & (kAlignment - 1);
  if (bind_to({static_cast<uint8_t*>(memory.get()) + padding, bytes - padding}, &scratch) == Error::kOk) {
    const auto time = std::min(kMostTime, kLeastTime + kTimePerMegabyte * static_cast<int64_t>(read_bytes >> 20));
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
      // An instruction may fail on zeros, such as an integer division.
      if (method->step_quietly() != Error::kOk) break;
    }
  }
  method->reset_execution();
}

}  // namespace berth

// The runtime's half of the imaginary accelerator: its memory, and what runs a payload. Its memory is the host's at
// other addresses, which the host cannot dereference. For real hardware, the marked lines call its driver.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "npu_format.h"
#include "plugin/target.h"

namespace npu {

using berth::plugin::Source;
using berth::plugin::Status;

class NpuAllocator final : public berth::plugin::Allocator {
 public:
  NpuAllocator() : Allocator(kDeviceType) {}

  int32_t allocate(size_t bytes, int32_t index, size_t alignment, void** address) override {
    const bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (index != 0 || !power || alignment > kBlock) return BERTH_INVALID_ARGUMENT;
    // Driver: allocate. Allocations of 0 bytes have distinct addresses, too.
    void* memory = bytes > kMost ? nullptr : std::aligned_alloc(kBlock, (bytes / kBlock + 1) * kBlock);
    if (memory == nullptr) return BERTH_MEMORY_ALLOCATION_FAILED;
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory) + kShift;
    *address = reinterpret_cast<void*>(at);
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[at] = bytes;
    return BERTH_OK;
  }

  void deallocate(void* address, int32_t) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (blocks_.erase(at) > 0) std::free(reinterpret_cast<void*>(at - kShift));  // driver: deallocate
  }

  int32_t copy_host_to_device(void* to, const void* from, size_t bytes, int32_t index, berth_stream) override {
    return index == 0 ? copy(find(to, bytes), from, bytes) : BERTH_INVALID_ARGUMENT;
  }
  int32_t copy_device_to_host(void* to, const void* from, size_t bytes, int32_t index, berth_stream) override {
    return index == 0 ? copy(to, find(from, bytes), bytes) : BERTH_INVALID_ARGUMENT;
  }
  int32_t copy_device_to_device(void* to, int32_t to_index, const void* from, int32_t from_index, size_t bytes,
                                berth_stream) override {
    return to_index == 0 && from_index == 0 ? copy(find(to, bytes), find(from, bytes), bytes) : BERTH_INVALID_ARGUMENT;
  }

  /// For the accelerator: the memory at an address of it. Null when the bytes are not inside one allocation.
  void* find(const void* address, size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    auto block = blocks_.upper_bound(at);
    if (block == blocks_.begin()) return nullptr;
    const size_t inside = at - (--block)->first;
    if (inside > block->second || bytes > block->second - inside) return nullptr;
    return reinterpret_cast<void*>(at - kShift);
  }

 private:
  static constexpr size_t kBlock = 256;
  static constexpr size_t kMost = 16 << 20;
  static constexpr uintptr_t kShift = uintptr_t{1} << 60;

  static int32_t copy(void* to, const void* from, size_t bytes) {
    if (to == nullptr || from == nullptr) return BERTH_INVALID_ARGUMENT;
    std::memcpy(to, from, bytes);  // driver: copy
    return BERTH_OK;
  }

  std::mutex mutex_;
  std::map<uintptr_t, size_t> blocks_;  // address, bytes
};

/// A payload, ready to run. A file may be damaged or made by another version: nothing in it is believed.
class NpuDelegate final : public berth::plugin::Delegate {
 public:
  explicit NpuDelegate(NpuAllocator* memory) : memory_(memory) {}

  Status load(const Source& source) {
    if (!source.read(0, &header_) || header_.magic != kMagic) return damaged("is not one of npu's");
    if (!source.read_rest(sizeof header_, &steps_)) return damaged("ends within a step");
    for (const Step& step : steps_) {
      if (!is_consistent(step)) return damaged("has a step that cannot be");
      for (const Operand* operand : {&step.a, &step.b}) {
        if (operand->where != Where::kBlob) continue;
        const Status status = source.blob(kBlobs, operand->offset, &blobs_[operand->offset]);
        if (!status.ok()) return status;  // a real driver uploads the blob here
      }
    }
    return {};
  }

  Status run(const berth_tensor* arguments, size_t size, berth_stream) override {
    for (const Step& step : steps_) {
      const float* a = find(arguments, size, step.a);
      const float* b = has_one_operand(step) ? a : find(arguments, size, step.b);
      float* out = find(arguments, size, step.out);
      if (a == nullptr || b == nullptr || out == nullptr) return damaged("reaches beyond its memory");
      compute(step, a, b, out);  // driver: enqueue
    }
    return {};
  }

 private:
  static Status damaged(const char* how) {
    return {BERTH_DELEGATE_INVALID_COMPATIBILITY, std::string("the payload ") + how};
  }

  static bool has_one_operand(const Step& step) { return step.op == Op::kRelu || step.op == Op::kClip; }

  static bool is_consistent(const Step& step) {
    const uint64_t n = step.out.floats;
    const uint64_t rows = step.columns == 0 ? 0 : n / step.columns;
    const bool places = step.a.where <= Where::kBlob && step.b.where <= Where::kBlob && step.out.where < Where::kBlob;
    if (!places || step.op >= Op::kCount || n == 0 || step.a.floats == 0) return false;
    if (step.op == Op::kMatrixProduct) {
      return n == rows * step.columns && step.a.floats == rows * step.inner &&
             step.b.floats == uint64_t{step.inner} * step.columns;
    }
    return n % step.a.floats == 0 && (has_one_operand(step) || (step.b.floats > 0 && n % step.b.floats == 0));
  }

  // Null when it is not inside the argument or the blob.
  float* find(const berth_tensor* arguments, size_t size, const Operand& operand) {
    const bool blob = operand.where == Where::kBlob;
    if (!blob && operand.argument >= size) return nullptr;
    const void* data = blob ? blobs_[operand.offset].data : arguments[operand.argument].data;
    const size_t there = blob ? blobs_[operand.offset].size : arguments[operand.argument].bytes;
    const size_t offset = blob ? 0 : operand.offset;
    const bool inside = offset % sizeof(float) == 0 && offset <= there;
    if (!inside || operand.floats > (there - offset) / sizeof(float)) return nullptr;
    char* begin = static_cast<char*>(const_cast<void*>(data)) + offset;
    return static_cast<float*>(blob ? begin : memory_->find(begin, operand.floats * sizeof(float)));
  }

  void compute(const Step& step, const float* a, const float* b, float* out) const {
    for (uint64_t i = 0; i < step.out.floats; ++i) {
      float x = step.op == Op::kMatrixProduct ? 0 : a[i % step.a.floats];
      switch (step.op) {
        case Op::kAdd: x += step.scale * b[i % step.b.floats]; break;
        case Op::kMultiply: x *= b[i % step.b.floats]; break;
        case Op::kRelu: x = std::max(x, 0.0f); break;
        case Op::kClip: x = std::max(-step.scale, std::min(step.scale, x)); break;
        default:
          for (uint64_t k = 0; k < step.inner; ++k) {
            x += a[i / step.columns * step.inner + k] * b[k * step.columns + i % step.columns];
          }
      }
      out[i] = header_.low_precision != 0 ? std::nearbyint(x * 256) / 256 : x;
    }
  }

  NpuAllocator* memory_;
  Header header_;
  std::vector<Step> steps_;
  std::map<uint64_t, berth_bytes> blobs_;
};

class NpuBackend final : public berth::plugin::Backend {
 public:
  explicit NpuBackend(NpuAllocator* memory) : Backend("acme.npu"), memory_(memory) {}

  bool serves(int32_t device_type) const override { return device_type == kDeviceType; }

  Status load(const Source& source, std::unique_ptr<berth::plugin::Delegate>* delegate) override {
    auto loaded = std::make_unique<NpuDelegate>(memory_);
    const Status status = loaded->load(source);
    if (status.ok()) *delegate = std::move(loaded);
    return status;
  }

 private:
  NpuAllocator* memory_;
};

}  // namespace npu

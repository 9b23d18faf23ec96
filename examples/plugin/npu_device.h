// The runtime's half of the imaginary accelerator: its memory, and what runs a payload. Its memory is an array that only
// this file touches: its addresses are numbers that the host cannot dereference. For real hardware, the marked lines call
// its driver.
#pragma once

#include <algorithm>
#include <cmath>
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
    const std::lock_guard<std::mutex> lock(mutex_);
    // Driver: allocate. Here: first fit, at multiples of kBlock.
    if (bytes > sizeof memory_) return BERTH_MEMORY_ALLOCATION_FAILED;
    size_t offset = 0;
    for (const auto& [begin, size] : blocks_) {
      if (begin - offset >= room(bytes)) break;
      offset = begin + room(size);
    }
    if (room(bytes) > sizeof memory_ - offset) return BERTH_MEMORY_ALLOCATION_FAILED;
    blocks_[offset] = bytes;
    *address = reinterpret_cast<void*>(kFirstAddress + offset);
    return BERTH_OK;
  }

  void deallocate(void* address, int32_t) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.erase(reinterpret_cast<uintptr_t>(address) - kFirstAddress);
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
    const size_t offset = reinterpret_cast<uintptr_t>(address) - kFirstAddress;
    auto block = blocks_.upper_bound(offset);
    if (block == blocks_.begin()) return nullptr;
    --block;
    const size_t inside = offset - block->first;
    return inside > block->second || bytes > block->second - inside ? nullptr : memory_ + offset;
  }

 private:
  static constexpr size_t kBlock = 256;
  static constexpr uintptr_t kFirstAddress = uintptr_t{1} << 60;

  // Allocations of 0 bytes have distinct addresses, too.
  static size_t room(size_t bytes) { return (bytes / kBlock + 1) * kBlock; }

  static int32_t copy(void* to, const void* from, size_t bytes) {
    if (to == nullptr || from == nullptr) return BERTH_INVALID_ARGUMENT;
    std::memcpy(to, from, bytes);  // driver: copy
    return BERTH_OK;
  }

  std::mutex mutex_;
  std::map<size_t, size_t> blocks_;  // offset, bytes
  alignas(kBlock) uint8_t memory_[16 << 20];
};

/// A payload that was checked, ready to run.
class NpuDelegate final : public berth::plugin::Delegate {
 public:
  explicit NpuDelegate(NpuAllocator* memory) : memory_(memory) {}

  // A file may be damaged or made by another version: nothing in it is believed.
  Status load(const Source& source) {
    const berth_bytes payload = source.payload();
    if (payload.size < sizeof header_) return damaged("is too short");
    std::memcpy(&header_, payload.data, sizeof header_);
    if (header_.magic != kMagic) return damaged("is not one of npu's");
    if ((payload.size - sizeof header_) / sizeof(Step) != header_.steps) return damaged("has another length than it says");
    steps_.resize(header_.steps);
    if (!steps_.empty()) {
      std::memcpy(steps_.data(), static_cast<const char*>(payload.data) + sizeof header_, steps_.size() * sizeof(Step));
    }
    for (const Step& step : steps_) {
      if (step.op >= Op::kCount) return damaged("has an unknown operation");
      for (const Operand* operand : {&step.a, &step.b, &step.out}) {
        const Status status = check(source, *operand);
        if (!status.ok()) return status;
      }
      if (!is_consistent(step)) return damaged("has operands of sizes that do not match");
    }
    return {};
  }

  Status run(const berth_tensor* arguments, size_t size, berth_stream) override {
    if (size != header_.arguments) return damaged("is called with another number of arguments");
    for (const Step& step : steps_) {
      const float* a = find(arguments, step.a);
      const float* b = find(arguments, step.b);
      float* out = find(arguments, step.out);
      if (a == nullptr || out == nullptr || (b == nullptr && step.op != Op::kRelu)) {
        return damaged("reaches beyond its memory");
      }
      compute(step, a, b, out);  // driver: enqueue
    }
    return {};
  }

 private:
  static Status damaged(const char* how) {
    return {BERTH_DELEGATE_INVALID_COMPATIBILITY, std::string("the payload ") + how};
  }

  // Blobs are the file's, on the host; a real driver uploads them here.
  Status check(const Source& source, const Operand& operand) {
    if (operand.where > Where::kBlob) return damaged("names an unknown place");
    if (operand.offset % sizeof(float) != 0) return damaged("has a number across two");
    if (operand.where == Where::kArgument) {
      return operand.floats == 0 || operand.index < header_.arguments ? Status() : damaged("names no argument");
    }
    if (blobs_.count(operand.index) != 0) return {};
    berth_bytes blob = {};
    const Status status = source.named_data(blob_key(operand.index).c_str(), &blob);
    if (status.ok()) blobs_[operand.index] = blob;
    return status;
  }

  static bool is_consistent(const Step& step) {
    const uint64_t n = step.out.floats;
    if (step.op == Op::kMatrixProduct) {
      const uint64_t rows = step.rows;
      return step.a.floats == rows * step.inner && step.b.floats == uint64_t{step.inner} * step.columns &&
             n == rows * step.columns && n > 0 && step.out.where == Where::kArgument;
    }
    const bool repeats = step.op == Op::kRelu || (step.b.floats > 0 && n % step.b.floats == 0);
    return step.a.floats == n && repeats && step.out.where == Where::kArgument;
  }

  float* find(const berth_tensor* arguments, const Operand& operand) {
    if (operand.floats == 0 || operand.floats > SIZE_MAX / sizeof(float)) return nullptr;
    const size_t bytes = operand.floats * sizeof(float);
    const bool blob = operand.where == Where::kBlob;
    const size_t there = blob ? blobs_[operand.index].size : arguments[operand.index].bytes;
    if (operand.offset > there || bytes > there - operand.offset) return nullptr;
    const void* data = blob ? blobs_[operand.index].data : arguments[operand.index].data;
    char* begin = static_cast<char*>(const_cast<void*>(data)) + operand.offset;
    return static_cast<float*>(blob ? begin : memory_->find(begin, bytes));
  }

  void compute(const Step& step, const float* a, const float* b, float* out) const {
    for (uint64_t i = 0; i < step.out.floats; ++i) {
      float x = step.op == Op::kMatrixProduct ? 0 : a[i];
      switch (step.op) {
        case Op::kAdd: x += step.scale * b[i % step.b.floats]; break;
        case Op::kSubtract: x -= step.scale * b[i % step.b.floats]; break;
        case Op::kMultiply: x *= b[i % step.b.floats]; break;
        case Op::kRelu: x = std::max(x, 0.0f); break;
        default:
          for (uint64_t k = 0; k < step.inner; ++k) {
            x += a[i / step.columns * step.inner + k] * b[k * step.columns + i % step.columns];
          }
      }
      out[i] = header_.low_precision != 0 ? rounded(x) : x;
    }
  }

  // To 8 bits of mantissa.
  static float rounded(float x) {
    int exponent = 0;
    const float mantissa = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
  }

  NpuAllocator* memory_;
  Header header_;
  std::vector<Step> steps_;
  std::map<uint32_t, berth_bytes> blobs_;
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

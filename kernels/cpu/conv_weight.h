// The weight of a convolution or a matrix product as an engine wants it: used where the file has it, if it can be.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// Bytes at a multiple of 64.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { std::free(bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool allocate(size_t bytes) {
    size_ = (bytes + 63) / 64 * 64;
    bytes_ = std::aligned_alloc(64, size_ == 0 ? 64 : size_);
    return bytes_ != nullptr;
  }
  float* floats() const { return static_cast<float*>(bytes_); }
  Span<uint8_t> span() const { return {static_cast<uint8_t*>(bytes_), size_}; }

 private:
  void* bytes_ = nullptr;
  size_t size_ = 0;
};

struct FittedWeight {
  Buffer owned;                    // when it is not used where the file has it
  const void* data = nullptr;      // of the type that the engine wants
  const float* derived = nullptr;  // what the engine computes from it, if the file has it

  const float* floats() const { return static_cast<const float*>(data); }
};

/// The dense weight of one that is packed, in its own type.
Error unpack_weight(PrepareContext& context, const Weight& weight, Buffer& dense);

/// Packs it as `engine` wants it if it is not, which is logged if it was packed differently.
Error fit_weight(PrepareContext& context, const Weight& weight, const Engine& engine, FittedWeight* fitted);

}  // namespace berth::cpu

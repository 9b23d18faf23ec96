// The payload of the imaginary accelerator: the compiler's half (npu_target.h) writes it, the runtime's half
// (npu_device.h) reads it. Not a program of Berth's: Berth stores these bytes and asks nothing about them.
//
//     Header, then Header::steps steps. A step computes out = op(a, b) over floats. Operands are arguments of the call, in
//     its order (inputs, outputs, scratch), with an offset in bytes; or blobs of the program, by the number in their name.
#pragma once

#include <cstdint>
#include <string>

namespace npu {

constexpr int32_t kDeviceType = 101;
constexpr uint32_t kMagic = 0x3155504e;  // "NPU1"

enum class Op : uint32_t { kAdd, kSubtract, kMultiply, kRelu, kMatrixProduct, kCount };

struct Header {
  uint32_t magic = kMagic;
  uint32_t steps = 0;
  uint32_t arguments = 0;
  /// Not 0: the accelerator rounds what each step gives to 8 bits of mantissa. The compile spec "precision" decides.
  uint32_t low_precision = 0;
};

enum class Where : uint32_t { kArgument, kBlob };

struct Operand {
  Where where = Where::kArgument;
  uint32_t index = 0;   // the argument, or the blob's number
  uint64_t offset = 0;  // bytes
  uint64_t floats = 0;  // shorter than the result: repeated
};

struct Step {
  Op op = Op::kAdd;
  uint32_t rows = 0;   // of a matrix product: [rows, inner] x [inner, columns]
  uint32_t inner = 0;
  uint32_t columns = 0;
  float scale = 1;     // of b, in sums and differences
  uint32_t unused = 0;
  Operand a, b, out;
};

/// What a constant is called among the program's named data: by its bytes, so that delegates share it.
inline std::string blob_key(uint32_t hash) { return "npu." + std::to_string(hash); }

}  // namespace npu

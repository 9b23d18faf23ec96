// The payload of the imaginary accelerator: the compiler's half (npu_target.h) writes it, the runtime's half
// (npu_device.h) reads it. Not a program of Berth's: Berth stores these bytes and asks nothing about them.
//
//     A Header, then steps. A step computes out = op(a, b) over floats. Operands are arguments of the call, in its
//     order (inputs, outputs, scratch), or blobs of the program.
#pragma once

#include <cstdint>

namespace npu {

constexpr int32_t kDeviceType = 101;
constexpr uint32_t kMagic = 0x3255504e;  // "NPU2"
constexpr char kBlobs[] = "npu";         // what the keys of its blobs begin with

// a + scale * b; a * b; the larger of a and 0; a within ±scale; the product of two matrices.
enum class Op : uint32_t { kAdd, kMultiply, kRelu, kClip, kMatrixProduct, kCount };

struct Header {
  uint32_t magic = kMagic;
  uint32_t low_precision = 0;  // not 0: what each step gives is rounded to 8 bits behind the point
};

enum class Where : uint32_t { kArgument, kBlob };

struct Operand {
  Where where = Where::kArgument;
  uint32_t argument = 0;
  uint64_t offset = 0;  // bytes in the argument; the number of a blob
  uint64_t floats = 0;  // fewer than the result has: repeated
};

struct Step {
  Op op = Op::kAdd;
  uint32_t inner = 0;  // of a matrix product: [rows, inner] x [inner, columns]
  uint32_t columns = 0;
  float scale = 1;
  Operand a, b, out;
};

}  // namespace npu

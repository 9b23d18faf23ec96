// Packing weights ahead of time, in the compiler, in the order that the engines need, so that weights are used in place
// at load. packing_layout.h describes the order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/huge_page_buffer.h"

namespace berth::cpu {

/// A call of berth::conv with two spatial axes; input, residual and result have the same dimension
/// order.
struct ConvToPack {
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // of all groups
  int64_t in[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  bool transposed = false;
  int64_t output_padding[2] = {0, 0};  // of a transposed one
  bool channels_last = true;
  bool open = false;  // sizes of batch and axes change from call to call; these are the largest
  bool bias = false, residual = false;
  std::string activation = "none";
  double alpha = 0, beta = 0;
  DType weight_type = DType::kF32;  // or bf16, f16
};

/// A call of berth::linear: [rows, depth] times [depth, columns].
struct LinearToPack {
  int64_t rows = 1, depth = 1, columns = 1;
  bool open = false;  // the number of rows changes from call to call; this is the largest
  bool bias = false, residual = false;
  std::string activation = "none";
  double alpha = 0, beta = 0;
  DType weight_type = DType::kF32;  // or bf16, f16
};

/// A call of berth::narrow_linear: weight, scales and zero points as its portable kernel takes them.
struct NarrowToPack {
  int64_t depth = 1, columns = 1;
  int64_t bits = 8, block = 1;
  int64_t digits = 3;  // of what it is multiplied with: 2 and 1 allow it to be rounded (packing_narrow.h)
  const uint8_t* weight = nullptr;
  /// [rows, columns] each; 1 stands for all. Zero points are of one of the two types, or there are none.
  const float* scales = nullptr;
  int64_t scale_rows = 1, scale_columns = 1;
  const int8_t* zeros = nullptr;
  const float* real_zeros = nullptr;
  int64_t zero_rows = 1, zero_columns = 1;
};

struct PackedNarrow {
  std::vector<uint8_t> weight;
  std::vector<uint8_t> scales;
  DType scale_type = DType::kF32;  // f16 where each of the given ones is a number of f16
  std::vector<uint8_t> zeros;      // of the type of the given ones
  std::string text;                // the argument `packing`
};

struct PackedWeight {
  HugePagePool* pool = nullptr;  // the caller's, for `bytes`; null: they are alone
  HugePageBuffer bytes;          // of the weight's type

  bool allocate(size_t size) { return pool == nullptr ? bytes.allocate(size) : bytes.allocate(size, *pool); }

  std::string text;        // the argument `packing`
  bool no_memory = false;  // it stays dense for want of memory alone
};

/// Whether this build has kernels for the instruction set `isa`, one of those below: all but those that a build for one
/// machine leaves out (BERTH_INSTRUCTION_SETS).
bool has_kernels_for(const std::string& isa);

/// Packs `weight` (dense, as aten::convolution has it) for the instruction set `isa`: "native", "avx2", "avx512" or
/// "generic". False, and the weight stays dense, if no packing is known to be better, or this machine cannot compute it
/// (it lacks the instruction set, or this process has used oneDNN with another one; it is then limited to `isa`). A
/// packed call gives correct results on any machine, with any number of threads.
bool pack_conv(const ConvToPack& conv, const void* weight, const std::string& isa, PackedWeight* packed);
bool pack_linear(const LinearToPack& linear, const void* weight, const std::string& isa, PackedWeight* packed);

/// Whether a call with a weight of `weight_type` (not f32) is worth it, for a machine with this instruction set.
enum class Narrowing {
  kNarrow,         // worth it
  kNoEngine,       // there is not a fast kernel for it
  kDepthwise,      // its weight is small, and its time goes into other things than products
  kFewChannels,    // the first convolution of images: little weight, and its input is what everything stands on; where
                   // matrices are multiplied (matrix_products.h), it is worth it all the same
  kFewerProducts,  // Winograd's way with fewer products of f32 is faster
};
Narrowing narrowing_of(const ConvToPack& conv, const std::string& isa);
Narrowing narrowing_of(const LinearToPack& linear, const std::string& isa);

/// Whether there is a fast kernel for this call that reads an input of bf16, and writes such a result where it has no
/// residual. False for a weight that is not bf16.
bool takes_narrow_tensors(const ConvToPack& conv, const std::string& isa);
bool takes_narrow_tensors(const LinearToPack& linear, const std::string& isa);

/// The weight of berth::quantized_linear, [depth, columns], or of berth::quantized_conv, [out, in, window…], dense.
struct QuantizedToPack {
  std::vector<int32_t> sizes;
  bool conv = false;
  int64_t groups = 1;
  bool is_signed = true;    // i8, else u8
  bool zero_point = false;  // the call has one for the weight
};

/// The same for 8 bits; `packed` has as many bytes, of the weight's type. The order is that of every instruction set
/// (quantized_packing.h) but "generic", which stays dense.
bool pack_quantized(const QuantizedToPack& weight, const uint8_t* dense, const std::string& isa, PackedWeight* packed);

/// Packs weight, scales and zero points of a berth::narrow_linear, for all instruction sets. False, and they stay
/// dense, if they would grow by more than a twentieth, or no packing is read as it should be: numbers that are not
/// finite, or blocks of 4 bits that do not begin where eight rows do.
bool pack_narrow(const NarrowToPack& linear, PackedNarrow* packed);

}  // namespace berth::cpu

// A quantised product on packed weights: which rows and columns each thread takes, and where its rows come from.
//
// Rows of a product are pixels of a convolution. Where the pixels' windows do not lie in memory one after another as
// the weight's depth does, a thread copies those of some pixels side by side first: a padded one from the input's zero
// point.
#pragma once

#include "kernels/cpu/quantized_packing.h"
#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/fused_quantized.h"

namespace berth::cpu {

struct QuantizedJob {
  const QuantizedLayout* layout = nullptr;
  const QuantizedFunctions* functions = nullptr;
  const QuantizedMatrix* matrix = nullptr;  // run_quantized() decides whether the functions' is used
  const uint8_t* packed = nullptr;          // layout->bytes()
  const portable::QuantizedProduct* product = nullptr;
  const portable::Convolution* convolution = nullptr;  // null: a product of matrices. With its strides
  const Tensor* input = nullptr;
  QuantizedQuotients quotients;
  bool few_bits = false;  // no sum can have more than 26 bits, whatever the input is
};

/// Fewer products of bytes than this in all take some 4 microseconds: as long as handing half of them to another thread
/// and waiting for it.
constexpr double kQuantizedSerialWork = 1 << 20;

/// How many of them so many rows are.
inline double quantized_work(const QuantizedLayout& layout, int64_t rows) {
  return static_cast<double>(rows) * static_cast<double>(layout.depth) * static_cast<double>(layout.padded_columns());
}

/// Temporary memory in all, padding included, for tensors of these sizes. Looks at sizes and strides alone: of the job,
/// at its layout, convolution and input, whichever functions it has.
size_t quantized_temp_bytes(const QuantizedJob& job, int threads);

/// The same for products of matrices whose sizes may be smaller in a call: a depth that is not whole quads takes room
/// for copied rows that a larger one does not.
size_t most_quantized_temp_bytes(const QuantizedLayout& layout, int64_t rows, int threads);

/// Error::kMemoryAllocationFailed without quantized_temp_bytes(). REQUIRES: the result has elements.
Error run_quantized(KernelContext& context, const QuantizedJob& job);

}  // namespace berth::cpu

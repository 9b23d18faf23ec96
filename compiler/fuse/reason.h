// Why something was fused, or was not: the words of `--why fusion`.
#pragma once

#include <cstdint>

namespace berth::fuse {

enum class Reason : uint8_t {
  kFused,          // fused: part of a fused operator now
  kReadElsewhere,  // result-read-elsewhere: what it would be fused into gives a result that others read too
  kNotConstant,    // not-constant: the weight is made while the program runs
  kDType,          // dtype: fused operators take f32; products on cpu bf16 and f16 too
  kShape,          // shape-differs: the sizes of the two tensors are not the same
  kScaled,         // scaled: the operands are multiplied by other numbers than 1
  kFinished,       // activation-before: nothing follows an activation
  kHasResidual,    // residual-already: one is added at most
  kNotFinite,      // not-finite: a transposed convolution's weight would meet zeros that pad the input
  kScale,          // scale: scales and zero points are not positive numbers, and integers, of the tensor or a channel
  kMask,           // mask-not-a-length: the mask does not say up to which key a query sees, so all are read
  kSmall,          // small: what would not be whole fits the caches or is smaller than the result; few rows or columns
  kRowsDiffer,     // rows-differ: a packed weight is as large as the table and holds other rows
  kOrder,          // order: the tokens, heads or columns do not lie as attention reads them
};

const char* to_string(Reason reason);

}  // namespace berth::fuse

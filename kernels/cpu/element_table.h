// What an element-wise chain computes from one tensor of bytes alone is one of 256 numbers: such parts become tables
// when a method is loaded, and a run looks numbers up. What the table holds is what the portable kernel computes, to
// the bit.
//
//     gelu(dequantised(q)) * x + y         →   table[q] * x + y
//     quantised(silu(dequantised(q)))      →   byte_table[q]
#pragma once

#include <memory>

#include "kernels/cpu/element_chain.h"

namespace berth::cpu {

/// A chain whose inputs may be tables, and what it was made of.
struct TabledChain {
  Chain chain;                                   // its inputs have no tensors
  uint8_t source[elementwise::kMaxInputs] = {};  // of each of its inputs: which of the operator's it reads
  size_t inputs = 0;                             // of the operator, and their types
  DType type[elementwise::kMaxInputs];
  std::unique_ptr<NumberTable[]> tables;
  std::unique_ptr<ByteTable> whole;
};

/// Null where no part of `chain` is worth a table, or where there is no memory for it. Looks at the types of its
/// inputs.
std::unique_ptr<TabledChain> make_tables(const Chain& chain);

}  // namespace berth::cpu

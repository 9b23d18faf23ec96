// berth::weight_rows: rows of a table that is a product's weight as well, read out of that.
//
// A weight [depth, columns] has the table's rows as its columns: out[…, k] = weight[k, indices[…]]. Packed weights
// (kernels/cpu/packed_table.h) may have numbers of `bits` 8 or 4 (berth::narrow_linear's), or its scales of f16, 16
// bits; 0 stands for elements as they are. What is read of numbers is the `form`:
//
//   "i8"      the number, from -128 or -8 on
//   "u8"      the number from 0 on: 128 or 8 more
//   "pairs"   of 4 bits: u8, of which byte r has number 2 r from 0 on in its lower half, and 2 r + 1 in its upper one
//   "f32"     of 16 bits: the number, widened
#pragma once

#include "kernels/portable/arguments.h"

namespace berth::portable {

/// Checks the indices and gives `out` the type and the sizes of rows of `width` elements of `dtype`.
Error prepare_weight_rows(KernelContext& context, const arguments::weight_rows_out& args, DType dtype, int64_t width);

/// The row that element `i` of the indices names, of `rows`; -1 where there is none.
int64_t row_of_index(const arguments::weight_rows_out& args, int64_t i, int64_t rows);

}  // namespace berth::portable

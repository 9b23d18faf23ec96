// share_tables: a table of embeddings that is the weight of a product as well is in the file once, packed.
//
//     %e = aten::embedding(@table: bf16[V,D], %tokens)          %e = berth::weight_rows(@head_packed, %tokens, …)
//     %y = berth::linear(%x, @head_packed, …)              →    %y = berth::linear(%x, @head_packed, …)
//
// What counts is what is read: each row of the table is compared with the row out of the packed weight, so that it does
// not matter how the model says that the two are one, and the result is the same to the bit. Of integers of 8 and 4
// bits, the numbers are one table, and the scales and zero points of their blocks are others.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> share_tables(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse

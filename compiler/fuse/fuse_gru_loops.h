// fuse_gru_loops: a loop over the steps of a GRU, as importers write one whose number of steps is open, as one operator
// over all of them.
//
//     %h, %all = berth::scan(n, [%h0], [%x]) {               →   %all = berth::gru(%x, %h0, %w', %b, …)
//       … a step of fuse_gru.h, on one row of %x …               %h = aten::select_copy.int(%all, 0, -1)
//     }
//
// What fuse_lstm_loops.h says of rows turned round, of the number of steps and of when it runs holds here too.
#pragma once

#include "compiler/fuse/recurrent_loops.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_gru_loops(ir::Module& module, const LoopFilter& fits, const passes::Options& options);

}  // namespace berth::fuse

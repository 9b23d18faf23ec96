// fuse_lstm_loops: a loop over the steps of an LSTM, as importers write one whose number of steps is open, as one
// operator over all of them.
//
//     %h, %c, %all = berth::scan(n, [%h0, %c0], [%g]) {      →   %all, %c = berth::lstm(%g, %h0, %c0, %w', false)
//       … a step of fuse_lstm.h, on one row of %g …              %h = aten::select_copy.int(%all, 0, -1)
//     }
//
// A loop that goes through rows turned round (aten::flip) is berth::lstm backwards. The rows have the gates in any
// order if a product with constants makes them. There must be at least one step.
//
// Unlike the other passes of this room it runs before delegates are formed: control flow stays outside of them.
#pragma once

#include "compiler/fuse/recurrent_loops.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_lstm_loops(ir::Module& module, const LoopFilter& fits, const passes::Options& options);

}  // namespace berth::fuse

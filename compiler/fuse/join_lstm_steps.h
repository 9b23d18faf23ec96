// join_lstm_steps: the steps of an LSTM that fuse_lstm made, in one operator.
//
//     %g: f32[50,1,512]
//     %h1, %c1 = berth::lstm_cell(%g[0], %h0, %c0, %w, "")
//     %h2, %c2 = berth::lstm_cell(%g[1], %h1, %c1, %w, "")
//     …
//     %all = aten::cat([%h1, %h2, …], 0)                   →   %all, %c50 = berth::lstm(%g, %h0, %c0, %w', false)
//
// The gates of the steps must lie one after another, from the first on or from the last. A cell state that others read
// ends the run of steps that are joined.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> join_lstm_steps(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse

// fuse_lstm: the steps of an LSTM that was written out, each one operator.
//
//     %g = aten::addmm(%x_t, %h, %w)                       [batch, 4 * size]
//     %c1 = sigmoid(%g: f) * %c + sigmoid(%g: i) * tanh(%g: g)
//     %h1 = sigmoid(%g: o) * tanh(%c1)                     →   %h1, %c1 = berth::lstm_cell(%x_t, %h, %c, %w, "")
//
// or, where the sums of the gates are not such a product (but one of quantised numbers, as in ONNX Runtime's
// DynamicQuantizeLSTM), on cpu and sim
//
//     →   %h1, %c1 = berth::lstm_gates(%g, %c, [0, 2, 3, 1])
//
// The gates may stand in any order, one sigmoid may serve several, and the input's part may be added before or after.
// berth::lstm_cell has them in the order i, f, g, o: the weights of the steps, and those of the product that makes the
// input's part for all steps at once, are put in that order, and a bias of the step is added to that product's.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_lstm(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse

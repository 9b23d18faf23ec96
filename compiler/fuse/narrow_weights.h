// precision: constant weights of berth::conv and berth::linear in 16 bits, where the target asks for it
// (targets::Target::weights; `--precision`).
//
//     berth::conv(%x, %w: f32[64,64,3,3], …)   →   berth::conv(%x, %w_bf16: bf16[64,64,3,3], …)
//
// The scales of weights of 8 and 4 bits (berth::narrow_linear) are rounded to numbers of f16, which packing then stores
// in 16 bits. Inputs, results and everything between products stay f32. kernels/portable/fused_narrow.h says what such
// a product computes; `--why precision` says of each product why its weight is narrow, or why not.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

enum class PrecisionReason : uint8_t {
  kNarrowed,       // bf16, f16: the weight is that now, or the scales of one of 8 or 4 bits
  kAlready,        // already: the model has it so
  kNotConstant,    // not-constant: the weight is made while the program runs
  kOverflow,       // overflow: a finite number of the weight would become infinite
  kInexact,        // inexact: so many of its numbers are too small that more would be lost than the last bits
  kDepthwise,      // depthwise: a convolution of single channels has little weight, and does not wait for products
  kFewChannels,    // few-channels: the first convolution of images, whose input everything stands on
  kFewerProducts,  // f16: fewer-products: Winograd's way is faster in f32, and loading widens the weight
  kNoEngine,       // no-kernel: no fast kernel takes it so
  kNotFused,       // not-fused: only the weights of berth::conv and berth::linear are narrowed (--why fusion)
  kLstm,           // lstm: what an LSTM keeps would add up the error of each step
  kGru,            // gru: the same of a GRU
};

const char* to_string(PrecisionReason reason);

Expected<passes::Changed> narrow_weights(ir::Module& module, const Targets& targets, const passes::Options& options);

/// Bytes of constants in 16 bits that products of the module read, each once.
int64_t narrow_constant_bytes(const ir::Module& module);

}  // namespace berth::fuse

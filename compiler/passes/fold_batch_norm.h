// fold_batch_norm: puts a scale and a shift per channel into the weights of the convolution or product before them.
//
//     %c: f32[1,8,9,9] = aten::convolution(%x, %w, %b, …)
//     %y: f32[1,8,9,9], %s: …, %t: … = aten::_native_batch_norm_legit_no_training(%c, %gamma, %beta, %mean, %var, …)
//  →
//     %y: f32[1,8,9,9] = aten::convolution(%x, %w', %b', …)
//         w' = w * gamma / sqrt(var + eps),  b' = (b - mean) * gamma / sqrt(var + eps) + beta
//
// The same for add, sub, mul and div by constants that differ from channel to channel at most, and behind mm and addmm
// (which become addmm), also through a view that keeps the last dimension, and behind a norm that could not be folded
// itself. Computed in double and rounded once.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

/// Why a scale or shift went into weights or stayed; the words of `--why fold_batch_norm`.
enum class FoldNormReason {
  kFolded,
  kResultShared,   // another node reads what the convolution gives
  kWeightShared,   // another node reads the weight: folding would store it twice
  kExactSum,       // a product of integers, whose sum a scale of its weight would round
  kNotConstant,    // weight, bias, scale or shift are not all constants
  kNotPerChannel,  // the constant differs within a channel
  kNoRoom,         // a product with alpha or beta, or a bias that is not a row
  kTypeDiffers,
};
const char* to_string(FoldNormReason reason);

Expected<Changed> fold_batch_norm(ir::Module& module, const Options& options);

}  // namespace berth::passes

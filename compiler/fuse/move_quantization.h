// move_quantization: what only moves elements moves bytes, where it moved the numbers that they stand for.
//
//     down    %x = dequantise(%q), %m = move(%x)      →   %r = move(%q), %m = dequantise(%r)
//     up      %m = move(%x), %q = quantise(%m)        →   %r = quantise(%x), %q = move(%r)
//     gone    %x = dequantise(%q), %p = quantise(%x)  →   %q
//
// For scales and zero points of a whole tensor, known numbers, and integers of 8 bits. Moves are views, permutations,
// slices, splits, concatenations, expansions, repetitions, paddings and resampling by the nearest; down go the largest
// numbers of windows too, whose order a positive scale keeps. Down, the parts of a concatenation have one scale and
// zero point, and what pads is a number that a byte stands for. Up, only this one reads what was moved, and it is not
// less than what it was taken from, or more would be quantised than before. What quantised a constant stays with it.
//
// Why the last is exact, for a finite scale s in [1e-30, 1e30], in f32: let n = q - zero point, a whole number of at
// most 383, so that s * n is neither too large nor denormal. round(s * n) / s, rounded, is n * (1 + e) with |e| <
// 2^-21, and the product with 1 / s, rounded, as well; they differ from n by less than 1/2 and are n once they are
// rounded. So the sum with the zero point is q again, where the limits are those of q's type.
//
// `--why fusion` says which.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> move_quantization(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse

// narrow_results: results of products that are bf16 in memory, because all who read them would round them to it.
//
//     %y: f32[1,64,56,56] = berth::conv(%x, %w: bf16[…], …)        →  %y: bf16[1,64,56,56] = berth::conv(…, bf16)
//     %z: f32[1,64,56,56] = berth::conv(%y, %v: bf16[…], …)           %z: f32[1,64,56,56] = berth::conv(%y, %v, …)
//
// A product with a weight of bf16 rounds its input to bf16 before it multiplies (kernels/portable/fused_narrow.h), and
// rounding twice is rounding once: no output changes by a bit. The tensor takes half the memory, is written and read in
// half the traffic, and is not copied for the reader.
//
// For a result of berth::conv or berth::linear with a weight of bf16 which only such products read, each as its input
// and in the same graph of one delegate, and for which there are fast kernels (cpu::takes_narrow_tensors): others read
// f32, or would round to f32 what was rounded already. Between a product and those that read it may stand what moves
// elements or picks the largest, as concatenations, views, layout copies and max pooling do: they give the same of
// rounded elements, rounded, and their results are bf16 as well.
//
//     %m: f32[1,64,28,28] = max_pool2d(%y, …)             →  %m: bf16[1,64,28,28] = max_pool2d(%y, …)
//
// `--why precision` says of each product with a weight of bf16 what its result is, or why not:
//
//     result in bf16               it is stored so
//     result in f32: output        it leaves the delegate, whose interface is f32
//     result in f32: read-as-f32   something reads all 24 bits: an operator that is not a product, a product of f32 or
//                                  f16, a residual, a body of a condition or a loop
//     result in f32: in-place      a sum can lie in its residual, which nothing reads afterwards and which is f32; a
//                                  sum of bf16 would lie beside it
//     result in f32: no-kernel     there is no fast kernel that writes it, or that reads it
//
// Behind all other passes of this room: those look for products of f32.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

enum class ResultReason : uint8_t { kNarrowed, kOutput, kReadWide, kInPlace, kNoEngine };

const char* to_string(ResultReason reason);

Expected<passes::Changed> narrow_results(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse

// Inserting: writes a choice and its scales into a method, as pairs of operators.
//
//     %y = aten::convolution(%x, %w, %b, …)
//   →
//     %x_q: u8[…] = quantized_decomposed::quantize_per_tensor(%x, 0.02, 128, 0, 255, u8)
//     %x_8: f32[…] = quantized_decomposed::dequantize_per_tensor(%x_q, 0.02, 128, 0, 255, u8)
//     %w_8: f32[…] = quantized_decomposed::dequantize_per_channel(%w_q, %w_scales, none, 0, -128, 127, i8)
//     %y = aten::convolution(%x_8, %w_8, %b_8, …)
//
// The bias becomes a multiple of the product of both scales. All targets compute what these operators say; those that
// fuse find the pairs (compiler/fuse/quantized_pairs.h) and compute on the integers.
#pragma once

#include <map>
#include <vector>

#include "base/failure.h"
#include "compiler/quantize/choose.h"
#include "compiler/quantize/scales.h"

namespace berth::quantize {

/// The scale of each point of a choice.
using PointScales = std::map<ir::ValueId, Scale>;
/// What is added to the bias of a layer: one number for each channel.
using Corrections = std::map<ir::NodeId, std::vector<float>>;

/// From the ranges of the values that points have, those that share a scale included.
PointScales scales_of(const Choice& choice, const std::map<ir::ValueId, Range>& ranges, DType dtype);

/// InvalidArgument with the layer as place for weights that are not finite.
Status insert(ir::Module& module, ir::Method& method, const Choice& choice, const PointScales& scales,
              const Corrections& corrections = {});

/// Behind each layer the same layer on rounded numbers, whose input is rounded where it stands, and returns their
/// results, one a layer: how far they are from the layer's own is what this layer alone does. Nothing else reads them.
Expected<std::vector<ir::ValueId>> insert_beside(ir::Module& module, ir::Method& method, const Choice& choice,
                                                 const PointScales& scales);

}  // namespace berth::quantize

// Convolutions and matrix products of 8-bit integers, exactly, in the kernels for floats: f32 represents every integer
// up to 2^24 exactly, so sums that could exceed it are split, and the parts are added as i32. If the weight is known,
// its elements give a tighter limit, so that usually nothing is split.
#pragma once

#include "compiler/import/lowering/convolution.h"
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

/// Quantised numbers without their zero point.
struct Centred {
  ValueId value;             // f32, whole numbers
  ValueId integers;          // what they were: u8 or i8
  double most = 255;         // no element is further from 0
  std::vector<double> zero;  // the zero point where it is known: one number, or one a slice; else empty
};

/// `x` less its zero point: input `zero_point`, left out for 0, in `shape` (the shape of the tensor that it is
/// subtracted from, or one that broadcasts to it).
Centred centred(NodeContext& n, ValueId x, size_t zero_point, const std::vector<Dim>& shape);

/// [..., rows, k] × [..., k, columns]. Sums are i32; f32 where `as_f32` and they are exact in it.
ValueId integer_matmul(NodeContext& n, const Centred& a, const Centred& b, bool as_f32);

/// The convolution of attribute values and kernel of `n`, zero padded, with `bias` (i32 [out]; may be none).
ValueId integer_convolution(NodeContext& n, const Centred& x, const Centred& weight, ValueId bias, bool as_f32);

}  // namespace berth::onnx

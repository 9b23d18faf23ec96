// Choosing: which nodes of a method compute on 8-bit integers, and which values are rounded to them for that.
//
// A layer is a convolution or a matrix product with a constant weight: its input is rounded, its weight stored in 8
// bits. What a layer gives is rounded behind the functions of that one value that follow it (a ReLU, a GELU in any
// number of nodes), and only if something that computes in 8 bits reads it. Between layers these stay in 8 bits: views,
// permutations, slices, largest-value pooling and padding with 0, with the scale that they find; sums and products of
// two tensors, averages, concatenations and functions of one value, with a scale of their own. Of a sum of which one
// side is a layer's result that nothing else reads, that side is not rounded. Products of two activations stay in f32.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/quantize/layers.h"

namespace berth::quantize {

/// A value that is rounded.
struct Point {
  ir::ValueId value;
  /// The earlier point whose scale it has; invalid: its own.
  ir::ValueId scale_of;
  /// Whether all that read the value read it rounded, because what makes it computes in 8 bits. Otherwise `readers` do.
  bool everywhere = false;
  std::vector<ir::NodeId> readers;
};

struct Choice {
  std::vector<Layer> layers;
  std::vector<Point> points;  // in the order in which they are computed
};

/// With these layers of find_layers().
Choice choose(const ir::Module& module, const ir::Method& method, std::vector<Layer> layers);

}  // namespace berth::quantize

// Choosing: which nodes of a method compute on 8-bit integers, and which values are rounded to them for that.
//
// A layer is a convolution or a matrix product with a constant weight: its input is rounded, its weight stored in 8 bits.
// What a layer gives is rounded behind the functions of that one value that follow it (a ReLU, a GELU in any number of
// nodes), and only if something that computes in 8 bits reads it. Between layers these stay in 8 bits: views,
// permutations, slices, largest-value pooling and padding with 0, with the scale that they find; sums and products of two
// tensors, averages, concatenations and functions of one value, with a scale of their own. Of a sum of which one side is
// a layer's result that nothing else reads, that side is not rounded. Products of two activations stay in f32.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::quantize {

/// A node that can be a layer.
struct Layer {
  ir::NodeId node;
  std::string name;       // the node of the model, or the result
  ir::ValueId input;      // its first operand
  ir::ConstantId weight;  // f32
  size_t input_argument = 0;
  size_t weight_argument = 0;
  size_t bias_argument = 0;
  int channels = 0;         // the weight's dimension that the result has
  int result_channels = 0;  // and the result's; counted from the end when negative
  bool is_product = false;  // mm and addmm
  /// Whether `bias_argument` is, or can become, a constant of one number for each channel. Otherwise it stays.
  bool takes_bias = false;
};

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

/// All nodes of the method's body that can be layers, in order: f32 throughout, a weight of two elements or more, not
/// transposed convolutions.
std::vector<Layer> find_layers(const ir::Module& module, const ir::Method& method);

/// With these layers of find_layers().
Choice choose(const ir::Module& module, const ir::Method& method, std::vector<Layer> layers);

}  // namespace berth::quantize

// Layers: the nodes of a method that can compute on 8-bit integers, convolutions and matrix products with a constant
// weight.
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

/// All nodes of the method's body that can be layers, in order: f32 throughout, a weight of two elements or more, not
/// transposed convolutions. Not the steps of a recurrence, which read what the same weight gave before, nor the layers
/// whose results enter these: errors add up there, and targets that fuse make one operator of a step.
std::vector<Layer> find_layers(const ir::Module& module, const ir::Method& method);

/// The value that an argument is; invalid where it is something else.
ir::ValueId value_of(const ir::Argument& argument);
/// Whether it is a tensor of f32.
bool is_f32(const ir::Method& method, ir::ValueId value);

}  // namespace berth::quantize

// Activations: known by their formulas, and as what a convolution or product ends with.
//
// Importers and exporters write hard-swish, hard-sigmoid, silu, gelu and mish as sums, products and limits.
// fuse_activations makes one step of each (berth::elementwise with one op), which the passes after it take as the
// activation that it is.
#pragma once

#include <string>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// What `node` computes of one f32 tensor, element by element, in the words of format/operators.def.
struct ActivationOf {
  ir::ValueId input;
  std::string name;
  double alpha = 0;
  double beta = 0;
};

/// `node` as an activation, of f32, bf16 or f16; none when it is not such a node.
std::optional<ActivationOf> activation_of(const Context& context, const ir::Node& node);

Expected<passes::Changed> fuse_activations(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse

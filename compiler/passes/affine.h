// What a node does to each channel, when that is a scale and a shift: the arithmetic of fold_batch_norm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/module.h"

namespace berth::passes {

/// y[c] = x[c] * scale[c] + shift[c] for every channel c.
struct Affine {
  ir::ValueId input;
  std::vector<double> scale;
  std::vector<double> shift;
  bool scales = false;  // some scale is not 1
};

enum class AffineReason { kAffine, kOther, kNotConstant, kNotPerChannel };

/// Reads `node` as an Affine over `channels` channels along dimension `channel_dim` of its first result. kOther: it is
/// another kind of operator.
AffineReason read_affine(const ir::Module& module, const ir::Method& method, const ir::Node& node, int channel_dim,
                         int64_t channels, Affine* out);

/// The elements of a constant as doubles.
std::vector<double> numbers_of(const ir::Constant& constant);
/// A row-major constant of these elements.
ir::ValueId constant_of_numbers(ir::Builder& build, DType dtype, const std::vector<ir::Dim>& shape,
                                Span<const double> numbers, const std::string& name);

}  // namespace berth::passes

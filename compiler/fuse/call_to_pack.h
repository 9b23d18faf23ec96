// A call of berth::conv or berth::linear in the words of kernels/cpu/packing.h.
#pragma once

#include "compiler/ir/module.h"
#include "kernels/cpu/packing.h"

namespace berth::fuse {

/// The dense constant that is the weight of `node`; null when `node` is another operator, its weight is packed or made
/// while the program runs, or does not lie in row-major order.
const ir::Constant* dense_weight(const ir::Module& module, const ir::Method& method, const ir::Node& node);

/// With the largest sizes where some are open. False for calls that have no packing. REQUIRES: the node is berth::conv,
/// berth::linear.
bool conv_to_pack(const ir::Module& module, const ir::Method& method, const ir::Node& node, const ir::Constant& weight,
                  cpu::ConvToPack* conv);
bool linear_to_pack(const ir::Module& module, const ir::Method& method, const ir::Node& node,
                    const ir::Constant& weight, cpu::LinearToPack* linear);

}  // namespace berth::fuse

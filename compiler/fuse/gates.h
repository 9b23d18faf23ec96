// Gates of recurrent layers as models write them out: columns of a sum under an activation. And the weights of these
// layers as their operators read them.
#pragma once

#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

struct Gate {
  ir::ValueId base;
  int64_t column = 0;
  ir::OpId function = ir::OpId::kCount;  // sigmoid_out, tanh_out, or none
};

/// `value` as columns of another value, through cuts of the last dimension, one sigmoid or tanh, and views above that;
/// its own columns when there is nothing of the kind.
Gate gate_of(const Context& context, ir::ValueId value);

/// Whether the node only gives the steps, dimension 0, from the last to the first.
bool is_turned_round(const ir::Node& node);

/// A weight [size, gates * size] in blocks of units: a constant [blocks, size, gates, width], zeros beyond the last
/// unit.
ir::ValueId in_blocks(ir::Builder& build, const std::vector<float>& dense, int64_t size, int64_t gates,
                      const std::string& name);

}  // namespace berth::fuse

// Nodes that copy a value to another place of its device, which planning adds to a method.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace berth::memory {

/// A new node that copies `from` into `*made`, a value called `name`: aten::clone on the host, berth::_d2d_copy within
/// another device. The caller puts it into a graph. `source` is what the node is made for, in messages.
ir::NodeId make_copy_node(ir::Method* method, ir::ValueId from, const std::string& name, const std::string& source,
                          ir::ValueId* made);

}  // namespace berth::memory

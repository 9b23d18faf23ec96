// What the passes of this room ask of a graph whose nodes hold regions.
#pragma once

#include "compiler/ir/module.h"

namespace berth::placement {

// The words of ir, which every file of this room speaks.
using ir::Argument;
using ir::Graph;
using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

inline bool is_delegate(const Node& node) { return node.is(OpId::delegate); }

inline bool is_copy(const Node& node) { return node.op->is_device_copy(); }

/// How messages name a node: `method f, aten::relu (%y) "Relu_0"`.
std::string place_of(const Method& method, const Node& node);

}  // namespace berth::placement

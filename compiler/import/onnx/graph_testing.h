// Graphs within the nodes of test models: branches and bodies of loops.
#pragma once

#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {

using Inner = proto::Graph;

/// An empty graph as `attribute` of `node`.
inline Inner* graph(TestNode node, const char* attribute) {
  return node.add(attribute, AttributeType::kGraph).mutable_g();
}

inline void add_input(Inner* g, const std::string& name) { g->add_input()->set_name(name); }
inline void add_output(Inner* g, const std::string& name) { g->add_output()->set_name(name); }
inline TestNode add_node(Inner* g, const std::string& type, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
  return TestModel::fill(g->add_node(), type, inputs, outputs);
}

}  // namespace berth::onnx

// NodeContext: an ONNX node that is being imported. The importer of each operator is a function that takes one.
//
//     void import_hard_swish(NodeContext& n) {
//       const ValueId x = n.input(0);
//       const ValueId gate = n.op(OpId::clamp_out, {n.op(OpId::add_Scalar_out, {x, 3.0}), 0.0, 6.0});
//       n.output(0, n.op(OpId::mul_Scalar_out, {n.op(OpId::mul_out, {x, gate}), 1.0 / 6}));
//     }
//
// Failures, types and building are Lowering's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/lowering/lowering.h"
#include "compiler/import/onnx/scope.h"

namespace berth::onnx {

using lowering::Argument;
using lowering::Dim;
using lowering::DimList;
using lowering::None;
using lowering::OpId;
using lowering::ValueId;
using lowering::ValueList;

class GraphImporter;

/// The state shared by all nodes of a graph.
struct ImportState {
  ir::Module& module;
  ir::Method& method;
  ir::Builder build;
  LiteralReader& literals;
  GraphImporter* importer = nullptr;  // of graphs within nodes
  bool by_pytorch = false;            // torch.onnx.export wrote the model
};

/// An attribute as a node has it; in function bodies, after references to the call's attributes are resolved.
using AttributeList = std::vector<std::pair<std::string_view, const Attribute*>>;

class NodeContext : public lowering::Lowering {
 public:
  /// What is imported so far.
  using Lowering::method;

  /// Borrows everything. `source` is the node's name for messages and for the IR.
  NodeContext(ImportState& state, Scope& scope, const Node& node, AttributeList attributes, int64_t opset,
              std::string source);

  const Node& node() const { return node_; }
  ImportState& state() { return state_; }
  Scope& scope() { return scope_; }
  /// The model's version of ai.onnx, on which the meaning of attributes and inputs depends.
  int64_t opset() const { return opset_; }

  // Inputs
  size_t input_count() const { return node_.inputs.size(); }
  /// Whether input `i` is present (optional ones may be omitted or have the name "").
  bool has_input(size_t i) const {
    return i < node_.inputs.size() && !node_.inputs[i].empty() && !scope_.is_absent(node_.inputs[i]);
  }
  /// Input `i` as a tensor of the graph.
  ValueId input(size_t i);
  /// Every input, in order; none may be left out.
  ValueList all_inputs();
  /// The elements of input `i` where they are known and few (see known.h).
  std::optional<Known> known(size_t i);
  /// Input `i`, called `what` in messages, as sizes: 1-d or 0-d integers that must be known while compiling.
  DimList known_dims(size_t i, const char* what);
  /// The same where symbols are not allowed (axes, permutations).
  std::vector<int64_t> known_integers(size_t i, const char* what);
  /// The only element of input `i`, as a number that is known; `what` as above.
  double known_number(size_t i, const char* what);
  /// The only element of input `i` as an integer that is known, a symbol perhaps, also where a cast has made a real of
  /// it; nothing when it is none.
  std::optional<Dim> known_whole(size_t i);
  /// known_number() as an integer; a real one is rounded towards zero and must lie within ±2^62.
  int64_t known_integer(size_t i, const char* what);

  // Attributes: the value, or `fallback` when the node does not have it; a failure when it is of another type.
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  const Attribute* attribute(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback);
  /// ONNX's defaults are 32-bit floats, which matters for models in f64: write 0.01f.
  double number(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<int64_t> integers(std::string_view name, const std::vector<int64_t>& fallback = {});
  std::vector<double> numbers(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  /// The graph that attribute `name` is; null, with a failure, when it is none.
  const Graph* graph(std::string_view name);
  /// The elements of tensor attribute `name`, when it is small.
  std::optional<Known> known_attribute(std::string_view name);
  /// Tensor attribute `name` as a constant, for elements of which none are ever known (u64, narrow types).
  ValueId constant_attribute(std::string_view name);

  // Outputs
  size_t output_count() const { return node_.outputs.size(); }
  /// Whether output `i` is used.
  bool wants_output(size_t i) const { return names_output(i) && uses(node_.outputs[i]) > 0; }
  /// A tensor of known elements, as it stands in this node's graph.
  ValueId materialize(const Known& known, std::string_view name);
  /// `operand` as a tensor, as it stands in this node's graph; invalid when it stands for nothing.
  ValueId tensor_of(const Operand& operand);
  /// Sets output `i`; the value gets its name if it was computed by this node. Outputs without a name are ignored.
  void output(size_t i, ValueId value);
  void output(size_t i, Known known);
  /// Output 0 is the tensor of attribute 'value' or 'sparse_value', read when it is first used.
  void output_literal();
  /// Output `i` is what input `j` is, known elements included.
  void forward(size_t i, size_t j);
  /// The same for an output of another graph.
  void output(size_t i, Operand operand);
  /// What input `i` stands for, as another graph may take it; empty after a failure.
  Operand input_operand(size_t i);

  /// How often the result called `name` is read in this scope.
  int uses(std::string_view name) const;

 private:
  bool names_output(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  Operand* operand(size_t i);
  Operand* tensor_operand(size_t i);

  ImportState& state_;
  Scope& scope_;
  const Node& node_;
  AttributeList attributes_;
  int64_t opset_;
  ValueId first_new_value_;
};

/// The name of `node` in messages: `onnx node "Conv_12"`, or type and first output where it has no name. `caller`, the
/// source of the call, stands in front inside function bodies; it may be empty.
std::string node_source(const Node& node, std::string_view caller);

}  // namespace berth::onnx

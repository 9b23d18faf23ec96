// NodeContext: one ONNX node while it is turned into operators of the IR. Every operator's importer is a function of
// it.
//
//     void import_hard_swish(NodeContext& n) {
//       const ValueId x = n.input(0);
//       const ValueId gate = n.op(OpId::clamp_out, {n.op(OpId::add_Scalar_out, {x, 3.0}), 0.0, 6.0});
//       n.output(0, n.op(OpId::mul_Scalar_out, {n.op(OpId::mul_out, {x, gate}), 1.0 / 6}));
//     }
//
// It remembers the first failure. From then on nothing is appended, calls return empty values, and every accessor may
// still be called with them; what an importer computes after that is dropped. Loops over sizes that a failure made up
// are short, because shapes of empty values are empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/onnx/scope.h"
#include "compiler/ir/builder.h"

namespace berth::onnx {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::None;
using ir::OpId;
using ir::ValueId;
using ir::ValueList;

/// What all nodes of one import share.
struct ImportState {
  ir::Module& module;
  ir::Method& method;
  ir::Builder build;
  LiteralReader& literals;
};

/// An attribute as a node has it; in function bodies, after references to the call's attributes are resolved.
using AttributeList = std::vector<std::pair<std::string_view, const Attribute*>>;

class NodeContext {
 public:
  /// Borrows everything. `source` is the node's name for messages and for the IR.
  NodeContext(ImportState& state, Scope& scope, const Node& node, AttributeList attributes, int64_t opset,
              std::string source);

  const Node& node() const { return node_; }
  /// The version of ai.onnx that the model asks for: meaning of attributes and inputs depends on it.
  int64_t opset() const { return opset_; }
  ir::Symbols& symbols() { return state_.module.symbols; }

  // Failure
  bool ok() const { return !failure_.has_value(); }
  void fail(Error code, std::string message);
  void unsupported(std::string message) { fail(Error::kNotSupported, std::move(message)); }
  void invalid(std::string message) { fail(Error::kInvalidArgument, std::move(message)); }
  const Failure& failure() const { return *failure_; }

  // Inputs
  size_t input_count() const { return node_.inputs.size(); }
  /// Whether input `i` is there (optional ones may be left out or be named "").
  bool has_input(size_t i) const {
    return i < node_.inputs.size() && !node_.inputs[i].empty() && scope_.absent.count(node_.inputs[i]) == 0;
  }
  /// Input `i` as a tensor of the graph.
  ValueId input(size_t i);
  /// Every input, in order; none may be left out.
  ValueList all_inputs();
  /// Whether input `i` stands in the model as 4-bit integers, which are widened to 8 when read.
  bool is_nibbles(size_t i);
  /// The elements of input `i` where they are known and few (see known.h).
  std::optional<Known> known(size_t i);
  /// Input `i`, called `what` in messages, as sizes: 1-d or 0-d integers that must be known while compiling.
  DimList known_dims(size_t i, const char* what);
  /// The same where symbols are no answer (axes, permutations).
  std::vector<int64_t> known_integers(size_t i, const char* what);
  /// The only element of input `i`, as a number that is known; `what` as above.
  double known_number(size_t i, const char* what);
  /// The same as an integer; a real one is rounded towards zero and must lie within ±2^62.
  int64_t known_integer(size_t i, const char* what);

  // Types. All are safe for empty values: f32, rank 0, Dim(1).
  DType dtype(ValueId v) const;
  std::vector<Dim> shape(ValueId v) const;
  int rank(ValueId v) const;
  Dim dim(ValueId v, int axis) const;
  /// The product of dimensions [first, last).
  Dim product(const std::vector<Dim>& shape, int first, int last);
  /// Whether `v` is a constant of the module.
  bool is_constant(ValueId v) const { return ir::constant_of(state_.module, state_.method, v) != nullptr; }
  /// "f32[1,64,n]", for messages.
  std::string type_text(ValueId v) const;
  /// `dim` as a number; fails with `what` when it is a symbol.
  int64_t fixed(Dim dim, const char* what);
  /// `axis` counted from the front; fails when outside [-rank, rank). 0 after any failure.
  int axis(int64_t axis, int rank);
  /// The same for several; fails on repeats.
  std::vector<int> axes(const std::vector<int64_t>& axes, int rank);

  // Attributes: the value, or `fallback` when the node does not have it; a failure when it is of another type.
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  const Attribute* attribute(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback);
  double number(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<int64_t> integers(std::string_view name, const std::vector<int64_t>& fallback = {});
  std::vector<double> numbers(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  /// The elements of tensor attribute `name`, when it is small.
  std::optional<Known> known_attribute(std::string_view name);

  // Building
  /// Appends an operator and returns its first result.
  ValueId op(OpId id, std::vector<Argument> args);
  /// Appends an operator and returns all results; empty after a failure.
  std::vector<ValueId> ops(OpId id, std::vector<Argument> args);
  ValueId splat(DType dtype, std::vector<Dim> shape, double number);
  ValueId ints(const std::vector<int64_t>& numbers);
  ValueId constant(ir::TensorType type, ir::Blob blob);
  /// `x` itself where nothing would change.
  ValueId cast(ValueId x, DType dtype);
  ValueId view(ValueId x, std::vector<Dim> shape);
  ValueId permute(ValueId x, const std::vector<int64_t>& order);
  ValueId expand(ValueId x, std::vector<Dim> shape);
  /// `x` with dimensions of size 1 in front, until it has `rank` of them.
  ValueId pad_rank(ValueId x, int rank);

  // Outputs
  size_t output_count() const { return node_.outputs.size(); }
  /// Whether somebody reads output `i`.
  bool wants_output(size_t i) const { return names_output(i) && uses(node_.outputs[i]) > 0; }
  /// Gives output `i`; the value takes its name when it was made by this node. Outputs without a name are ignored.
  void output(size_t i, ValueId value);
  void output(size_t i, Known known);
  /// Output 0 is the tensor of attribute 'value' or 'sparse_value', read when it is first used.
  void output_literal();
  /// Output `i` is what input `j` is, known elements included.
  void forward(size_t i, size_t j);

  /// How often the result called `name` is read in this scope.
  int uses(std::string_view name) const;
  /// The node that made `v`, or null when `v` is no node's result.
  const ir::Node* producer(ValueId v) const;
  const std::string& source() const { return source_; }

 private:
  bool names_output(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  Operand* operand(size_t i);
  /// Whether one more operator is in order; a failure otherwise.
  bool may_append();
  ValueId materialize(const Known& known, std::string_view name);
  ValueId append(OpId id, std::vector<Argument> args, std::string_view name);

  ImportState& state_;
  Scope& scope_;
  const Node& node_;
  AttributeList attributes_;
  int64_t opset_;
  std::string source_;
  size_t first_new_value_;
  std::optional<Failure> failure_;
};

/// The name of `node` in messages: `onnx node "Conv_12"`, or type and first output where it has no name. `caller`, the
/// source of the call, stands in front inside function bodies; it may be empty.
std::string node_source(const Node& node, std::string_view caller);

}  // namespace berth::onnx

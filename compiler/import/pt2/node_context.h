// NodeContext: a node of torch.export's graph that is being imported. The importer of each operator is a function that
// takes one.
//
//     void import_silu(NodeContext& n) {
//       const ValueId x = n.tensor("self");
//       n.output(n.op(OpId::mul_out, {x, n.op(OpId::sigmoid_out, {x})}));
//     }
//
// Arguments have the names of the operator's schema in ATen; those with default values are not in the file. Failures,
// types and building are Lowering's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/lowering/fourier.h"
#include "compiler/import/lowering/lowering.h"
#include "compiler/import/pt2/schema.h"
#include "compiler/import/pt2/scope.h"
#include "compiler/import/pt2/symbols.h"

namespace berth::pt2 {

using lowering::Complex;
using lowering::DimList;
using lowering::None;
using lowering::number_of;
using lowering::OpId;
using lowering::ValueId;
using lowering::ValueList;
using IrArgument = lowering::Argument;

/// The state shared by all nodes of an import.
struct ImportState {
  ir::Module& module;
  ir::Method& method;
  SymbolTable& symbols;
  lowering::FourierConstants transforms = {};
  std::optional<DType> autocast = {};  // within a region of torch.autocast: the type of products
};

/// What accessors give of complex tensors and numbers, and what the outputs then are.
enum class Part {
  kNone,       // complex tensors are a failure
  kReal,       // the real part
  kImaginary,  // the imaginary part: zeros of real tensors and numbers, where an argument is data
};

class NodeContext : public lowering::Lowering {
 public:
  /// Borrows everything. `graph` is the one that the node stands in; `op` the operator's name without namespace and
  /// overload.
  NodeContext(ImportState& state, ir::Builder& build, Scope& scope, const Graph& graph, const Node& node);

  const Node& node() const { return node_; }
  const Graph& graph() const { return graph_; }
  ImportState& state() { return state_; }
  Scope& scope() { return scope_; }
  ir::Builder& builder() { return build(); }
  /// Fails as something within this node did.
  void fail_with(const Failure& failure) { Lowering::fail(failure); }

  // Arguments, by the schema's names. "has": it is there and is not None.
  const Argument* argument(std::string_view name) const;
  bool has(std::string_view name) const;
  /// A tensor. A number becomes one of no dimensions, of a type that changes nothing when it meets `like`.
  ValueId tensor(std::string_view name, ValueId like = {});
  /// The same, or None.
  IrArgument optional_tensor(std::string_view name);
  /// Every tensor of a list; invalid ids for None.
  ValueList tensors(std::string_view name);
  /// A number, as the IR's Scalar.
  IrArgument scalar(std::string_view name, IrArgument fallback);
  Dim dim(std::string_view name, Dim fallback);
  DimList dims(std::string_view name);
  int64_t integer(std::string_view name, int64_t fallback);
  std::vector<int64_t> integers(std::string_view name);
  double number(std::string_view name, double fallback);
  std::vector<double> numbers(std::string_view name);
  bool truth(std::string_view name, bool fallback);
  std::string text(std::string_view name, std::string_view fallback);
  DType dtype(std::string_view name, DType fallback);
  /// What `argument` stands for in the IR; `name` is for messages. Fails for what the IR has no word for.
  IrArgument value(const Argument& argument, std::string_view name);
  /// A number as a tensor of no dimensions.
  ValueId as_tensor(const IrArgument& number, ValueId like);

  using Lowering::dim;
  using Lowering::dtype;
  using Lowering::numbers;

  /// From here on accessors cast floats to `type`, those of f64 apart (autocast.h).
  void cast_floats(DType type) { floats_ = type; }

  // Complex numbers
  /// Whether the node reads or gives a complex tensor, or reads a complex number.
  bool is_complex() const;
  /// For accessors and outputs from here on.
  void take(Part part) { part_ = part; }
  /// A tensor or a number, complex or real.
  Complex complex(std::string_view name, ValueId like = {});
  std::vector<Complex> complexes(std::string_view name);
  /// Sets output `i` to a complex tensor; parts that are absent are zeros.
  void output(size_t i, Complex value);

  // Outputs, in order; lists count as their elements.
  size_t output_count() const { return outputs_.size(); }
  const std::string& output_name(size_t i) const { return outputs_[i]; }
  /// The file's description of output `i`; may be null.
  const TensorMeta* output_meta(size_t i) const;
  /// Sets output `i` (0); a value computed by this node gets its name. Outputs without a name are ignored.
  void output(ValueId value) { output(0, IrArgument(value)); }
  void output(size_t i, IrArgument value);
  /// Sets all outputs.
  void outputs(const std::vector<ValueId>& values);
  /// Argument `name`, which the node writes in place (written_arguments), has a new value.
  void write(std::string_view name, ValueId value);
  /// Marks output `i` as unknown, which is a failure only if it is used.
  void unknown_output(size_t i, std::string why);

 private:
  IrArgument named_value(const std::string& name);
  IrArgument part_of(const Argument& argument, size_t i, std::string_view name);
  void size_unknown(std::string_view name);
  Dim symbolic(const Argument& argument, size_t i, std::string_view name);

  ImportState& state_;
  Scope& scope_;
  const Graph& graph_;
  const Node& node_;
  std::vector<NamedArgument> in_tensors_;  // numbers of the node that lie in tensors, as these
  std::vector<std::string> outputs_;
  ValueId first_new_value_;
  Part part_ = Part::kNone;
  std::optional<DType> floats_;  // what floats that the node reads are cast to
};

/// "at model.py:12: return self.fc(x)": where the user wrote the node; empty when the file does not say.
std::string written_at(const Node& node);
/// The operator of "torch.ops.aten.add.Tensor": "add.Tensor", with `space` "aten"; other targets are their own name.
std::string operator_name(const std::string& target, std::string* space);

}  // namespace berth::pt2

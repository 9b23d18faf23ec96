// Module, Method, Graph, Node, Value: the intermediate representation.
//
// SSA and functional: every value is defined once, by a method input, a constant or a node, and never changes; views
// and in-place are decisions of the planner, never semantics of the graph. Nodes of a graph stand in an order that
// defines before it uses; regions (bodies of if, while, scan) may use values of the graphs around them.
//
//     symbol n in [1, 8]
//     const @w: f32[64,3,7,7] = …
//     method forward(%x: f32[n,3,224,224]) {
//       %w: f32[64,3,7,7] = const @w
//       %y: f32[n,64,112,112] = aten::convolution(%x, %w, none, [2, 2], [3, 3], [1, 1], false, [0, 0], 1) "Conv_0"
//       return %y
//     }
//
// The text form is in docs/ir.md; print.h and parse.h are its two ends. Ownership: plain values; ids are indices that
// stay valid while the method lives (erased nodes keep their slot). Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ir/argument.h"
#include "compiler/ir/blob.h"
#include "compiler/ir/operators.h"
#include "compiler/ir/type.h"

namespace berth::ir {

class OperatorSet;  // own_operators.h
struct Constant;
struct State;
struct Delegate;

using ConstantId = Id<Constant>;
using StateId = Id<State>;
using DelegateId = Id<Delegate>;

/// A constant tensor, shared by all methods.
struct Constant {
  std::string name;
  TensorType type;  // static, on the cpu
  Blob blob;        // in the order that type.dim_order gives
};

/// A named tensor that keeps its contents from call to call, shared by the methods that mention it.
struct State {
  std::string name;
  TensorType type;
  std::optional<Blob> initial;  // zero at the start when absent
};

/// An option of a delegate: bytes that its backend alone understands.
struct CompileSpec {
  std::string key;
  std::string value;
};

/// A part of the model that a backend compiles and runs. Each call of berth::delegate names one.
struct Delegate {
  std::string name;
  std::string backend;             // the name that the runtime finds it by, "berth.sim"
  std::vector<CompileSpec> specs;  // "target_device" among them when it is not the host
  /// Compiled elsewhere, such as in an ExecuTorch program; absent when the call's region is what is to be compiled.
  std::optional<Blob> payload;
};

/// Bytes that delegates with a payload find by key when they run. Which delegate reads them is known to its backend
/// only.
struct NamedData {
  std::string key;
  Blob blob;
};

enum class ValueKind : uint8_t { kInput, kConstant, kNode };

struct Value {
  std::string name;  // without '%'; unique within the method
  Type type;
  ValueKind kind = ValueKind::kInput;
  ConstantId constant;  // of kConstant
  NodeId node;          // of kNode: the node that defines it
  int result = 0;       // of kNode: which of its results

  const TensorType* tensor() const { return std::get_if<TensorType>(&type); }
  TensorType* tensor() { return std::get_if<TensorType>(&type); }
};

/// A straight list of nodes with inputs and outputs: the body of a method, or a region of a node.
struct Graph {
  std::vector<ValueId> inputs;
  std::vector<NodeId> nodes;      // in order of execution
  std::vector<Argument> outputs;  // values, or literals (None, Dim, double, bool, string)
};

struct Node {
  const Operator* op = nullptr;
  std::vector<Argument> args;  // one a parameter of op
  std::vector<ValueId> results;
  std::vector<Graph> regions;
  StateId state;        // of state_read and state_write
  DelegateId delegate;  // of delegate
  std::string source;   // the node of the user's model that it came from; may be empty

  bool is(OpId id) const { return op->id == id; }
};

struct Method {
  std::string name;
  IdVector<ValueId, Value> values;
  IdVector<NodeId, Node> nodes;
  Graph body;
  /// What the model calls its outputs, by position in body.outputs. Missing or empty: by the value's name. An output
  /// keeps its name when passes replace its value, and when it is an input or another output as well.
  std::vector<std::string> output_names;

  Value& value(ValueId id) { return values[id]; }
  const Value& value(ValueId id) const { return values[id]; }
  Node& node(NodeId id) { return nodes[id]; }
  const Node& node(NodeId id) const { return nodes[id]; }

  /// The tensor type of `id`. REQUIRES: it is a tensor.
  const TensorType& tensor(ValueId id) const {
    const TensorType* type = value(id).tensor();
    BERTH_CHECK(type != nullptr);
    return *type;
  }

  /// The name of output `k`; empty for a number that has none.
  const std::string& output_name(size_t k) const;

  /// A fresh value; `name` is made unique by a suffix when taken or empty.
  ValueId add_value(Type type, std::string_view name);
  /// Gives `id` another name; made unique by a suffix when taken. Its old name is free again.
  void rename(ValueId id, std::string_view wish);
  /// A fresh method input at the end of body.inputs.
  ValueId add_input(Type type, std::string_view name);
  /// The value that stands for constant `id` of `module`; one value a constant.
  ValueId constant_value(const Module& module, ConstantId id);
  /// After the module's constants moved: `moved` gives the new id by the old one, none for those that are gone. Values
  /// of the latter stay behind as values that nothing defines and nothing may mention.
  void renumber_constants(const IdVector<ConstantId, ConstantId>& moved);

 private:
  std::string unique_name(std::string_view wish);
  std::unordered_map<std::string, int> names_;  // names in use, and the last suffix tried with each
  IdVector<ConstantId, ValueId> constant_values_;
};

struct Module {
  Symbols symbols;
  IdVector<ConstantId, Constant> constants;
  IdVector<StateId, State> states;
  IdVector<DelegateId, Delegate> delegates;
  std::vector<NamedData> named_data;  // each key once
  std::vector<Method> methods;
  /// The files that it was read from, those of its constants included. Importers fill the list; compile_to_file() and
  /// the tool do not overwrite any of them.
  std::vector<std::string> files;
  /// The operators of one's own that nodes may have; null: none. Nodes point into it.
  std::shared_ptr<const OperatorSet> operators;

  /// A fresh constant; `name` is made unique by a suffix when taken or empty.
  ConstantId add_constant(std::string_view name, TensorType type, Blob blob);
  const Method* find_method(std::string_view name) const;

 private:
  std::unordered_map<std::string, int> constant_names_;
};

/// The literal bytes of a value that is a constant, or null.
const Constant* constant_of(const Module& module, const Method& method, ValueId value);
/// The same for an argument; null when it is not a value.
const Constant* constant_of(const Module& module, const Method& method, const Argument& argument);

/// Calls `f(Graph&)` for `graph` and, inner before outer, for every region in it. `M` is Method or const Method.
template <typename M, typename G, typename F>
void for_each_graph(M& method, G& graph, F&& f) {
  for (NodeId id : graph.nodes) {
    for (auto& region : method.node(id).regions) for_each_graph(method, region, f);
  }
  f(graph);
}

/// Calls `f(ValueId)` for each value that `node` mentions, in its regions too; those of delegates, which are closed,
/// left out. What a region defines itself is among them.
template <typename F>
void for_each_mention(const Method& method, const Node& node, F&& f) {
  for (const Argument& argument : node.args) for_each_value(argument, f);
  if (node.is(OpId::delegate)) return;
  for (const Graph& region : node.regions) {
    for (NodeId id : region.nodes) for_each_mention(method, method.node(id), f);
    for (const Argument& output : region.outputs) for_each_value(output, f);
  }
}

/// How often each value is mentioned: arguments of nodes in graphs (regions too) and outputs.
IdVector<ValueId, int> count_uses(const Method& method);

/// Whether no tensor of the method has a size that changes.
bool has_static_sizes(const Method& method);

/// Replaces every mention of value v by replacement[v] where that is valid, following chains, everywhere in the method.
void replace_values(Method& method, const IdVector<ValueId, ValueId>& replacement);

}  // namespace berth::ir

// What If, Loop and Scan share: operands that are known while the model is imported, inner graphs, and types that must
// agree.
//
// What is decided while importing becomes plain nodes, where a graph is imported at the end of its node's own graph;
// the rest becomes berth::if, berth::while and berth::scan, whose regions they are imported into.
#pragma once

#include "compiler/import/onnx/import_graph.h"

namespace berth::onnx {

using Operands = std::vector<Operand>;

/// Short loops become their turns one after another: turns × nodes.
constexpr int64_t kMaxUnrolledTurns = 256;

// The operators, each in its own file.
void import_if(NodeContext& n);
void import_loop(NodeContext& n);
void import_scan(NodeContext& n);

Operand operand_of(ValueId id);
Operand operand_of(Known known);
/// A known bool, and a known i64, without dimensions.
Known scalar_truth(bool value);
Known scalar_whole(int64_t value);
/// The only element, where it is known to be a whole number, or a size.
std::optional<Dim> only_number(const std::optional<Known>& known);

/// Imports `graph`, an attribute of the node, with `inputs` for its inputs: at the end of `into`, or if that is null,
/// of the node's own graph. Its outputs; empty after a failure, which is set in `n`.
Operands import_inner_graph(NodeContext& n, const Graph& graph, const Operands& inputs, ir::Graph* into);

/// Those of `operands` from `first` up to before `last`, or to their end. REQUIRES: they are tensors.
ValueList ids_of(const Operands& operands, size_t first, size_t last);

ir::Type type_of(NodeContext& n, ValueId v);
std::vector<ir::Type> types_of(NodeContext& n, const ValueList& values);
/// Whether both lists agree; else a failure that names the first pair that does not, behind `sentence`.
bool same_types(NodeContext& n, const ValueList& expected, const ValueList& found, const char* sentence);

/// `v`, which berth::if and berth::while take for a condition; a failure unless it is one bool.
ValueId one_truth(NodeContext& n, ValueId v);

/// Makes `results` the node's: as many as it has, or those from `first` on.
void give_results(NodeContext& n, const Operands& results);
void give_results(NodeContext& n, const std::vector<ValueId>& results, size_t first);

}  // namespace berth::onnx

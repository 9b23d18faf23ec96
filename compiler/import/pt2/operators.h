// The supported operators of torch.export and their importers.
//
// Most have a row of their own in format/operators.def and are taken over argument by argument (generic.cc); views
// become copies, numbers where tensors stand the operator's Scalar overload. The others have a function here, in files
// by family. In-place operators (`add_`) are their functional forms; in_place.h updates the other tensors that change.
#pragma once

#include <string>
#include <string_view>

#include "base/span.h"
#include "compiler/import/pt2/node_context.h"

namespace berth::pt2 {

using Import = void (*)(NodeContext& n);

struct OperatorRow {
  std::string_view name;  // "silu" for every overload, "slice.Tensor" for one; "torchao::…" outside of ATen
  Import import;
};
using OperatorTable = Span<const OperatorRow>;

OperatorTable activation_operators();
OperatorTable attention_operators();
OperatorTable cache_operators();
OperatorTable cast_operators();
OperatorTable complex_operators();
OperatorTable conv_operators();
OperatorTable create_operators();
OperatorTable cumulative_operators();
OperatorTable distance_operators();
OperatorTable embedding_operators();
OperatorTable fourier_operators();
OperatorTable frequency_operators();
OperatorTable grouped_operators();
OperatorTable index_operators();
OperatorTable layout_operators();
OperatorTable linear_operators();
OperatorTable loss_operators();
OperatorTable matrix_operators();
OperatorTable norm_operators();
OperatorTable pad_operators();
OperatorTable pointwise_operators();
OperatorTable pool_operators();
OperatorTable recurrent_operators();
OperatorTable reduce_operators();
OperatorTable resize_operators();
OperatorTable split_operators();
OperatorTable symbol_operators();
OperatorTable system_operators();
OperatorTable torchao_operators();
OperatorTable vision_operators();
OperatorTable window_operators();

/// The importer of an operator: a function, or a row of format/operators.def. All null if it is not supported.
struct Importer {
  Import import = nullptr;
  const ir::Operator* row = nullptr;
  Import complex = nullptr;  // for nodes with complex tensors
  bool by_parts = false;     // it does the same to real and imaginary parts
  bool found() const { return import != nullptr || row != nullptr || complex != nullptr; }
};

/// The importer of `target` ("torch.ops.aten.add.Tensor"). In-place operators give that of their functional form.
Importer find_importer(const std::string& target, const ir::OperatorSet* own);
/// Whether `target` names an operator that writes its first argument: "torch.ops.aten.add_.Tensor".
bool writes_in_place(const std::string& target);

/// The tensors that `target` writes without saying so in its name, by the schema's names: caches of
/// "torch.ops.llama.update_cache.default". Its importer gives their new values to NodeContext::write().
Span<const char* const> written_arguments(const std::string& target);

/// The operator that auto_functionalized or auto_functionalized_v2 calls, whose written arguments become results; null
/// for other nodes.
const std::string* functionalized_target(const Node& node);
void import_functionalized(NodeContext& n);

/// Arithmetic on numbers that depend on data or sizes, as operators on tensors; results that tensors cannot express are
/// unknown.
void import_number(NodeContext& n);
/// Whether the ATen operator "view" of complex tensors is the same one of their real parts and of their imaginary
/// parts.
bool works_by_parts(std::string_view name);
/// Appends `n` as the operator `row`, argument by argument.
void import_generic(NodeContext& n, const ir::Operator& row);
void import_node(NodeContext& n, const Importer& importer);

}  // namespace berth::pt2

#include "compiler/import/pt2/in_place.h"

#include <algorithm>

#include "compiler/import/pt2/operators.h"
#include "compiler/import/pt2/view_strides.h"

namespace berth::pt2 {
namespace {

// The operator without overload: "view" of "torch.ops.aten.view.default".
std::string base_name(const Node& node) {
  std::string space;
  const std::string full = operator_name(node.target, &space);
  return space == "aten" ? full.substr(0, full.find('.')) : std::string();
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

// Those that drop elements give the tensor itself where nothing is trained, and are refused where something is.
bool is_same_shape(const std::string& op) {
  return is_one_of(op, {"alias", "detach", "lift_fresh", "detach_", "positive", "dropout", "feature_dropout",
                        "alpha_dropout", "feature_alpha_dropout", "contiguous"});
}

bool is_reshape(const std::string& op) {
  return is_one_of(op, {"view", "_unsafe_view", "squeeze", "unsqueeze", "view_as", "squeeze_", "unsqueeze_",
                        "atleast_1d", "atleast_2d", "atleast_3d"});
}

// Views where the memory allows it; copies otherwise.
bool is_maybe_reshape(const std::string& op) {
  return is_one_of(op, {"reshape", "flatten", "unflatten", "reshape_as", "ravel"});
}

bool is_transpose(const std::string& op) {
  return is_one_of(op, {"transpose", "t", "numpy_T", "mT", "swapaxes", "swapdims", "adjoint", "mH", "matrix_H"});
}

bool is_part(const std::string& op) {
  return is_one_of(op, {"select", "slice", "narrow", "split", "split_with_sizes", "chunk", "unbind", "tensor_split",
                        "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "hsplit", "vsplit", "dsplit"});
}

const std::string* tensor_argument(const Node& node, std::string_view name) {
  for (const NamedArgument& input : node.inputs) {
    if (input.name == name && input.value.kind == ArgumentKind::kTensor) return &input.value.names[0];
  }
  return nullptr;
}

const std::string* first_tensor(const Node& node) {
  if (node.inputs.empty() || node.inputs[0].value.kind != ArgumentKind::kTensor) return nullptr;
  return &node.inputs[0].value.names[0];
}

// What the file says of a tensor; null where it says nothing.
const TensorMeta* meta_of(const Graph& graph, const std::string& name) {
  const auto found = graph.tensors.find(name);
  return found == graph.tensors.end() ? nullptr : &found->second;
}

bool is_reshaped_in_place(const Graph& graph, const std::string& base, const Node& node) {
  if (node.outputs.empty() || node.outputs[0].names.empty()) return false;
  const TensorMeta* from = meta_of(graph, base);
  const TensorMeta* to = meta_of(graph, node.outputs[0].names[0]);
  return from != nullptr && to != nullptr && reshapes_in_place(*from, *to);
}

// `to` gives the tensor itself where there is nothing to convert.
bool same_dtype(const Graph& graph, const std::string& base, const Node& node) {
  if (node.outputs.empty() || node.outputs[0].names.empty()) return false;
  const auto from = graph.tensors.find(base);
  const auto to = graph.tensors.find(node.outputs[0].names[0]);
  return from != graph.tensors.end() && to != graph.tensors.end() && from->second.dtype == to->second.dtype;
}

bool is_view(const Graph& graph, const Node& node) {
  const std::string op = base_name(node);
  const std::string* base = first_tensor(node);
  if (base == nullptr) return false;
  if (is_maybe_reshape(op)) return is_reshaped_in_place(graph, *base, node);
  if (op == "contiguous") return meta_of(graph, *base) != nullptr && lies_in_order(*meta_of(graph, *base));
  if (op == "to") return same_dtype(graph, *base, node);
  return is_same_shape(op) || is_reshape(op) || is_transpose(op) || is_part(op) ||
         is_one_of(op, {"permute", "expand", "expand_as", "diagonal", "movedim", "moveaxis", "unfold", "real", "imag",
                        "broadcast_to", "as_strided", "view_as_real", "view_as_complex", "_conj", "conj", "_neg_view"});
}

std::vector<std::string> output_names(const Node& node) {
  std::vector<std::string> names;
  for (const Argument& output : node.outputs) names.insert(names.end(), output.names.begin(), output.names.end());
  return names;
}

// `base` with the part that output `k` of the view `n` shows replaced by `part`; invalid after n.unsupported().
ValueId put_back(NodeContext& n, ValueId base, ValueId part, size_t k) {
  const std::string op = base_name(n.node());
  const auto slice = [&](int axis, Dim start, Dim end, Dim step) {
    return n.op(OpId::slice_scatter_out, {base, part, Dim(axis), start, end, step});
  };
  if (is_same_shape(op) || op == "to" || op == "real" || op == "conj" || op == "_conj") return part;
  if (is_reshape(op) || is_maybe_reshape(op)) return n.view(part, n.shape(base));
  const int rank = n.rank(base);
  if (op == "numpy_T") {
    std::vector<int64_t> order(rank);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
    return n.permute(part, order);
  }
  if (is_transpose(op)) {
    std::vector<int64_t> order(rank);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    const bool named = n.has("dim0") || n.has("axis0");
    const char* const names[2] = {n.has("dim0") ? "dim0" : "axis0", n.has("dim0") ? "dim1" : "axis1"};
    const int a = rank == 0 ? 0 : n.axis(named ? n.integer(names[0], 0) : -2, rank);
    const int b = rank == 0 ? 0 : n.axis(named ? n.integer(names[1], 0) : -1, rank);
    if (n.ok() && rank > 0) std::swap(order[a], order[b]);
    return n.permute(part, order);
  }
  if (op == "permute") {
    const std::vector<int> dims = n.axes(n.integers("dims"), rank);
    if (n.ok() && dims.size() != static_cast<size_t>(rank)) n.invalid("'dims' does not name each dimension");
    if (!n.ok()) return {};
    std::vector<int64_t> order(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) order[dims[i]] = static_cast<int64_t>(i);
    return n.permute(part, order);
  }
  const int fixed = op == "dsplit" ? 2 : op == "hsplit" && rank > 1 ? 1 : 0;  // where the operator's name says it
  const int axis = rank == 0 ? 0 : n.axis(n.integer("dim", fixed), rank);
  if (op == "select") return n.op(OpId::select_scatter_out, {base, part, Dim(axis), n.dim("index", Dim(0))});
  if (op == "unbind") {
    return n.op(OpId::select_scatter_out, {base, part, Dim(axis), Dim(static_cast<int64_t>(k))});
  }
  if (op == "slice") {
    return slice(axis, n.dim("start", Dim(0)), n.dim("end", Dim(INT64_MAX)), n.dim("step", Dim(1)));
  }
  if (op == "narrow") {
    const Dim start = n.dim("start", Dim(0));
    return slice(axis, start, n.symbols().add(start, n.dim("length", Dim(0))), Dim(1));
  }
  if (is_part(op)) {  // the pieces of a split, one behind the other
    Dim start(0);
    for (size_t i = 0; i < k && n.ok(); ++i) {
      const auto piece = n.scope().find(n.output_name(i));
      const ValueId* value = piece == n.scope().end() ? nullptr : shape_of(piece->second);
      if (value != nullptr) start = n.symbols().add(start, n.dim(*value, axis));
    }
    return slice(axis, start, n.symbols().add(start, n.dim(part, axis)), Dim(1));
  }
  n.unsupported("what this view shows is written in place, which is not supported; write a copy (clone) instead");
  return {};
}

// The same where one of the two is complex.
Operand put_back_complex(NodeContext& n, const Operand& base, const Operand& part, size_t k) {
  const std::string op = base_name(n.node());
  const ValueId* real = std::get_if<ValueId>(&part.value);
  if (op == "view_as_complex") return {lowering::as_last_dimension(n, part.parts), {}, {}};
  if (op == "view_as_real" && real != nullptr) return complex_operand(lowering::from_last_dimension(n, *real));
  if (op == "real" && real != nullptr) return complex_operand({*real, base.parts.imaginary});
  if (op == "imag" && real != nullptr) return complex_operand({base.parts.real, *real});
  if (op == "_conj" || op == "conj") return complex_operand(lowering::conjugate(n, part.parts));
  if (!base.is_complex() || !part.is_complex())
    n.unsupported("writes a view of complex numbers, which is not supported");
  const ValueId first = put_back(n, base.parts.real, part.parts.real, k);
  return complex_operand({first, put_back(n, base.parts.imaginary, part.parts.imaginary, k)});
}

}  // namespace

InPlace::InPlace(ImportState& state, const Graph& graph, Scope& scope) : state_(state), graph_(graph), scope_(scope) {
  for (const Node& node : graph.nodes) {
    active_ = active_ || writes_in_place(node.target) || !written_arguments(node.target).empty();
  }
}

const InPlace::View* InPlace::view_of(const std::string& name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : &found->second;
}

const std::string& InPlace::root_of(const std::string& name) const {
  const std::string* root = &name;
  while (const View* view = view_of(*root)) root = &view->base;
  return *root;
}

Status InPlace::refresh(const std::string& name, ir::Builder& build) {
  // From the root to `name`, without recursion: chains of views are as long as the file likes.
  std::vector<std::string> chain;
  for (const std::string* at = &name; view_of(*at) != nullptr; at = &view_of(*at)->base) chain.push_back(*at);
  if (chain.empty()) return Done{};
  const int now = versions_[root_of(name)];
  for (size_t i = chain.size(); i-- > 0;) {
    int& version = versions_[chain[i]];
    if (version == now) continue;
    const View& view = views_.at(chain[i]);
    if (view.node == nullptr) {
      scope_[chain[i]] = scope_[view.base];
    } else {
      NodeContext n(state_, build, scope_, graph_, *view.node);
      import_node(n, find_importer(view.node->target, state_.module.operators.get()));
      if (!n.ok()) return n.failure();
      for (const std::string& output : output_names(*view.node)) versions_[output] = now;
    }
    version = now;
  }
  return Done{};
}

Status InPlace::before(const Node& node, ir::Builder& build) {
  if (!active_) return Done{};
  for (const NamedArgument& input : node.inputs) {
    for (const std::string& name : input.value.names) BERTH_TRY(refresh(name, build));
  }
  return Done{};
}

Status InPlace::after(const Node& node, ir::Builder& build) {
  if (!active_) return Done{};
  for (const char* argument : written_arguments(node.target)) {
    const std::string* written = tensor_argument(node, argument);
    if (written == nullptr) continue;
    versions_[*written] = ++versions_[root_of(*written)];
    BERTH_TRY(write_base(*written, build));
  }
  const std::vector<std::string> outputs = output_names(node);
  const std::string* base = first_tensor(node);
  if (base == nullptr) return Done{};
  if (writes_in_place(node.target)) {
    if (outputs.size() != 1 || outputs[0] == *base) return Done{};
    const int now = ++versions_[root_of(*base)];
    scope_[*base] = scope_[outputs[0]];
    versions_[*base] = now;
    BERTH_TRY(write_base(*base, build));
    views_[outputs[0]] = View{*base, nullptr, 0};
    versions_[outputs[0]] = now;
  } else if (is_view(graph_, node)) {
    const int now = versions_[root_of(*base)];
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty() || outputs[i] == *base || views_.count(outputs[i]) != 0) continue;
      if (root_of(*base) == outputs[i]) continue;  // a file that goes in circles
      views_[outputs[i]] = View{*base, &node, i};
      versions_[outputs[i]] = now;
    }
  }
  return Done{};
}

// `name` has a new value: so has what it is a view of, up to the root.
Status InPlace::write_base(const std::string& name, ir::Builder& build) {
  std::string at = name;
  const int now = versions_[root_of(name)];
  while (const View* view = view_of(at)) {
    if (view->node == nullptr) {
      scope_[view->base] = scope_[at];
    } else {
      NodeContext n(state_, build, scope_, graph_, *view->node);
      if (scope_[view->base].is_complex() || scope_[at].is_complex()) {
        Operand value = put_back_complex(n, scope_[view->base], scope_[at], view->output);
        if (!n.ok()) return n.failure();
        scope_[view->base] = std::move(value);
        versions_[view->base] = now;
        at = view->base;
        continue;
      }
      const ValueId* base = std::get_if<ValueId>(&scope_[view->base].value);
      const ValueId* part = std::get_if<ValueId>(&scope_[at].value);
      if (base == nullptr || part == nullptr) n.invalid("is a view of what is not a tensor");
      const ValueId value = n.ok() ? put_back(n, *base, *part, view->output) : ValueId();
      if (!n.ok()) return n.failure();
      scope_[view->base].value = value;
    }
    versions_[view->base] = now;
    at = view->base;
  }
  return Done{};
}

std::set<std::string> written_inputs(const Graph& graph) {
  std::map<std::string, std::string> roots;
  for (const Argument& input : graph.inputs) {
    if (input.kind == ArgumentKind::kTensor) roots[input.names[0]] = input.names[0];
  }
  std::set<std::string> written;
  for (const Node& node : graph.nodes) {
    for (const char* argument : written_arguments(node.target)) {
      const std::string* name = tensor_argument(node, argument);
      const auto found = name == nullptr ? roots.end() : roots.find(*name);
      if (found != roots.end()) written.insert(found->second);
    }
    const std::string* base = first_tensor(node);
    const auto root = base == nullptr ? roots.end() : roots.find(*base);
    if (root == roots.end()) continue;
    const std::string name = root->second;
    const bool writes = writes_in_place(node.target);
    if (writes) written.insert(name);
    if (!writes && !is_view(graph, node)) continue;
    for (const std::string& output : output_names(node)) roots.emplace(output, name);
  }
  return written;
}

}  // namespace berth::pt2

#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/half.h"
#include "compiler/ir/arguments.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Graph;
using ir::Method;
using ir::Module;
using ir::NodeId;
using ir::ValueId;

class Rewriter {
 public:
  Rewriter(Module& module, Method& method, const Visitor& visit)
      : module_(module), method_(method), visit_(visit), outputs_(method) {}

  Expected<Changed> run() {
    BERTH_TRY(graph(method_.body));
    return changed_if(changed_);
  }

 private:
  void resolve(Argument& argument) {
    ir::for_each_value(argument, [&](ValueId& id) {
      while (replacements_.contains(id) && replacements_[id].valid()) id = replacements_[id];
    });
  }

  Status graph(Graph& graph) {
    const std::vector<NodeId> old = std::move(graph.nodes);
    graph.nodes.clear();
    graph.nodes.reserve(old.size());
    ir::Builder build(module_, method_, graph);
    for (NodeId id : old) BERTH_TRY(node(build, graph, id));
    for (Argument& output : graph.outputs) resolve(output);
    return Done{};
  }

  Status node(ir::Builder& build, Graph& graph, NodeId id) {
    for (Argument& argument : method_.node(id).args) resolve(argument);
    // Regions stay where they are when the list of nodes grows: nodes move, their vectors' contents do not.
    for (Graph& region : method_.node(id).regions) BERTH_TRY(this->graph(region));
    BERTH_ASSIGN_OR_RETURN(const Action action, visit_(build, id, &changed_));
    if (!action.remove) {
      graph.nodes.push_back(id);
      return Done{};
    }
    changed_ = true;
    for (size_t i = 0; i < action.replacements.size(); ++i) {
      replace(method_.node(id).results[i], action.replacements[i]);
    }
    return Done{};
  }

  void replace(ValueId old, ValueId with) {
    if (!with.valid()) return;
    if (!replacements_.contains(old)) replacements_.resize(method_.values.size());
    replacements_[old] = with;
    outputs_.replace_and_rename(method_, old, with);
  }

  Module& module_;
  Method& method_;
  const Visitor& visit_;
  IdVector<ValueId, ValueId> replacements_;
  OutputSet outputs_;
  bool changed_ = false;
};

template <typename T>
double number_at(Span<const uint8_t> bytes, size_t i) {
  T element;
  std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof element);
  return static_cast<double>(element);
}

}  // namespace

Expected<Changed> rewrite(Module& module, Method& method, const Visitor& visit) {
  return Rewriter(module, method, visit).run();
}

Expected<Changed> rewrite(Module& module, const std::function<Visitor(Module& module, Method& method)>& visitor_of) {
  Changed changed = Changed::kNo;
  for (Method& method : module.methods) {
    BERTH_ASSIGN_OR_RETURN(const Changed one, rewrite(module, method, visitor_of(module, method)));
    changed = changed | one;
  }
  return changed;
}

OutputSet::OutputSet(const Method& method) : flags_(method.values.size()) {
  for (const Argument& output : method.body.outputs) {
    ir::for_each_value(output, [&](const ValueId& id) { flags_[id] = true; });
  }
}

bool OutputSet::must_stay_apart(const Method& method, ValueId a, ValueId b) const {
  return contains(a) && (method.value(b).kind != ir::ValueKind::kNode || contains(b));
}

void OutputSet::replace(ValueId old, ValueId with) {
  if (!contains(old)) return;
  flags_.grow_to(with);
  flags_[with] = true;
}

void OutputSet::replace_and_rename(Method& method, ValueId old, ValueId with) {
  replace(old, with);
  if (!contains(old) || method.value(with).kind == ir::ValueKind::kInput) return;
  const std::string name = method.value(old).name;
  const std::string other = method.value(with).name;
  method.rename(old, "");
  method.rename(with, name);
  method.rename(old, other);
}

const ir::Node* defining_node(const Method& method, ValueId value) {
  if (!value.valid() || method.value(value).kind != ir::ValueKind::kNode) return nullptr;
  return &method.node(method.value(value).node);
}

const ir::Node* defining_node(const Method& method, const Argument& a) {
  const ValueId* id = std::get_if<ValueId>(&a);
  return id == nullptr ? nullptr : defining_node(method, *id);
}

double element_number(DType dtype, Span<const uint8_t> bytes, size_t i) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8: return number_at<uint8_t>(bytes, i);
    case DType::kI8: return number_at<int8_t>(bytes, i);
    case DType::kI16: return number_at<int16_t>(bytes, i);
    case DType::kI32: return number_at<int32_t>(bytes, i);
    case DType::kI64: return number_at<int64_t>(bytes, i);
    case DType::kU16: return number_at<uint16_t>(bytes, i);
    case DType::kU32: return number_at<uint32_t>(bytes, i);
    case DType::kU64: return number_at<uint64_t>(bytes, i);
    case DType::kF16: return number_at<Half>(bytes, i);
    case DType::kBF16: return number_at<BFloat16>(bytes, i);
    case DType::kF32: return static_cast<double>(number_at<float>(bytes, i));
    case DType::kF64: return number_at<double>(bytes, i);
    default: return std::nan("");
  }
}

// Bytes of a constant that are compared with its first element: an initial state of a batch has some thousand.
constexpr size_t kMostCompared = 256 * 1024;

std::vector<int64_t> permutation(const Method& method, const ir::Node& node) {
  const bool turns =
      node.is(ir::OpId::permute_copy_out) || node.is(ir::OpId::transpose_copy_int_out) || node.is(ir::OpId::t_copy_out);
  if (!turns) return {};
  const int64_t rank = method.tensor(node.results[0]).rank();
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const auto wrapped = [&](const Argument& a) {
    const int64_t d = std::get<ir::Dim>(a).value;
    return d < 0 ? d + rank : d;
  };
  if (node.is(ir::OpId::permute_copy_out)) {
    const ir::DimList& dims = std::get<ir::DimList>(node.args[arg::permute_copy_out::dims]);
    for (int64_t i = 0; i < rank; ++i) order[i] = wrapped(Argument(dims[i]));
  } else if (node.is(ir::OpId::t_copy_out)) {
    std::reverse(order.begin(), order.end());
  } else if (rank > 0) {
    std::swap(order[wrapped(node.args[arg::transpose_copy_int_out::dim0])],
              order[wrapped(node.args[arg::transpose_copy_int_out::dim1])]);
  }
  return order;
}

std::optional<double> uniform_number(const Module& module, const Method& method, const Argument& argument) {
  if (const double* real = std::get_if<double>(&argument)) return *real;
  if (const bool* truth = std::get_if<bool>(&argument)) return *truth ? 1 : 0;
  if (const ir::Dim* dim = std::get_if<ir::Dim>(&argument)) {
    if (!dim->is_constant() || std::abs(static_cast<double>(dim->value)) > 9007199254740992.0) return std::nullopt;
    return static_cast<double>(dim->value);
  }
  const ir::Constant* constant = ir::constant_of(module, method, argument);
  if (constant == nullptr) return std::nullopt;
  const DType dtype = constant->type.dtype;
  const size_t size = element_size(dtype);
  if (constant->blob.size() < size || is_complex(dtype)) return std::nullopt;
  if (constant->blob.is_splat() && constant->blob.element().size() == size) {
    return element_number(dtype, constant->blob.element(), 0);
  }
  if (constant->blob.is_splat() || constant->blob.size() > kMostCompared) return std::nullopt;
  const Span<const uint8_t> bytes = constant->blob.bytes();
  for (size_t i = size; i < bytes.size(); i += size) {
    if (std::memcmp(bytes.data(), bytes.data() + i, size) != 0) return std::nullopt;
  }
  return element_number(dtype, bytes, 0);
}

IdVector<ir::ConstantId, int> count_constant_uses(const Module& module) {
  IdVector<ir::ConstantId, int> counts(module.constants.size());
  for (const Method& method : module.methods) {
    const IdVector<ValueId, int> uses = ir::count_uses(method);
    for (ValueId id : method.values.ids()) {
      const ir::Value& value = method.values[id];
      if (value.kind == ir::ValueKind::kConstant) counts[value.constant] += uses[id];
    }
  }
  return counts;
}

size_t drop_unused_constants(Module& module) {
  const IdVector<ir::ConstantId, int> used = count_constant_uses(module);
  const bool all_used = std::all_of(used.begin(), used.end(), [](int uses) { return uses > 0; });
  if (all_used) return 0;
  IdVector<ir::ConstantId, ir::ConstantId> moved(used.size());
  IdVector<ir::ConstantId, ir::Constant> kept;
  for (ir::ConstantId id : used.ids()) {
    if (used[id] > 0) moved[id] = kept.push_back(std::move(module.constants[id]));
  }
  const size_t gone = used.size() - kept.size();
  module.constants = std::move(kept);
  for (Method& method : module.methods) method.renumber_constants(moved);
  return gone;
}

}  // namespace berth::passes

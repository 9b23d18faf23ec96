#include "compiler/targets/graph_view.h"

#include <numeric>

namespace berth::targets {

using ir::Argument;
using ir::ValueId;

GraphView::GraphView(const ir::Module& module, const ir::Method& method, const IdVector<ValueId, int>& uses,
                     const std::vector<ir::NodeId>& nodes, const std::vector<ValueId>& inputs,
                     const std::vector<ValueId>& outputs)
    : module_(module), method_(method), uses_(&uses) {
  const std::vector<int32_t> first = indices(inputs);
  for (const ir::NodeId id : nodes) nodes_.push_back(node(method.node(id)));
  graph_.inputs = keep(ids_, first);
  graph_.num_inputs = inputs.size();
  finish(outputs);
}

GraphView::GraphView(const ir::Module& module, const ir::Method& method, const ir::Node& call)
    : module_(module), method_(method), uses_(nullptr) {
  nodes_.push_back(node(call));
  finish({});
}

void GraphView::finish(const std::vector<ValueId>& outputs) {
  graph_.outputs = keep(ids_, indices(outputs));
  graph_.num_outputs = outputs.size();
  graph_.nodes = nodes_.data();
  graph_.num_nodes = nodes_.size();
  graph_.values = values_.data();
  graph_.num_values = values_.size();
}

ValueId GraphView::value_at(int32_t index) const {
  for (const auto& [id, its] : index_) {
    if (its == index) return id;
  }
  return {};
}

std::vector<int32_t> GraphView::indices(const std::vector<ValueId>& ids) {
  std::vector<int32_t> list;
  for (const ValueId id : ids) list.push_back(id.valid() ? value(id) : -1);
  return list;
}

int32_t GraphView::value(ValueId id) {
  const auto [known, fresh] = index_.emplace(id, static_cast<int32_t>(values_.size()));
  if (fresh) values_.push_back(describe(id));
  return known->second;
}

berth_value GraphView::describe(ValueId id) {
  const ir::Value& value = method_.value(id);
  berth_value out = {};
  out.name = value.name.c_str();
  out.users = uses_ == nullptr ? 0 : (*uses_)[id];
  switch (value.kind) {
    case ir::ValueKind::kInput: out.from = BERTH_FROM_INPUT; break;
    case ir::ValueKind::kConstant: out.from = BERTH_FROM_CONSTANT; break;
    case ir::ValueKind::kNode: out.from = BERTH_FROM_NODE; break;
  }
  if (const ir::TensorType* type = value.tensor()) {
    describe_tensor(*type, &out);
  } else {
    out.rank = -1;
    switch (std::get<ir::ScalarKind>(value.type)) {
      case ir::ScalarKind::kInt: out.dtype = BERTH_I64; break;
      case ir::ScalarKind::kFloat: out.dtype = BERTH_F64; break;
      case ir::ScalarKind::kBool: out.dtype = BERTH_BOOL; break;
    }
  }
  if (const ir::Constant* constant = ir::constant_of(module_, method_, id)) {
    const ir::Blob& blob = constant->blob;
    out.constant = {blob.is_splat() ? keep(bytes_, blob.to_vector()) : blob.bytes().data(), blob.size()};
  }
  return out;
}

void GraphView::describe_tensor(const ir::TensorType& type, berth_value* out) {
  std::vector<int64_t> most;
  std::vector<int64_t> least;
  for (const ir::Dim dim : type.shape) {
    most.push_back(module_.symbols.upper(dim));
    least.push_back(module_.symbols.lower(dim));
  }
  std::vector<uint8_t> order = type.dim_order;
  if (order.empty()) {
    order.resize(type.shape.size());
    std::iota(order.begin(), order.end(), uint8_t{0});
  }
  out->dtype = static_cast<int32_t>(type.dtype);
  out->rank = type.rank();
  out->max_sizes = keep(numbers_, std::move(most));
  out->min_sizes = keep(numbers_, std::move(least));
  out->dim_order = keep(orders_, std::move(order));
}

berth_argument GraphView::argument(const ir::Parameter& parameter, const Argument& argument) {
  berth_argument out = {};
  texts_.emplace_back(parameter.name);
  out.name = texts_.back().c_str();
  const auto ints = [&](int32_t kind, std::vector<int64_t> list) {
    out.kind = kind;
    out.count = list.size();
    out.ints = keep(numbers_, std::move(list));
  };
  const auto size_of = [](ir::Dim dim) { return dim.is_constant() ? dim.value : -1; };
  if (const auto* id = std::get_if<ValueId>(&argument)) {
    out.kind = id->valid() ? BERTH_ARG_VALUE : BERTH_ARG_NONE;
    out.count = id->valid() ? 1 : 0;
    out.values = keep(ids_, indices({*id}));
  } else if (const auto* list = std::get_if<ir::ValueList>(&argument)) {
    out.kind = BERTH_ARG_VALUES;
    out.is_list = 1;
    out.count = list->size();
    out.values = keep(ids_, indices(*list));
  } else if (const auto* dim = std::get_if<ir::Dim>(&argument)) {
    ints(parameter.type == ir::ParameterType::kDType ? BERTH_ARG_DTYPE : BERTH_ARG_INTS, {size_of(*dim)});
  } else if (const auto* dims = std::get_if<ir::DimList>(&argument)) {
    std::vector<int64_t> sizes;
    for (const ir::Dim one : *dims) sizes.push_back(size_of(one));
    out.is_list = 1;
    ints(BERTH_ARG_INTS, std::move(sizes));
  } else if (const auto* truth = std::get_if<bool>(&argument)) {
    ints(BERTH_ARG_BOOLS, {*truth ? 1 : 0});
  } else if (const auto* truths = std::get_if<ir::BoolList>(&argument)) {
    out.is_list = 1;
    ints(BERTH_ARG_BOOLS, {truths->begin(), truths->end()});
  } else if (const auto* real = std::get_if<double>(&argument)) {
    out.kind = BERTH_ARG_DOUBLES;
    out.count = 1;
    out.doubles = keep(reals_, {*real});
  } else if (const auto* reals = std::get_if<ir::FloatList>(&argument)) {
    out.kind = BERTH_ARG_DOUBLES;
    out.is_list = 1;
    out.count = reals->size();
    out.doubles = keep(reals_, *reals);
  } else if (const auto* text = std::get_if<std::string>(&argument)) {
    out.kind = BERTH_ARG_TEXT;
    out.count = 1;
    out.text = text->c_str();
  }
  return out;
}

berth_node GraphView::node(const ir::Node& node) {
  std::vector<berth_argument> arguments;
  for (size_t i = 0; i < node.args.size(); ++i) arguments.push_back(argument(node.op->parameters[i], node.args[i]));
  berth_node out = {};
  out.op = node.op->functional_name.c_str();
  out.source = node.source.c_str();
  out.num_arguments = arguments.size();
  out.arguments = keep(arguments_, std::move(arguments));
  out.num_results = node.results.size();
  out.results = keep(ids_, indices(node.results));
  return out;
}

}  // namespace berth::targets

#include "compiler/ir/module.h"

#include <algorithm>

namespace berth::ir {

std::string Method::unique_name(std::string_view wish) {
  std::string name(wish.empty() ? "v" : wish);
  if (!wish.empty() && names_.emplace(name, 0).second) return name;
  int& suffix = names_[name];
  for (;;) {
    std::string candidate = name + "_" + std::to_string(++suffix);
    if (names_.emplace(candidate, 0).second) return candidate;
  }
}

ValueId Method::add_value(Type type, std::string_view name) {
  Value value;
  value.name = unique_name(name);
  value.type = std::move(type);
  return values.push_back(std::move(value));
}

void Method::rename(ValueId id, std::string_view wish) {
  Value& renamed = value(id);
  if (renamed.name == wish) return;
  names_.erase(renamed.name);
  renamed.name = unique_name(wish);
}

const std::string& Method::output_name(size_t k) const {
  static const std::string kNone;
  if (k < output_names.size() && !output_names[k].empty()) return output_names[k];
  const ValueId* id = std::get_if<ValueId>(&body.outputs[k]);
  return id == nullptr || !id->valid() ? kNone : value(*id).name;
}

ValueId Method::add_input(Type type, std::string_view name) {
  const ValueId id = add_value(std::move(type), name);
  body.inputs.push_back(id);
  return id;
}

ValueId Method::constant_value(const Module& module, ConstantId id) {
  constant_values_.grow_to(id);
  if (constant_values_[id].valid()) return constant_values_[id];
  const Constant& constant = module.constants[id];
  const ValueId value_id = add_value(constant.type, constant.name);
  value(value_id).kind = ValueKind::kConstant;
  value(value_id).constant = id;
  constant_values_[id] = value_id;
  return value_id;
}

void Method::renumber_constants(const IdVector<ConstantId, ConstantId>& moved) {
  constant_values_.clear();
  for (ValueId id : values.ids()) {
    Value& value = values[id];
    if (value.kind != ValueKind::kConstant) continue;
    value.constant = moved[value.constant];
    if (!value.constant.valid()) {
      value.kind = ValueKind::kInput;
      continue;
    }
    constant_values_.grow_to(value.constant);
    constant_values_[value.constant] = id;
  }
}

ConstantId Module::add_constant(std::string_view name, TensorType type, Blob blob) {
  std::string unique(name.empty() ? "c" : name);
  if (!constant_names_.emplace(unique, 0).second || name.empty()) {
    const std::string stem = unique;
    int& suffix = constant_names_[stem];
    do {
      unique = stem + "_" + std::to_string(++suffix);
    } while (constant_names_.count(unique) != 0);
    constant_names_.emplace(unique, 0);
  }
  return constants.push_back(Constant{std::move(unique), std::move(type), std::move(blob)});
}

const Method* Module::find_method(std::string_view name) const {
  for (const Method& method : methods) {
    if (method.name == name) return &method;
  }
  return nullptr;
}

const Constant* constant_of(const Module& module, const Method& method, ValueId value) {
  if (!value.valid()) return nullptr;
  const Value& v = method.value(value);
  return v.kind == ValueKind::kConstant ? &module.constants[v.constant] : nullptr;
}

const Constant* constant_of(const Module& module, const Method& method, const Argument& argument) {
  const ValueId* value = std::get_if<ValueId>(&argument);
  return value == nullptr ? nullptr : constant_of(module, method, *value);
}

IdVector<ValueId, int> count_uses(const Method& method) {
  IdVector<ValueId, int> uses(method.values.size());
  const auto count = [&](ValueId v) { ++uses[v]; };
  for_each_graph(method, method.body, [&](const Graph& graph) {
    for (NodeId id : graph.nodes) {
      for (const Argument& argument : method.node(id).args) for_each_value(argument, count);
    }
    for (const Argument& output : graph.outputs) for_each_value(output, count);
  });
  return uses;
}

bool has_static_sizes(const Method& method) {
  return std::all_of(method.values.begin(), method.values.end(),
                     [](const Value& value) { return value.tensor() == nullptr || value.tensor()->is_static(); });
}

void replace_values(Method& method, const IdVector<ValueId, ValueId>& replacement) {
  const auto replace = [&](ValueId& v) {
    while (replacement.contains(v) && replacement[v].valid()) v = replacement[v];
  };
  for_each_graph(method, method.body, [&](Graph& graph) {
    for (NodeId id : graph.nodes) {
      for (Argument& argument : method.node(id).args) for_each_value(argument, replace);
    }
    for (Argument& output : graph.outputs) for_each_value(output, replace);
  });
}

}  // namespace berth::ir

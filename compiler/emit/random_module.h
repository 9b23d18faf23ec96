// For tests: modules of random operators, views, states and symbols. The seed says all; print it.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"

namespace berth::emit::testing {

using ir::OpId;
using ir::ValueId;

/// Appends a read of `state`, which has type `type`.
inline ValueId read_state(ir::Method& method, ir::StateId state, ir::TensorType type) {
  const ir::NodeId id{static_cast<int32_t>(method.nodes.size())};
  const ValueId value = method.add_value(std::move(type), "s");
  method.value(value).kind = ir::ValueKind::kNode;
  method.value(value).node = id;
  ir::Node node;
  node.op = &ir::operator_of(OpId::state_read);
  node.state = state;
  node.results.push_back(value);
  method.nodes.push_back(std::move(node));
  method.body.nodes.push_back(id);
  return value;
}

/// Appends a write of `value` to `state`.
inline void write_state(ir::Method& method, ir::StateId state, ValueId value) {
  ir::Node node;
  node.op = &ir::operator_of(OpId::state_write);
  node.args = {value};
  node.state = state;
  method.body.nodes.push_back({static_cast<int32_t>(method.nodes.size())});
  method.nodes.push_back(std::move(node));
}

/// Branches and loops lie up to three deep.
/// Each method: inputs x (rows by 6) and z (n by rows * 6, n from 1 to 5), two states, 4 to 34 nodes, up to 4 outputs.
class RandomModule {
 public:
  /// Values have multiples of `rows` times 6 elements. Without `regions` there are no branches and loops.
  explicit RandomModule(unsigned seed, int64_t rows = 4, bool regions = true)
      : random_(seed), rows_(rows), regions_(regions) {}

  /// Of several methods, the second is called "again", the third "again2"; all share the states.
  ir::Module make(unsigned methods = 1) {
    ir::Module module;
    const ir::Dim n = symbolic_dim(module);
    for (unsigned m = 0; m < methods; ++m) {
      const std::string number = m > 1 ? std::to_string(m) : "";
      module.methods.push_back(make_method(module, n, m == 0 ? "forward" : "again" + number));
    }
    return module;
  }

 private:
  unsigned pick(size_t count) { return static_cast<unsigned>(random_() % count); }
  ValueId any() { return pool_[pick(pool_.size())]; }

  ir::Method make_method(ir::Module& module, ir::Dim n, std::string name) {
    ir::Method method;
    method.name = std::move(name);
    const auto state_id = static_cast<ir::StateId>(pick(2));
    for (int s = 0; s < 2 && module.states.size() < 2; ++s) {
      module.states.push_back({"s" + std::to_string(s), type({rows_, 6}), {}});
    }
    ir::Builder build(module, method, method.body);
    pool_ = {method.add_input(type({rows_, 6}), "x"), method.add_input(type({n, rows_ * 6}), "z"),
             build.splat(DType::kF32, {ir::Dim(rows_ * 6)}, 2.0)};
    add_state_read(method, 0);
    add_state_read(method, 1);
    for (unsigned i = 0; i < 4 + pick(30); ++i) {
      if (regions_ && pick(8) == 0) {
        add_region_node(module, method, method.body, 0);
      } else {
        add_node(build);
      }
    }
    add_state_write(method, state_id);
    if (pick(2) == 0) add_state_write(method, 1 - state_id);
    for (unsigned i = 0; i < 1 + pick(4); ++i) method.body.outputs.push_back(any());
    return method;
  }

  static ir::TensorType type(std::vector<ir::Dim> shape) {
    ir::TensorType type;
    type.shape = std::move(shape);
    return type;
  }

  ir::Dim symbolic_dim(ir::Module& module) {
    auto dim = module.symbols.input("n", 1, 5);
    return std::move(dim).value();
  }

  void keep(const Expected<std::vector<ValueId>>& results) {
    if (results.ok()) pool_.insert(pool_.end(), results->begin(), results->end());
  }

  /// A node; shapes that do not fit make none.
  void add_node(ir::Builder& build) {
    const ValueId x = any();
    const std::vector<ir::Dim> shape = build.method().tensor(x).shape;
    switch (pick(20)) {
      case 0: keep(build.create(OpId::relu_out, {x}, "relu")); break;
      case 1: keep(build.create(OpId::exp_out, {x}, "exp")); break;
      case 2: keep(build.create(OpId::add_out, {x, any()}, "add")); break;
      case 3: keep(build.create(OpId::view_copy_out, {x, ir::dims({6, -1})}, "reshape")); break;
      case 4: keep(build.create(OpId::view_copy_out, {x, ir::dims({-1})}, "flatten")); break;
      case 5: keep(build.create(OpId::unsqueeze_copy_out, {x, ir::Dim(0)}, "unsqueeze")); break;
      case 6: keep(build.create(OpId::cat_out, {ir::ValueList{x, x}, ir::Dim(0)}, "cat")); break;
      case 7:
        if (!shape.empty() && shape.back().is_constant() && shape.back().value > 0) {
          keep(build.create(OpId::max_dim_max, {x, ir::Dim(-1), true}, "max"));
          pool_.pop_back();  // indices are no floats
        }
        break;
      case 8: keep(build.create(OpId::mul_out, {any(), x}, "mul")); break;
      case 9: keep(build.create(OpId::maximum_out, {x, any()}, "maximum")); break;
      case 10: keep(build.create(OpId::clamp_Tensor_out, {x, any(), ir::None{}}, "clamp")); break;
      case 11:
        if (!shape.empty()) keep(build.create(OpId::softmax_out, {x, ir::Dim(pick(shape.size())), false}, "softmax"));
        break;
      case 12:
        if (!shape.empty()) keep(build.create(OpId::cumsum_out, {x, ir::Dim(pick(shape.size()))}, "cumsum"));
        break;
      case 13: keep(build.create(OpId::flip_out, {x, ir::dims({0})}, "flip")); break;
      case 14:
        if (!shape.empty() && shape[0].is_constant() && shape[0].value > 0) {
          // At most three parts, however long it is.
          keep(build.create(OpId::split_copy_Tensor_out, {x, ir::Dim((shape[0].value + 2) / 3), ir::Dim(0)}, "split"));
        }
        break;
      case 15: keep(build.create(OpId::slice_copy_Tensor_out, {x, ir::Dim(0), ir::Dim(1), ir::Dim(3)}, "slice")); break;
      case 16: keep(build.create(OpId::cat_out, {ir::ValueList{x, any()}, ir::Dim(0)}, "cat")); break;
      case 17: keep(build.create(OpId::view_copy_out, {x, ir::dims({rows_, 6})}, "reshape")); break;
      case 18: keep(build.create(OpId::neg_out, {x}, "neg")); break;
      default: keep(build.create(OpId::alias_copy_out, {x}, "alias")); break;
    }
  }

  // Branches and loops.

  /// A value of this type that is defined by now.
  ValueId like(const ir::Method& method, const ir::TensorType& type) {
    std::vector<ValueId> all;
    for (const ValueId value : pool_) {
      if (method.tensor(value) == type) all.push_back(value);
    }
    return all[pick(all.size())];
  }

  static ValueId new_result(ir::Method& method, ir::Node& node, ir::NodeId id, ir::TensorType type) {
    const ValueId value = method.add_value(ir::Type(std::move(type)), "r");
    method.value(value).kind = ir::ValueKind::kNode;
    method.value(value).node = id;
    method.value(value).result = static_cast<int>(node.results.size());
    node.results.push_back(value);
    return value;
  }

  /// Some nodes in `region`; what they make is in the pool until the caller takes it out.
  void fill(ir::Module& module, ir::Method& method, ir::Graph& region, int depth) {
    ir::Builder build(module, method, region);
    for (unsigned i = 0; i < 1 + pick(5); ++i) {
      if (depth < 2 && pick(8) == 0) {
        add_region_node(module, method, region, depth + 1);
      } else {
        add_node(build);
      }
    }
  }

  void add_region_node(ir::Module& module, ir::Method& method, ir::Graph& graph, int depth) {
    // The slot is taken first: nodes of the regions follow it in the method.
    const ir::NodeId id{static_cast<int32_t>(method.nodes.size())};
    method.nodes.emplace_back();
    ir::Node node;
    const unsigned kind = pick(rows_ <= 16 ? 3 : 2);
    if (kind == 0) make_if(module, method, graph, id, &node, depth);
    if (kind == 1) make_while(module, method, graph, id, &node, depth);
    if (kind == 2) make_scan(module, method, id, &node, depth);
    method.node(id) = node;
    graph.nodes.push_back(id);
    pool_.insert(pool_.end(), node.results.begin(), node.results.end());
  }

  void make_if(ir::Module& module, ir::Method& method, ir::Graph& graph, ir::NodeId id, ir::Node* node, int depth) {
    ir::Builder build(module, method, graph);
    const ValueId x = any();
    std::vector<int64_t> all;
    for (int d = 0; d < method.tensor(x).rank(); ++d) all.push_back(d);
    const auto sum = build.one(OpId::sum_IntList_out, {x, ir::dims(all), false, ir::None{}}, "sum");
    const auto flag = build.one(OpId::gt_Scalar_out, {*sum, 0.0}, "gt");
    node->op = &ir::operator_of(OpId::if_);
    node->args = {*flag};
    node->regions.resize(2);
    std::vector<ir::TensorType> types;
    for (unsigned k = 0; k < 1 + pick(2); ++k) types.push_back(method.tensor(any()));
    for (ir::Graph& region : node->regions) {
      const std::vector<ValueId> outside = pool_;
      fill(module, method, region, depth);
      for (const ir::TensorType& wanted : types) region.outputs.push_back(like(method, wanted));
      pool_ = outside;
    }
    for (const ir::TensorType& wanted : types) new_result(method, *node, id, wanted);
  }

  static ValueId input_of(ir::Method& method, ir::Graph& region, ir::TensorType type) {
    const ValueId value = method.add_value(ir::Type(std::move(type)), "i");
    region.inputs.push_back(value);
    return value;
  }

  /// Three iterations: the first carried value counts.
  void make_while(ir::Module& module, ir::Method& method, ir::Graph& graph, ir::NodeId id, ir::Node* node, int depth) {
    ir::Builder build(module, method, graph);
    node->op = &ir::operator_of(OpId::while_);
    const ValueId zero = build.splat(DType::kF32, {ir::Dim(1)}, 0.0);
    ir::ValueList initial = {zero};
    for (unsigned k = 0; k < 1 + pick(3); ++k) initial.push_back(any());
    node->args = {initial};
    node->regions.resize(2);
    const std::vector<ValueId> outside = pool_;
    for (ir::Graph& region : node->regions) {
      for (const ValueId value : initial) input_of(method, region, method.tensor(value));
    }
    ir::Builder condition(module, method, node->regions[0]);
    node->regions[0].outputs = {*condition.one(OpId::lt_Scalar_out, {node->regions[0].inputs[0], 2.5}, "lt")};
    ir::Graph& body = node->regions[1];
    pool_.insert(pool_.end(), body.inputs.begin() + 1, body.inputs.end());
    ir::Builder counting(module, method, body);
    const auto next = counting.one(OpId::add_Scalar_out, {body.inputs[0], 1.0}, "count");
    fill(module, method, body, depth);
    body.outputs = {*next};
    for (size_t k = 1; k < initial.size(); ++k) body.outputs.push_back(like(method, method.tensor(initial[k])));
    pool_ = outside;
    for (const ValueId value : initial) new_result(method, *node, id, method.tensor(value));
  }

  void make_scan(ir::Module& module, ir::Method& method, ir::NodeId id, ir::Node* node, int depth) {
    node->op = &ir::operator_of(OpId::scan);
    const ValueId whole = like(method, type({rows_, 6}));
    const ir::ValueList initial = {any()};
    node->args = {ir::Dim(rows_), initial, ir::ValueList{whole}};
    node->regions.resize(1);
    ir::Graph& body = node->regions[0];
    const std::vector<ValueId> outside = pool_;
    input_of(method, body, method.tensor(initial[0]));
    input_of(method, body, type({6}));
    pool_.insert(pool_.end(), body.inputs.begin(), body.inputs.end());
    fill(module, method, body, depth);
    body.outputs = {like(method, method.tensor(initial[0]))};
    ir::TensorType slice;
    do {
      const ValueId stacked = any();
      slice = method.tensor(stacked);
      if (slice.is_static() && slice.is_contiguous() && slice.rank() < 6) body.outputs.push_back(stacked);
    } while (body.outputs.size() < 2);
    pool_ = outside;
    new_result(method, *node, id, method.tensor(initial[0]));
    slice.shape.insert(slice.shape.begin(), ir::Dim(rows_));
    slice.dim_order.clear();
    new_result(method, *node, id, slice);
  }

  void add_state_read(ir::Method& method, ir::StateId state) {
    pool_.push_back(read_state(method, state, type({rows_, 6})));
  }
  void add_state_write(ir::Method& method, ir::StateId state) {
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId value = any();
      if (method.tensor(value) != type({rows_, 6})) continue;
      write_state(method, state, value);
      return;
    }
  }

  std::mt19937 random_;
  int64_t rows_;
  bool regions_;
  std::vector<ValueId> pool_;
};

}  // namespace berth::emit::testing

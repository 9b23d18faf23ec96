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

/// One method: inputs x (rows by 6) and z (n by rows * 6, n from 1 to 5), two states, 4 to 34 nodes, up to 4 outputs.
class RandomModule {
 public:
  /// Values have multiples of `rows` times 6 elements.
  explicit RandomModule(unsigned seed, int64_t rows = 4) : random_(seed), rows_(rows) {}

  ir::Module make() {
    ir::Module module;
    ir::Method method;
    method.name = "forward";
    const ir::Dim n = symbolic_dim(module);
    const auto state_id = static_cast<ir::StateId>(pick(2));
    for (int s = 0; s < 2; ++s) module.states.push_back({"s" + std::to_string(s), type({rows_, 6}), {}});
    ir::Builder build(module, method, method.body);
    pool_ = {method.add_input(type({rows_, 6}), "x"), method.add_input(type({n, rows_ * 6}), "z"),
             build.splat(DType::kF32, {ir::Dim(rows_ * 6)}, 2.0)};
    add_state_read(method, 0);
    add_state_read(method, 1);
    for (unsigned i = 0; i < 4 + pick(30); ++i) add_node(build);
    add_state_write(method, state_id);
    if (pick(2) == 0) add_state_write(method, 1 - state_id);
    for (unsigned i = 0; i < 1 + pick(4); ++i) method.body.outputs.push_back(any());
    module.methods.push_back(std::move(method));
    return module;
  }

 private:
  unsigned pick(size_t count) { return static_cast<unsigned>(random_() % count); }
  ValueId any() { return pool_[pick(pool_.size())]; }

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
      case 14: keep(build.create(OpId::split_copy_Tensor_out, {x, ir::Dim(2), ir::Dim(pick(2))}, "split")); break;
      case 15: keep(build.create(OpId::slice_copy_Tensor_out, {x, ir::Dim(0), ir::Dim(1), ir::Dim(3)}, "slice")); break;
      case 16: keep(build.create(OpId::cat_out, {ir::ValueList{x, any()}, ir::Dim(0)}, "cat")); break;
      case 17: keep(build.create(OpId::view_copy_out, {x, ir::dims({rows_, 6})}, "reshape")); break;
      case 18: keep(build.create(OpId::neg_out, {x}, "neg")); break;
      default: keep(build.create(OpId::alias_copy_out, {x}, "alias")); break;
    }
  }

  void add_state_node(ir::Method& method, OpId op, ir::StateId state, std::vector<ir::Argument> args) {
    ir::Node node;
    node.op = &ir::operator_of(op);
    node.args = std::move(args);
    node.state = state;
    const ir::NodeId id{static_cast<int32_t>(method.nodes.size())};
    if (op == OpId::state_read) {
      const ValueId value = method.add_value(type({rows_, 6}), "s");
      method.value(value).kind = ir::ValueKind::kNode;
      method.value(value).node = id;
      node.results.push_back(value);
      pool_.push_back(value);
    }
    method.nodes.push_back(std::move(node));
    method.body.nodes.push_back(id);
  }
  void add_state_read(ir::Method& method, ir::StateId state) { add_state_node(method, OpId::state_read, state, {}); }
  void add_state_write(ir::Method& method, ir::StateId state) {
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId value = any();
      if (method.tensor(value) != type({rows_, 6})) continue;
      add_state_node(method, OpId::state_write, state, {value});
      return;
    }
  }

  std::mt19937 random_;
  int64_t rows_;
  std::vector<ValueId> pool_;
};

}  // namespace berth::emit::testing

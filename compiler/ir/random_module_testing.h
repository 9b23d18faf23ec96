// For tests: random modules of every kind, from one generator. The seed and the options decide everything; print the
// seed. What is done to values are steps (random_steps_testing.h, random_networks_testing.h), and options that go
// together are functions there: any_module(), network(), ….
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"

namespace berth::ir::testing {

class RandomModule;

/// Appends nodes on `x`, one of the values so far, with RandomModule::node(); none where they do not fit.
using RandomStep = void (*)(RandomModule&, ValueId x);

struct RandomModuleOptions {
  /// Each is as likely as the others; a step that stands here twice is twice as likely.
  std::vector<RandomStep> steps;
  /// A method has `least_steps` of them, and fewer than `more_steps` more.
  unsigned least_steps = 4, more_steps = 0;

  /// Inputs of f32, called x0, x1, ….
  std::vector<std::vector<int64_t>> inputs;
  /// Where it is not 0, one more input [n, columns] whose n is from 1 to 5, and a constant [columns].
  int64_t symbolic_columns = 0;
  /// Tensors of `state_shape` that all methods share: read at the start, at least one written at the end.
  int states = 0;
  std::vector<int64_t> state_shape;
  /// Whether branches and bodies of loops write states, too.
  bool writes_in_regions = false;

  /// Arguments are mostly among that many latest values; 0: any value is as likely as any other.
  size_t latest = 0;
  /// Values of more elements than these, or of none, are not used again; 0: all are.
  int64_t most_elements = 0;
  /// Constants are often 0, 1, -0.5 or 2 everywhere, which passes look for.
  bool special_constants = false;

  /// How deep branches and loops lie within each other; 0: there are none.
  int region_depth = 0;
  /// One step in so many is a branch or a loop.
  size_t region_rarity = 8;
  /// The shape of what scans go through and stack as many slices as; empty: scans only carry. Some input is to have it.
  std::vector<int64_t> scanned_shape;
  /// Branches, on a flag that is an input, give one value each, and scans carry one; there is no `while`.
  bool one_value_regions = false;

  /// A method has from 1 to `outputs` of any values; or, with `made_outputs`, of distinct ones that nodes made, where
  /// there are some.
  size_t outputs = 4;
  bool made_outputs = false;
};

class RandomModule {
 public:
  RandomModule(unsigned seed, RandomModuleOptions options) : random_(seed), options_(std::move(options)) {}

  /// Of several methods, the first is called "forward", the second "again", the third "again2"; all share the states.
  /// REQUIRES: it is called once.
  Module make(unsigned methods = 1) {
    Dim n;
    if (options_.symbolic_columns != 0) n = *module_.symbols.input("n", 1, 5);
    for (int s = 0; s < options_.states; ++s) {
      module_.states.push_back({"s" + std::to_string(s), type_of(dims(options_.state_shape)), {}});
    }
    for (unsigned m = 0; m < methods; ++m)
      make_method(n, m == 0 ? "forward" : "again" + (m > 1 ? std::to_string(m) : ""));
    return std::move(module_);
  }

  // What steps are made with.

  const RandomModuleOptions& options() const { return options_; }
  size_t pick(size_t count) { return random_() % count; }
  int64_t number(int64_t low, int64_t high) { return low + static_cast<int64_t>(pick(high - low + 1)); }
  template <typename Items>
  void shuffle(Items& items) {
    std::shuffle(std::begin(items), std::end(items), random_);
  }

  /// A value that is defined by now.
  ValueId any() {
    if (options_.latest == 0 || pick(3) == 0) return values_[pick(values_.size())];
    return values_[values_.size() - 1 - pick(std::min(options_.latest, values_.size()))];
  }
  /// One of this type. REQUIRES: there is one.
  ValueId like(const TensorType& type) {
    std::vector<ValueId> all;
    for (const ValueId value : values_) {
      if (this->type(value) == type) all.push_back(value);
    }
    return all[pick(all.size())];
  }
  /// An input of the method, whose elements do not depend on how it is computed. REQUIRES: there is one.
  ValueId input() { return values_[pick(options_.inputs.size())]; }
  const TensorType& type(ValueId value) const { return method_->tensor(value); }
  const std::vector<Dim>& shape(ValueId value) const { return type(value).shape; }
  int64_t elements(ValueId value) const { return max_numel(type(value), module_.symbols); }

  /// Of multiples of 1/16 from -0.5 to 0.5, or as `special_constants` says.
  ValueId constant(const std::vector<Dim>& sizes) {
    const double special[] = {0, 1, -0.5, 2};
    if (options_.special_constants && pick(3) == 0) return splat(sizes, special[pick(4)]);
    const TensorType type = type_of(sizes);
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < max_numel(type, module_.symbols); ++i) {
      const std::vector<uint8_t> one = element_bytes(DType::kF32, static_cast<double>(number(-8, 8)) / 16);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return builder().constant(type, Blob::owned(std::move(bytes)));
  }
  ValueId splat(const std::vector<Dim>& sizes, double number) { return builder().splat(DType::kF32, sizes, number); }
  /// Lets steps take a constant as any other value.
  void offer(ValueId value) { values_.push_back(value); }

  /// Appends the node and returns its first result; all that are f32 are values from here on. Where the arguments do
  /// not fit, nothing is appended, and the result is not valid.
  template <typename... A>
  ValueId node(OpId op, A&&... arguments) {
    std::vector<Argument> args;
    args.reserve(sizeof...(arguments));
    (args.emplace_back(std::forward<A>(arguments)), ...);
    const std::vector<ValueId> results = create(op, std::move(args));
    for (const ValueId result : results) {
      const int64_t size = elements(result);
      const bool fits = options_.most_elements == 0 || (size > 0 && size < options_.most_elements);
      if (type(result).dtype == DType::kF32 && fits) values_.push_back(result);
    }
    return results.empty() ? ValueId() : results[0];
  }
  /// The same, for results that only the step itself uses.
  std::vector<ValueId> create(OpId op, std::vector<Argument> args) {
    auto results = builder().create(op, std::move(args), operator_of(op).name);
    return results.ok() ? std::move(*results) : std::vector<ValueId>();
  }

 private:
  static TensorType type_of(std::vector<Dim> shape) {
    TensorType type;
    type.shape = std::move(shape);
    return type;
  }
  Builder builder() { return Builder(module_, *method_, *graph_); }

  void make_method(Dim n, std::string name) {
    Method method;
    method.name = std::move(name);
    method_ = &method;
    graph_ = &method.body;
    const StateId written{options_.states == 0 ? 0 : static_cast<int32_t>(pick(options_.states))};
    values_.clear();
    for (const std::vector<int64_t>& sizes : options_.inputs) {
      values_.push_back(method.add_input(type_of(dims(sizes)), "x" + std::to_string(values_.size())));
    }
    if (options_.one_value_regions) flag_ = method.add_input(Type(ScalarKind::kBool), "flag");
    if (options_.symbolic_columns != 0) {
      values_.push_back(method.add_input(type_of({n, Dim(options_.symbolic_columns)}), "z"));
      values_.push_back(splat({Dim(options_.symbolic_columns)}, 2.0));
    }
    for (int s = 0; s < options_.states; ++s) read_state({s});
    const size_t given = values_.size();
    for (unsigned i = 0; i < options_.least_steps + (options_.more_steps == 0 ? 0 : pick(options_.more_steps)); ++i) {
      step(0);
    }
    if (options_.states > 0) write_state(written);
    for (int s = 0; s < options_.states; ++s) {
      if (s != written.index && pick(2) == 0) write_state({s});
    }
    give_outputs(given);
    module_.methods.push_back(std::move(method));
  }

  void step(int depth) {
    if (depth < options_.region_depth && pick(options_.region_rarity) == 0) return add_region_node(depth);
    const ValueId x = any();
    options_.steps[pick(options_.steps.size())](*this, x);
  }

  void give_outputs(size_t given) {
    std::vector<Argument>& outputs = graph_->outputs;
    if (!options_.made_outputs) {
      for (size_t i = 0; i < 1 + pick(options_.outputs); ++i) outputs.emplace_back(any());
      return;
    }
    for (size_t i = values_.size(); i-- > given && outputs.size() < options_.outputs;) {
      outputs.emplace_back(values_[i]);
      i -= pick(3);
    }
  }

  // Nodes of the IR's own.

  /// A node that is filled in later: nodes of its regions follow it in the method.
  NodeId reserve() { return method_->nodes.push_back({}); }
  ValueId new_result(Node& node, NodeId id, TensorType type) {
    const ValueId value = method_->add_value(Type(std::move(type)), "r");
    method_->value(value).kind = ValueKind::kNode;
    method_->value(value).node = id;
    method_->value(value).result = static_cast<int>(node.results.size());
    node.results.push_back(value);
    return value;
  }
  void append(NodeId id, Node node) {
    method_->node(id) = std::move(node);
    graph_->nodes.push_back(id);
  }

  void read_state(StateId state) {
    const NodeId id = reserve();
    Node node;
    node.op = &operator_of(OpId::state_read);
    node.state = state;
    values_.push_back(new_result(node, id, type_of(dims(options_.state_shape))));
    append(id, std::move(node));
  }
  void write_state(StateId state) {
    const TensorType wanted = type_of(dims(options_.state_shape));
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId value = any();
      if (type(value) != wanted) continue;
      Node node;
      node.op = &operator_of(OpId::state_write);
      node.args = {value};
      node.state = state;
      append(reserve(), std::move(node));
      return;
    }
  }

  // Branches and loops.

  void add_region_node(int depth) {
    const NodeId id = reserve();
    Node node;
    // Scans of thousands of rows would take too long.
    const bool short_scans = !options_.scanned_shape.empty() && options_.scanned_shape[0] <= 16;
    const bool scans = options_.one_value_regions || short_scans;
    const size_t kind = options_.one_value_regions ? 2 * pick(2) : pick(scans ? 3 : 2);
    if (kind == 0) make_if(id, &node, depth);
    if (kind == 1) make_while(id, &node, depth);
    if (kind == 2) make_scan(id, &node, depth);
    values_.insert(values_.end(), node.results.begin(), node.results.end());
    append(id, std::move(node));
  }

  /// Some steps in `region`; what they make are values until the caller takes them out.
  void fill(Graph& region, int depth) {
    Graph* const outside = std::exchange(graph_, &region);
    for (size_t i = 0; i < 1 + pick(5); ++i) step(depth + 1);
    graph_ = outside;
  }

  void write_within(Graph& region) {
    if (!options_.writes_in_regions || options_.states == 0 || pick(2) == 0) return;
    Graph* const outside = std::exchange(graph_, &region);
    write_state({static_cast<int32_t>(pick(options_.states))});
    graph_ = outside;
  }

  ValueId is_positive(ValueId x) {
    std::vector<int64_t> all;
    for (int64_t d = 0; d < type(x).rank(); ++d) all.push_back(d);
    const ValueId sum = create(OpId::sum_IntList_out, {x, dims(all), false, None{}})[0];
    return create(OpId::gt_Scalar_out, {sum, 0.0})[0];
  }

  void make_if(NodeId id, Node* node, int depth) {
    node->op = &operator_of(OpId::if_);
    node->args = {options_.one_value_regions ? flag_ : is_positive(any())};
    node->regions.resize(2);
    std::vector<TensorType> types;
    for (size_t k = 0; k < 1 + (options_.one_value_regions ? 0 : pick(2)); ++k) types.push_back(type(any()));
    for (Graph& region : node->regions) {
      const std::vector<ValueId> outside = values_;
      fill(region, depth);
      write_within(region);
      for (const TensorType& wanted : types) region.outputs.emplace_back(like(wanted));
      values_ = outside;
    }
    for (const TensorType& wanted : types) new_result(*node, id, wanted);
  }

  ValueId input_of(Graph& region, TensorType type) {
    const ValueId value = method_->add_value(Type(std::move(type)), "i");
    region.inputs.push_back(value);
    return value;
  }

  /// Three iterations: the first carried value counts.
  void make_while(NodeId id, Node* node, int depth) {
    node->op = &operator_of(OpId::while_);
    ValueList initial = {splat({Dim(1)}, 0.0)};
    for (size_t k = 0; k < 1 + pick(3); ++k) initial.push_back(any());
    node->args = {initial};
    node->regions.resize(2);
    const std::vector<ValueId> outside = values_;
    for (Graph& region : node->regions) {
      for (const ValueId value : initial) input_of(region, type(value));
    }
    Graph& condition = node->regions[0];
    Graph& body = node->regions[1];
    Graph* const around = std::exchange(graph_, &condition);
    condition.outputs = {create(OpId::lt_Scalar_out, {condition.inputs[0], 2.5})[0]};
    graph_ = &body;
    const ValueId next = create(OpId::add_Scalar_out, {body.inputs[0], 1.0})[0];
    graph_ = around;
    values_.insert(values_.end(), body.inputs.begin() + 1, body.inputs.end());
    fill(body, depth);
    body.outputs = {next};
    for (size_t k = 1; k < initial.size(); ++k) body.outputs.emplace_back(like(type(initial[k])));
    values_ = outside;
    for (const ValueId value : initial) new_result(*node, id, type(value));
  }

  void make_scan(NodeId id, Node* node, int depth) {
    const bool only_carries = options_.one_value_regions && (options_.scanned_shape.empty() || pick(2) == 0);
    const TensorType whole = type_of(dims(options_.scanned_shape));
    node->op = &operator_of(OpId::scan);
    const ValueList scanned = only_carries ? ValueList() : ValueList{like(whole)};
    const ValueList initial = {any()};
    node->args = {Dim(only_carries ? 2 : options_.scanned_shape[0]), initial, scanned};
    node->regions.resize(1);
    Graph& body = node->regions[0];
    const std::vector<ValueId> outside = values_;
    input_of(body, type(initial[0]));
    if (!only_carries) input_of(body, type_of({whole.shape.begin() + 1, whole.shape.end()}));
    values_.insert(values_.end(), body.inputs.begin(), body.inputs.end());
    fill(body, depth);
    write_within(body);
    body.outputs = {like(type(initial[0]))};
    new_result(*node, id, type(initial[0]));
    if (!only_carries) stack_a_value(id, node);
    values_ = outside;
  }

  /// A scan's second result: rows that its body makes.
  void stack_a_value(NodeId id, Node* node) {
    for (;;) {
      const ValueId row = any();
      TensorType stacked = type(row);
      if (!stacked.is_static() || !stacked.is_contiguous() || stacked.rank() >= 6) continue;
      node->regions[0].outputs.emplace_back(row);
      stacked.shape.insert(stacked.shape.begin(), Dim(options_.scanned_shape[0]));
      stacked.dim_order.clear();
      new_result(*node, id, stacked);
      return;
    }
  }

  std::mt19937 random_;
  RandomModuleOptions options_;
  Module module_;
  Method* method_ = nullptr;  // that is being made
  Graph* graph_ = nullptr;    // its body, or a region
  ValueId flag_;
  std::vector<ValueId> values_;
};

}  // namespace berth::ir::testing

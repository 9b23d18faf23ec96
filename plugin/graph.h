// What a plug-in's target and operators are asked about: values, arguments, nodes and graphs of a model, as classes
// over the plain data of plugin/plugin.h. plugin/target.h includes this.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/plugin.h"

namespace berth::plugin {

/// Success, or a code of plugin/plugin.h with a sentence for the user.
struct Status {
  int32_t code = BERTH_OK;
  std::string message;

  Status() = default;
  Status(int32_t error, std::string sentence) : code(error), message(std::move(sentence)) {}
  bool ok() const { return code == BERTH_OK; }
};
/// What Target::takes() says to a node that it leaves to the next target.
inline Status refuse(std::string reason) { return {BERTH_NOT_SUPPORTED, std::move(reason)}; }

/// A tensor of the graph, or a single number.
class Value {
 public:
  Value(const berth_value* value, int32_t index) : value_(value), index_(index) {}

  int32_t index() const { return index_; }  // in the graph: equal for the same value
  const char* name() const { return value_->name; }
  int32_t dtype() const { return value_->dtype; }
  bool is_tensor() const { return value_->rank >= 0; }
  bool is_constant() const { return value_->from == BERTH_FROM_CONSTANT; }
  bool is_static() const {
    for (int32_t d = 0; d < value_->rank; ++d) {
      if (value_->min_sizes[d] != value_->max_sizes[d]) return false;
    }
    return is_tensor();
  }
  int rank() const { return value_->rank; }
  /// The largest that dimension `d` can be.
  int64_t size(int d) const { return value_->max_sizes[d]; }
  std::vector<int64_t> sizes() const { return {value_->max_sizes, value_->max_sizes + (is_tensor() ? rank() : 0)}; }
  /// Elements with the largest sizes.
  int64_t numel() const {
    int64_t count = 1;
    for (int32_t d = 0; d < value_->rank; ++d) count *= value_->max_sizes[d];
    return count;
  }
  /// Whether the elements lie in row-major order of the dimensions.
  bool is_contiguous() const {
    for (int32_t d = 0; d < value_->rank; ++d) {
      if (value_->dim_order[d] != d) return false;
    }
    return true;
  }
  /// Whether it is a tensor of `dtype` with elements, in row-major order, of sizes that never vary.
  bool is_plain(int32_t dtype) const { return this->dtype() == dtype && is_static() && is_contiguous() && numel() > 0; }
  /// Whether the sizes of `result` end in these, without the ones in front: then element i of the result goes with
  /// element i modulo numel() of this.
  bool repeats_in(const Value& result) const {
    int d = 0;
    while (d < rank() && size(d) == 1) ++d;
    const int behind = rank() - d;
    if (behind > result.rank()) return false;
    for (int k = 1; k <= behind; ++k) {
      if (size(rank() - k) != result.size(result.rank() - k)) return false;
    }
    return true;
  }
  int users() const { return value_->users; }
  /// The elements of a constant; empty otherwise.
  berth_bytes constant() const { return value_->constant; }

 private:
  const berth_value* value_;
  int32_t index_;
};

class Argument {
 public:
  Argument(const berth_graph* graph, const berth_argument* argument) : graph_(graph), argument_(argument) {}

  int32_t kind() const { return argument_ == nullptr ? BERTH_ARG_NONE : argument_->kind; }
  bool is_none() const { return kind() == BERTH_ARG_NONE; }
  size_t size() const { return argument_ == nullptr ? 0 : argument_->count; }
  /// Whether there is a value at `i`.
  bool has_value(size_t i = 0) const {
    const bool values = kind() == BERTH_ARG_VALUE || kind() == BERTH_ARG_VALUES;
    return values && i < size() && argument_->values[i] >= 0;
  }
  /// REQUIRES: has_value(i).
  Value value(size_t i = 0) const { return {&graph_->values[argument_->values[i]], argument_->values[i]}; }
  /// The number at `i`, an integer as well; `otherwise` if there is none.
  double number(double otherwise = 0, size_t i = 0) const {
    if (i >= size()) return otherwise;
    if (kind() == BERTH_ARG_DOUBLES) return argument_->doubles[i];
    return has_ints() ? static_cast<double>(argument_->ints[i]) : otherwise;
  }
  int64_t integer(int64_t otherwise = 0, size_t i = 0) const {
    return i < size() && has_ints() ? argument_->ints[i] : otherwise;
  }
  std::string_view text() const { return kind() == BERTH_ARG_TEXT ? argument_->text : ""; }

 private:
  bool has_ints() const { return kind() == BERTH_ARG_INTS || kind() == BERTH_ARG_BOOLS || kind() == BERTH_ARG_DTYPE; }

  const berth_graph* graph_;
  const berth_argument* argument_;  // null: there is no argument of that name
};

class Node {
 public:
  Node(const berth_graph* graph, const berth_node* node) : graph_(graph), node_(node) {}

  /// "aten::add.Tensor"
  std::string_view op() const { return node_->op; }
  const char* source() const { return node_->source; }
  size_t arguments_size() const { return node_->num_arguments; }
  Argument argument(size_t i) const { return {graph_, &node_->arguments[i]}; }
  /// By the name in the schema; none if there is no such parameter.
  Argument argument(std::string_view name) const {
    for (size_t i = 0; i < node_->num_arguments; ++i) {
      if (name == node_->arguments[i].name) return argument(i);
    }
    return {graph_, nullptr};
  }
  size_t results_size() const { return node_->num_results; }
  Value result(size_t i = 0) const { return {&graph_->values[node_->results[i]], node_->results[i]}; }

 private:
  const berth_graph* graph_;
  const berth_node* node_;
};

class Graph {
 public:
  explicit Graph(const berth_graph* graph) : graph_(graph) {}

  size_t nodes_size() const { return graph_->num_nodes; }
  Node node(size_t i) const { return {graph_, &graph_->nodes[i]}; }
  size_t values_size() const { return graph_->num_values; }
  Value value(size_t i) const { return {&graph_->values[i], static_cast<int32_t>(i)}; }
  size_t inputs_size() const { return graph_->num_inputs; }
  Value input(size_t i) const { return value(graph_->inputs[i]); }
  size_t outputs_size() const { return graph_->num_outputs; }
  Value output(size_t i) const { return value(graph_->outputs[i]); }

 private:
  const berth_graph* graph_;
};

namespace internal {

inline int32_t give(const Status& status, berth_message* message) {
  if (message != nullptr) std::snprintf(message->text, sizeof message->text, "%s", status.message.c_str());
  return status.code;
}

}  // namespace internal

}  // namespace berth::plugin

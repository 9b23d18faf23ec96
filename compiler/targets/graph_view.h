// GraphView: nodes of a method as the plain data of plugin/plugin.h.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "plugin/plugin.h"

namespace berth::targets {

class GraphView {
 public:
  /// `uses` are ir::count_uses(method). All three must outlive the view, unchanged. REQUIRES: `nodes` have no regions.
  GraphView(const ir::Module& module, const ir::Method& method, const IdVector<ir::ValueId, int>& uses,
            const std::vector<ir::NodeId>& nodes, const std::vector<ir::ValueId>& inputs,
            const std::vector<ir::ValueId>& outputs);
  /// One node that is not in the method yet and has no results; values have no users.
  GraphView(const ir::Module& module, const ir::Method& method, const ir::Node& call);
  GraphView(const GraphView&) = delete;
  GraphView& operator=(const GraphView&) = delete;

  const berth_graph& graph() const { return graph_; }
  /// What graph().values[index] describes; invalid when there is no such value.
  ir::ValueId value_at(int32_t index) const;

 private:
  void finish(const std::vector<ir::ValueId>& outputs);
  int32_t value(ir::ValueId id);
  berth_value describe(ir::ValueId id);
  void describe_tensor(const ir::TensorType& type, berth_value* out);
  berth_argument argument(const ir::Parameter& parameter, const ir::Argument& argument);
  berth_node node(const ir::Node& node);
  std::vector<int32_t> indices(const std::vector<ir::ValueId>& ids);

  template <typename T>
  const T* keep(std::deque<std::vector<T>>& store, std::vector<T> list) {
    store.push_back(std::move(list));
    return store.back().data();
  }

  const ir::Module& module_;
  const ir::Method& method_;
  const IdVector<ir::ValueId, int>* uses_;  // null: none
  std::map<ir::ValueId, int32_t> index_;
  std::vector<berth_value> values_;
  std::vector<berth_node> nodes_;
  // What the structures point to. Deques, because their elements stay where they are.
  std::deque<std::vector<int32_t>> ids_;
  std::deque<std::vector<int64_t>> numbers_;
  std::deque<std::vector<double>> reals_;
  std::deque<std::vector<uint8_t>> orders_;
  std::deque<std::vector<uint8_t>> bytes_;
  std::deque<std::vector<berth_argument>> arguments_;
  std::deque<std::string> texts_;
  berth_graph graph_ = {};
};

}  // namespace berth::targets

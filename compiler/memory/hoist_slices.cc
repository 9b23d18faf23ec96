#include "compiler/memory/hoist_slices.h"

#include <map>

#include "compiler/ir/arguments.h"

namespace berth::memory {
namespace {

using ir::NodeId;

/// The node that makes what `node` cuts; invalid when no node does.
NodeId maker_of_whole(const ir::Method& method, const ir::Node& node) {
  const ir::Value& whole = method.value(std::get<ir::ValueId>(node.args[arg::part_of::self]));
  return whole.kind == ir::ValueKind::kNode ? whole.node : NodeId{};
}

class HoistedOrder {
 public:
  HoistedOrder(const ir::Method& method, const AliasCandidates& candidates) {
    for (const NodeId id : method.body.nodes) {
      const ir::Node& node = method.node(id);
      const bool cuts = candidates.sub_buffers[id].valid() && node.op->view != ir::ViewKind::kConcat;
      if (cuts) {
        cuts_of_[maker_of_whole(method, node).index].push_back(id);
      } else {
        others_.push_back(id);
      }
    }
  }

  std::vector<NodeId> run() {
    add_cuts_of(NodeId{});
    for (const NodeId id : others_) add(id);
    return std::move(order_);
  }

 private:
  // A list of its own, as a part may be cut again, and that part too, to any depth.
  void add(NodeId id) {
    const size_t begin = order_.size();
    order_.push_back(id);
    for (size_t i = begin; i < order_.size(); ++i) add_cuts_of(order_[i]);
  }

  void add_cuts_of(NodeId maker) {
    const auto found = cuts_of_.find(maker.index);
    if (found == cuts_of_.end()) return;
    for (const NodeId cut : found->second) {
      if (maker.valid()) {
        order_.push_back(cut);
      } else {
        add(cut);
      }
    }
  }

  std::map<int32_t, std::vector<NodeId>> cuts_of_;  // by the node that makes the whole, -1 for none
  std::vector<NodeId> others_;
  std::vector<NodeId> order_;
};

}  // namespace

std::optional<ir::Method> hoist_slices(const ir::Method& method, const AliasCandidates& candidates) {
  std::vector<NodeId> order = HoistedOrder(method, candidates).run();
  if (order == method.body.nodes) return std::nullopt;
  ir::Method changed = method;
  changed.body.nodes = std::move(order);
  return changed;
}

}  // namespace berth::memory

#include "compiler/placement/entries.h"

namespace berth::placement {
namespace {

// What a call of one more delegate and what it needs to be loaded are worth.
constexpr int64_t kLeastSaved = 64 * 1024;

class EntryFinder {
 public:
  EntryFinder(const Module& module, const Method& method)
      : module_(module), method_(method), uses_(ir::count_uses(method)), reader_(method.values.size()) {
    for (NodeId id : method.body.nodes) {
      ir::for_each_mention(method, method.node(id), [&](const ValueId& value) { reader_[value] = id; });
    }
  }

  // Empty where there is none.
  std::vector<NodeId> entry_of(ValueId input) const {
    std::vector<NodeId> nodes;
    ValueId value = input;
    while (!is_byte(method_.tensor(value).dtype)) {
      if (uses_[value] != 1 || !reader_[value].valid() || !takes_only(reader_[value], value)) return {};
      nodes.push_back(reader_[value]);
      value = method_.node(nodes.back()).results[0];
    }
    return bytes_of(input) - bytes_of(value) >= kLeastSaved ? nodes : std::vector<NodeId>();
  }

 private:
  int64_t bytes_of(ValueId value) const { return ir::max_bytes(method_.tensor(value), module_.symbols); }

  // Whether it computes each element from the one of `value` at the same place, and constants.
  bool takes_only(NodeId id, ValueId value) const {
    const Node& node = method_.node(id);
    const bool each = node.op->in_place == ir::InPlaceClass::kElement || node.is(OpId::to_copy_out) ||
                      node.is(OpId::to_dim_order_copy_out);
    if (!each || node.results.size() != 1) return false;
    bool only = true;
    ir::for_each_mention(method_, node, [&](const ValueId& read) {
      only = only && (read == value || method_.value(read).kind == ir::ValueKind::kConstant);
    });
    return only;
  }

  const Module& module_;
  const Method& method_;
  const IdVector<ValueId, int> uses_;
  IdVector<ValueId, NodeId> reader_;  // the last
};

}  // namespace

std::vector<std::vector<NodeId>> find_entries(const Module& module, const Method& method) {
  const EntryFinder finder(module, method);
  std::vector<std::vector<NodeId>> entries;
  for (ValueId input : method.body.inputs) {
    if (method.value(input).tensor() == nullptr) continue;
    std::vector<NodeId> nodes = finder.entry_of(input);
    if (!nodes.empty()) entries.push_back(std::move(nodes));
  }
  return entries;
}

}  // namespace berth::placement

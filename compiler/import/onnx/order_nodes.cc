#include "compiler/import/onnx/order_nodes.h"

#include <unordered_map>

namespace berth::onnx {
namespace {

using Producers = std::unordered_map<std::string_view, size_t>;

/// Adds to `found` the producers of all that `node` mentions, what graphs within it read included.
void mentioned(const Node& node, const Producers& producers, std::vector<size_t>& found) {
  const auto add = [&](std::string_view name) {
    const auto producer = producers.find(name);
    if (producer != producers.end()) found.push_back(producer->second);
  };
  for (const std::string_view name : node.inputs) add(name);
  for (const Attribute& attribute : node.attributes) {
    if (attribute.graph == nullptr) continue;
    for (const Node& inner : attribute.graph->nodes) mentioned(inner, producers, found);
    for (const ValueInfo& output : attribute.graph->outputs) add(output.name);
  }
}

/// The nodes in an order that fits: depth first, what is read before what reads it.
std::vector<size_t> fitting_order(const std::vector<std::vector<size_t>>& reads) {
  std::vector<size_t> order;
  std::vector<bool> seen(reads.size());
  std::vector<std::pair<size_t, size_t>> path;  // nodes that are waited for, and how many of what they read is done
  for (size_t root = 0; root < reads.size(); ++root) {
    if (seen[root]) continue;
    seen[root] = true;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [node, done] = path.back();
      if (done == reads[node].size()) {
        order.push_back(node);
        path.pop_back();
        continue;
      }
      const size_t next = reads[node][done++];
      if (seen[next]) continue;
      seen[next] = true;
      path.emplace_back(next, 0);
    }
  }
  return order;
}

}  // namespace

void order_nodes(std::vector<Node>& nodes) {
  Producers producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (!output.empty()) producers.emplace(output, i);
    }
  }
  std::vector<std::vector<size_t>> reads(nodes.size());
  bool ordered = true;
  for (size_t i = 0; i < nodes.size(); ++i) {
    mentioned(nodes[i], producers, reads[i]);
    for (const size_t producer : reads[i]) ordered = ordered && producer < i;
  }
  if (ordered) return;
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  for (const size_t i : fitting_order(reads)) sorted.push_back(std::move(nodes[i]));
  nodes = std::move(sorted);
}

}  // namespace berth::onnx

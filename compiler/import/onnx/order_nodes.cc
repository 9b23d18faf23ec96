#include "compiler/import/onnx/order_nodes.h"

#include <unordered_map>
#include <unordered_set>

namespace berth::onnx {
namespace {

using Names = std::vector<std::string_view>;

void read_by(const Node& node, Names& found);

/// Adds to `found` what `graph` reads of what is around it: a name that is bound within means what is bound there, also
/// where something around has the same one.
void read_by(const Graph& graph, Names& found) {
  Names mentioned;
  for (const Node& node : graph.nodes) read_by(node, mentioned);
  for (const ValueInfo& output : graph.outputs) mentioned.push_back(output.name);
  std::unordered_set<std::string_view> own;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const Tensor& tensor : graph.initializers) own.insert(tensor.name);
  for (const SparseTensor& tensor : graph.sparse_initializers) own.insert(tensor.values.name);
  for (const Node& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  for (const std::string_view name : mentioned) {
    if (own.count(name) == 0) found.push_back(name);
  }
}

/// Adds to `found` what `node` reads, and what graphs within it do.
void read_by(const Node& node, Names& found) {
  found.insert(found.end(), node.inputs.begin(), node.inputs.end());
  for (const Attribute& attribute : node.attributes) {
    if (attribute.graph != nullptr) read_by(*attribute.graph, found);
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
  std::unordered_map<std::string_view, size_t> producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (!output.empty()) producers.emplace(output, i);
    }
  }
  std::vector<std::vector<size_t>> reads(nodes.size());
  bool ordered = true;
  Names names;
  for (size_t i = 0; i < nodes.size(); ++i) {
    names.clear();
    read_by(nodes[i], names);
    for (const std::string_view name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      reads[i].push_back(producer->second);
      ordered = ordered && producer->second < i;
    }
  }
  if (ordered) return;
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  for (const size_t i : fitting_order(reads)) sorted.push_back(std::move(nodes[i]));
  nodes = std::move(sorted);
}

}  // namespace berth::onnx

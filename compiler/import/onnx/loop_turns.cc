#include "compiler/import/onnx/loop_turns.h"

#include <algorithm>
#include <unordered_set>

namespace berth::onnx {
namespace {

/// What of a body its condition needs: the nodes, and which of what goes around.
struct ConditionPart {
  Graph graph;
  std::vector<bool> needs;
};

/// Nothing where the condition needs a graph within the body.
std::optional<ConditionPart> condition_part(const Turns& t) {
  const Graph& body = *t.body;
  std::unordered_set<std::string_view> wanted = {body.outputs[0].name};
  ConditionPart part;
  part.needs.assign(t.carried, false);
  std::vector<bool> taken(body.nodes.size(), false);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = body.nodes.size(); i-- > 0;) {
      const Node& node = body.nodes[i];
      const auto is_wanted = [&](std::string_view name) { return wanted.count(name) != 0; };
      if (taken[i] || !std::any_of(node.outputs.begin(), node.outputs.end(), is_wanted)) continue;
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph != nullptr) return std::nullopt;
      }
      taken[i] = grown = true;
      wanted.insert(node.inputs.begin(), node.inputs.end());
    }
    for (size_t k = 0; k < t.carried && k + 2 < body.inputs.size(); ++k) {
      if (part.needs[k] || wanted.count(body.inputs[k + 2].name) == 0) continue;
      part.needs[k] = grown = true;
      wanted.insert(body.outputs[k + 1].name);
    }
  }
  part.graph = body;
  part.graph.nodes.clear();
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    if (taken[i]) part.graph.nodes.push_back(body.nodes[i]);
  }
  part.graph.outputs.resize(1);
  for (size_t k = 0; k < t.carried; ++k) {
    if (part.needs[k]) part.graph.outputs.push_back(body.outputs[k + 1]);
  }
  return part;
}

// More turns than this are not followed.
constexpr int64_t kMaxFollowed = 1 << 14;

}  // namespace

Turns read_turns(NodeContext& n) {
  Turns t;
  t.body = n.graph("body");
  if (!n.ok()) return t;
  if (n.input_count() < 2) return n.invalid("needs a number of turns and a condition, or \"\" for either"), t;
  t.carried = n.input_count() - 2;
  if (t.body->outputs.size() < t.carried + 1) return n.invalid("its body gives less than goes around"), t;
  t.stacked = t.body->outputs.size() - t.carried - 1;
  if (n.output_count() > t.carried + t.stacked) return n.invalid("its body gives less than the node has results"), t;
  if (n.has_input(0)) {
    t.count = only_number(n.known(0));
    if (t.count.has_value() && t.count->is_constant()) t.count = Dim(std::max<int64_t>(t.count->value, 0));
  }
  t.start = true;
  if (n.has_input(1)) {
    const std::optional<Dim> known = only_number(n.known(1));
    t.start = known.has_value() && known->is_constant() ? std::optional<bool>(known->value != 0) : std::nullopt;
  }
  return t;
}

std::optional<int64_t> followed_turns(NodeContext& n, const Turns& t) {
  const bool bounded = t.count.has_value() && t.count->is_constant();
  if (t.start != std::optional<bool>(true) || (t.count.has_value() && !bounded)) return std::nullopt;
  if (n.has_input(0) && !bounded) return std::nullopt;
  const std::optional<ConditionPart> part = condition_part(t);
  if (!part.has_value() || std::none_of(part->needs.begin(), part->needs.end(), [](bool b) { return b; })) {
    return std::nullopt;
  }
  const auto is_number = [](const Operand& o) { return o.known.has_value() && o.known->is_constant(); };
  Operands carried(t.carried);
  for (size_t k = 0; k < t.carried; ++k) {
    if (!part->needs[k]) continue;
    carried[k].known = n.known(k + 2);
    if (!is_number(carried[k])) return std::nullopt;
  }
  // Tried once aside, so that a condition that turns out to need the data leaves nothing in the graph.
  ir::Graph aside;
  Operands first = {operand_of(scalar_whole(0)), operand_of(scalar_truth(true))};
  first.insert(first.end(), carried.begin(), carried.end());
  std::optional<Failure> misfit;
  const Operands tried = n.state().importer->import_within(n, part->graph, first, &aside, &misfit);
  const auto is_constant = [&](const Operand& o) { return n.constant_of(o.id) != nullptr; };
  if (misfit.has_value() || !std::all_of(tried.begin(), tried.end(), is_constant)) return std::nullopt;
  const int64_t most = bounded ? std::min(t.count->value, kMaxFollowed) : kMaxFollowed;
  for (int64_t turn = 0; turn < most && n.ok(); ++turn) {
    Operands inputs = {operand_of(scalar_whole(turn)), operand_of(scalar_truth(true))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    std::optional<Failure> failure;
    const Operands outputs = n.state().importer->import_within(n, part->graph, inputs, nullptr, &failure);
    if (failure.has_value() || outputs.empty() || !std::all_of(outputs.begin(), outputs.end(), is_number)) {
      return std::nullopt;
    }
    if (only_number(outputs[0].known) == std::optional<Dim>(Dim(0))) return turn + 1;
    size_t next = 1;
    for (size_t k = 0; k < t.carried; ++k) {
      if (part->needs[k]) carried[k] = outputs[next++];
    }
  }
  return bounded && t.count->value <= kMaxFollowed ? t.count->value : std::optional<int64_t>();
}

}  // namespace berth::onnx

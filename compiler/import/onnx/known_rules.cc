// Which nodes are shape arithmetic, and what becomes of them.
#include "compiler/import/onnx/known_rules.h"

#include <unordered_map>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

const KnownRule* find_rule(std::string_view name) {
  static const auto rules = [] {
    std::unordered_map<std::string_view, const KnownRule*> map;
    for (Span<const KnownRule> table : {known_arithmetic_rules(), known_layout_rules()}) {
      for (const KnownRule& rule : table) map.emplace(rule.name, &rule);
    }
    return map;
  }();
  const auto found = rules.find(name);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace

KnownResult one_known(Known known) {
  std::vector<Known> all;
  all.push_back(std::move(known));
  return all;
}

bool evaluate_known(NodeContext& n) {
  const KnownRule* rule = find_rule(n.node().op_type);
  if (rule == nullptr) return false;
  std::vector<Known> in;
  for (size_t i = 0; i < n.input_count(); ++i) {
    std::optional<Known> known = n.has_input(i) ? n.known(i) : std::nullopt;
    if (!known.has_value()) return false;
    in.push_back(std::move(*known));
  }
  KnownResult results = rule->evaluate(n, in);
  if (!n.ok() || !results.has_value()) return false;
  for (size_t i = 0; i < results->size(); ++i) n.output(i, std::move((*results)[i]));
  return true;
}

}  // namespace berth::onnx

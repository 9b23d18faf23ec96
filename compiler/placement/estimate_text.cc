#include "compiler/placement/estimate_text.h"

#include <algorithm>
#include <cstdio>

namespace berth::placement {
namespace {

constexpr char kPass[] = "partition";

const DeviceCosts* find_costs(const Options& options, const std::string& target) {
  const auto found = std::find_if(options.costs.begin(), options.costs.end(),
                                  [&](const DeviceCosts& costs) { return costs.target == target; });
  return found == options.costs.end() ? nullptr : &*found;
}

/// What all nodes of the group take on a target; below 0 if it does not take one of them.
double seconds_at(const MethodEstimate& estimate, const Group& group, size_t target) {
  double sum = 0;
  for (const ir::NodeId id : group.nodes) {
    const std::vector<double>& seconds = estimate.node[id];
    if (target >= seconds.size() || seconds[target] < 0) return -1;
    sum += seconds[target];
  }
  return sum;
}

}  // namespace

std::string time_text(double seconds) {
  const bool micro = seconds < 1e-3;
  const bool milli = seconds < 1;
  const double number = micro ? seconds * 1e6 : milli ? seconds * 1e3 : seconds;
  char text[32];
  std::snprintf(text, sizeof text, micro ? "%.1f us" : milli ? "%.2f ms" : "%.2f s", number);
  return text;
}

void remark_line(const passes::Options& pass_options, const ir::Method& method, const std::string& text) {
  if (!passes::wants_why(pass_options, kPass)) return;
  const std::string of = pass_options.name_methods ? method.name + ": " : "";
  pass_options.why_lines->push_back(std::string(kPass) + ": " + of + text);
}

void remark_estimate(const CostEstimate& estimate, const Options& options, const passes::Options& pass_options) {
  if (estimate.methods.empty() || !passes::wants_why(pass_options, kPass)) return;
  std::string text = std::string(kPass) + ": by cost: a run takes " + time_text(estimate.seconds);
  for (const auto& [target, seconds] : estimate.alone) {
    const DeviceCosts* costs = find_costs(options, target);
    const bool measured = costs != nullptr && costs->measured;
    text += "; on " + target + " alone " + time_text(seconds) + (measured ? " (measured)" : " (estimated)");
  }
  pass_options.why_lines->push_back(std::move(text));
}

std::string node_estimate(const MethodEstimate& estimate, const Options& options, ir::NodeId node) {
  if (!estimate.node.contains(node)) return "";
  std::string text;
  for (size_t t = 0; t < estimate.node[node].size(); ++t) {
    const double seconds = estimate.node[node][t];
    if (seconds < 0) continue;
    text += (text.empty() ? ": " : ", ") + options.targets[t].name + " " + time_text(seconds);
  }
  return text;
}

std::string part_estimate(const MethodEstimate& estimate, const Options& options, const ir::Method& method,
                          const Group& group) {
  if (estimate.node.empty()) return "";
  const size_t target = group.target;
  double enters = 0;
  for (const ir::ValueId input : group.inputs) {
    if (target < estimate.enters[input].size()) enters += estimate.enters[input][target];
  }
  double leaves = 0;
  for (const ir::NodeId id : group.nodes) {
    for (const ir::ValueId result : method.node(id).results) leaves += estimate.leaves[result];
  }
  std::string text = " on " + options.targets[target].name + ": " + std::to_string(group.nodes.size()) +
                     (group.nodes.size() == 1 ? " node, " : " nodes, ") +
                     time_text(seconds_at(estimate, group, target)) + ", " + time_text(enters) + " to get there, " +
                     time_text(leaves) + " to leave";
  for (size_t t = 0; t < options.targets.size(); ++t) {
    if (t == target) continue;
    const double there = seconds_at(estimate, group, t);
    text += "; on " + options.targets[t].name + " " + (there < 0 ? "not all of it can be" : time_text(there));
  }
  return text;
}

}  // namespace berth::placement

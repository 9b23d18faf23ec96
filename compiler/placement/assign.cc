#include "compiler/placement/assign.h"

#include <fnmatch.h>

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/text.h"
#include "compiler/placement/graph_walk.h"
#include "compiler/placement/work.h"

namespace berth::placement {
namespace {

using targets::Support;

bool is_like(const std::string& glob, const std::string& name) {
  return !name.empty() && fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

// Whether the node is anything that could run somewhere else.
bool is_operator(const Node& node) { return !is_copy(node) && (node.op->infer != nullptr || !node.regions.empty()); }

class Assigner {
 public:
  Assigner(const Module& module, const Options& options)
      : module_(module), of_all_(options), matched_(options.rules.size()) {}

  Expected<Assignments> run() {
    std::vector<Assignment> all;
    std::vector<Takers> takers;
    bool by_cost = false;
    for (const Method& method : module_.methods) {
      method_ = &method;
      options_ = options_of(of_all_, method);
      out_ = Assignment();
      out_.target.assign(method.nodes.size(), -1);
      out_.support.assign(method.nodes.size(), Support::kOperator);
      out_.asked.assign(method.nodes.size(), false);
      out_.reason.assign(method.nodes.size(), std::string());
      takers_.assign(method.nodes.size(), {});
      uses_ = ir::count_uses(method);
      BERTH_TRY(body(method.body));
      all.push_back(std::move(out_));
      takers.push_back(std::move(takers_));
      by_cost = by_cost || options_.by_cost;
    }
    for (size_t i = 0; i < matched_.size(); ++i) {
      if (matched_[i]) continue;
      const Rule& rule = of_all_.rules[i];
      return Failure{Error::kInvalidArgument,
                     "place " + ir::quoted((rule.method.empty() ? "" : rule.method + ":") + rule.glob),
                     "is like no node: neither the source of any nor the name of a result; berth inspect MODEL "
                     "--values lists them"};
    }
    if (!by_cost) return Assignments{std::move(all), {}};
    std::vector<IdVector<NodeId, int32_t>*> target;
    for (Assignment& one : all) target.push_back(&one.target);
    BERTH_ASSIGN_OR_RETURN(CostEstimate estimate, choose_by_cost(module_, of_all_, takers, target));
    return Assignments{std::move(all), std::move(estimate)};
  }

 private:
  Status body(const Graph& graph) {
    const std::vector<size_t> starts = options_.split ? parts(graph) : std::vector<size_t>{0};
    size_t part = 0;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      while (part + 1 < starts.size() && starts[part + 1] <= i) ++part;
      BERTH_TRY(node(graph.nodes[i], part));
    }
    return Done{};
  }

  Status node(NodeId id, size_t part) {
    const Node& node = method_->node(id);
    if (is_delegate(node)) return note(id, -1, {Support::kDelegated, ""});
    BERTH_TRY(choose(id, part));
    for (const Graph& region : node.regions) {
      for (NodeId inner : region.nodes) BERTH_TRY(this->node(inner, part));
    }
    return Done{};
  }

  Status note(NodeId id, int32_t target, const targets::Answer& answer) {
    out_.target[id] = target;
    out_.support[id] = answer.support;
    out_.reason[id] = answer.reason;
    if (target >= 0) takers_[id].push_back(target);
    return Done{};
  }

  // Of the targets behind `first` that take the node, too.
  Status add_takers(NodeId id, size_t first) {
    for (size_t target = first; target < options_.targets.size(); ++target) {
      BERTH_ASSIGN_OR_RETURN(const targets::Answer answer, ask(options_.targets[target], id));
      if (answer.support == Support::kSupported) takers_[id].push_back(static_cast<int32_t>(target));
    }
    return Done{};
  }

  Status choose(NodeId id, size_t part) {
    const Node& node = method_->node(id);
    if (is_operator(node)) {
      const std::optional<Device> device = asked(node);
      if (device.has_value()) return place(id, *device);
    }
    targets::Answer first = {Support::kOperator, ""};
    const size_t count = options_.targets.size();
    for (size_t i = 0; i < count; ++i) {
      // The target of the part is asked first, the others in their order.
      const size_t target = !options_.split ? i : i == 0 ? part : i <= part ? i - 1 : i;
      BERTH_ASSIGN_OR_RETURN(const targets::Answer answer, ask(options_.targets[target], id));
      if (answer.support == Support::kSupported) {
        BERTH_TRY(note(id, static_cast<int32_t>(target), answer));
        return options_.by_cost ? add_takers(id, target + 1) : Done{};
      }
      if (i == 0) first = answer;
    }
    return note(id, -1, first);
  }

  Expected<targets::Answer> ask(const targets::Target& target, NodeId id) const {
    auto answer = targets::supports(target, module_, *method_, uses_, id);
    if (answer.ok()) return answer;
    Failure failure = answer.error();
    failure.place = place_of(*method_, method_->node(id)) + ": " + failure.place;
    return failure;
  }

  std::optional<Device> asked(const Node& node) {
    std::optional<Device> device;
    for (size_t i = 0; i < options_.rules.size(); ++i) {
      const Rule& rule = options_.rules[i];
      if (!rule.method.empty() && rule.method != method_->name) continue;
      bool like = is_like(rule.glob, node.source);
      for (ValueId result : node.results) like = like || is_like(rule.glob, method_->value(result).name);
      if (!like) continue;
      matched_[i] = true;
      device = rule.device;
    }
    if (options_.node_device) {
      const std::optional<Device> said = options_.node_device(*method_, node);
      if (said.has_value()) device = said;
    }
    return device;
  }

  Status place(NodeId id, Device device) {
    const Node& node = method_->node(id);
    out_.asked[id] = true;
    bool any = false;
    targets::Answer first = {Support::kPlacedElsewhere, ""};
    for (size_t target = 0; target < options_.targets.size(); ++target) {
      if (options_.targets[target].device != device) continue;
      BERTH_ASSIGN_OR_RETURN(const targets::Answer answer, ask(options_.targets[target], id));
      if (answer.support == Support::kSupported) return note(id, static_cast<int32_t>(target), answer);
      if (!any) first = answer;
      any = true;
    }
    // The program itself runs on the host.
    if (device.is_cpu()) return note(id, -1, first);
    if (!any) {
      return fail(node, "is to run on " + std::string(to_text(device).text) + ", which is none of the targets " +
                            target_names());
    }
    return fail(node, "cannot run on " + std::string(to_text(device).text) + ": " + to_string(first.support) +
                          (first.reason.empty() ? "" : ": " + first.reason));
  }

  Failure fail(const Node& node, const std::string& message) const {
    return Failure{Error::kInvalidArgument, place_of(*method_, node), message};
  }

  std::string target_names() const {
    std::string names;
    for (const targets::Target& target : options_.targets) names += (names.empty() ? "" : ", ") + target.name;
    return names.empty() ? "(there are none)" : names;
  }

  // What would be copied between what stands before each node and what stands from there on.
  std::vector<int64_t> crossing_bytes(const Graph& graph) const {
    std::unordered_map<int32_t, size_t> defined;
    std::vector<int64_t> change(graph.nodes.size() + 1);
    std::unordered_map<int32_t, size_t> last;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      ir::for_each_mention(*method_, method_->node(graph.nodes[i]), [&](const ValueId& id) { last[id.index] = i; });
      for (ValueId result : method_->node(graph.nodes[i]).results) defined.emplace(result.index, i);
    }
    for (const auto& [value, reader] : last) {
      const auto maker = defined.find(value);
      const ir::TensorType* type = method_->value(ValueId{value}).tensor();
      if (maker == defined.end() || type == nullptr) continue;
      const int64_t bytes = std::min(int64_t{1} << 40, ir::max_bytes(*type, module_.symbols));
      change[maker->second + 1] += bytes;
      change[reader + 1] -= bytes;
    }
    for (size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
    change.pop_back();
    return change;
  }

  std::vector<size_t> parts(const Graph& graph) const {
    std::vector<int64_t> work;
    for (NodeId id : graph.nodes) work.push_back(work_of(module_, *method_, method_->node(id)));
    return cut(work, crossing_bytes(graph), std::max<size_t>(1, options_.targets.size()));
  }

  const Module& module_;
  const Options& of_all_;
  Options options_;  // of the method
  std::vector<bool> matched_;
  const Method* method_ = nullptr;
  IdVector<ValueId, int> uses_;  // of the method
  Assignment out_;
  Takers takers_;  // of the method
};

}  // namespace

Expected<Assignments> assign(const Module& module, const Options& options) { return Assigner(module, options).run(); }

}  // namespace berth::placement

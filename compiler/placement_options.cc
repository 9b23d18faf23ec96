#include "compiler/placement_options.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/backend_facts.h"
#include "compiler/fuse/context.h"
#include "compiler/memory/plan_overlap.h"
#include "compiler/method_settings.h"
#include "compiler/placement/device_io.h"
#include "compiler/targets/target.h"
#include "kernels/cpu/packing.h"

namespace berth {
namespace {

// Whether the program may have operators of Berth's own. Where "portable" is the only target it must not, unless it
// calls delegates that no other runtime has.
bool takes_berths_runtime(const ir::Module& module, const std::vector<targets::Target>& targets) {
  return !std::all_of(targets.begin(), targets.end(), [](const auto& target) { return target.is_portable(); }) ||
         std::any_of(module.delegates.begin(), module.delegates.end(),
                     [](const ir::Delegate& delegate) { return runs_nested_programs(delegate.backend.c_str()); });
}

Status check_instruction_set(const std::string& name) {
  const std::string place = "instruction set '" + name + "'";
  const std::vector<std::string> known = instruction_sets();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    std::string text;
    for (const std::string& one : known) text += (text.empty() ? "" : ", ") + one;
    return Failure{Error::kInvalidArgument, place, "expected one of " + text};
  }
  if (cpu::has_kernels_for(name)) return Done{};
  return Failure{Error::kNotSupported, place,
                 "this build has kernels for the machine that it was made on alone; ./dev build makes the others"};
}

Expected<DType> weights_of(const std::string& precision) {
  DType type = DType::kF32;
  const std::vector<std::string> known = precisions();
  if (std::find(known.begin(), known.end(), precision) != known.end() &&
      parse_dtype(precision.data(), precision.size(), &type)) {
    return type;
  }
  return Failure{Error::kInvalidArgument, "precision '" + precision + "'", "expected one of f32, bf16, f16"};
}

template <typename F>
bool any_target(const placement::Options& placing, F&& f) {
  const auto any = [&](const auto& targets) { return std::any_of(targets.begin(), targets.end(), f); };
  return any(placing.targets) || std::any_of(placing.methods.begin(), placing.methods.end(),
                                             [&](const auto& method) { return any(method.second.targets); });
}

// An element type that nothing would have is a mistake.
Status check_element_types(const placement::Options& placing, const CompileOptions& options) {
  const auto narrows = [](const targets::Target& target) { return target.weights != DType::kF32; };
  if (options.precision != "f32" && !any_target(placing, narrows)) {
    return Failure{Error::kInvalidArgument, "precision '" + options.precision + "'",
                   "only the targets cpu and vulkan keep weights so, and the targets are " + options.target};
  }
  const auto rounds = [](const targets::Target& target) { return target.byte_activations; };
  if (options.activations != "float" && !any_target(placing, rounds)) {
    return Failure{
        Error::kInvalidArgument, "activations '" + options.activations + "'",
        "only the target cpu rounds them so, but not with packing for \"generic\"; the targets are " + options.target};
  }
  return Done{};
}

Expected<std::vector<targets::Target>> targets_of(const CompileOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const DType weights, weights_of(options.precision));
  BERTH_ASSIGN_OR_RETURN(std::vector<targets::Target> targets, targets::parse_targets(options.target, options.plugins));
  const std::vector<std::string> known = activation_types();
  if (std::find(known.begin(), known.end(), options.activations) == known.end()) {
    return Failure{Error::kInvalidArgument, "activations '" + options.activations + "'", "expected float or int8"};
  }
  for (targets::Target& target : targets) {
    if (!target.isa.empty()) target.isa = options.cpu == "generic" ? "" : options.cpu;
    if (target.narrow_weights) target.weights = weights;
    target.byte_activations = options.activations == "int8" && !target.isa.empty();
  }
  return targets;
}

/// Of one method, or of all where `method` is empty.
Status add_rules(const std::vector<std::string>& place, const std::vector<std::string>& device_io,
                 const std::string& method, placement::Options* placing) {
  for (const std::string& text : place) {
    BERTH_ASSIGN_OR_RETURN(placement::Rule rule, placement::parse_rule(text));
    rule.method = method;
    placing->rules.push_back(std::move(rule));
  }
  for (const std::string& text : device_io) {
    BERTH_ASSIGN_OR_RETURN(placement::DeviceIo io, placement::parse_device_io(text));
    io.method = method;
    placing->device_io.push_back(std::move(io));
  }
  return Done{};
}

/// To the targets of all methods.
Status add_spec(const std::string& text, placement::Options* placing) {
  BERTH_ASSIGN_OR_RETURN(bool found, targets::add_spec(text, &placing->targets));
  for (auto& [method, own] : placing->methods) {
    BERTH_ASSIGN_OR_RETURN(const bool here, targets::add_spec(text, &own.targets));
    found = found || here;
  }
  if (found) return Done{};
  return Failure{Error::kInvalidArgument, "spec '" + text + "'", "its target is not among those that make delegates"};
}

bool has_quantized_tensors(const ir::Module& module) {
  for (const ir::Method& method : module.methods) {
    const auto is = [](const ir::Node& node) { return node.op->is_dequantization(); };
    if (std::any_of(method.nodes.begin(), method.nodes.end(), is)) return true;
  }
  return false;
}

// Weights stay at 8 bits where all targets take them so: a target that does not would make all of the model f32. What
// products of bytes take on vulkan is not in its costs, which are those of floats. A target that the user places nodes
// on stays.
void keep_to_bytes(const std::vector<placement::Rule>& rules, std::vector<targets::Target>* targets) {
  const auto widens = [&](const targets::Target& target) {
    const auto names = [&](const placement::Rule& rule) { return rule.device == target.device; };
    return !target.is_portable() && !fuse::takes_bytes(target) && std::none_of(rules.begin(), rules.end(), names);
  };
  const bool any = std::any_of(targets->begin(), targets->end(), fuse::takes_bytes);
  if (any) targets->erase(std::remove_if(targets->begin(), targets->end(), widens), targets->end());
}

/// Whether devices may work at the same time, and memory may be spent for it.
Expected<bool> has_room_to_overlap(const CompileOptions& options) {
  if (options.overlap.empty()) return false;
  BERTH_ASSIGN_OR_RETURN(const memory::OverlapOptions overlap, memory::parse_overlap(options.overlap));
  return overlap.bytes > 0 || overlap.percent > 0;
}

/// Adds the costs of targets where a method is placed by cost, or calls of its delegates are estimated: the given ones,
/// or estimates.
Status add_costs(const ir::Module& module, const CompileOptions& options, placement::Options* placing) {
  for (const placement::DeviceCosts& costs : options.costs) BERTH_TRY(placement::check_costs(costs));
  const bool estimates_calls = overlaps(options);
  if (estimates_calls) placing->delegate_seconds = std::make_shared<placement::DelegateSeconds>();
  const bool quantized = has_quantized_tensors(module);
  const auto add = [&](bool by_cost, bool split, std::vector<targets::Target>* targets) -> Status {
    if (!by_cost && !estimates_calls) return Done{};
    if (by_cost && split) {
      return Failure{Error::kInvalidArgument, "split",
                     "parts of equal work are not placed by cost: choose one of both"};
    }
    if (by_cost && quantized) keep_to_bytes(placing->rules, targets);
    for (const targets::Target& target : *targets) {
      if (!by_cost && target.is_portable()) continue;
      BERTH_ASSIGN_OR_RETURN(placement::DeviceCosts costs, placement::costs_of(target.name, options.costs));
      placing->costs.push_back(std::move(costs));
    }
    BERTH_ASSIGN_OR_RETURN(placement::DeviceCosts portable, placement::costs_of("portable", options.costs));
    placing->costs.push_back(std::move(portable));
    return Done{};
  };
  BERTH_TRY(add(placing->by_cost, placing->split, &placing->targets));
  for (auto& [method, own] : placing->methods) BERTH_TRY(add(own.by_cost, own.split, &own.targets));
  return Done{};
}

}  // namespace

Expected<placement::Options> placement_options(const ir::Module& module, const CompileOptions& options) {
  placement::Options placing;
  BERTH_TRY(check_instruction_set(options.cpu));
  BERTH_ASSIGN_OR_RETURN(placing.targets, targets_of(options));
  BERTH_TRY(add_rules(options.place, options.device_io, "", &placing));
  placing.node_device = options.node_device;
  placing.split = options.split;
  placing.by_cost = options.by_cost;
  BERTH_ASSIGN_OR_RETURN(placing.cut_where_devices_meet, has_room_to_overlap(options));
  placing.direct_copies = takes_berths_runtime(module, placing.targets);
  for (const auto& [method, settings] : options.methods) {
    BERTH_TRY(add_rules(settings.place, settings.device_io, method, &placing));
    const CompileOptions own = options_of(options, method);
    placement::MethodTargets& targets = placing.methods[method];
    BERTH_ASSIGN_OR_RETURN(targets.targets, targets_of(own));
    targets.split = own.split;
    targets.by_cost = own.by_cost;
    BERTH_ASSIGN_OR_RETURN(targets.cut_where_devices_meet, has_room_to_overlap(own));
    targets.direct_copies = takes_berths_runtime(module, targets.targets);
  }
  for (const std::string& text : options.specs) BERTH_TRY(add_spec(text, &placing));
  BERTH_TRY(check_element_types(placing, options));
  BERTH_TRY(add_costs(module, options, &placing));
  return placing;
}

}  // namespace berth

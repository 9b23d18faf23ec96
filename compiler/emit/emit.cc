#include "compiler/emit/emit.h"

#include <algorithm>
#include <chrono>

#include "base/math.h"
#include "base/version.h"
#include "compiler/emit/container_tree.h"
#include "compiler/emit/emit_method.h"
#include "compiler/emit/lifetimes.h"
#include "compiler/emit/method_meta.h"
#include "compiler/plan/greedy.h"
#include "compiler/plan/naive.h"
#include "compiler/plan/validate.h"

namespace berth::emit {
namespace {

/// Where a failure of the planner is: the value that the storage was made for.
std::string place_in_method(const ir::Method& method, const Lifetimes& lifetimes, const std::string& place) {
  for (size_t i = 0; i < lifetimes.first_value.size(); ++i) {
    const ir::ValueId value = lifetimes.first_value[i];
    if (value.valid() && place == "storage " + std::to_string(i)) {
      return "method " + method.name + ": %" + method.value(value).name;
    }
  }
  return "method " + method.name + ": " + place;
}

Expected<plan::Plan> plan_with(Planner planner, const plan::Problem& problem) {
  switch (planner) {
    case Planner::kNaive: return plan::plan_naive(problem);
    case Planner::kGreedy: return plan::plan_greedy(problem, plan::Key::kSize, plan::Fit::kBest);
    case Planner::kBest: return plan::plan_best(problem);
  }
  BERTH_CHECK(false);
}

Expected<plan::Plan> plan_method(const ir::Method& method, const Lifetimes& lifetimes, Planner planner, double* ms) {
  const auto start = std::chrono::steady_clock::now();
  auto plan = plan_with(planner, lifetimes.problem);
  *ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const Status judged = plan.ok() ? plan::validate(lifetimes.problem, *plan) : plan.error();
  if (judged.ok()) return plan;
  const Failure& failure = judged.error();
  return Failure{failure.code, place_in_method(method, lifetimes, failure.place), failure.message};
}

Expected<std::vector<const ir::Method*>> by_name(const ir::Module& module) {
  std::vector<const ir::Method*> methods;
  for (const ir::Method& method : module.methods) methods.push_back(&method);
  std::sort(methods.begin(), methods.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (size_t i = 1; i < methods.size(); ++i) {
    if (methods[i - 1]->name != methods[i]->name) continue;
    return Failure{Error::kInvalidArgument, "method " + methods[i]->name, "two methods have this name"};
  }
  return methods;
}

}  // namespace

Expected<EmittedProgram> emit(const ir::Module& module, const EmitOptions& options) {
  if (options.alignment < 1 || !is_power_of_two(static_cast<uint64_t>(options.alignment)) ||
      options.alignment > plan::kMaxAlignment) {
    return Failure{Error::kInvalidArgument, "", "the alignment of storages must be a power of two up to 2^30"};
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<const ir::Method*> methods, by_name(module));
  EmittedProgram out;
  Pools pools;
  format::MetaDesc meta;
  meta.producer = "berth " BERTH_VERSION;
  for (const ir::Method* method : methods) {
    BERTH_ASSIGN_OR_RETURN(const Lifetimes lifetimes, find_lifetimes(module, *method, {options.alignment}));
    BERTH_ASSIGN_OR_RETURN(const plan::Plan plan, plan_method(*method, lifetimes, options.planner, &out.plan_ms));
    BERTH_ASSIGN_OR_RETURN(EmittedMethod emitted,
                           emit_method(module, *method, lifetimes, plan, options.stack_traces, &pools));
    emitted.desc.input_tree = input_tree(emitted.desc.inputs.size());
    emitted.desc.output_tree = output_tree(emitted.desc.outputs.size());
    if (options.meta) meta.methods.push_back(method_meta(module, *method, lifetimes, plan, emitted, options.alignment));
    for (size_t k = 0; k < plan.spaces.size(); ++k) {
      const plan::SpaceUse& use = plan.spaces[k];
      out.arenas.push_back({method->name, static_cast<uint32_t>(k + 1), lifetimes.arenas[k].device,
                            static_cast<uint64_t>(use.height), static_cast<uint64_t>(use.lower_bound), use.optimal()});
    }
    out.instructions += emitted.desc.instructions.size();
    for (const ir::ValueId base : lifetimes.bases) out.views += base.valid() ? 1 : 0;
    out.nodes.emplace_back();
    for (const ir::NodeId node : emitted.node_of) out.nodes.back().push_back(node.index);
    out.program.methods.push_back(std::move(emitted.desc));
  }
  out.program.constants = std::move(pools.constants).take();
  out.program.initial_values = std::move(pools.initial_values).take();
  if (options.meta) out.program.named_data.push_back(format::meta_blob(meta));
  return out;
}

}  // namespace berth::emit

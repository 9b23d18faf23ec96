#include "compiler/emit/emit.h"

#include <algorithm>
#include <iterator>

#include "base/math.h"
#include "base/version.h"
#include "compiler/emit/container_tree.h"
#include "compiler/emit/copies.h"
#include "compiler/emit/delegates.h"
#include "compiler/emit/emit_method.h"
#include "compiler/emit/explain.h"
#include "compiler/emit/lifetimes.h"
#include "compiler/emit/lives.h"
#include "compiler/emit/method_meta.h"
#include "compiler/emit/plan_method.h"
#include "format/write/write_program.h"

namespace berth::emit {
namespace {

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

Status check_options(const EmitOptions& options) {
  for (const int64_t alignment : {options.alignment, options.device_alignment}) {
    if (alignment >= 1 && is_power_of_two(static_cast<uint64_t>(alignment)) && alignment <= plan::kMaxAlignment)
      continue;
    return Failure{Error::kInvalidArgument, "", "the alignment of storages must be a power of two up to 2^30"};
  }
  return Done{};
}

/// Everything of one program that its methods share.
struct Making {
  Making(const ir::Module& module, const EmitOptions& options)
      : delegates(module), planning{options.planner, options.reorder, options.time_limit} {}

  Pools pools;
  DelegateData delegates;
  format::MetaDesc meta;
  EmittedProgram out;
  Planning planning;
};

Status add_method(const ir::Module& module, const ir::Method& given, const EmitOptions& options, Making* making) {
  EmittedProgram& out = making->out;
  BERTH_ASSIGN_OR_RETURN(DelegateCalls calls,
                         emit_delegates(module, given, options, &making->delegates, &making->planning));
  MemoryOptions memory = memory_options(options);
  memory.alignments = alignments_of(module, given, options);
  memory.pools = options.pools;
  memory.pool_of = options.pool_of;
  memory.callers = options.callers;
  BERTH_ASSIGN_OR_RETURN(const PlannedMethod planned,
                         plan_in_order(module, given, memory, calls.scratch_bytes, &making->planning));
  const ir::Method& method = planned.in_order(given);
  const Lifetimes& lifetimes = planned.lifetimes;
  const plan::Plan& plan = planned.plan;
  out.saved_by_order += planned.saved_by_order;
  BERTH_ASSIGN_OR_RETURN(EmittedMethod emitted, emit_method(module, method, lifetimes, plan, calls,
                                                            {options.stack_traces, {}}, &making->pools));
  emitted.desc.delegates = std::move(calls.delegates);
  emitted.desc.input_tree = input_tree(emitted.desc.inputs.size());
  emitted.desc.output_tree = output_tree(emitted.desc.outputs.size());
  if (options.meta) making->meta.methods.push_back(method_meta(module, method, lifetimes, plan, emitted));
  for (size_t k = 0; k < plan.spaces.size(); ++k) {
    const plan::SpaceUse& use = plan.spaces[k];
    const Arena& arena = lifetimes.arenas[k];
    out.arenas.push_back({method.name, static_cast<uint32_t>(k + 1), arena.device,
                          static_cast<uint64_t>(arena.bytes(use.height)),
                          static_cast<uint64_t>(arena.bytes(use.lower_bound)), use.optimal()});
  }
  for (const DelegateReport& report : calls.reports) out.saved_by_order += report.saved_by_order;
  std::move(calls.reports.begin(), calls.reports.end(), std::back_inserter(out.delegates));
  std::vector<CopyReport> copies = find_copies(module, method);
  std::move(copies.begin(), copies.end(), std::back_inserter(out.copies));
  out.instructions += emitted.desc.instructions.size();
  for (const ir::ValueId base : lifetimes.bases) out.views += base.valid() ? 1 : 0;
  out.in_place += lifetimes.successors.size();
  for (size_t i = 0; i < plan.merged.size(); ++i) {
    out.in_place += plan.merged[i] && !lifetimes.offers[i].is_slot ? 1 : 0;
  }
  for (const ir::NodeId node : method.body.nodes) out.elided += is_elided(lifetimes, plan, node) ? 1 : 0;
  if (options.why_reuse != nullptr) explain_reuse(module, method, lifetimes, plan, options.why_reuse);
  out.nodes.emplace_back();
  for (const ir::NodeId node : emitted.node_of) out.nodes.back().push_back(node.index);
  out.lives.push_back(lives_of(lifetimes, plan, emitted));
  out.program.methods.push_back(std::move(emitted.desc));
  return Done{};
}

}  // namespace

Expected<EmittedProgram> emit(const ir::Module& module, const EmitOptions& options) {
  BERTH_TRY(check_options(options));
  BERTH_ASSIGN_OR_RETURN(const std::vector<const ir::Method*> methods, by_name(module));
  Making making(module, options);
  making.meta.producer = "berth " BERTH_VERSION;
  for (const ir::Method* method : methods) BERTH_TRY(add_method(module, *method, options, &making));
  format::ProgramDesc& program = making.out.program;
  program.constants = std::move(making.pools.constants).take();
  program.initial_values = std::move(making.pools.initial_values).take();
  program.payloads = std::move(making.delegates.payloads).take();
  program.named_data = std::move(making.delegates.constants).take();
  if (options.meta) program.named_data.push_back(format::meta_blob(making.meta));
  making.out.plan_ms = making.planning.ms;
  making.out.truncated = making.planning.truncated;
  making.out.order_optimal = making.planning.order_optimal;
  BERTH_TRY(format::check_places(program));
  return std::move(making.out);
}

}  // namespace berth::emit

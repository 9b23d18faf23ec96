#include "compiler/emit/emit.h"

#include <iterator>

#include "base/version.h"
#include "compiler/emit/container_tree.h"
#include "compiler/emit/copies.h"
#include "compiler/emit/delegates.h"
#include "compiler/emit/emit_method.h"
#include "compiler/emit/live_ranges.h"
#include "compiler/emit/method_meta.h"
#include "format/write/write_program.h"

namespace berth::emit {
namespace {

template <typename T>
void append(std::vector<T> from, std::vector<T>* to) {
  std::move(from.begin(), from.end(), std::back_inserter(*to));
}

void report_arenas(const std::string& method, const memory::MethodPlan& plan, EmittedProgram* out) {
  for (size_t k = 0; k < plan.packing.spaces.size(); ++k) {
    const packing::SpaceUse& use = plan.packing.spaces[k];
    const memory::Arena& arena = plan.model.arenas[k];
    out->arenas.push_back({method, static_cast<int>(k + 1), arena.device, arena.bytes(use.height),
                           arena.bytes(use.lower_bound), use.optimal(), arena.bank, arena.bank_bytes});
  }
  for (const memory::BankCost& bank : plan.bank_costs) {
    out->banks.push_back({method, bank.device, bank.cost, bank.lower_bound});
  }
}

/// How many values share bytes, and how many nodes need no instruction.
void count_shared(const ir::Method& method, const memory::MethodPlan& plan, EmittedProgram* out) {
  const memory::MemoryModel& model = plan.model;
  for (const ir::ValueId base : model.aliases.bases) out->views += base.valid() ? 1 : 0;
  out->in_place += static_cast<int64_t>(model.aliases.state_updates.size());
  for (const memory::CandidateId id : model.candidates.all.ids()) {
    out->in_place += is_taken(plan.packing, id) && model.candidates.all[id].kind == memory::AliasKind::kInPlace ? 1 : 0;
  }
  for (const ir::NodeId node : method.body.nodes) out->elided += is_elided(model, plan.packing, node) ? 1 : 0;
}

void report_planning(const memory::MemoryPlan& plan, EmittedProgram* out) {
  const memory::PlanningCost cost = plan.cost();
  out->saved_by_order += plan.saved_by_schedule();
  out->plan_ms += cost.ms;
  out->truncated |= cost.truncated;
  out->order_optimal &= plan.schedule_optimal();
}

class ProgramBuilder {
 public:
  ProgramBuilder(const ir::Module& module, const EmitOptions& options)
      : module_(module), options_(options), external_(module, options.constant_file), delegates_(module, &external_) {
    meta_.producer = "berth " BERTH_VERSION;
    out_.order_optimal = true;
  }

  Status add(const memory::MemoryPlan& memory) {
    const memory::MethodPlan& plan = memory.plan;
    const ir::Method& method = plan.scheduled(module_.methods[memory.method]);
    BERTH_ASSIGN_OR_RETURN(DelegateCalls calls, emit_delegates(module_, memory, options_, &delegates_));
    MethodOptions method_options;
    method_options.stack_traces = options_.stack_traces;
    method_options.external_key = [this](ir::ConstantId id, const format::TensorDesc& tensor) {
      return external_.key(id, tensor);
    };
    BERTH_ASSIGN_OR_RETURN(EmittedMethod emitted, emit_method(module_, method, plan, calls, method_options, &pools_));
    emitted.desc.delegates = std::move(calls.delegates);
    emitted.desc.input_tree = input_tree(emitted.desc.inputs.size());
    emitted.desc.output_tree = output_tree(emitted.desc.outputs.size());
    if (options_.meta) meta_.methods.push_back(method_meta(module_, method, plan, emitted));
    report_arenas(method.name, plan, &out_);
    append(std::move(calls.reports), &out_.delegates);
    append(find_copies(module_, method), &out_.copies);
    report_planning(memory, &out_);
    count_shared(method, plan, &out_);
    out_.instructions += static_cast<int64_t>(emitted.desc.instructions.size());
    out_.nodes.emplace_back();
    for (const ir::NodeId node : emitted.node_of) out_.nodes.back().push_back(node.index);
    out_.live_ranges.push_back(live_ranges(plan, emitted));
    out_.program.methods.push_back(std::move(emitted.desc));
    return Done{};
  }

  Expected<EmittedProgram> finish() && {
    format::ProgramDesc& program = out_.program;
    program.constants = std::move(pools_.constants).take();
    program.initial_values = std::move(pools_.initial_values).take();
    program.payloads = std::move(delegates_.payloads).take();
    program.named_data = std::move(delegates_.constants).take();
    out_.external = std::move(external_).take();
    if (options_.meta) program.named_data.push_back(format::meta_blob(meta_));
    BERTH_TRY(format::check_arenas(program));
    return std::move(out_);
  }

 private:
  const ir::Module& module_;
  const EmitOptions& options_;
  Pools pools_;
  ExternalConstants external_;
  DelegateData delegates_;
  format::MetaDesc meta_;
  EmittedProgram out_;
};

}  // namespace

Expected<EmittedProgram> emit(const ir::Module& module, const std::vector<memory::MemoryPlan>& plans,
                              const EmitOptions& options) {
  ProgramBuilder program(module, options);
  for (const memory::MemoryPlan& plan : plans) BERTH_TRY(program.add(plan));
  return std::move(program).finish();
}

}  // namespace berth::emit

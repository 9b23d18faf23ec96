#include "format/plan_check/build_graph.h"

#include <algorithm>

#include "base/result.h"
#include "format/plan_check/aliases.h"
#include "format/plan_check/instructions.h"
#include "format/plan_check/views.h"
#include "format/plan_check/writes.h"
#include "format/tensor_facts.h"
#include "format/verify.h"

namespace berth::format::plan_check {
namespace {

Error collect_items(PlanGraph* graph, int method, Report* report) {
  const fb::ExecutionPlan& plan = *graph->plan;
  uint64_t bases[kMaxArenas] = {};
  uint64_t total = 0;
  for (uint32_t k = 1; k < plan.non_const_buffer_sizes()->size(); ++k) {
    bases[k] = total;
    if (!checked_add(total, static_cast<uint64_t>(plan.non_const_buffer_sizes()->Get(k)), &total)) {
      return fail(report, Error::kOutOfResources, "arenas", "the arenas of method %d add up to more than 2^64 bytes",
                  method);
    }
  }
  std::fill(graph->item.begin(), graph->item.end(), kNone);
  std::fill(graph->first_write.begin(), graph->first_write.end(), kNone);
  std::fill(graph->aliases.begin(), graph->aliases.end(), kNone);
  std::fill(graph->parent.begin(), graph->parent.end(), kNone);
  for (uint32_t v = 0; v < plan.values()->size(); ++v) {
    const fb::Tensor* tensor = tensor_at(plan, v);
    uint64_t nbytes = 0;
    if (tensor == nullptr || !is_planned(*tensor)) continue;
    const Storage storage = storage_of(*tensor);
    if (storage == Storage::kState || storage == Storage::kExternalState) graph->marks[v] |= kHasInitialValue;
    if (!tensor_nbytes(*tensor, &nbytes) || nbytes == 0) continue;
    const size_t i = graph->item_count++;
    graph->item[v] = static_cast<int32_t>(i);
    graph->value[i] = static_cast<int32_t>(v);
    graph->begin[i] = bases[tensor->allocation_info()->memory_id()] + planned_offset(*tensor->allocation_info());
    graph->end[i] = graph->begin[i] + nbytes;
  }
  for (uint32_t i = 0; i < plan.inputs()->size(); ++i) {
    graph->marks[plan.inputs()->Get(i)] |= kIsInput;
  }
  for (uint32_t i = 0; i < plan.operators()->size(); ++i) graph->access[i] = operator_access(*plan.operators()->Get(i));
  for (uint32_t i = 0; graph->meta != nullptr && i < length(graph->meta->own_operators()); ++i) {
    const fb::OwnOperator& own = *graph->meta->own_operators()->Get(i);
    OperatorAccess& access = graph->access[own.index()];
    // Of what is known here, the file has nothing to say.
    if (access.known || access.kind != OperatorAccess::Kind::kPlain) continue;
    access.known = true;
    access.in_place = own.in_place();
  }
  return Error::kOk;
}

/// What instructions may change beside tensors' bytes.
void mark_slots(PlanGraph* graph) {
  const auto mark = [&](int32_t v) { graph->marks[v] |= kIsOutputSlot; };
  for_each_instruction(*graph->plan, [&](const fb::Instruction& instruction, int32_t, int32_t) {
    const auto* kernel = instruction.instr_args_as_KernelCall();
    if (kernel != nullptr && kernel->args()->size() > 0) mark(kernel->args()->Get(kernel->args()->size() - 1));
    if (const auto* call = instruction.instr_args_as_DelegateCall()) {
      for (const int32_t v : *call->args()) {
        if (tensor_at(*graph->plan, v) == nullptr) mark(v);
      }
    }
    if (const auto* move = instruction.instr_args_as_MoveCall()) mark(move->move_to());
    return Error::kOk;
  });
}

}  // namespace

Error build_graph(PlanGraph* graph, int method, Report* report) {
  BERTH_RETURN_IF_ERROR(collect_items(graph, method, report));
  mark_slots(graph);
  BERTH_RETURN_IF_ERROR(collect_writes(graph, method, report));
  BERTH_RETURN_IF_ERROR(collect_aliases(graph, method, report));
  return relate_views(graph, method, report);
}

}  // namespace berth::format::plan_check

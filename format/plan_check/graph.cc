#include "format/plan_check/graph.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/result.h"
#include "format/plan_check/access.h"
#include "format/verify.h"

namespace berth::format::plan_check {
namespace {

Error fail_at(Report* report, Error code, int method, int32_t instruction, const char* message) {
  char place[64];
  std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", method, instruction);
  return fail(report, code, place, "%s", message);
}

/// Whether the instruction, one before those that are collected now, writes `v`.
bool writes(PlanGraph& graph, const fb::Instruction& instruction, int32_t i, int32_t v) {
  bool found = false;
  if (const auto* call = instruction.instr_args_as_KernelCall()) {
    const auto write = [&](int32_t written, WriteKind) { found = found || written == v; };
    if (!visit_writes(graph, shape_of(graph, *call), write)) return true;
  }
  if (const auto* call = instruction.instr_args_as_DelegateCall()) {
    const uint32_t count = call->args()->size();
    const uint32_t results = graph.results[i];
    for (uint32_t k = count - results; k < count; ++k) found = found || call->args()->Get(k) == v;
  }
  return found;
}

/// Whether `v` may hold something when `end` is reached. Of two branches each may write it: what the first wrote does
/// not reach the second. Ways back are not followed, as everywhere where "before" is the order of the instructions.
bool was_written(PlanGraph& graph, int32_t v, int32_t end) {
  const int32_t first = graph.first_write[v];
  if (first == kNone || graph.last_leave < first) return first != kNone;
  if (!graph.spend(static_cast<uint64_t>(end))) return true;
  std::fill(graph.arrives.begin() + first, graph.arrives.begin() + end + 1, uint8_t{0});
  bool here = false;
  for_each_instruction(*graph.plan, [&](const fb::Instruction& instruction, int32_t i, int32_t chain_start) {
    if (i == end) return Error::kEndOfMethod;
    if (i < first) return Error::kOk;
    here = here || graph.arrives[i] != 0 || writes(graph, instruction, i, v);
    const auto* jump = instruction.instr_args_as_JumpFalseCall();
    const int32_t to = jump == nullptr ? 0 : chain_start + jump->destination_instruction();
    if (!here || to <= i) return Error::kOk;
    if (to <= end) graph.arrives[to] = 1;
    here = !graph.is_always(*jump);
    return Error::kOk;
  });
  return here || graph.arrives[end] != 0;
}

/// Whether `v` is another name of bytes that something gave their contents before `end`: by berth.meta or a move. A
/// part of a whole that only its parts write is none.
bool is_other_name(PlanGraph& graph, int32_t v, int32_t end, int depth) {
  if ((graph.mark(v) & kIsRenamed) != 0) return true;
  const auto* relations = graph.meta == nullptr ? nullptr : graph.meta->relations();
  if (!graph.spend(length(relations))) return true;
  for (uint32_t i = 0; i < length(relations); ++i) {
    const fb::Relation& relation = *relations->Get(i);
    if (relation.kind() != fb::RelationKind::VIEW || relation.value() != v) continue;
    if ((graph.mark(relation.base()) & (kIsInput | kHasInitialValue)) != 0 ||
        was_written(graph, relation.base(), end) ||
        (depth > 0 && is_other_name(graph, relation.base(), end, depth - 1))) {
      return true;
    }
  }
  return false;
}

/// Whether a delegate may be taken to write this argument.
bool is_fresh(PlanGraph& graph, int32_t v, int32_t instruction) {
  constexpr int kViewsOfViews = 8;
  const Storage storage = storage_of(*tensor_at(*graph.plan, v));
  return storage != Storage::kConstant && storage != Storage::kExternalConstant &&
         (graph.mark(v) & (kIsInput | kHasInitialValue)) == 0 && !was_written(graph, v, instruction) &&
         !is_other_name(graph, v, instruction, kViewsOfViews);
}

void collect_delegate_writes(PlanGraph* graph, const fb::DelegateCall& call, int32_t instruction) {
  const uint32_t count = call.args()->size();
  uint32_t& results = graph->results[instruction];
  for (uint32_t i = count; i-- > 0;) {
    const int32_t v = call.args()->Get(i);
    if (tensor_at(*graph->plan, v) != nullptr && !is_fresh(*graph, v, instruction)) break;
    results = count - i;
    if (tensor_at(*graph->plan, v) == nullptr) continue;
    graph->marks[v] |= kIsWritten;
    int32_t& first = graph->first_write[v];
    if (first == kNone) first = instruction;
  }
}

Error collect_kernel_writes(PlanGraph* graph, const fb::KernelCall& call, int32_t instruction, int method,
                            Report* report) {
  const CallShape shape = shape_of(*graph, call);
  bool constant = false;
  const auto write = [&](int32_t v, WriteKind kind) {
    const Storage storage = storage_of(*tensor_at(*graph->plan, v));
    constant = constant || storage == Storage::kConstant || storage == Storage::kExternalConstant;
    graph->marks[v] |= kind == WriteKind::kStack ? kIsStacked : kIsWritten;
    int32_t& first = graph->first_write[v];
    if (first == kNone) first = instruction;
  };
  if (!visit_writes(*graph, shape, write)) return out_of_budget(method, report);
  if (constant) return fail_at(report, Error::kInvalidProgram, method, instruction, "the kernel writes to a constant");
  if (shape.access->kind == OperatorAccess::Kind::kView && shape.args->size() >= 3) {
    graph->marks[shape.args->Get(2)] |= kIsRenamed;
  }
  return Error::kOk;
}

}  // namespace

Error out_of_budget(int method, Report* report) {
  char place[32];
  std::snprintf(place, sizeof place, "methods[%d]", method);
  return fail(report, Error::kOutOfResources, place,
              "checking the memory plan takes far more steps than a program of this size should need");
}

const char* describe_value(const PlanGraph& graph, int32_t value, char* buffer, size_t size) {
  std::snprintf(buffer, size, "value %d", value);
  if (graph.meta == nullptr || graph.meta->values() == nullptr) return buffer;
  const auto& names = *graph.meta->values();
  uint32_t low = 0;
  uint32_t high = names.size();
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (names.Get(middle)->value() < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < names.size() && names.Get(low)->value() == value && text(names.Get(low)->name())[0] != '\0') {
    std::snprintf(buffer, size, "value %d (%.30s)", value, text(names.Get(low)->name()));
  }
  return buffer;
}

PlanSize measure_plan(const fb::ExecutionPlan& plan, const fb::MethodMeta* meta) {
  PlanSize size;
  if (meta != nullptr) size.relations = length(meta->relations());
  size.values = plan.values()->size();
  size.operators = plan.operators()->size();
  for (uint32_t v = 0; v < plan.values()->size(); ++v) {
    const fb::Tensor* tensor = tensor_at(plan, v);
    uint64_t nbytes = 0;
    if (tensor != nullptr && is_planned(*tensor) && tensor_nbytes(*tensor, &nbytes) && nbytes > 0) ++size.planned;
  }
  for_each_instruction(plan, [&](const fb::Instruction& instruction, int32_t, int32_t) {
    ++size.instructions;
    if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) {
      const fb::Operator& op = *plan.operators()->Get(static_cast<uint32_t>(call->op_index()));
      if (std::strcmp(text(op.name()), "executorch_prim::et_view") == 0) ++size.alias_calls;
    }
    if (instruction.instr_args_as_MoveCall() != nullptr) ++size.alias_calls;
    if (instruction.instr_args_as_JumpFalseCall() != nullptr) ++size.jumps;
    if (instruction.instr_args_as_DelegateCall() != nullptr) ++size.delegate_calls;
    return Error::kOk;
  });
  return size;
}

bool take_graph_memory(const PlanSize& size, Scratch* scratch, PlanGraph* graph) {
  const size_t items = size.items();
  const size_t aliases = size.alias_capacity();
  const size_t calling = size.delegate_calls == 0 ? 0 : size.instructions;
  return scratch->take(size.values, &graph->item) && scratch->take(size.values, &graph->first_write) &&
         scratch->take(size.values, &graph->aliases) && scratch->take(size.values, &graph->marks) &&
         scratch->take(items, &graph->begin) && scratch->take(items, &graph->end) &&
         scratch->take(items, &graph->value) && scratch->take(items, &graph->parent) &&
         scratch->take(size.planned, &graph->group) && scratch->take(size.planned, &graph->next) &&
         scratch->take(size.planned, &graph->members) && scratch->take(aliases, &graph->alias_instruction) &&
         scratch->take(aliases, &graph->alias_from) && scratch->take(aliases, &graph->next_alias) &&
         scratch->take(size.operators, &graph->access) && scratch->take(size.relations, &graph->relations) &&
         scratch->take(size.planned, &graph->successor) && scratch->take(calling, &graph->results) &&
         scratch->take(calling, &graph->arrives);
}

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

Error collect_writes(PlanGraph* graph, int method, Report* report) {
  return for_each_instruction(*graph->plan, [&](const fb::Instruction& instruction, int32_t i, int32_t) -> Error {
    if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) {
      return collect_kernel_writes(graph, *call, i, method, report);
    }
    if (const fb::DelegateCall* call = instruction.instr_args_as_DelegateCall()) {
      if (!graph->spend(call->args()->size())) return out_of_budget(method, report);
      collect_delegate_writes(graph, *call, i);
    }
    const auto* jump = instruction.instr_args_as_JumpFalseCall();
    if (jump != nullptr && graph->is_always(*jump)) graph->last_leave = i;
    if (const fb::MoveCall* call = instruction.instr_args_as_MoveCall()) {
      const auto kind = graph->plan->values()->Get(static_cast<uint32_t>(call->move_from()))->val_type();
      if (kind == fb::KernelTypes::TensorList || kind == fb::KernelTypes::OptionalTensorList) {
        return fail_at(report, Error::kNotSupported, method, i,
                       "a list of tensors is moved; only tensors can be followed");
      }
      graph->marks[call->move_to()] |= kIsRenamed;
    }
    return Error::kOk;
  });
}

Error build_graph(PlanGraph* graph, int method, Report* report) {
  BERTH_RETURN_IF_ERROR(collect_items(graph, method, report));
  mark_slots(graph);
  BERTH_RETURN_IF_ERROR(collect_writes(graph, method, report));
  BERTH_RETURN_IF_ERROR(collect_aliases(graph, method, report));
  return relate_views(graph, method, report);
}

}  // namespace berth::format::plan_check

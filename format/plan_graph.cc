#include "format/plan_graph.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/result.h"
#include "format/plan_access.h"
#include "format/verify.h"

namespace berth::format::internal {
namespace {

Error fail_at(Report* report, Error code, int method, int32_t instruction, const char* message) {
  char place[64];
  std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", method, instruction);
  return fail(report, code, place, "%s", message);
}

/// Whether a delegate may be taken to write this argument.
bool is_fresh(const PlanGraph& graph, int32_t v) {
  const Storage storage = storage_of(*tensor_at(*graph.plan, v));
  return !graph.is_defined(v) && storage != Storage::kConstant && storage != Storage::kExternalConstant;
}

void collect_delegate_writes(PlanGraph* graph, const fb::DelegateCall& call, int32_t instruction) {
  bool results = true;
  for (uint32_t i = call.args()->size(); i-- > 0;) {
    const int32_t v = call.args()->Get(i);
    if (tensor_at(*graph->plan, v) == nullptr) {
      graph->marks[static_cast<size_t>(v)] |= kIsOutputSlot;
      continue;
    }
    results = results && is_fresh(*graph, v);
    if (!results) continue;
    graph->marks[static_cast<size_t>(v)] |= kIsWritten;
    graph->first_write[static_cast<size_t>(v)] = instruction;
  }
}

Error collect_kernel_writes(PlanGraph* graph, const fb::KernelCall& call, int32_t instruction, int method,
                            Report* report) {
  const CallShape shape = shape_of(*graph, call);
  bool constant = false;
  const auto write = [&](int32_t v, WriteKind kind) {
    const Storage storage = storage_of(*tensor_at(*graph->plan, v));
    constant = constant || storage == Storage::kConstant || storage == Storage::kExternalConstant;
    graph->marks[static_cast<size_t>(v)] |= kind == WriteKind::kStack ? kIsStacked : kIsWritten;
    int32_t& first = graph->first_write[static_cast<size_t>(v)];
    if (first == kNone) first = instruction;
  };
  if (!visit_writes(*graph, shape, write)) return out_of_budget(method, report);
  if (constant) return fail_at(report, Error::kInvalidProgram, method, instruction, "the kernel writes to a constant");
  if (shape.access->kind == OperatorAccess::Kind::kView && shape.args->size() >= 3) {
    graph->marks[static_cast<size_t>(shape.args->Get(2))] |= kIsRenamed;
  }
  if (shape.args->size() > 0) {
    graph->marks[static_cast<size_t>(shape.args->Get(shape.args->size() - 1))] |= kIsOutputSlot;
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

PlanSize measure_plan(const fb::ExecutionPlan& plan) {
  PlanSize size;
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
    return Error::kOk;
  });
  return size;
}

bool take_graph_memory(const PlanSize& size, Scratch* scratch, PlanGraph* graph) {
  const size_t items = size.items();
  const size_t aliases = size.alias_capacity();
  return scratch->take(size.values, &graph->item) && scratch->take(size.values, &graph->first_write) &&
         scratch->take(size.values, &graph->aliases) && scratch->take(size.values, &graph->marks) &&
         scratch->take(items, &graph->begin) && scratch->take(items, &graph->end) &&
         scratch->take(items, &graph->value) && scratch->take(items, &graph->parent) &&
         scratch->take(size.planned, &graph->group) && scratch->take(size.planned, &graph->next) &&
         scratch->take(size.planned, &graph->members) && scratch->take(aliases, &graph->alias_instruction) &&
         scratch->take(aliases, &graph->alias_from) && scratch->take(aliases, &graph->next_alias) &&
         scratch->take(size.operators, &graph->access);
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
    graph->marks[static_cast<size_t>(plan.inputs()->Get(i))] |= kIsInput;
  }
  for (uint32_t i = 0; i < plan.operators()->size(); ++i) graph->access[i] = operator_access(*plan.operators()->Get(i));
  return Error::kOk;
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
    if (const fb::MoveCall* call = instruction.instr_args_as_MoveCall()) {
      const auto kind = graph->plan->values()->Get(static_cast<uint32_t>(call->move_from()))->val_type();
      if (kind == fb::KernelTypes::TensorList || kind == fb::KernelTypes::OptionalTensorList) {
        return fail_at(report, Error::kNotSupported, method, i,
                       "a list of tensors is moved; only tensors can be followed");
      }
      graph->marks[static_cast<size_t>(call->move_to())] |= kIsOutputSlot | kIsRenamed;
    }
    return Error::kOk;
  });
}

Error build_graph(PlanGraph* graph, int method, Report* report) {
  BERTH_RETURN_IF_ERROR(collect_items(graph, method, report));
  BERTH_RETURN_IF_ERROR(collect_writes(graph, method, report));
  BERTH_RETURN_IF_ERROR(collect_aliases(graph, method, report));
  return relate_views(graph, method, report);
}

}  // namespace berth::format::internal

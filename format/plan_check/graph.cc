#include "format/plan_check/graph.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/result.h"
#include "format/plan_check/each_stack.h"
#include "format/plan_check/instructions.h"
#include "format/tensor_facts.h"

namespace berth::format::plan_check {

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
  size.blocks = count_blocks(meta);
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
      if (names_bytes(text(op.name()))) ++size.alias_calls;
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
         scratch->take(aliases, &graph->alias_is_row) && scratch->take(size.operators, &graph->access) &&
         scratch->take(size.relations, &graph->relations) && scratch->take(size.planned, &graph->successor) &&
         scratch->take(size.blocks == 0 ? 0 : items, &graph->block) &&
         scratch->take(size.blocks, &graph->block_arena) &&
         scratch->take(size.blocks * ((size.blocks + 63) / 64), &graph->below) &&
         scratch->take(calling, &graph->results) && scratch->take(calling, &graph->arrives);
}

}  // namespace berth::format::plan_check

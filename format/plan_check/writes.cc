#include "format/plan_check/writes.h"

#include <algorithm>
#include <cstdio>

#include "base/result.h"
#include "format/plan_check/access.h"

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

}  // namespace berth::format::plan_check

#include "format/plan_check/aliases.h"

#include "base/result.h"
#include "format/plan_check/access.h"

namespace berth::format::plan_check {
namespace {

enum class Added : uint8_t { kYes, kKnown, kFull };

/// "After `instruction`, `to` names the bytes of `root`, taken from `from`."
Added add(PlanGraph& graph, int32_t instruction, int32_t from, int32_t to, int32_t root, bool row) {
  int32_t& head = graph.aliases[to];
  for (int32_t i = head; i != kNone; i = graph.next_alias[i - graph.size.planned]) {
    if (!graph.spend(1)) return Added::kFull;
    if (graph.alias_instruction[i - graph.size.planned] == instruction && graph.parent[i] == root) {
      return Added::kKnown;
    }
  }
  if (graph.item_count == graph.size.items()) return Added::kFull;
  const size_t i = graph.item_count++;
  const size_t k = i - graph.size.planned;
  graph.begin[i] = graph.begin[root];
  graph.end[i] = graph.end[root];
  graph.value[i] = to;
  graph.parent[i] = root;
  graph.alias_instruction[k] = instruction;
  graph.alias_from[k] = from;
  graph.next_alias[k] = head;
  graph.alias_is_row[k] = row ? 1 : 0;
  head = static_cast<int32_t>(i);
  return Added::kYes;
}

/// The aliases that one call makes, from what its source is known to be so far.
Added follow(PlanGraph& graph, int32_t instruction, int32_t from, int32_t to, bool row) {
  Added result = Added::kKnown;
  const auto take = [&](Added added) {
    if (result != Added::kFull && added != Added::kKnown) result = added;
  };
  const int32_t own = graph.item[from];
  const int32_t head = graph.aliases[from];
  if (graph.has_own_place(from)) take(add(graph, instruction, from, to, own, row));
  for (int32_t i = head; i != kNone && result != Added::kFull; i = graph.next_alias[i - graph.size.planned]) {
    if (!graph.spend(1)) return Added::kFull;
    take(add(graph, instruction, from, to, graph.parent[i], row));
  }
  return result;
}

bool is_tensor_move(const PlanGraph& graph, const fb::MoveCall& move) {
  return tensor_at(*graph.plan, move.move_from()) != nullptr && move.move_from() != move.move_to();
}

}  // namespace

Error collect_aliases(PlanGraph* graph, int method, Report* report) {
  if (graph->size.alias_calls == 0) return Error::kOk;
  // A chain of names in the order of the instructions is found in one round; only loops need more.
  bool changed = true;
  while (changed) {
    changed = false;
    const auto visit = [&](const fb::Instruction& instruction, int32_t i, int32_t) -> Error {
      if (!graph->spend(1)) return out_of_budget(method, report);
      Added added = Added::kKnown;
      if (const fb::MoveCall* move = instruction.instr_args_as_MoveCall()) {
        if (is_tensor_move(*graph, *move)) added = follow(*graph, i, move->move_from(), move->move_to(), false);
      }
      if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) {
        const CallShape shape = shape_of(*graph, *call);
        if (shape.names_bytes() && shape.args->size() >= 3 && tensor_at(*graph->plan, shape.args->Get(0)) != nullptr &&
            tensor_at(*graph->plan, shape.args->Get(2)) != nullptr && shape.args->Get(0) != shape.args->Get(2)) {
          const bool row = shape.access->kind == OperatorAccess::Kind::kRow;
          added = follow(*graph, i, shape.args->Get(0), shape.args->Get(2), row);
        }
      }
      if (added == Added::kFull) return out_of_budget(method, report);
      changed = changed || added == Added::kYes;
      return Error::kOk;
    };
    BERTH_RETURN_IF_ERROR(for_each_instruction(*graph->plan, visit));
  }
  return Error::kOk;
}

}  // namespace berth::format::plan_check

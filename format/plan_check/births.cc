#include "format/plan_check/births.h"

#include <algorithm>

#include "base/result.h"
#include "format/plan_check/instructions.h"
#include "format/plan_check/row_index.h"

namespace berth::format::plan_check {
namespace {

/// Moves births in the loop that the jump `i` closes to where it begins. False when the budget ends.
bool move_to_loop(PlanGraph& graph, Span<Birth> births, int32_t loop, int32_t i, bool* moved) {
  if (!graph.spend(births.size())) return false;
  for (Birth& birth : births) {
    if (birth.instruction <= loop || birth.instruction > i) continue;
    if (!graph.spend(3 * graph.size.instructions)) return false;
    const int32_t first = graph.first_write[graph.value[birth.item]];
    if (rows_begin_again(*graph.plan, first, loop, i)) continue;
    birth.instruction = loop;
    *moved = true;
  }
  return true;
}

}  // namespace

bool find_births(PlanGraph& graph, Span<Birth> births, size_t* count) {
  *count = 0;
  for (size_t i = 0; i < graph.size.planned; ++i) {
    const int32_t v = graph.value[i];
    if ((graph.mark(v) & (kIsInput | kHasInitialValue | kIsStacked | kIsWritten)) != kIsStacked) continue;
    births[(*count)++] = {graph.first_write[v], static_cast<int32_t>(i)};
  }
  const Span<Birth> found = births.subspan(0, *count);
  bool moved = *count > 0;
  while (moved) {
    moved = false;
    const auto extend = [&](const fb::Instruction& instruction, int32_t i, int32_t chain_start) -> Error {
      const fb::JumpFalseCall* call = instruction.instr_args_as_JumpFalseCall();
      if (call == nullptr) return Error::kOk;
      const int32_t to = chain_start + call->destination_instruction();
      return to > i || move_to_loop(graph, found, to, i, &moved) ? Error::kOk : Error::kOutOfResources;
    };
    if (for_each_instruction(*graph.plan, extend) != Error::kOk) return false;
  }
  std::sort(found.begin(), found.end(), [](const Birth& a, const Birth& b) {
    return a.instruction != b.instruction ? a.instruction > b.instruction : a.item > b.item;
  });
  return true;
}

}  // namespace berth::format::plan_check

#include "format/plan_check/relations.h"

namespace berth::format::plan_check {
namespace {

/// Of a state's item: what was recorded to replace it, the first that has its very bytes.
void find_successors(PlanGraph* graph) {
  std::fill(graph->successor.begin(), graph->successor.end(), kNone);
  for (uint32_t i = 0; i < length(graph->meta->relations()); ++i) {
    const fb::Relation& relation = *graph->meta->relations()->Get(i);
    if (relation.kind() != fb::RelationKind::STATE) continue;
    const int32_t state = graph->item[relation.base()];
    const int32_t next = graph->item[relation.value()];
    if (state == kNone || next == kNone || graph->successor[state] != kNone) continue;
    if (graph->covers(next, state) && graph->covers(state, next)) graph->successor[state] = next;
  }
}

}  // namespace

bool too_many_relations(const PlanSize& size, uint64_t program_size) {
  return size.relations > program_size / 2 + (uint64_t{1} << 14);
}

bool sort_relations(PlanGraph* graph) {
  const size_t count = graph->size.relations;
  if (!graph->spend(3 * count)) return false;
  find_successors(graph);
  for (size_t i = 0; i < count; ++i) graph->relations[i] = static_cast<uint32_t>(i);
  const auto earlier = [&](uint32_t a, uint32_t b) {
    const int32_t first = graph->meta->relations()->Get(a)->value();
    const int32_t second = graph->meta->relations()->Get(b)->value();
    return first != second ? first < second : a < b;
  };
  if (std::is_sorted(graph->relations.begin(), graph->relations.end(), earlier)) return true;
  uint64_t rounds = 1;
  while (count >> rounds != 0) ++rounds;
  if (!graph->spend(rounds * count)) return false;
  std::sort(graph->relations.begin(), graph->relations.end(), earlier);
  return true;
}

}  // namespace berth::format::plan_check

// The relations of berth.meta by the value that has them: a method has about as many as instructions, and the sweep
// asks for those of one value at each. For this room alone.
#pragma once

#include <algorithm>

#include "format/plan_check/graph.h"

namespace berth::format::plan_check {

/// Whether sorting them would take far more memory than a file of this size justifies.
bool too_many_relations(const PlanSize& size, uint64_t program_size);

/// Fills graph->relations, and graph->successor of planned items. False when the budget ends. REQUIRES: items
/// collected, meta there.
bool sort_relations(PlanGraph* graph);

/// visit(relation) for each of `value`, in the order of the file, as long as it returns true. False when the budget
/// ends.
template <typename Visit>
bool for_each_relation(PlanGraph& graph, int32_t value, Visit&& visit) {
  if (graph.relations.empty()) return true;  // the file may have none, and then no list of them
  const auto& all = *graph.meta->relations();
  const Span<const uint32_t> sorted(graph.relations.data(), graph.relations.size());
  const uint32_t* const end = sorted.end();
  const uint32_t* at =
      std::lower_bound(sorted.begin(), end, value, [&](uint32_t r, int32_t v) { return all.Get(r)->value() < v; });
  for (; at != end && all.Get(*at)->value() == value; ++at) {
    if (!graph.spend(1)) return false;
    if (!visit(*all.Get(*at))) return true;
  }
  return true;
}

}  // namespace berth::format::plan_check

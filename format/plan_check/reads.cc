#include "format/plan_check/reads.h"

#include <algorithm>

#include "format/plan_check/relations.h"
#include "format/plan_check/views.h"

namespace berth::format::plan_check {
namespace {

// Concatenations of concatenations: of what lies deeper, all parts are taken.
constexpr int kDeepestPart = 8;

/// Whether the value is recorded as a part of `item` or of what that is a view of, itself or what it is a part of, so
/// many times over.
bool is_part_of(PlanGraph& graph, int32_t value, int32_t item, int depth) {
  bool part = false;
  for_each_relation(graph, value, [&](const fb::Relation& relation) {
    const int32_t base = graph.item[relation.base()];
    if (relation.kind() != fb::RelationKind::VIEW || base == kNone) return true;
    part = base == item || is_view_of(graph, item, base) ||
           (depth > 0 && is_part_of(graph, relation.base(), item, depth - 1));
    return !part;
  });
  return part;
}

/// Calls `visit` with what something writes of the items that views connect with `item` and that share bytes with it;
/// with `own`, only with what is recorded as a part of it or of what it is a view of. False when the budget ends.
template <typename Visit>
bool for_each_part(PlanGraph& graph, int32_t item, bool own, Visit&& visit) {
  const int32_t group = graph.group[item];
  for (int32_t i = graph.members[group]; i != kNone; i = graph.next[i]) {
    if (!graph.spend(1)) return false;
    const int32_t part = graph.value[i];
    if (!graph.overlap(i, item)) continue;
    if (!own || is_part_of(graph, part, item, kDeepestPart)) visit(i);
  }
  return graph.budget != 0;
}

/// Of a tensor that lies in parts, such as a concatenation that is not computed, the parts are read. Where they are
/// recorded, they make all of it.
bool read_aggregate(SweepState& state, int32_t item) {
  PlanGraph& graph = state.graph;
  const uint64_t begin = graph.begin[item];
  const uint64_t end = graph.end[item];
  const auto add_common = [&](uint64_t* made) {
    return [&, made](int32_t i) { *made += std::min(end, graph.end[i]) - std::max(begin, graph.begin[i]); };
  };
  uint64_t made = 0;
  if (!for_each_part(graph, item, false, add_common(&made))) return false;
  // Parts that overlap are of several wholes, which share one; the other parts of those may lie here at other times.
  uint64_t own_made = 0;
  if (made > end - begin && graph.meta != nullptr && !for_each_part(graph, item, true, add_common(&own_made)))
    return false;
  if (!for_each_part(graph, item, own_made >= end - begin, [&](int32_t i) { mark_read(state, i); })) return false;
  if (made == 0) mark_read(state, item);
  if (made == 0 || made >= end - begin || graph.meta == nullptr) return true;
  state.unmade = item;
  return false;
}

}  // namespace

bool read_value(SweepState& state, int32_t value) {
  PlanGraph& graph = state.graph;
  for (int32_t i = graph.aliases[value]; i != kNone; i = graph.next_alias[i - graph.size.planned]) {
    if (!graph.spend(1)) return false;
    mark_read(state, i);
  }
  if (!graph.has_own_place(value)) return true;
  const int32_t item = graph.item[value];
  if ((graph.mark(value) & kIsAggregate) != 0) return read_aggregate(state, item);
  mark_read(state, item);
  return true;
}

}  // namespace berth::format::plan_check

#include "format/plan_check/views.h"

#include <algorithm>

#include "base/result.h"
#include "format/plan_check/relations.h"

namespace berth::format::plan_check {
namespace {

int32_t root_of(PlanGraph& graph, int32_t i) {
  while (graph.group[i] != i) {
    // Halving keeps the paths short.
    int32_t& up = graph.group[i];
    up = graph.group[up];
    i = up;
  }
  return i;
}

void connect(PlanGraph& graph, int32_t view, int32_t base) {
  const int32_t a = root_of(graph, view);
  const int32_t b = root_of(graph, base);
  // A view whose base leads back to it keeps no base: nothing may go in circles.
  if (graph.parent[view] == kNone && a != b) graph.parent[view] = base;
  graph.group[std::max(a, b)] = std::min(a, b);
}

void take_recorded(PlanGraph& graph) {
  for (uint32_t i = 0; i < length(graph.meta->relations()); ++i) {
    const fb::Relation& relation = *graph.meta->relations()->Get(i);
    const int32_t value = graph.item[relation.value()];
    const int32_t base = graph.item[relation.base()];
    if (value == kNone || base == kNone) continue;
    if (relation.kind() == fb::RelationKind::VIEW && graph.overlap(value, base)) connect(graph, value, base);
  }
}

/// A part that another part of the same whole is computed over: who reads the whole reads the other. Where what is
/// computed over a part is not a part itself, the whole still means the old one. After take_recorded().
void find_superseded(PlanGraph& graph) {
  for (uint32_t i = 0; i < length(graph.meta->relations()); ++i) {
    const fb::Relation& relation = *graph.meta->relations()->Get(i);
    const int32_t value = graph.item[relation.value()];
    const int32_t base = graph.item[relation.base()];
    if (relation.kind() != fb::RelationKind::IN_PLACE || value == kNone || base == kNone) continue;
    if (root_of(graph, value) == root_of(graph, base) && graph.covers(value, base)) {
      graph.marks[relation.base()] |= kIsSuperseded;
    }
  }
}

/// A planned value that nothing writes is a view of the closest value before it that has the same place and is not one.
/// `order` is free memory, one entry an item.
void infer(PlanGraph& graph, Span<int32_t> order) {
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  const auto at = [](Span<uint64_t> list, int32_t i) { return list[i]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (at(graph.begin, a) != at(graph.begin, b)) return at(graph.begin, a) < at(graph.begin, b);
    if (at(graph.end, a) != at(graph.end, b)) return at(graph.end, a) < at(graph.end, b);
    return a < b;
  });
  int32_t base = kNone;
  for (const int32_t i : order) {
    if (base != kNone && (at(graph.begin, i) != at(graph.begin, base) || at(graph.end, i) != at(graph.end, base))) {
      base = kNone;
    }
    const int32_t v = graph.value[i];
    if (graph.is_defined(v)) {
      base = i;
    } else if (base != kNone && (graph.mark(v) & kIsRenamed) == 0) {
      connect(graph, i, base);
    }
  }
}

bool has_defined_base(PlanGraph& graph, int32_t i) {
  for (int32_t up = graph.parent[i]; up != kNone; up = graph.parent[up]) {
    if (!graph.spend(1)) return false;
    if (graph.is_defined(graph.value[up]) && graph.covers(up, i)) return true;
  }
  return false;
}

}  // namespace

bool is_view_of(PlanGraph& graph, int32_t a, int32_t b) {
  for (int32_t up = graph.parent[a]; up != kNone; up = graph.parent[up]) {
    if (!graph.spend(1)) return false;
    if (up == b) return true;
  }
  return false;
}

Error relate_views(PlanGraph* graph, int method, Report* report) {
  const size_t count = graph->size.planned;
  for (size_t i = 0; i < count; ++i) graph->group[i] = static_cast<int32_t>(i);
  if (graph->meta != nullptr) {
    if (!graph->spend(2 * graph->size.relations) || !sort_relations(graph)) return out_of_budget(method, report);
    take_recorded(*graph);
    find_superseded(*graph);
  } else {
    infer(*graph, graph->next);
  }
  std::fill(graph->members.begin(), graph->members.end(), kNone);
  for (size_t i = count; i-- > 0;) {
    const int32_t v = graph->value[i];
    if (!graph->is_defined(v) || (graph->mark(v) & kIsSuperseded) != 0) continue;
    const int32_t root = root_of(*graph, static_cast<int32_t>(i));
    graph->next[i] = graph->members[root];
    graph->members[root] = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < count; ++i) {
    const int32_t v = graph->value[i];
    graph->group[i] = root_of(*graph, static_cast<int32_t>(i));
    if (!graph->is_defined(v) && !has_defined_base(*graph, static_cast<int32_t>(i))) {
      graph->marks[v] |= kIsAggregate;
    }
  }
  return graph->budget == 0 ? out_of_budget(method, report) : Error::kOk;
}

}  // namespace berth::format::plan_check

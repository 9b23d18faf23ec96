#include "format/plan_check/overwrites.h"

#include <cstdio>

#include "base/result.h"
#include "format/plan_check/views.h"

namespace berth::format::plan_check {
namespace {

/// In files that record, a view of state is of what was there when the run began; for the next run it is of the new.
bool is_of_old_state(const SweepState& state, int32_t written) {
  PlanGraph& graph = state.graph;
  if (graph.meta == nullptr || state.next_run || state.now < 0) return false;
  return (graph.mark(graph.value[written]) & kHasInitialValue) != 0;
}

/// What nothing writes is a name of its base's bytes, which are made by who writes the base: that write alone is
/// excused. Of two values that are both written, neither is the other, whatever is recorded of their places.
bool may_write_over(const SweepState& state, int32_t writer, int32_t written, int32_t live) {
  PlanGraph& graph = state.graph;
  // A row belongs to the tensor that it was found in.
  const bool row = graph.is_alias(written) && graph.alias_is_row[written - graph.size.planned] != 0;
  if (row && !graph.is_alias(live)) written = graph.parent[written];
  if (graph.is_alias(live) || graph.is_alias(written)) return graph.value[live] == writer;
  if (live == written) return true;
  if (graph.is_defined(graph.value[live]) || !is_view_of(graph, live, written)) return false;
  return !is_of_old_state(state, written);
}

Error overwritten(const SweepState& state, int32_t writer, int32_t live) {
  PlanGraph& graph = state.graph;
  char place[64];
  char first[48];
  char second[48];
  char reader[64];
  const int32_t by = state.reader[live];
  if (state.now < 0) {
    std::snprintf(place, sizeof place, "methods[%d].inputs", state.method);
  } else {
    std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", state.method, state.now);
  }
  if (by < state.end_step()) {
    std::snprintf(reader, sizeof reader, "instruction %d still reads", by);
  } else {
    std::snprintf(reader, sizeof reader, by == state.end_step() ? "is an output" : "the next run reads");
  }
  return fail(state.report, Error::kInvalidProgram, place, "it writes %s over bytes of %s, which %s%s",
              describe_value(graph, writer, first, sizeof first),
              describe_value(graph, graph.value[live], second, sizeof second), reader,
              graph.meta == nullptr ? " (views were inferred)"
              : graph.by_blocks     ? " (at some sizes: neither block is below the other)"
                                    : "");
}

/// Nothing that is still to be read is in a block that may lie over the item's at some sizes.
Error check_other_blocks(SweepState& state, int32_t writer, int32_t item) {
  PlanGraph& graph = state.graph;
  return for_each_in_reach(state, item, [&](int32_t live) {
    if (may_write_over(state, writer, item, live)) return Error::kOk;
    return graph.budget == 0 ? stopped(state) : overwritten(state, writer, live);
  });
}

Error write_bytes(SweepState& state, int32_t writer, int32_t item, WriteKind kind, bool keep) {
  PlanGraph& graph = state.graph;
  const uint64_t begin = graph.begin[item];
  const uint64_t end = graph.end[item];
  if (!graph.spend(1)) return stopped(state);
  BERTH_RETURN_IF_ERROR(check_other_blocks(state, writer, item));
  for (int64_t at = state.live.find(begin, end, 0); at >= 0; at = state.live.find(begin, end, at + 1)) {
    if (!graph.spend(1)) return stopped(state);
    const int32_t live = state.live.at(at);
    if (!may_write_over(state, writer, item, live)) {
      return graph.budget == 0 ? stopped(state) : overwritten(state, writer, live);
    }
    if (kind == WriteKind::kWhole && !keep && !graph.is_alias(live) && graph.covers(item, live))
      state.live.remove(live);
  }
  return Error::kOk;
}

}  // namespace

Error write_value(SweepState& state, int32_t value, WriteKind kind, bool keep) {
  PlanGraph& graph = state.graph;
  // What the value was renamed to is written through its new name: bytes of others.
  for (int32_t i = graph.aliases[value]; i != kNone; i = graph.next_alias[i - graph.size.planned]) {
    BERTH_RETURN_IF_ERROR(write_bytes(state, value, i, WriteKind::kPart, keep));
  }
  if (!graph.has_own_place(value)) return Error::kOk;
  return write_bytes(state, value, graph.item[value], kind, keep);
}

}  // namespace berth::format::plan_check

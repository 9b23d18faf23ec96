#include "format/plan_check/calls.h"

#include "base/result.h"
#include "format/plan_check/access.h"
#include "format/plan_check/in_place.h"
#include "format/plan_check/overwrites.h"
#include "format/plan_check/reads.h"

namespace berth::format::plan_check {

Error sweep_rename(SweepState& state, int32_t from, int32_t to) {
  PlanGraph& graph = state.graph;
  if (from == to || tensor_at(*graph.plan, from) == nullptr) return Error::kOk;
  for (int32_t i = graph.aliases[to]; i != kNone; i = graph.next_alias[i - graph.size.planned]) {
    if (!graph.spend(1)) return stopped(state);
    const bool was_live = state.live.contains(i);
    state.live.remove(i);
    if (!was_live || graph.alias_instruction[i - graph.size.planned] != state.now) continue;
    const int32_t root = graph.parent[i];
    if (graph.has_own_place(from) && graph.item[from] == root) {
      if (!read_value(state, from)) return stopped(state);
    }
    for (int32_t old = graph.aliases[from]; old != kNone; old = graph.next_alias[old - graph.size.planned]) {
      if (!graph.spend(1)) return stopped(state);
      if (graph.parent[old] == root) mark_read(state, old);
    }
  }
  if (graph.item[to] != kNone) state.live.remove(graph.item[to]);
  return Error::kOk;
}

Error sweep_kernel(SweepState& state, const fb::KernelCall& call) {
  PlanGraph& graph = state.graph;
  const CallShape shape = shape_of(graph, call);
  if (shape.names_bytes()) {
    return shape.args->size() >= 3 ? sweep_rename(state, shape.args->Get(0), shape.args->Get(2)) : Error::kOk;
  }
  Error error = Error::kOk;
  bool keep = true;
  const auto write_one = [&](int32_t v, WriteKind kind) {
    if (error == Error::kOk) error = write_value(state, v, kind, keep);
  };
  // Of several results none may lie over another: each is looked at while all are still to be read.
  if (!visit_writes(graph, shape, write_one)) return stopped(state);
  keep = false;
  if (!visit_writes(graph, shape, write_one)) return stopped(state);
  BERTH_RETURN_IF_ERROR(error);
  bool good = true;
  good = visit_reads(graph, shape, [&](int32_t v) { good = read_value(state, v) && good; }) && good;
  return good ? check_results(state, shape) : stopped(state);
}

Error sweep_delegate(SweepState& state, const fb::DelegateCall& call) {
  PlanGraph& graph = state.graph;
  const uint32_t count = call.args()->size();
  const uint32_t results = count - graph.results[state.now];
  const int32_t scratch = scratch_of(graph, call);
  for (const bool keep : {true, false}) {  // as a kernel's results
    for (uint32_t i = results; i < count; ++i) {
      const int32_t v = call.args()->Get(i);
      if (tensor_at(*graph.plan, v) == nullptr) continue;
      // Results that are still to be read may lie in the scratch.
      if (v == scratch && keep) BERTH_RETURN_IF_ERROR(check_results_in_scratch(state, call, results, scratch));
      if (v == scratch && keep) continue;
      BERTH_RETURN_IF_ERROR(write_value(state, v, WriteKind::kWhole, keep));
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t argument = call.args()->Get(i);
    if (i >= results && tensor_at(*graph.plan, argument) != nullptr) continue;
    bool good = true;
    const auto read_one = [&](int32_t v) { good = read_value(state, v) && good; };
    if (!for_each_tensor(graph, argument, read_one) || !good) return stopped(state);
  }
  for (uint32_t i = results; i < count; ++i) {
    const int32_t v = call.args()->Get(i);
    if (tensor_at(*graph.plan, v) != nullptr) BERTH_RETURN_IF_ERROR(check_delegate_result(state, call, results, v));
  }
  return Error::kOk;
}

}  // namespace berth::format::plan_check

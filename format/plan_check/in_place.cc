#include "format/plan_check/in_place.h"

#include <cstdio>

#include "base/backend_facts.h"
#include "base/dtype.h"
#include "base/result.h"
#include "format/plan_check/relations.h"

namespace berth::format::plan_check {
namespace {

/// Whether a call that reads `value` reads the item: it is the value's own, or a part of it.
bool names_item(PlanGraph& graph, int32_t value, int32_t item) {
  if (graph.value[item] == value) return true;
  const int32_t own = tensor_at(*graph.plan, value) == nullptr ? kNone : graph.item[value];
  if (own == kNone || graph.is_alias(item) || (graph.mark(value) & kIsAggregate) == 0) return false;
  return graph.group[own] == graph.group[item] && graph.overlap(own, item);
}

bool is_recorded_in_place(PlanGraph& graph, int32_t value, int32_t base) {
  bool recorded = false;
  for_each_relation(graph, value, [&](const fb::Relation& relation) {
    recorded = relation.base() == base;
    return !recorded;
  });
  return recorded;
}

/// Which arguments of a call its results may lie over.
struct InPlaceRule {
  const flatbuffers::Vector<int32_t>* args = nullptr;
  uint32_t inputs = 0;
  uint32_t listed = 0;        // of an operator: bit i says argument i
  bool any_recorded = false;  // of a delegate: any that the file records
  int32_t scratch = kNone;    // of a delegate that runs a nested program: its last argument

  bool allows(uint32_t i) const { return any_recorded || (i < 32 && (listed >> i & 1) != 0); }
};

/// Whether the value lies within the scratch, where the file records that: `by` lies in the bytes of `base`.
bool is_recorded_within(PlanGraph& graph, int32_t scratch, int32_t value, int32_t by, int32_t base) {
  const int32_t own = graph.item[value];
  return own != kNone && graph.covers(graph.item[scratch], own) && is_recorded_in_place(graph, by, base);
}

/// A nested program may have inputs and results in its scratch; whether this one has these there, its loader looks.
bool lies_in_scratch(PlanGraph& graph, int32_t scratch, int32_t result, int32_t input) {
  if (graph.meta == nullptr || !is_recorded_within(graph, scratch, input, scratch, input)) return false;
  return result == scratch || is_recorded_within(graph, scratch, result, result, scratch);
}

bool allows_in_place(PlanGraph& graph, const InPlaceRule& rule, int32_t result, int32_t item) {
  int32_t value = kNone;
  if (!graph.spend(rule.inputs)) return false;
  bool allowed = true;
  for (uint32_t i = 0; i < rule.inputs; ++i) {
    const bool listed = rule.allows(i);
    const bool in_budget = for_each_tensor(graph, rule.args->Get(i), [&](int32_t read) {
      if (!names_item(graph, read, item)) return;
      allowed = allowed && listed && (!rule.any_recorded || value == kNone);
      value = read;
    });
    if (!in_budget) return false;
  }
  if (!allowed) return false;
  if (value == kNone) return false;
  if (value == result) return true;
  if (rule.scratch != kNone && lies_in_scratch(graph, rule.scratch, result, value)) return true;
  const fb::Tensor& a = *tensor_at(*graph.plan, value);
  const fb::Tensor& b = *tensor_at(*graph.plan, result);
  const int32_t own = graph.item[result];
  const int32_t read = graph.is_alias(item) ? item : graph.item[value];
  const size_t from = element_size(static_cast<DType>(a.scalar_type()));
  const size_t to = element_size(static_cast<DType>(b.scalar_type()));
  // A nested program may narrow its input from the front; whether this one does, its loader looks.
  const bool narrows = rule.any_recorded && to < from && graph.begin[own] == graph.begin[read];
  if (!graph.covers(read, own) || (!narrows && (!graph.covers(own, read) || to != from))) return false;
  if (a.sizes()->size() != b.sizes()->size()) return false;
  for (uint32_t d = 0; d < a.sizes()->size(); ++d) {
    if (a.sizes()->Get(d) != b.sizes()->Get(d) || a.dim_order()->Get(d) != b.dim_order()->Get(d)) return false;
  }
  if (graph.meta == nullptr) return !rule.any_recorded;
  return is_recorded_in_place(graph, result, value);
}

/// `message` has two %s, for the values.
Error refused(const SweepState& state, const char* message, int32_t first, int32_t second) {
  PlanGraph& graph = state.graph;
  char place[64];
  char names[2][48];
  std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", state.method, state.now);
  char sentence[256];
  std::snprintf(sentence, sizeof sentence, message, describe_value(graph, first, names[0], sizeof names[0]),
                describe_value(graph, second, names[1], sizeof names[1]));
  return fail(state.report, Error::kInvalidProgram, place, "%s", sentence);
}

Error in_place_refused(const SweepState& state, int32_t writer, int32_t read) {
  return refused(state, "it writes %s over bytes of %s, which it reads; the operator does not allow that", writer,
                 state.graph.value[read]);
}

Error check_result(SweepState& state, const InPlaceRule& rule, int32_t value) {
  PlanGraph& graph = state.graph;
  if (!graph.has_own_place(value)) return Error::kOk;
  const size_t item = graph.item[value];
  const auto refuse_read = [&](int32_t live) {
    return state.reader[live] == state.now ? in_place_refused(state, value, live) : Error::kOk;
  };
  BERTH_RETURN_IF_ERROR(for_each_in_reach(state, static_cast<int32_t>(item), refuse_read));
  for (int64_t at = state.live.find(graph.begin[item], graph.end[item], 0); at >= 0;
       at = state.live.find(graph.begin[item], graph.end[item], at + 1)) {
    if (!graph.spend(1)) return stopped(state);
    const int32_t live = state.live.at(at);
    if (state.reader[live] != state.now) continue;
    if (!allows_in_place(graph, rule, value, live)) {
      return graph.budget == 0 ? stopped(state) : in_place_refused(state, value, live);
    }
  }
  return Error::kOk;
}

}  // namespace

int32_t scratch_of(const PlanGraph& graph, const fb::DelegateCall& call) {
  const fb::BackendDelegate* delegate = graph.plan->delegates()->Get(static_cast<uint32_t>(call.delegate_index()));
  if (call.args()->size() == 0 || !runs_nested_programs(text(delegate->id()))) return kNone;
  const int32_t last = call.args()->Get(call.args()->size() - 1);
  const fb::Tensor* tensor = tensor_at(*graph.plan, last);
  const bool bytes = tensor != nullptr && tensor->scalar_type() == fb::ScalarType::BYTE;
  return bytes && graph.has_own_place(last) ? last : kNone;
}

Error check_results_in_scratch(SweepState& state, const fb::DelegateCall& call, uint32_t inputs, int32_t scratch) {
  PlanGraph& graph = state.graph;
  const int32_t bytes = graph.item[scratch];
  for (uint32_t i = inputs; i < call.args()->size(); ++i) {
    const int32_t v = call.args()->Get(i);
    if (v == scratch || tensor_at(*graph.plan, v) == nullptr || !graph.has_own_place(v)) continue;
    const int32_t item = graph.item[v];
    if (!graph.overlap(item, bytes)) continue;
    if (!graph.spend(1)) return stopped(state);
    if (graph.meta != nullptr && is_recorded_within(graph, scratch, v, v, scratch)) continue;
    return refused(state, "its result %s lies in %s, its scratch, and no record says so", v, scratch);
  }
  return Error::kOk;
}

Error check_delegate_result(SweepState& state, const fb::DelegateCall& call, uint32_t inputs, int32_t value) {
  InPlaceRule rule;
  rule.args = call.args();
  rule.inputs = inputs;
  const fb::BackendDelegate* delegate =
      state.graph.plan->delegates()->Get(static_cast<uint32_t>(call.delegate_index()));
  rule.any_recorded = runs_nested_programs(text(delegate->id()));
  rule.scratch = scratch_of(state.graph, call);
  return check_result(state, rule, value);
}

Error check_results(SweepState& state, const CallShape& shape) {
  InPlaceRule rule;
  rule.args = shape.args;
  rule.inputs = shape.inputs;
  rule.listed = shape.access->in_place;
  Error error = Error::kOk;
  const auto check = [&](int32_t v, WriteKind kind) {
    if (error == Error::kOk && kind == WriteKind::kWhole) error = check_result(state, rule, v);
  };
  if (!visit_writes(state.graph, shape, check)) return stopped(state);
  return error;
}

}  // namespace berth::format::plan_check

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/dtype.h"
#include "base/result.h"
#include "format/plan_check/relations.h"
#include "format/plan_check/sweep.h"
#include "format/plan_check/views.h"

namespace berth::format::plan_check {
namespace {

// Concatenations of concatenations: of what lies deeper, all parts are taken.
constexpr int kDeepestPart = 8;

}  // namespace

void Sweep::mark_read(int32_t item) {
  live_.insert(item);
  memory_.reader[item] = now_;
}

bool Sweep::has_own_place(int32_t value) const {
  return graph_.item[value] != kNone && ((graph_.mark(value) & kIsRenamed) == 0 || graph_.is_defined(value));
}

bool Sweep::read(int32_t value) {
  for (int32_t i = graph_.aliases[value]; i != kNone; i = graph_.next_alias[i - graph_.size.planned]) {
    if (!graph_.spend(1)) return false;
    mark_read(i);
  }
  if (!has_own_place(value)) return true;
  const int32_t item = graph_.item[value];
  if ((graph_.mark(value) & kIsAggregate) != 0) return read_aggregate(item);
  mark_read(item);
  return true;
}

/// Of a tensor that lies in parts, such as a concatenation that is not computed, the parts are read. Where they are
/// recorded, they make all of it.
bool Sweep::read_aggregate(int32_t item) {
  const uint64_t begin = graph_.begin[item];
  const uint64_t end = graph_.end[item];
  const auto add_common = [&](uint64_t* made) {
    return [&, made](int32_t i) { *made += std::min(end, graph_.end[i]) - std::max(begin, graph_.begin[i]); };
  };
  uint64_t made = 0;
  if (!for_each_part(item, false, add_common(&made))) return false;
  // Parts that overlap are of several wholes, which share one; the other parts of those may lie here at other times.
  uint64_t own_made = 0;
  if (made > end - begin && graph_.meta != nullptr && !for_each_part(item, true, add_common(&own_made))) return false;
  if (!for_each_part(item, own_made >= end - begin, [this](int32_t i) { mark_read(i); })) return false;
  if (made == 0) mark_read(item);
  if (made == 0 || made >= end - begin || graph_.meta == nullptr) return true;
  unmade_ = item;
  return false;
}

/// Calls `visit` with what something writes of the items that views connect with `item` and that share bytes with it;
/// with `own`, only with what is recorded as a part of it or of what it is a view of. False when the budget ends.
template <typename Visit>
bool Sweep::for_each_part(int32_t item, bool own, Visit&& visit) {
  const int32_t group = graph_.group[item];
  for (int32_t i = graph_.members[group]; i != kNone; i = graph_.next[i]) {
    if (!graph_.spend(1)) return false;
    const int32_t part = graph_.value[i];
    if (!graph_.overlap(i, item)) continue;
    if (!own || is_part_of(part, item, kDeepestPart)) visit(i);
  }
  return graph_.budget != 0;
}

/// Whether the value is recorded as a part of `item` or of what that is a view of, itself or what it is a part of, so
/// many times over.
bool Sweep::is_part_of(int32_t value, int32_t item, int depth) {
  bool part = false;
  for_each_relation(graph_, value, [&](const fb::Relation& relation) {
    const int32_t base = graph_.item[relation.base()];
    if (relation.kind() != fb::RelationKind::VIEW || base == kNone) return true;
    part =
        base == item || is_view_of(graph_, item, base) || (depth > 0 && is_part_of(relation.base(), item, depth - 1));
    return !part;
  });
  return part;
}

Error Sweep::write(int32_t value, WriteKind kind, bool keep) {
  // What the value was renamed to is written through its new name: bytes of others.
  for (int32_t i = graph_.aliases[value]; i != kNone; i = graph_.next_alias[i - graph_.size.planned]) {
    BERTH_RETURN_IF_ERROR(write_bytes(value, i, WriteKind::kPart, keep));
  }
  if (!has_own_place(value)) return Error::kOk;
  return write_bytes(value, graph_.item[value], kind, keep);
}

Error Sweep::write_bytes(int32_t writer, int32_t item, WriteKind kind, bool keep) {
  const uint64_t begin = graph_.begin[item];
  const uint64_t end = graph_.end[item];
  if (!graph_.spend(1)) return stopped();
  for (int64_t at = live_.find(begin, end, 0); at >= 0; at = live_.find(begin, end, at + 1)) {
    if (!graph_.spend(1)) return stopped();
    const int32_t live = live_.at(at);
    if (!may_write_over(writer, item, live)) {
      return graph_.budget == 0 ? stopped() : overwritten(writer, live);
    }
    if (kind == WriteKind::kWhole && !keep && !graph_.is_alias(live) && graph_.covers(item, live)) live_.remove(live);
  }
  return Error::kOk;
}

/// What nothing writes is a name of its base's bytes, which are made by who writes the base: that write alone is
/// excused. Of two values that are both written, neither is the other, whatever is recorded of their places.
bool Sweep::may_write_over(int32_t writer, int32_t written, int32_t live) const {
  if (graph_.is_alias(live) || graph_.is_alias(written)) return graph_.value[live] == writer;
  if (live == written) return true;
  if (graph_.is_defined(graph_.value[live]) || !is_view_of(graph_, live, written)) return false;
  return !is_of_old_state(written);
}

/// In files that record, a view of state is of what was there when the run began; for the next run it is of the new.
bool Sweep::is_of_old_state(int32_t written) const {
  if (graph_.meta == nullptr || next_run_ || now_ < 0) return false;
  return (graph_.mark(graph_.value[written]) & kHasInitialValue) != 0;
}

/// Backwards: the new name ends here, and who read it read the old one.
Error Sweep::rename(int32_t from, int32_t to) {
  if (from == to || tensor_at(*graph_.plan, from) == nullptr) return Error::kOk;
  for (int32_t i = graph_.aliases[to]; i != kNone; i = graph_.next_alias[i - graph_.size.planned]) {
    if (!graph_.spend(1)) return stopped();
    const bool was_live = live_.contains(i);
    live_.remove(i);
    if (!was_live || graph_.alias_instruction[i - graph_.size.planned] != now_) continue;
    const int32_t root = graph_.parent[i];
    if (has_own_place(from) && graph_.item[from] == root) {
      if (!read(from)) return stopped();
    }
    for (int32_t old = graph_.aliases[from]; old != kNone; old = graph_.next_alias[old - graph_.size.planned]) {
      if (!graph_.spend(1)) return stopped();
      if (graph_.parent[old] == root) mark_read(old);
    }
  }
  if (graph_.item[to] != kNone) live_.remove(graph_.item[to]);
  return Error::kOk;
}

Error Sweep::kernel(const fb::KernelCall& call) {
  const CallShape shape = shape_of(graph_, call);
  if (shape.access->kind == OperatorAccess::Kind::kView) {
    return shape.args->size() >= 3 ? rename(shape.args->Get(0), shape.args->Get(2)) : Error::kOk;
  }
  Error error = Error::kOk;
  bool keep = true;
  const auto write_one = [&](int32_t v, WriteKind kind) {
    if (error == Error::kOk) error = write(v, kind, keep);
  };
  // Of several results none may lie over another: each is looked at while all are still to be read.
  if (!visit_writes(graph_, shape, write_one)) return stopped();
  keep = false;
  if (!visit_writes(graph_, shape, write_one)) return stopped();
  BERTH_RETURN_IF_ERROR(error);
  bool good = true;
  good = visit_reads(graph_, shape, [&](int32_t v) { good = read(v) && good; }) && good;
  return good ? check_results(shape) : stopped();
}

Error Sweep::delegate(const fb::DelegateCall& call) {
  const uint32_t count = call.args()->size();
  const uint32_t results = count - graph_.results[now_];
  for (const bool keep : {true, false}) {  // as a kernel's results
    for (uint32_t i = results; i < count; ++i) {
      const int32_t v = call.args()->Get(i);
      if (tensor_at(*graph_.plan, v) != nullptr) BERTH_RETURN_IF_ERROR(write(v, WriteKind::kWhole, keep));
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t argument = call.args()->Get(i);
    if (i >= results && tensor_at(*graph_.plan, argument) != nullptr) continue;
    bool good = true;
    const auto read_one = [&](int32_t v) { good = read(v) && good; };
    if (!for_each_tensor(graph_, argument, read_one) || !good) return stopped();
  }
  for (uint32_t i = results; i < count; ++i) {
    const int32_t v = call.args()->Get(i);
    if (tensor_at(*graph_.plan, v) != nullptr) BERTH_RETURN_IF_ERROR(check_result(nullptr, v));
  }
  return Error::kOk;
}

/// May each result lie where it lies, given what the same call reads?
Error Sweep::check_results(const CallShape& shape) {
  Error error = Error::kOk;
  const auto check = [&](int32_t v, WriteKind kind) {
    if (error == Error::kOk && kind == WriteKind::kWhole) error = check_result(&shape, v);
  };
  if (!visit_writes(graph_, shape, check)) return stopped();
  return error;
}

/// `shape`: null for delegates, which allow nothing.
Error Sweep::check_result(const CallShape* shape, int32_t value) {
  if (!has_own_place(value)) return Error::kOk;
  const size_t item = graph_.item[value];
  for (int64_t at = live_.find(graph_.begin[item], graph_.end[item], 0); at >= 0;
       at = live_.find(graph_.begin[item], graph_.end[item], at + 1)) {
    if (!graph_.spend(1)) return stopped();
    const int32_t live = live_.at(at);
    if (memory_.reader[live] != now_) continue;
    if (shape == nullptr || !allows_in_place(*shape, value, live)) {
      return graph_.budget == 0 ? stopped() : in_place_refused(value, live);
    }
  }
  return Error::kOk;
}

bool Sweep::allows_in_place(const CallShape& shape, int32_t result, int32_t item) const {
  int32_t value = kNone;
  if (!graph_.spend(shape.inputs)) return false;
  bool allowed = true;
  for (uint32_t i = 0; i < shape.inputs; ++i) {
    const bool listed = i < 32 && (shape.access->in_place >> i & 1) != 0;
    const bool in_budget = for_each_tensor(graph_, shape.args->Get(i), [&](int32_t read) {
      if (!names(read, item)) return;
      allowed = allowed && listed;
      value = read;
    });
    if (!in_budget) return false;
  }
  if (!allowed) return false;
  if (value == kNone) return false;
  if (value == result) return true;
  const fb::Tensor& a = *tensor_at(*graph_.plan, value);
  const fb::Tensor& b = *tensor_at(*graph_.plan, result);
  const int32_t own = graph_.item[result];
  const int32_t read = graph_.is_alias(item) ? item : graph_.item[value];
  if (!graph_.covers(own, read) || !graph_.covers(read, own)) return false;
  if (element_size(static_cast<DType>(a.scalar_type())) != element_size(static_cast<DType>(b.scalar_type()))) {
    return false;
  }
  if (a.sizes()->size() != b.sizes()->size()) return false;
  for (uint32_t d = 0; d < a.sizes()->size(); ++d) {
    if (a.sizes()->Get(d) != b.sizes()->Get(d) || a.dim_order()->Get(d) != b.dim_order()->Get(d)) return false;
  }
  return graph_.meta == nullptr || is_recorded_in_place(result, value);
}

/// Whether a call that reads `value` reads the item: it is the value's own, or a part of it.
bool Sweep::names(int32_t value, int32_t item) const {
  if (graph_.value[item] == value) return true;
  const int32_t own = tensor_at(*graph_.plan, value) == nullptr ? kNone : graph_.item[value];
  if (own == kNone || graph_.is_alias(item) || (graph_.mark(value) & kIsAggregate) == 0) return false;
  return graph_.group[own] == graph_.group[item] && graph_.overlap(own, item);
}

bool Sweep::is_recorded_in_place(int32_t value, int32_t base) const {
  bool recorded = false;
  for_each_relation(graph_, value, [&](const fb::Relation& relation) {
    recorded = relation.base() == base;
    return !recorded;
  });
  return recorded;
}

Error Sweep::overwritten(int32_t writer, int32_t live) const {
  char place[64];
  char first[48];
  char second[48];
  char reader[64];
  const int32_t by = memory_.reader[live];
  if (now_ < 0) {
    std::snprintf(place, sizeof place, "methods[%d].inputs", method_);
  } else {
    std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", method_, now_);
  }
  if (by < end_step()) {
    std::snprintf(reader, sizeof reader, "instruction %d still reads", by);
  } else {
    std::snprintf(reader, sizeof reader, by == end_step() ? "is an output" : "the next run reads");
  }
  return fail(report_, Error::kInvalidProgram, place, "it writes %s over bytes of %s, which %s%s",
              describe_value(graph_, writer, first, sizeof first),
              describe_value(graph_, graph_.value[live], second, sizeof second), reader,
              graph_.meta == nullptr ? " (views were inferred)" : "");
}

/// Why a read, a write or a look at results went no further.
Error Sweep::stopped() const {
  if (unmade_ == kNone) return out_of_budget(method_, report_);
  char place[64];
  char name[48];
  if (now_ == end_step()) {
    std::snprintf(place, sizeof place, "methods[%d].outputs", method_);
  } else {
    std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", method_, now_);
  }
  return fail(report_, Error::kInvalidProgram, place, "it reads %s, whose parts do not make all of it",
              describe_value(graph_, graph_.value[unmade_], name, sizeof name));
}

Error Sweep::in_place_refused(int32_t writer, int32_t read) const {
  char place[64];
  char first[48];
  char second[48];
  std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", method_, now_);
  return fail(report_, Error::kInvalidProgram, place,
              "it writes %s over bytes of %s, which it reads; the operator does not allow that",
              describe_value(graph_, writer, first, sizeof first),
              describe_value(graph_, graph_.value[read], second, sizeof second));
}

}  // namespace berth::format::plan_check

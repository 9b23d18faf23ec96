#include "compiler/memory/replan/replan.h"

#include <algorithm>

#include "base/backend_facts.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"
#include "compiler/memory/replan/method_problem.h"
#include "format/delegate_device.h"
#include "format/plan_check/verify_plan.h"
#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/write/replace_offsets.h"

namespace berth::replan {
namespace {

Failure failure(const format::Report& report) { return Failure{report.code, report.place, report.message}; }

Status verify(const format::ProgramView& view) {
  format::Report report;
  if (format::verify_program(view, &report) != Error::kOk) return failure(report);
  for (size_t m = 0; m < view.method_count(); ++m) {
    std::vector<uint8_t> scratch(format::plan_scratch_bytes(view, m));
    if (format::verify_plan(view, m, scratch, nullptr, &report) != Error::kOk) return failure(report);
  }
  return Done{};
}

// The new tables, with the segments that they come with: berth.meta among them.
Status verify_result(const format::ReplacedProgram& program, const format::ProgramView& old) {
  format::ProgramView view;
  format::Report report;
  const Span<const uint8_t> head(program.head.data(), program.head.size());
  if (format::ProgramView::open(head, program.size(), &view, &report) != Error::kOk) return failure(report);
  Span<const uint8_t> meta;
  if (old.meta_blob(&meta) == Error::kOk) view.attach_meta(meta);
  return verify(view);
}

// State of the other methods, where they share arenas with this one: nothing of this method may lie there but what lies
// there now. Bytes that belong to values of this method are in its own problem.
void reserve(const std::vector<Reserved>& elsewhere, packing::Problem* problem) {
  using Range = std::pair<int64_t, int64_t>;
  int64_t end = 1;
  for (const packing::Buffer& buffer : problem->buffers) end = std::max(end, buffer.upper);
  for (size_t space = 0; space < problem->spaces.size(); ++space) {
    std::vector<Range> taken;
    for (const packing::Buffer& buffer : problem->buffers) {
      if (buffer.space != static_cast<int32_t>(space) || buffer.fixed == packing::kAnywhere) continue;
      taken.push_back({buffer.fixed, buffer.fixed + buffer.size});
    }
    std::vector<Range> wanted;
    for (const Reserved& state : elsewhere) {
      if (state.memory_id == space + 1) wanted.push_back({state.offset, state.offset + state.bytes});
    }
    std::sort(taken.begin(), taken.end());
    std::sort(wanted.begin(), wanted.end());
    int64_t from = 0;  // all before is dealt with
    size_t next = 0;
    for (const Range& range : wanted) {
      from = std::max(from, range.first);
      while (from < range.second) {
        while (next < taken.size() && taken[next].second <= from) ++next;
        const bool inside = next < taken.size() && taken[next].first <= from;
        const int64_t until = inside ? taken[next].second
                                     : std::min(range.second, next < taken.size() ? taken[next].first : range.second);
        if (!inside) problem->buffers.push_back({until - from, 1, 0, end, static_cast<int32_t>(space), from});
        from = until;
      }
    }
  }
}

std::vector<Reserved> all_but(const std::vector<std::vector<Reserved>>& state, size_t method) {
  std::vector<Reserved> out;
  for (size_t m = 0; m < state.size(); ++m) {
    if (m != method) out.insert(out.end(), state[m].begin(), state[m].end());
  }
  return out;
}

// What berth.meta, which keeps its bytes, says of an arena: no reader takes a file whose arena is smaller than that.
int64_t recorded_bound(const format::ProgramView& view, const fb::ExecutionPlan& method, uint32_t arena) {
  const fb::Meta* meta = view.meta();
  uint64_t bound = 0;
  for (uint32_t m = 0; meta != nullptr && m < format::length(meta->methods()); ++m) {
    const fb::MethodMeta& known = *meta->methods()->Get(m);
    if (std::string(format::text(known.name())) != format::text(method.name())) continue;
    for (uint32_t i = 0; i < format::length(known.arenas()); ++i) {
      if (known.arenas()->Get(i)->memory_id() == arena) bound = std::max(bound, known.arenas()->Get(i)->lower_bound());
    }
  }
  return static_cast<int64_t>(bound);
}

// What the backends of the method want behind each of its arenas.
int64_t bytes_behind(const fb::ExecutionPlan& method) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < method.delegates()->size(); ++i) {
    const fb::BackendDelegate& delegate = *method.delegates()->Get(i);
    bytes =
        std::max({bytes, bytes_behind_arenas(format::text(delegate.id())), format::delegate_specs(delegate).padding});
  }
  return bytes;
}

// The arenas that become smaller take the new offsets, the others keep theirs.
format::MethodOffsets choose(const format::ProgramView& view, const fb::ExecutionPlan& method,
                             const MethodProblem& known, const packing::Plan& plan, std::vector<ArenaChange>* changes) {
  format::MethodOffsets out;
  std::vector<bool> smaller;
  const int64_t behind = bytes_behind(method);
  const auto with_behind = [&](int64_t height) { return height == 0 ? 0 : height + behind; };
  for (size_t k = 0; k < plan.spaces.size(); ++k) {
    ArenaChange change;
    change.method = format::text(method.name());
    change.id = static_cast<uint32_t>(k + 1);
    change.device = format::arena_device(method, change.id);
    change.before = method.non_const_buffer_sizes()->Get(change.id);
    change.lower_bound = with_behind(plan.spaces[k].lower_bound);
    const int64_t bytes = std::max(with_behind(plan.spaces[k].height), recorded_bound(view, method, change.id));
    smaller.push_back(bytes < change.before);
    change.after = smaller[k] ? bytes : change.before;
    // Bytes that this arena leaves to the state of other methods may lie behind its own end.
    change.lower_bound = std::min(change.lower_bound, change.after);
    change.optimal = change.after <= change.lower_bound;
    out.arena_bytes.push_back(static_cast<uint64_t>(change.after));
    changes->push_back(std::move(change));
  }
  for (size_t s = 0; s < known.values.size(); ++s) {
    if (!smaller[known.problem.buffers[s].space]) continue;
    for (const ValueInBuffer& value : known.values[s]) {
      out.entries.push_back({value.value, static_cast<uint64_t>(plan.offsets[s] + value.shift)});
    }
  }
  return out;
}

// Every value, those of no bytes too, lies inside of an arena that became smaller.
void pull_empty_values_in(const fb::ExecutionPlan& method, format::MethodOffsets* offsets) {
  for (uint32_t v = 0; v < method.values()->size(); ++v) {
    const fb::Tensor* tensor = format::tensor_at(method, v);
    uint64_t bytes = 0;
    if (tensor == nullptr || !format::is_planned(*tensor) || !format::tensor_nbytes(*tensor, &bytes) || bytes != 0) {
      continue;
    }
    const uint64_t arena = offsets->arena_bytes[tensor->allocation_info()->memory_id() - 1];
    if (format::planned_offset(*tensor->allocation_info()) > arena) {
      offsets->entries.push_back({static_cast<int32_t>(v), 0});
    }
  }
}

}  // namespace

int64_t Replanned::before() const {
  int64_t sum = 0;
  for (const ArenaChange& arena : arenas) sum += arena.before;
  return sum;
}

int64_t Replanned::after() const {
  int64_t sum = 0;
  for (const ArenaChange& arena : arenas) sum += arena.after;
  return sum;
}

namespace {

// The file with the plan that it has: for programs so strange that no other plan passes the judge.
Expected<Replanned> kept(Span<const uint8_t> file, const format::ProgramView& view) {
  Replanned out;
  std::vector<format::MethodOffsets> offsets;
  for (size_t m = 0; m < view.method_count(); ++m) {
    const fb::ExecutionPlan& method = view.method(m);
    offsets.emplace_back();
    for (uint32_t id = 1; id < method.non_const_buffer_sizes()->size(); ++id) {
      const int64_t bytes = method.non_const_buffer_sizes()->Get(id);
      offsets.back().arena_bytes.push_back(static_cast<uint64_t>(bytes));
      out.arenas.push_back({format::text(method.name()), id, format::arena_device(method, id), bytes, bytes, 0, false});
    }
  }
  BERTH_ASSIGN_OR_RETURN(out.program, format::replace_offsets(file, offsets));
  return out;
}

Expected<Replanned> improve(Span<const uint8_t> file, const format::ProgramView& view) {
  Replanned out;
  std::vector<format::MethodOffsets> offsets;
  std::vector<std::vector<Reserved>> state(view.method_count());
  for (size_t m = 0; m < state.size() && state.size() > 1; ++m) {
    BERTH_ASSIGN_OR_RETURN(state[m], reserved_state(view, m));
  }
  for (size_t m = 0; m < view.method_count(); ++m) {
    const std::vector<Reserved> elsewhere = all_but(state, m);
    BERTH_ASSIGN_OR_RETURN(MethodProblem known, method_problem(view, m, elsewhere));
    reserve(elsewhere, &known.problem);
    BERTH_ASSIGN_OR_RETURN(const packing::Plan plan, packing::plan_best(known.problem));
    BERTH_TRY(packing::validate(known.problem, plan));
    offsets.push_back(choose(view, view.method(m), known, plan, &out.arenas));
    pull_empty_values_in(view.method(m), &offsets.back());
  }
  BERTH_ASSIGN_OR_RETURN(out.program, format::replace_offsets(file, offsets));
  const Status judged = verify_result(out.program, view);
  if (judged.ok()) return out;
  return Failure{Error::kInternal, judged.error().place,
                 "the new plan is not sound, and is not written: " + judged.error().message};
}

}  // namespace

Expected<Replanned> replan(Span<const uint8_t> file) {
  format::ProgramView view;
  format::Report report;
  if (format::ProgramView::open(file, &view, &report) != Error::kOk) return failure(report);
  BERTH_TRY(verify(view));
  auto better = improve(file, view);
  if (better.ok() || better.error().code != Error::kInternal) return better;
  return kept(file, view);
}

}  // namespace berth::replan

#include "compiler/replan/replan.h"

#include <algorithm>

#include "compiler/plan/plan.h"
#include "compiler/plan/validate.h"
#include "compiler/replan/program_lifetimes.h"
#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/verify_plan.h"
#include "format/write/replace_places.h"

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

// State of the other methods, where they share arenas with this one: nothing of this method may lie there.
Status reserve(const format::ProgramView& view, size_t method, Lifetimes* lifetimes) {
  int64_t end = 1;
  for (const plan::Storage& storage : lifetimes->problem.storages) end = std::max(end, storage.upper);
  std::vector<Reserved> known;
  for (size_t other = 0; other < view.method_count(); ++other) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<Reserved> state, reserved_state(view, other));
    if (other == method) {
      known.insert(known.begin(), state.begin(), state.end());
      continue;
    }
    known.insert(known.end(), state.begin(), state.end());
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<Reserved> own, reserved_state(view, method));
  for (size_t i = own.size(); i < known.size(); ++i) {
    const Reserved& state = known[i];
    const auto meets = [&](const Reserved& o) {
      return o.memory_id == state.memory_id && o.offset < state.offset + state.bytes &&
             state.offset < o.offset + o.bytes;
    };
    // Once is enough; state that this method has too is in its own problem.
    if (std::any_of(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(i), meets)) continue;
    if (state.memory_id > lifetimes->problem.spaces.size()) continue;
    plan::Storage block;
    block.size = state.bytes;
    block.lower = 0;
    block.upper = end;
    block.space = static_cast<int32_t>(state.memory_id) - 1;
    block.fixed = state.offset;
    lifetimes->problem.storages.push_back(block);
  }
  return Done{};
}

// The arenas that become smaller take the new places, the others keep theirs.
format::MethodPlaces choose(const fb::ExecutionPlan& method, const Lifetimes& lifetimes, const plan::Plan& plan,
                            std::vector<ArenaChange>* changes) {
  format::MethodPlaces out;
  std::vector<bool> smaller;
  for (size_t k = 0; k < plan.spaces.size(); ++k) {
    ArenaChange change;
    change.method = format::text(method.name());
    change.id = static_cast<uint32_t>(k + 1);
    change.device = format::arena_device(method, change.id);
    change.before = method.non_const_buffer_sizes()->Get(change.id);
    change.lower_bound = plan.spaces[k].lower_bound;
    smaller.push_back(plan.spaces[k].height < change.before);
    change.after = smaller[k] ? plan.spaces[k].height : change.before;
    change.optimal = change.after <= change.lower_bound;
    out.arena_bytes.push_back(static_cast<uint64_t>(change.after));
    changes->push_back(std::move(change));
  }
  for (size_t s = 0; s < lifetimes.members.size(); ++s) {
    if (!smaller[static_cast<size_t>(lifetimes.problem.storages[s].space)]) continue;
    for (const Member& member : lifetimes.members[s]) {
      out.places.push_back({member.value, static_cast<uint64_t>(plan.offsets[s] + member.delta)});
    }
  }
  return out;
}

// Every value, those of no bytes too, lies inside of an arena that became smaller.
void pull_empty_values_in(const fb::ExecutionPlan& method, format::MethodPlaces* places) {
  for (uint32_t v = 0; v < method.values()->size(); ++v) {
    const fb::Tensor* tensor = format::tensor_at(method, v);
    uint64_t bytes = 0;
    if (tensor == nullptr || !format::is_planned(*tensor) || !format::tensor_nbytes(*tensor, &bytes) || bytes != 0) {
      continue;
    }
    const uint64_t arena = places->arena_bytes[tensor->allocation_info()->memory_id() - 1];
    if (format::planned_offset(*tensor->allocation_info()) > arena) {
      places->places.push_back({static_cast<int32_t>(v), 0});
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

Expected<Replanned> replan(Span<const uint8_t> file) {
  format::ProgramView view;
  format::Report report;
  if (format::ProgramView::open(file, &view, &report) != Error::kOk) return failure(report);
  BERTH_TRY(verify(view));
  Replanned out;
  std::vector<format::MethodPlaces> places;
  for (size_t m = 0; m < view.method_count(); ++m) {
    BERTH_ASSIGN_OR_RETURN(Lifetimes lifetimes, program_lifetimes(view, m));
    if (view.method_count() > 1) BERTH_TRY(reserve(view, m, &lifetimes));
    BERTH_ASSIGN_OR_RETURN(const plan::Plan plan, plan::plan_best(lifetimes.problem));
    BERTH_TRY(plan::validate(lifetimes.problem, plan));
    places.push_back(choose(view.method(m), lifetimes, plan, &out.arenas));
    pull_empty_values_in(view.method(m), &places.back());
  }
  BERTH_ASSIGN_OR_RETURN(out.program, format::replace_places(file, places));
  const Status judged = verify_result(out.program, view);
  if (judged.ok()) return out;
  return Failure{Error::kInternal, judged.error().place,
                 "the new plan is not sound, and is not written: " + judged.error().message};
}

}  // namespace berth::replan

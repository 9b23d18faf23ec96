#include "compiler/memory/spill.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/ir/arguments.h"
#include "compiler/memory/make_model.h"
#include "compiler/memory/packing/bound.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/memory/spill_method.h"

namespace berth::memory {
namespace {

using ir::ValueId;

/// How many values are spilled for each node of a method, at most.
constexpr size_t kMostSpills = 4;
/// How often a plan is tried that fits by its lower bound and then does not.
constexpr int kMostAttempts = 32;

/// What does not fit on one device.
struct Pressure {
  int32_t space = 0;
  std::vector<int64_t> steps;  // one of them must get less, the first that can
};

class Spiller {
 public:
  Spiller(ir::Module* module, size_t index, MemoryOptions* options)
      : module_(*module), index_(index), options_(*options), method_(module->methods[index]) {}

  Status run() {
    const auto whole = plan_memory(module_, index_, options_);
    if (whole.ok() || whole.error().code != Error::kOutOfResources) return whole.ok() ? Status(Done{}) : whole.error();
    BERTH_TRY(keep_best_order());
    const size_t most = kMostSpills * (method_.body.nodes.size() + method_.body.inputs.size() + 1);
    int attempts = 0;
    for (size_t spills = 0; spills < most; ++spills) {
      MemoryOptions quick = without_banks();
      quick.planner = packing::Planner::kBestFit;
      BERTH_ASSIGN_OR_RETURN(const MemoryPlan plan, plan_memory(module_, index_, quick));
      const MemoryModel& model = plan.plan.model;
      std::optional<Pressure> pressure = surely_too_much(model);
      if (!pressure.has_value()) {
        Status attempt = attempt_plan();
        if (attempt.ok() || attempt.error().code != Error::kOutOfResources) return attempt;
        if (++attempts == kMostAttempts) break;
        pressure = fullest(model);
      }
      if (!pressure.has_value() || !relieve(model, *pressure)) break;
    }
    const auto last = plan_memory(module_, index_, options_);
    return last.ok() ? Status(Done{}) : last.error();
  }

 private:
  /// Whether the method fits now; with full effort only where it may.
  Status attempt_plan() const {
    MemoryOptions trial = options_;
    trial.trial_of_banks = true;
    for (const MemoryOptions* const options : {&std::as_const(trial), &std::as_const(options_)}) {
      const auto plan = plan_memory(module_, index_, *options);
      if (!plan.ok()) return plan.error();
    }
    return Done{};
  }

  MemoryOptions without_banks() const {
    MemoryOptions options = options_;
    options.banks.clear();
    options.bank_of = nullptr;
    options.spilled.clear();
    return options;
  }

  /// Copies are made for one order of the nodes.
  Status keep_best_order() {
    BERTH_ASSIGN_OR_RETURN(MemoryPlan plan, plan_memory(module_, index_, without_banks()));
    if (plan.plan.rescheduled.has_value()) method_ = std::move(*plan.plan.rescheduled);
    options_.reorder = false;
    return Done{};
  }

  bool has_far_bank(Device device) const {
    return std::any_of(options_.banks.begin(), options_.banks.end(),
                       [&](const MemoryBank& bank) { return bank.far && bank.device == device; });
  }

  bool is_spilled(const MemoryModel& model, BufferId buffer) const {
    if (!model.buffers.first_value.contains(buffer)) return false;
    return options_.spilled.count(model.buffers.first_value[buffer]) > 0;
  }

  /// What lies in near banks of one space, with buffers of no bytes for the rest.
  packing::Problem near_problem(const MemoryModel& model, int32_t space) const {
    packing::Problem problem = packing_problem(model);
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      packing::Buffer& buffer = problem.buffers[i];
      if (buffer.space != space || is_spilled(model, BufferId{static_cast<int32_t>(i)})) buffer.size = 0;
      buffer.space = 0;
      buffer.fixed = packing::kAnywhere;
    }
    problem.spaces = {packing::Space{}};
    return problem;
  }

  int64_t near_bytes(Device device) const {
    int64_t bytes = 0;
    for (const MemoryBank& bank : options_.banks) {
      if (bank.far || bank.device != device) continue;
      bytes = bank.capacity > packing::kUnlimited - bytes ? packing::kUnlimited : bytes + bank.capacity;
    }
    return bytes;
  }

  /// The bytes that are alive in each step.
  static std::vector<int64_t> loads(const packing::Problem& problem) {
    int64_t end = 0;
    for (const packing::Buffer& buffer : problem.buffers) end = std::max(end, buffer.upper);
    std::vector<int64_t> loads(end + 1, 0);
    for (const packing::Buffer& buffer : problem.buffers) {
      loads[buffer.lower] += buffer.size;
      loads[buffer.upper] -= buffer.size;
    }
    for (size_t s = 1; s < loads.size(); ++s) loads[s] += loads[s - 1];
    return loads;
  }

  /// The steps in which more than `bytes` are alive.
  static Pressure pressure_over(const packing::Problem& problem, int32_t space, int64_t bytes) {
    const std::vector<int64_t> alive = loads(problem);
    Pressure pressure;
    pressure.space = space;
    for (size_t s = 0; s < alive.size(); ++s) {
      if (alive[s] > bytes) pressure.steps.push_back(static_cast<int64_t>(s));
    }
    std::stable_sort(pressure.steps.begin(), pressure.steps.end(),
                     [&](int64_t a, int64_t b) { return alive[a] > alive[b]; });
    return pressure;
  }

  /// A device of which near banks cannot hold what is alive, whatever shares bytes.
  std::optional<Pressure> surely_too_much(const MemoryModel& model) const {
    for (size_t s = 0; s < model.arenas.size(); ++s) {
      const Arena& arena = model.arenas[s];
      if (arena.holds_state || !has_far_bank(arena.device)) continue;
      const packing::Problem problem = near_problem(model, static_cast<int32_t>(s));
      const int64_t bytes = near_bytes(arena.device);
      if (packing::lower_bound(problem) <= bytes) continue;
      const Pressure over = pressure_over(problem, static_cast<int32_t>(s), bytes);
      for (const int64_t step : over.steps) {
        if (packing::lower_bound(alive_in(problem, step)) > bytes) return Pressure{over.space, {step}};
      }
      return over;
    }
    return std::nullopt;
  }

  /// What is alive in one step alone.
  static packing::Problem alive_in(packing::Problem problem, int64_t step) {
    for (packing::Buffer& buffer : problem.buffers) {
      if (step < buffer.lower || step >= buffer.upper) buffer.size = 0;
    }
    return problem;
  }

  /// The device with the most alive: something of it did not fit although it might have.
  std::optional<Pressure> fullest(const MemoryModel& model) const {
    std::optional<Pressure> found;
    double most = 0;
    for (size_t s = 0; s < model.arenas.size(); ++s) {
      const Arena& arena = model.arenas[s];
      if (arena.holds_state || !has_far_bank(arena.device)) continue;
      const packing::Problem problem = near_problem(model, static_cast<int32_t>(s));
      const double full = static_cast<double>(packing::fullest_step(problem, 0).bytes) /
                          static_cast<double>(std::max<int64_t>(1, near_bytes(arena.device)));
      if (full <= most) continue;
      most = full;
      found = pressure_over(problem, static_cast<int32_t>(s), 0);
    }
    return found;
  }

  /// Spills one value in the first step that has one; false when none has.
  bool relieve(const MemoryModel& model, const Pressure& pressure) {
    MethodSpiller spiller(&method_, model, &options_, &far_copies_);
    return std::any_of(pressure.steps.begin(), pressure.steps.end(),
                       [&](int64_t step) { return spiller.spill_one(pressure.space, step); });
  }

  ir::Module& module_;
  const size_t index_;
  MemoryOptions& options_;
  ir::Method& method_;
  FarCopies far_copies_;
};

}  // namespace

Status spill_to_far_banks(ir::Module* module, std::vector<MemoryOptions>* options) {
  // State that methods share takes what plan_memory() of all of them gives it.
  lay_state_alike(*module, options);
  for (size_t m = 0; m < module->methods.size(); ++m) {
    const std::vector<MemoryBank>& banks = (*options)[m].banks;
    if (std::none_of(banks.begin(), banks.end(), [](const MemoryBank& bank) { return bank.far; })) continue;
    BERTH_TRY(Spiller(module, m, &(*options)[m]).run());
  }
  return Done{};
}

}  // namespace berth::memory

#include "compiler/memory/banks.h"

#include <algorithm>
#include <set>

#include "compiler/memory/bank_arenas.h"
#include "compiler/memory/packing/banks.h"
#include "compiler/memory/packing/split_spaces.h"
#include "compiler/memory/packing/validate.h"
#include "compiler/memory/plan_schedule.h"
#include "compiler/memory/traffic.h"

namespace berth::memory {
namespace {

/// What a byte that is moved in a slow bank costs more.
constexpr int64_t kSlow = 16;
/// Later banks cost as much as this one, so that no sum overflows (traffic.h).
constexpr int64_t kMostRank = 1000;

class BankUser {
 public:
  BankUser(const ir::Module& module, const ir::Method& given, const MemoryOptions& options, MethodPlan plan)
      : module_(module),
        options_(options),
        plan_(std::move(plan)),
        method_(plan_.scheduled(given)),
        problem_(packing_problem(plan_.model)),
        arenas_(make_bank_arenas(plan_.model, options)),
        bank_of_(problem_.buffers.size(), -1) {}

  Expected<MethodPlan> run() && {
    BERTH_TRY(check_names());
    const Status placed = place_state(plan_.model, options_, plan_.packing.spaces, &arenas_);
    if (!placed.ok()) return refused(placed.error().place, placed.error().message, placed.error().code);
    BERTH_TRY(find_pins());
    traffic_ = find_traffic(module_, method_, plan_.model);
    packing_.offsets = plan_.packing.offsets;
    packing_.taken = plan_.packing.taken;
    packing_.taken.resize(problem_.candidates.size(), false);
    packing_.nodes = plan_.packing.nodes;
    packing_.truncated = plan_.packing.truncated;
    packing_.spaces.assign(arenas_.arenas.size(), {});
    const std::vector<packing::SpaceProblem> parts = packing::split_spaces(problem_);
    for (size_t s = 0; s < parts.size(); ++s) BERTH_TRY(lay(static_cast<int32_t>(s), parts[s]));
    return finish();
  }

 private:
  Failure refused(const std::string& where, const std::string& why, Error code = Error::kInvalidArgument) const {
    return Failure{code, "method " + method_.name + ": " + where, why};
  }

  Status check_names() const {
    std::set<std::string> names;
    std::set<Device, DeviceOrder> devices;
    for (const ir::Method& method : module_.methods) {
      for (const ir::Value& value : method.values) {
        if (value.tensor() != nullptr) devices.insert(value.tensor()->device);
      }
    }
    for (const ir::State& state : module_.states) devices.insert(state.type.device);
    for (const MemoryBank& bank : options_.banks) {
      const Failure failure{Error::kInvalidArgument, "bank " + bank.name, ""};
      if (!names.insert(bank.name).second) return Failure{failure.code, failure.place, "two banks have this name"};
      if (devices.count(bank.device) > 0) continue;
      return Failure{failure.code, failure.place, std::string("no value lies on ") + to_text(bank.device).text};
    }
    return Done{};
  }

  Status find_pins() {
    if (!options_.bank_of) return Done{};
    for (const ir::ValueId value : method_.values.ids()) {
      const ValueHome& home = plan_.model.aliases.homes[value];
      if (home.home != Home::kBuffer) continue;
      const int32_t bank = options_.bank_of(method_, value);
      if (bank < 0) continue;
      const std::string where = "%" + method_.value(value).name;
      if (static_cast<size_t>(bank) >= options_.banks.size()) {
        return refused(where, "bank " + std::to_string(bank) + " does not exist; there " +
                                  (options_.banks.size() == 1 ? "is " : "are ") +
                                  std::to_string(options_.banks.size()));
      }
      const MemoryBank& pin = options_.banks[bank];
      const Arena& arena = plan_.model.arenas[plan_.model.buffers.all[home.buffer].space];
      if (arena.holds_state) continue;
      if (pin.device != arena.device) {
        return refused(where, "it lives on " + std::string(to_text(arena.device).text) + ", and bank " + pin.name +
                                  " is memory of " + to_text(pin.device).text);
      }
      int32_t& own = bank_of_[home.buffer.index];
      if (own >= 0 && own != bank) {
        return refused(where, "it shares its bytes with a value that is pinned to bank " + options_.banks[own].name +
                                  ", and is pinned to bank " + pin.name);
      }
      own = bank;
    }
    return Done{};
  }

  /// The buffers of one space of the old plan.
  Status lay(int32_t old_space, const packing::SpaceProblem& part) {
    const int32_t as_it_was = arenas_.moved[old_space];
    if (as_it_was >= 0) {
      for (const int32_t buffer : part.buffers) move(buffer, as_it_was);
      packing_.spaces[as_it_was] = plan_.packing.spaces[old_space];
      return Done{};
    }
    const Device device = plan_.model.arenas[old_space].device;
    const BankedDevice& banked = arenas_.devices.at(device);
    const int32_t first = banked.ranked.front();
    const auto pinned = [&](int32_t buffer) { return bank_of_[buffer] >= 0 && bank_of_[buffer] != first; };
    const bool any_pinned = std::any_of(part.buffers.begin(), part.buffers.end(), pinned);
    if (!any_pinned && plan_.packing.spaces[old_space].height <= banked.room.at(first)) {
      for (const int32_t buffer : part.buffers) move(buffer, banked.space_of.at(first));
      packing_.spaces[banked.space_of.at(first)] = plan_.packing.spaces[old_space];
      plan_.bank_costs.push_back({device, 0, 0});
      return Done{};
    }
    plan_.schedule_optimal = false;  // was proved of one arena
    const packing::BankProblem problem = bank_problem(banked, part);
    Expected<packing::BankPlan> filled = packing::fill_banks(problem);
    if (!filled.ok()) return no_room(filled.error(), part);
    plan_.bank_costs.push_back({device, filled->cost, filled->lower_bound});
    take(banked, part, *filled);
    return Done{};
  }

  /// So that no two share bytes in any plan.
  static void live_forever(std::vector<packing::Buffer>* buffers) {
    int64_t end = 1;
    for (const packing::Buffer& buffer : *buffers) end = std::max(end, buffer.upper);
    for (packing::Buffer& buffer : *buffers) {
      buffer.lower = 0;
      buffer.upper = end;
    }
  }

  packing::BankProblem bank_problem(const BankedDevice& banked, const packing::SpaceProblem& part) const {
    packing::BankProblem problem;
    problem.problem = part.problem;
    problem.problem.spaces = {packing::Space{}};
    if (options_.planner == packing::Planner::kNaive) live_forever(&problem.problem.buffers);
    for (const int32_t candidate : part.candidates) problem.preferred.push_back(packing_.taken[candidate]);
    for (size_t r = 0; r < banked.ranked.size(); ++r) {
      const int32_t k = banked.ranked[r];
      const int64_t rank = std::min(static_cast<int64_t>(r), kMostRank);
      problem.banks.push_back({banked.room.at(k), rank + (options_.banks[k].slow ? kSlow : 0)});
    }
    for (const int32_t buffer : part.buffers) {
      const BufferId id{buffer};
      problem.traffic.push_back(traffic_.contains(id) ? traffic_[id] : 0);
      const auto pin = std::find(banked.ranked.begin(), banked.ranked.end(), bank_of_[buffer]);
      const bool any = pin == banked.ranked.end();
      problem.pins.push_back(any ? packing::kAnyBank : static_cast<int32_t>(pin - banked.ranked.begin()));
    }
    return problem;
  }

  void take(const BankedDevice& banked, const packing::SpaceProblem& part, const packing::BankPlan& filled) {
    for (size_t i = 0; i < part.buffers.size(); ++i) {
      move(part.buffers[i], banked.space_of.at(banked.ranked[filled.banks[i]]));
      packing_.offsets[part.buffers[i]] = filled.plan.offsets[i];
    }
    for (size_t c = 0; c < part.candidates.size(); ++c) packing_.taken[part.candidates[c]] = filled.plan.taken[c];
    for (size_t r = 0; r < banked.ranked.size(); ++r) {
      packing_.spaces[banked.space_of.at(banked.ranked[r])] = filled.plan.spaces[r];
    }
  }

  void move(int32_t buffer, int32_t space) {
    const BufferId id{buffer};
    if (plan_.model.buffers.all.contains(id)) plan_.model.buffers.all[id].space = space;
  }

  /// The failure of fill_banks() with names: of the buffer that it names, or of those that are alive in its step.
  Failure no_room(const Failure& failure, const packing::SpaceProblem& part) const {
    std::string where = failure.place;
    std::vector<std::pair<int64_t, std::string>> alive;
    for (size_t i = 0; i < part.buffers.size(); ++i) {
      const BufferId id{part.buffers[i]};
      if (!plan_.model.buffers.first_value.contains(id)) continue;
      const ir::ValueId value = plan_.model.buffers.first_value[id];
      const std::string name = value.valid() ? "%" + method_.value(value).name : "scratch or a copy";
      const packing::Buffer& buffer = part.problem.buffers[i];
      if (failure.place == "buffer " + std::to_string(i)) return refused(name, failure.message, failure.code);
      for (int64_t step = buffer.lower; step < buffer.upper; ++step) {
        if (failure.place == "step " + std::to_string(step)) alive.emplace_back(buffer.size, name);
      }
    }
    std::stable_sort(alive.begin(), alive.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr size_t kNamed = 6;
    std::string list;
    for (size_t i = 0; i < std::min(kNamed, alive.size()); ++i) {
      list += (i == 0 ? "; alive there: " : ", ") + alive[i].second + " (" + std::to_string(alive[i].first) + ")";
    }
    if (alive.size() > kNamed) list += " and " + std::to_string(alive.size() - kNamed) + " more";
    return refused(where, failure.message + list, failure.code);
  }

  Expected<MethodPlan> finish() {
    KeptCandidates kept = within_spaces(std::move(plan_.model.candidates), plan_.model.buffers.all);
    std::vector<bool> taken;
    for (const CandidateId was : kept.were) taken.push_back(packing_.taken[was.index]);
    plan_.model.candidates = std::move(kept.candidates);
    plan_.model.arenas = std::move(arenas_.arenas);
    packing_.taken = std::move(taken);
    plan_.packing = std::move(packing_);
    BERTH_TRY(packing::validate(packing_problem(plan_.model), plan_.packing));
    return std::move(plan_);
  }

  const ir::Module& module_;
  const MemoryOptions& options_;
  MethodPlan plan_;
  const ir::Method& method_;
  const packing::Problem problem_;  // of the plan without banks
  BankArenas arenas_;
  std::vector<int32_t> bank_of_;  // of each of its buffers: the bank that it is pinned to, or -1
  IdVector<BufferId, int64_t> traffic_;
  packing::Plan packing_;
};

}  // namespace

Expected<MethodPlan> use_banks(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                               MethodPlan plan) {
  return BankUser(module, method, options, std::move(plan)).run();
}

}  // namespace berth::memory

#include "compiler/memory/use_banks.h"

#include <algorithm>
#include <set>

#include "base/stopwatch.h"
#include "compiler/memory/bank_arenas.h"
#include "compiler/memory/bank_words.h"
#include "compiler/memory/make_model.h"
#include "compiler/memory/packing/bank_wishes.h"
#include "compiler/memory/packing/split_spaces.h"
#include "compiler/memory/packing/validate.h"
#include "compiler/memory/traffic.h"
#include "format/verify.h"

namespace berth::memory {
namespace {

/// What a byte that is moved in a slow bank costs more.
constexpr int64_t kSlow = 16;
/// Later banks cost as much as this one, so that no sum overflows (traffic.h).
constexpr int64_t kMostRank = 1000;
/// Those of a program; the first number of the format's is not one of them.
constexpr size_t kMostArenas = format::kMaxArenas - 1;

class BankUser {
 public:
  BankUser(const ir::Module& module, const ir::Method& given, const MemoryOptions& options, MethodPlan plan)
      : module_(module),
        options_(options),
        plan_(std::move(plan)),
        method_(plan_.scheduled(given)),
        problem_(packing_problem(plan_.model)),
        arenas_(make_bank_arenas(plan_.model, options)),
        bank_of_(problem_.buffers.size(), -1),
        wish_of_(problem_.buffers.size(), -1) {}

  Expected<MethodPlan> run() && {
    BERTH_TRY(check_names());
    const Status placed = place_state(module_, plan_.model, options_, plan_.packing.spaces, &arenas_);
    if (!placed.ok()) return refused(placed.error().place, placed.error().message, placed.error().code);
    BERTH_TRY(find_pins());
    BERTH_TRY(hear_delegates());
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
      const auto is_near = [&](const MemoryBank& other) { return !other.far && other.device == bank.device; };
      if (std::none_of(options_.banks.begin(), options_.banks.end(), is_near)) {
        return Failure{
            failure.code, failure.place,
            std::string("all banks of ") + to_text(bank.device).text + " are far; name one that its nodes can read"};
      }
      if (devices.count(bank.device) > 0) continue;
      return Failure{failure.code, failure.place, std::string("no value lies on ") + to_text(bank.device).text};
    }
    if (arenas_.arenas.size() <= kMostArenas) return Done{};
    return refused("banks", "they make " + std::to_string(arenas_.arenas.size()) +
                                " arenas, state's and other devices' "
                                "among them, and a program has at most " +
                                std::to_string(kMostArenas));
  }

  Status find_pins() {
    for (const ir::ValueId value : method_.values.ids()) {
      const ValueHome& home = plan_.model.aliases.homes[value];
      if (home.home != Home::kBuffer) continue;
      const auto spilled = options_.spilled.find(value);
      const bool is_spilled = spilled != options_.spilled.end();
      const int32_t bank = is_spilled ? spilled->second : options_.bank_of ? options_.bank_of(method_, value) : -1;
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
      if (pin.far && !is_spilled) {
        return refused(where, "bank " + pin.name + ", to which it is pinned, is far: nodes of " +
                                  to_text(pin.device).text + " cannot read it, and only copies lie there");
      }
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

  /// Pins come before what delegates must have, and that before what they should have.
  Status hear_delegates() {
    auto heard = find_buffer_words(module_, method_, plan_.model, options_);
    if (!heard.ok()) return refused(heard.error().place, heard.error().message, heard.error().code);
    std::vector<std::string> who(bank_of_.size());
    for (const BufferWord& said : *heard) {
      int32_t& own = bank_of_[said.buffer.index];
      if (!said.word.must) {
        if (wish_of_[said.buffer.index] < 0) wish_of_[said.buffer.index] = said.word.bank;
        continue;
      }
      if (own >= 0 && own != said.word.bank) {
        const std::string& other = who[said.buffer.index];
        return refused(name_of(said.buffer), said.word.who + " must have it in bank " +
                                                 options_.banks[said.word.bank].name + ", and " +
                                                 (other.empty() ? "it is pinned to" : other + " must have it in") +
                                                 " bank " + options_.banks[own].name);
      }
      own = said.word.bank;
      who[said.buffer.index] = said.word.who;
    }
    return Done{};
  }

  std::string name_of(BufferId buffer) const {
    const ir::ValueId value = plan_.model.buffers.first_value[buffer];
    return value.valid() ? "%" + method_.value(value).name : "scratch or a copy";
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
    const auto pinned = [&](int32_t buffer) {
      const int32_t bank = bank_of_[buffer] >= 0 ? bank_of_[buffer] : wish_of_[buffer];
      return bank >= 0 && bank != first;
    };
    const bool any_pinned = std::any_of(part.buffers.begin(), part.buffers.end(), pinned);
    if (!any_pinned && plan_.packing.spaces[old_space].height <= banked.room.at(first)) {
      for (const int32_t buffer : part.buffers) move(buffer, banked.space_of.at(first));
      packing_.spaces[banked.space_of.at(first)] = plan_.packing.spaces[old_space];
      plan_.bank_costs.push_back({device, 0, 0});
      return Done{};
    }
    plan_.schedule_optimal = false;  // was proved of one arena
    const Stopwatch watch;
    packing::BankOptions effort;
    effort.time_limit = seconds_left(options_.time_limit, plan_.cost);
    effort.trial = options_.trial_of_banks;
    Expected<packing::BankPlan> filled =
        packing::fill_banks_with_wishes(bank_problem(banked, part), wishes_of(banked, part), effort);
    plan_.cost.ms += watch.milliseconds();
    if (!filled.ok()) return no_room(filled.error(), part);
    plan_.bank_costs.push_back({device, filled->cost, filled->lower_bound});
    plan_.cost.truncated |= filled->plan.truncated;
    packing_.truncated |= filled->plan.truncated;
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
      const MemoryBank& bank = options_.banks[k];
      problem.banks.push_back({banked.room.at(k), rank + (bank.slow || bank.far ? kSlow : 0), bank.far});
    }
    for (const int32_t buffer : part.buffers) {
      const BufferId id{buffer};
      problem.traffic.push_back(traffic_.contains(id) ? traffic_[id] : 0);
      problem.pins.push_back(banked.rank_of(bank_of_[buffer]));
    }
    return problem;
  }

  std::vector<int32_t> wishes_of(const BankedDevice& banked, const packing::SpaceProblem& part) const {
    std::vector<int32_t> wishes;
    for (const int32_t buffer : part.buffers) wishes.push_back(banked.rank_of(wish_of_[buffer]));
    return wishes;
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
      const std::string name = name_of(id);
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
  std::vector<int32_t> wish_of_;  // of each of its buffers: the bank that a delegate would like, or -1
  IdVector<BufferId, int64_t> traffic_;
  packing::Plan packing_;
};

}  // namespace

Expected<MethodPlan> use_banks(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                               MethodPlan plan) {
  return BankUser(module, method, options, std::move(plan)).run();
}

}  // namespace berth::memory

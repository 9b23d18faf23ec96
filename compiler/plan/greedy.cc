#include "compiler/plan/greedy.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/math.h"
#include "compiler/plan/alive_index.h"
#include "compiler/plan/bound.h"
#include "compiler/plan/load.h"

namespace berth::plan {
namespace {

struct Bytes {
  int64_t begin;
  int64_t end;
};

/// The place for `storage` beside `taken`, which is sorted by begin.
int64_t find_place(const Storage& storage, const std::vector<Bytes>& taken, Fit fit) {
  int64_t floor = 0;  // everything below is taken
  int64_t best = kAnywhere;
  int64_t best_rest = kMaxBytes;
  for (const Bytes& block : taken) {
    const int64_t offset = align_up(floor, storage.alignment);
    const int64_t rest = block.begin - offset - storage.size;
    if (rest >= 0 && fit == Fit::kFirst) return offset;
    if (rest >= 0 && block.begin - floor - storage.size < best_rest) {
      best_rest = block.begin - floor - storage.size;
      best = offset;
    }
    floor = std::max(floor, block.end);
  }
  return best != kAnywhere ? best : align_up(floor, storage.alignment);
}

/// Larger comes first.
struct Rank {
  double first = 0;
  double second = 0;
};

std::vector<Rank> ranks_of(const Problem& problem, Key key) {
  std::vector<int64_t> bytes;
  if (key == Key::kLoad) bytes = load_touched(problem);
  if (key == Key::kNeighbours) bytes = neighbour_bytes(problem);
  std::vector<Rank> ranks;
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    const double size = static_cast<double>(storage.size);
    const double birth = static_cast<double>(storage.lower);
    const double death = static_cast<double>(storage.upper);
    switch (key) {
      case Key::kSize: ranks.push_back({size, 0}); break;
      case Key::kArea: ranks.push_back({size * (death - birth), 0}); break;
      case Key::kLife: ranks.push_back({death - birth, 0}); break;
      case Key::kLoad: ranks.push_back({static_cast<double>(bytes[i]), -birth}); break;
      case Key::kNeighbours: ranks.push_back({static_cast<double>(bytes[i]), 0}); break;
      case Key::kBirth: ranks.push_back({-birth, 0}); break;
      case Key::kDeath: ranks.push_back({death, 0}); break;
    }
  }
  return ranks;
}

/// The ids of the storages that need a place, in the order in which they get it: the fixed ones first, as they stand.
std::vector<int32_t> order_by(const Problem& problem, Key key) {
  const std::vector<Storage>& all = problem.storages;
  const std::vector<Rank> ranks = ranks_of(problem, key);
  std::vector<int32_t> order;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].size > 0) order.push_back(static_cast<int32_t>(i));
  }
  std::sort(order.begin(), order.end(), [&](int32_t left, int32_t right) {
    const Storage& a = all[static_cast<size_t>(left)];
    const Storage& b = all[static_cast<size_t>(right)];
    const Rank& rank_a = ranks[static_cast<size_t>(left)];
    const Rank& rank_b = ranks[static_cast<size_t>(right)];
    if ((a.fixed != kAnywhere) != (b.fixed != kAnywhere)) return a.fixed != kAnywhere;
    if (rank_a.first != rank_b.first) return rank_a.first > rank_b.first;
    if (rank_a.second != rank_b.second) return rank_a.second > rank_b.second;
    if (a.size != b.size) return a.size > b.size;
    const double life_a = static_cast<double>(a.upper) - static_cast<double>(a.lower);
    const double life_b = static_cast<double>(b.upper) - static_cast<double>(b.lower);
    if (life_a != life_b) return life_a > life_b;
    if (a.lower != b.lower) return a.lower < b.lower;
    return left < right;
  });
  return order;
}

bool may_win(const Plan& plan, const Plan& beat) {
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    if (plan.spaces[s].height < beat.spaces[s].height) return true;
  }
  return false;
}

Status check_fixed(const Storage& storage, int32_t id, const std::vector<Bytes>& taken) {
  for (const Bytes& block : taken) {
    if (block.begin >= storage.fixed + storage.size || storage.fixed >= block.end) continue;
    return Failure{Error::kInvalidArgument, "storage " + std::to_string(id),
                   "its fixed offset " + std::to_string(storage.fixed) +
                       " collides with another fixed storage's bytes [" + std::to_string(block.begin) + ", " +
                       std::to_string(block.end) + ")"};
  }
  return Done{};
}

/// plan_greedy_below(), or without a limit when `beat` is null.
Expected<bool> place_all(const Problem& problem, Key key, Fit fit, const Plan* beat, Plan* out) {
  BERTH_TRY(check(problem));
  Plan& plan = *out;
  plan = Plan{};
  plan.spaces.resize(problem.spaces.size());
  for (const Storage& storage : problem.storages) plan.offsets.push_back(std::max<int64_t>(storage.fixed, 0));
  AliveIndex placed(problem);
  std::vector<Bytes> taken;
  for (const int32_t id : order_by(problem, key)) {
    const Storage& storage = problem.storages[static_cast<size_t>(id)];
    taken.clear();
    placed.for_each(storage.lower, storage.upper, [&](int32_t other_id) {
      const size_t other = static_cast<size_t>(other_id);
      if (problem.storages[other].space != storage.space) return;
      taken.push_back({plan.offsets[other], plan.offsets[other] + problem.storages[other].size});
    });
    int64_t& offset = plan.offsets[static_cast<size_t>(id)];
    if (storage.fixed != kAnywhere) {
      BERTH_TRY(check_fixed(storage, id, taken));
    } else {
      std::sort(taken.begin(), taken.end(), [](const Bytes& a, const Bytes& b) { return a.begin < b.begin; });
      offset = find_place(storage, taken, fit);
    }
    int64_t& height = plan.spaces[static_cast<size_t>(storage.space)].height;
    if (offset + storage.size > height) {
      height = offset + storage.size;
      if (beat != nullptr && !may_win(plan, *beat)) return false;
    }
    placed.add(id);
  }
  write_lower_bounds(problem, &plan);
  return true;
}

}  // namespace

Expected<Plan> plan_greedy(const Problem& problem, Key key, Fit fit) {
  Plan plan;
  BERTH_TRY(place_all(problem, key, fit, nullptr, &plan));
  return plan;
}

Expected<bool> plan_greedy_below(const Problem& problem, Key key, Fit fit, const Plan& beat, Plan* plan) {
  return place_all(problem, key, fit, &beat, plan);
}

int64_t count_pairs(const Problem& problem) {
  std::vector<int64_t> births;
  std::vector<int64_t> deaths;
  for (const Storage& storage : problem.storages) {
    births.push_back(storage.lower);
    deaths.push_back(storage.upper);
  }
  std::sort(births.begin(), births.end());
  std::sort(deaths.begin(), deaths.end());
  int64_t pairs = 0;
  size_t dead = 0;
  for (size_t born = 0; born < births.size(); ++born) {
    while (deaths[dead] <= births[born]) ++dead;
    pairs += static_cast<int64_t>(born - dead);
  }
  return pairs;
}

}  // namespace berth::plan

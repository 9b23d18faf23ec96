#include "compiler/memory/packing/bank_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {
namespace {

/// How many buffers are looked at in all sections together; beyond that the bound says nothing.
constexpr int64_t kMostLooked = 50'000'000;
/// What sums of fractions may be off by.
constexpr double kRounding = 1 - 1e-9;

struct Alive {
  double rate;  // traffic for each byte
  int64_t bytes;
};

/// What it costs to have these bytes at one time: those that move most in the cheapest banks.
double cheapest(std::vector<Alive>* alive, const std::vector<Bank>& banks) {
  std::sort(alive->begin(), alive->end(), [](const Alive& a, const Alive& b) { return a.rate > b.rate; });
  double cost = 0;
  size_t bank = 0;
  int64_t room = banks[0].capacity;
  for (Alive& buffer : *alive) {
    while (buffer.bytes > 0 && bank < banks.size()) {
      const int64_t here = std::min(buffer.bytes, room);
      cost += buffer.rate * static_cast<double>(here) * static_cast<double>(banks[bank].cost);
      buffer.bytes -= here;
      room -= here;
      if (room == 0 && ++bank < banks.size()) room = banks[bank].capacity;
    }
  }
  return cost;
}

}  // namespace

int64_t bank_cost_bound(const BankProblem& problem) {
  const Layout layout = make_layout(problem.problem);
  std::vector<std::vector<int32_t>> alive_in(layout.sections);
  std::vector<std::vector<int32_t>> wholes(problem.problem.buffers.size());
  for (const Candidate& candidate : problem.problem.candidates) wholes[candidate.from].push_back(candidate.to);
  const auto piece_of = [&](int32_t buffer) -> const Piece& {
    return layout.pieces[layout.bodies[layout.body_of[buffer]].begin];
  };
  int64_t looked = 0;
  for (size_t i = 0; i < layout.body_of.size(); ++i) {
    if (layout.body_of[i] < 0) continue;
    const Piece& piece = piece_of(static_cast<int32_t>(i));
    looked += piece.upper - piece.lower;
    if (looked > kMostLooked) return 0;
    for (int32_t s = piece.lower; s < piece.upper; ++s) alive_in[s].push_back(static_cast<int32_t>(i));
  }
  double bound = 0;
  std::vector<Alive> alive;
  for (int32_t s = 0; s < layout.sections; ++s) {
    alive.clear();
    for (const int32_t buffer : alive_in[s]) {
      // What may lie in bytes that are counted already is left out.
      const bool may_share = std::any_of(wholes[buffer].begin(), wholes[buffer].end(), [&](int32_t whole) {
        return layout.body_of[whole] >= 0 && piece_of(whole).lower <= s && s < piece_of(whole).upper;
      });
      if (may_share) continue;
      const int64_t bytes = problem.problem.buffers[buffer].size;
      alive.push_back({static_cast<double>(problem.traffic[buffer]) / static_cast<double>(bytes), bytes});
    }
    bound = std::max(bound, cheapest(&alive, problem.banks));
  }
  return static_cast<int64_t>(std::ceil(bound * kRounding - 1e-6));
}

}  // namespace berth::packing

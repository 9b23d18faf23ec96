#include "compiler/memory/packing/bank_bodies.h"

#include <algorithm>
#include <numeric>

#include "compiler/memory/packing/chosen_aliases.h"

namespace berth::packing {
namespace {

int32_t pin_of(const BankProblem& problem, int32_t buffer) {
  return problem.pins.empty() ? kAnyBank : problem.pins[buffer];
}

bool is_preferred(const BankProblem& problem, const CandidateGroup& group) {
  return std::all_of(group.begin(), group.end(), [&](int32_t c) {
    const Candidate& candidate = problem.problem.candidates[c];
    return problem.preferred[c] && pin_of(problem, candidate.from) == pin_of(problem, candidate.to);
  });
}

}  // namespace

BankBodies make_bank_bodies(const BankProblem& problem, bool tied) {
  ChosenAliases aliases(problem.problem);
  if (tied && !problem.preferred.empty()) {
    for (const CandidateGroup& group : candidate_groups(problem.problem)) {
      if (is_preferred(problem, group)) aliases.take(group);
    }
  }
  BankBodies bodies;
  bodies.layout = make_layout(problem.problem, &aliases);
  bodies.taken = aliases.taken();
  const size_t count = bodies.layout.bodies.size();
  bodies.traffic.assign(count, 0);
  bodies.pins.assign(count, kAnyBank);
  bodies.bytes.assign(count, 0);
  bodies.area.assign(count, 0);
  for (size_t i = 0; i < problem.problem.buffers.size(); ++i) {
    const int32_t body = bodies.layout.body_of[i];
    if (body < 0) continue;
    bodies.traffic[body] += problem.traffic[i];
    const int32_t pin = pin_of(problem, static_cast<int32_t>(i));
    if (pin != kAnyBank) bodies.pins[body] = pin;
  }
  for (size_t b = 0; b < count; ++b) {
    for (int32_t p = bodies.layout.bodies[b].begin; p < bodies.layout.bodies[b].end; ++p) {
      const Piece& piece = bodies.layout.pieces[p];
      bodies.bytes[b] += piece.size;
      bodies.area[b] += static_cast<double>(piece.size) * static_cast<double>(piece.steps);
    }
  }
  return bodies;
}

std::vector<int32_t> bank_order(const BankBodies& bodies, BankKey key) {
  const auto rank = [&](int32_t b) {
    const double traffic = static_cast<double>(bodies.traffic[b]);
    switch (key) {
      case BankKey::kTrafficByArea: return traffic / bodies.area[b];
      case BankKey::kTrafficByBytes: return traffic / static_cast<double>(bodies.bytes[b]);
      case BankKey::kTraffic: return traffic;
      case BankKey::kBytes: return static_cast<double>(bodies.bytes[b]);
    }
    return 0.0;
  };
  std::vector<double> ranks;
  for (size_t b = 0; b < bodies.traffic.size(); ++b) ranks.push_back(rank(static_cast<int32_t>(b)));
  std::vector<int32_t> order(bodies.traffic.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const bool a_pinned = bodies.pins[a] != kAnyBank;
    const bool b_pinned = bodies.pins[b] != kAnyBank;
    if (a_pinned != b_pinned) return a_pinned;
    return ranks[a] > ranks[b];
  });
  return order;
}

}  // namespace berth::packing

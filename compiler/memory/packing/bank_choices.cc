#include "compiler/memory/packing/bank_choices.h"

#include <algorithm>
#include <utility>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {
namespace {

constexpr size_t kMostCells = 4'000'000;

using Life = std::pair<int32_t, int32_t>;

/// Appends [lower, upper) without the sections of `without`, which is sorted here.
void add_runs(Life range, int64_t bytes, std::vector<Life>* without, std::vector<BankRun>* runs) {
  std::sort(without->begin(), without->end());
  int32_t from = range.first;
  for (const auto& [lower, upper] : *without) {
    if (lower > from) runs->push_back({from, std::min(lower, range.second), bytes});
    from = std::max(from, upper);
    if (from >= range.second) return;
  }
  runs->push_back({from, range.second, bytes});
}

}  // namespace

bool BankChoices::has_small_tables() const { return banks.size() <= kMostCells / (sections + size_t{1}); }

BankChoices choices_of_buffers(const BankProblem& problem) {
  const Layout layout = make_layout(problem.problem);
  const auto life_of = [&](int32_t buffer) -> Life {
    const Piece& piece = layout.pieces[layout.bodies[layout.body_of[buffer]].begin];
    return {piece.lower, piece.upper};
  };
  std::vector<std::vector<Life>> wholes(problem.problem.buffers.size());
  for (const Candidate& candidate : problem.problem.candidates) {
    if (layout.body_of[candidate.to] >= 0) wholes[candidate.from].push_back(life_of(candidate.to));
  }
  BankChoices choices;
  choices.banks = problem.banks;
  choices.sections = layout.sections;
  for (size_t i = 0; i < problem.problem.buffers.size(); ++i) {
    if (layout.body_of[i] < 0) continue;
    BankItem item;
    item.begin = static_cast<int32_t>(choices.runs.size());
    add_runs(life_of(static_cast<int32_t>(i)), problem.problem.buffers[i].size, &wholes[i], &choices.runs);
    item.end = static_cast<int32_t>(choices.runs.size());
    item.traffic = problem.traffic[i];
    if (!problem.pins.empty()) item.pin = problem.pins[i];
    choices.items.push_back(item);
  }
  return choices;
}

BankChoices choices_of_bodies(const BankBodies& bodies, const std::vector<Bank>& banks) {
  BankChoices choices;
  choices.banks = banks;
  choices.sections = bodies.layout.sections;
  for (const Piece& piece : bodies.layout.pieces) choices.runs.push_back({piece.lower, piece.upper, piece.size});
  for (size_t b = 0; b < bodies.traffic.size(); ++b) {
    const Body& body = bodies.layout.bodies[b];
    choices.items.push_back({body.begin, body.end, bodies.traffic[b], bodies.pins[b]});
  }
  return choices;
}

}  // namespace berth::packing

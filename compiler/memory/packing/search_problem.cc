#include "compiler/memory/packing/search_problem.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth::packing {
namespace {

void find_twins(std::vector<SearchBody>* bodies) {
  std::vector<int32_t> order(bodies->size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int32_t id) {
    const SearchBody& body = (*bodies)[id];
    return std::tie(body.lower, body.upper, body.size, body.alignment);
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  for (size_t k = 1; k < order.size(); ++k) {
    if (key(order[k - 1]) == key(order[k])) (*bodies)[order[k]].twin = order[k - 1];
  }
}

}  // namespace

std::optional<SearchProblem> search_problem(const Layout& layout, size_t most) {
  if (layout.bodies.size() > most || layout.any_fixed() || !layout.rectangular()) return std::nullopt;
  for (const Body& body : layout.bodies) {
    if (body.lowest > 0) return std::nullopt;
  }
  return ranking_problem(layout);
}

SearchProblem ranking_problem(const Layout& layout) {
  int64_t unit = 0;
  bool aligned = false;
  for (size_t b = 0; b < layout.bodies.size(); ++b) {
    unit = std::gcd(unit, layout.pieces[b].size);
    aligned |= layout.bodies[b].alignment > 1;
  }
  if (aligned) {
    for (const Body& body : layout.bodies) unit = std::gcd(unit, body.alignment);
  }
  SearchProblem problem;
  problem.unit = std::max<int64_t>(unit, 1);
  problem.sections = layout.sections;
  for (size_t b = 0; b < layout.bodies.size(); ++b) {
    const Piece& piece = layout.pieces[b];
    SearchBody body;
    body.lower = piece.lower;
    body.upper = piece.upper;
    body.size = piece.size / problem.unit;
    body.alignment = std::max<int64_t>(layout.bodies[b].alignment / problem.unit, 1);
    body.steps = piece.steps;
    problem.bodies.push_back(body);
  }
  find_twins(&problem.bodies);
  return problem;
}

}  // namespace berth::packing

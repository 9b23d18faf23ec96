#include "compiler/memory/packing/pack_bank.h"

#include <algorithm>

#include "compiler/memory/packing/greedy.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/order_by.h"
#include "compiler/memory/packing/portfolio.h"

namespace berth::packing {
namespace {

/// Up to how many bodies each bank is searched exactly when no rule fits them in, and with which effort.
constexpr size_t kSearched = 64;
constexpr int64_t kNodes = 2'000;
constexpr int64_t kLocalSearch = 2'000'000;
/// From how many bodies only two rules are tried.
constexpr size_t kManyInOneBank = 2'000;

Layout part_of(const Layout& layout, const std::vector<int32_t>& bodies) {
  Layout part;
  part.sections = layout.sections;
  for (const int32_t id : bodies) {
    Body body = layout.bodies[id];
    const int32_t begin = static_cast<int32_t>(part.pieces.size());
    part.pieces.insert(part.pieces.end(), layout.pieces.begin() + body.begin, layout.pieces.begin() + body.end);
    body.begin = begin;
    body.end = static_cast<int32_t>(part.pieces.size());
    part.bodies.push_back(body);
  }
  return part;
}

std::optional<Placement> place_by_rules(const Layout& part, int64_t below, Deadline* deadline) {
  const bool many = part.bodies.size() > kManyInOneBank;
  for (const Key key : kAllKeys) {
    if (many && key != Key::kSize && key != Key::kLoad) continue;
    const std::vector<int32_t> order = order_by(part, key);
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      std::optional<Placement> found = place_in_order(part, order, fit, below, deadline);
      if (found.has_value()) return found;
      if (deadline->passed()) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<int64_t>> pack_bank(const Layout& layout, const std::vector<int32_t>& bodies,
                                              int64_t capacity, Deadline* deadline, SearchBudget* budget, bool* proof) {
  if (proof != nullptr) *proof = false;
  if (bodies.empty()) return std::vector<int64_t>{};
  const Layout part = part_of(layout, bodies);
  const std::vector<int64_t> loads = section_loads(part);
  const int64_t load = *std::max_element(loads.begin(), loads.end());
  if (load > capacity) {
    if (proof != nullptr) *proof = true;
    return std::nullopt;
  }
  const int64_t below = capacity == kUnlimited ? kUnlimited : capacity + 1;
  std::optional<Placement> found = place_by_rules(part, below, deadline);
  if (!found.has_value() && bodies.size() <= kSearched && budget->left > 0 && !deadline->passed()) {
    --budget->left;
    std::optional<Placement> first = place_in_order(part, order_by(part, Key::kSize), Fit::kBest, kUnlimited, nullptr);
    Effort effort;
    effort.nodes = kNodes;
    effort.local_search = kLocalSearch;
    effort.enough = capacity;
    effort.deadline = *deadline;
    BoundedPlacement best = improve(part, {std::move(*first), load}, &effort);
    if (best.placement.height <= capacity) found = std::move(best.placement);
    if (proof != nullptr) *proof = best.bound > capacity;
  }
  if (!found.has_value()) return std::nullopt;
  return std::move(found->positions);
}

}  // namespace berth::packing

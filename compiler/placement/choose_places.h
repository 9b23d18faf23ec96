// choose_places: where each of many items goes, one of a few places each, for the least cost in all.
//
// An item costs what it costs where it is. A flow goes from one item to readers: it costs once for each place, other
// than its maker's, where it is read. With two places the sum is the least there is: a minimum cut. With more, the best
// of the divisions between two places is improved: for two places at a time, the items there are divided anew by a
// minimum cut, until no two gain (Boykov, Veksler and Zabih: "Fast approximate energy minimization via graph cuts",
// their swaps). So it is never dearer than any division between two of the places, but there may be a cheaper one.
//
// Works on numbers alone; the same numbers give the same places. Where places cost the same, the one with the lower
// number is taken, two at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flow_network.h"

namespace berth::placement {

/// The cost of a place where an item cannot be: more than all costs together.
constexpr int64_t kNever = FlowNetwork::kNoCut;

struct PlaceProblem {
  struct Item {
    std::vector<int64_t> costs;  // of each place; kNever: it cannot be there. At least one is less
  };
  struct Flow {
    int32_t maker = 0;
    std::vector<int32_t> readers;
    std::vector<int64_t> costs;  // from place p to place q: costs[p * places + q]; below kNever, 0 where p == q
  };
  int32_t places = 0;
  std::vector<Item> items;
  std::vector<Flow> flows;
};

/// What it costs that item i is at place at[i]; kNever at least if one cannot be there.
int64_t cost_of(const PlaceProblem& problem, const std::vector<int32_t>& at);

/// Every item at `place`, those that cannot be there where they cost the least by themselves.
std::vector<int32_t> all_at(const PlaceProblem& problem, int32_t place);

/// The place of each item. REQUIRES: there is a place; no cost is negative; all that are below kNever add up to less.
std::vector<int32_t> choose_places(const PlaceProblem& problem);

}  // namespace berth::placement

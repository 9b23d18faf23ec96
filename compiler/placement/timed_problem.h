// A PlaceProblem (choose_places.h) in seconds.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/placement/choose_places.h"

namespace berth::placement {

struct TimedProblem {
  /// Of an item at a place where it cannot be.
  static constexpr double kCannot = -1;

  struct Flow {
    int32_t maker = 0;
    std::vector<int32_t> readers;
    std::vector<double> seconds;  // from place p to place q: seconds[p * places + q]
  };
  int32_t places = 0;
  std::vector<std::vector<double>> items;  // seconds at each place
  std::vector<Flow> flows;

  /// The same in whole numbers, so that sums do not depend on their order: of picoseconds, or of more where all of them
  /// together would not stay below kNever.
  PlaceProblem in_ticks() const;
  /// What a flow takes to each place, where item i is at place at[i].
  std::vector<double> taken_to(const Flow& flow, const std::vector<int32_t>& at) const;
  /// All in all.
  double seconds_of(const std::vector<int32_t>& at) const;
};

}  // namespace berth::placement

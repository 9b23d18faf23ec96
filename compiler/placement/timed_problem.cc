#include "compiler/placement/timed_problem.h"

#include <algorithm>
#include <cmath>

namespace berth::placement {
namespace {

constexpr double kPicosecond = 1e-12;
constexpr double kMostTicks = 0x1p58;

}  // namespace

PlaceProblem TimedProblem::in_ticks() const {
  double sum = 0;
  for (const std::vector<double>& item : items) {
    for (const double seconds : item) sum += std::max(0.0, seconds);
  }
  for (const Flow& flow : flows) {
    for (const double seconds : flow.seconds) sum += seconds;
  }
  const double tick = std::max(kPicosecond, sum / kMostTicks);
  const auto ticks = [&](double seconds) {
    return seconds < 0 ? kNever : static_cast<int64_t>(std::llround(seconds / tick));
  };
  PlaceProblem problem;
  problem.places = places;
  for (const std::vector<double>& item : items) {
    problem.items.emplace_back();
    for (const double seconds : item) problem.items.back().costs.push_back(ticks(seconds));
  }
  for (const Flow& flow : flows) {
    problem.flows.push_back({flow.maker, flow.readers, {}});
    for (const double seconds : flow.seconds) problem.flows.back().costs.push_back(ticks(seconds));
  }
  return problem;
}

std::vector<double> TimedProblem::taken_to(const Flow& flow, const std::vector<int32_t>& at) const {
  std::vector<double> seconds(places, 0);
  for (const int32_t reader : flow.readers) seconds[at[reader]] = flow.seconds[at[flow.maker] * places + at[reader]];
  return seconds;
}

double TimedProblem::seconds_of(const std::vector<int32_t>& at) const {
  double sum = 0;
  for (size_t i = 0; i < at.size(); ++i) sum += items[i][at[i]];
  for (const Flow& flow : flows) {
    for (const double seconds : taken_to(flow, at)) sum += seconds;
  }
  return sum;
}

}  // namespace berth::placement

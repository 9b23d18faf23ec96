#include "compiler/placement/cost_places.h"

#include <algorithm>

namespace berth::placement {

CostPlaces::CostPlaces(const Options& options) {
  for (const targets::Target& target : all_targets(options)) {
    add(target.name, target.device, !target.is_portable(), options);
  }
  add("portable", Device(), false, options);
}

void CostPlaces::add(const std::string& name, Device device, bool delegates, const Options& options) {
  const auto known = [&](const DeviceCosts& costs) { return costs.target == name; };
  const auto found = std::find_if(options.costs.begin(), options.costs.end(), known);
  const bool given = found != options.costs.end();
  all_.push_back({name, device, delegates, given ? *found : *estimated_costs("portable")});
}

int32_t CostPlaces::of(const std::string& target) const {
  const auto same = [&](const Place& place) { return place.name == target; };
  return static_cast<int32_t>(std::find_if(all_.begin(), all_.end(), same) - all_.begin());
}

int32_t CostPlaces::on(Device device) const {
  const auto there = [&](const Place& place) { return place.device == device; };
  const auto found = std::find_if(all_.begin(), all_.end(), there);
  return device.is_cpu() || found == all_.end() ? program() : static_cast<int32_t>(found - all_.begin());
}

bool CostPlaces::has_host_target() const {
  return std::any_of(all_.begin(), all_.end() - 1, [](const Place& place) { return place.device.is_cpu(); });
}

double CostPlaces::crossing(size_t from, size_t to, double bytes) const {
  if (from == to) return 0;
  double seconds = all_[to].delegates ? all_[to].costs.call_seconds : 0;
  if (all_[from].device == all_[to].device) return seconds;
  if (!all_[from].device.is_cpu()) seconds += seconds_of(all_[from].costs.from_device, bytes);
  if (!all_[to].device.is_cpu()) seconds += seconds_of(all_[to].costs.to_device, bytes);
  return seconds;
}

}  // namespace berth::placement

// The places that nodes may be given to by cost: the targets of all methods, and behind them the program itself.
#pragma once

#include <string>
#include <vector>

#include "compiler/placement/device_costs.h"
#include "compiler/placement/options.h"

namespace berth::placement {

class CostPlaces {
 public:
  /// REQUIRES: Options::costs has all targets of methods that are placed by cost.
  explicit CostPlaces(const Options& options);

  size_t count() const { return all_.size(); }
  int32_t program() const { return static_cast<int32_t>(all_.size()) - 1; }
  const std::string& name(size_t place) const { return all_[place].name; }
  const DeviceCosts& costs(size_t place) const { return all_[place].costs; }
  /// REQUIRES: it is one of the targets.
  int32_t of(const std::string& target) const;
  /// The first on this device; the program for the host, and where no target is on the device.
  int32_t on(Device device) const;
  /// Whether there is a target on the host, the program left out.
  bool has_host_target() const;

  /// The seconds until a value of `bytes` that one place made can be read at another.
  double crossing(size_t from, size_t to, double bytes) const;

 private:
  struct Place {
    std::string name;
    Device device;
    bool delegates = false;
    DeviceCosts costs;
  };

  void add(const std::string& name, Device device, bool delegates, const Options& options);

  std::vector<Place> all_;
};

}  // namespace berth::placement

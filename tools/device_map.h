// The option --map-device: devices to use instead of those that a program names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/failure.h"
#include "runtime/device_allocator.h"
#include "runtime/device_map.h"

namespace berth::tool {

/// Adds --map-device, which may stand several times.
void add_device_map(CLI::App& command, std::vector<std::string>& texts);

/// What --map-device says, for LoadOptions::devices.
class DeviceMappings {
 public:
  /// "cuda:0=cuda:1", or "decode:cuda:0=gpu" for one method: whatever GPU is registered. InvalidArgument, and what
  /// DeviceAllocatorRegistry::find_gpu() says, with the option.
  static Expected<DeviceMappings> parse(const std::vector<std::string>& texts, const DeviceAllocatorRegistry& registry);

  DeviceMappings(DeviceMappings&&) = default;
  DeviceMappings& operator=(DeviceMappings&&) = default;

  /// With names of methods that are in this object.
  Span<const DeviceMapping> mappings() const { return {mappings_.data(), mappings_.size()}; }

 private:
  DeviceMappings() = default;

  std::vector<std::string> methods_;
  std::vector<DeviceMapping> mappings_;
};

}  // namespace berth::tool

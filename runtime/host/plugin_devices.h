// PluginDevices: the allocators and backends of plug-ins, for programs (plugin/load_plugin.h).
//
//     PluginDevices devices(plugins);
//     for (DeviceAllocator* allocator : devices.allocators()) registry.register_allocator(allocator);
//     for (Backend* backend : devices.backends()) backends.push_back(backend);      // LoadOptions::backends
//
// Their delegates take tensors only. Errors of a plug-in are codes with its own sentence; an exception that leaves one
// of its functions is the error Internal.
#pragma once

#include <memory>
#include <vector>

#include "plugin/load_plugin.h"
#include "runtime/backend.h"
#include "runtime/device_allocator.h"

namespace berth {

class PluginDevices {
 public:
  /// The plug-ins stay loaded until the process ends.
  explicit PluginDevices(Span<const Plugin* const> plugins);
  ~PluginDevices();
  PluginDevices(const PluginDevices&) = delete;
  PluginDevices& operator=(const PluginDevices&) = delete;

  /// Owned by this object, which must outlive the programs that use them.
  const std::vector<DeviceAllocator*>& allocators() const { return allocators_; }
  const std::vector<Backend*>& backends() const { return backends_; }

 private:
  std::vector<std::unique_ptr<DeviceAllocator>> owned_allocators_;
  std::vector<std::unique_ptr<Backend>> owned_backends_;
  std::vector<DeviceAllocator*> allocators_;
  std::vector<Backend*> backends_;
};

}  // namespace berth

// Machine: the devices and backends of this build on this machine, for subcommands that run programs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/failure.h"
#include "runtime/backend.h"
#include "runtime/device_allocator.h"
#include "runtime/host/plugin_devices.h"
#include "tools/counting_allocator.h"

namespace berth::tool {

/// A type of device, for `berth devices`.
struct DeviceKind {
  DeviceType type = DeviceType::kCpu;
  int count = 0;
  /// How many of them are the host's processor under another name: the last ones.
  int processors = 0;
  /// A description, or the reason why there is none.
  std::string note;
};

/// What devices did for runs, where their backends count: those with Vulkan and with CUDA.
struct DeviceWork {
  uint64_t submissions = 0;    // to queues
  uint64_t dispatches = 0;     // of kernels
  uint64_t barriers = 0;       // with Vulkan; a CUDA stream has none
  uint64_t pipelines = 0;      // compiled; with CUDA graphs that were made
  uint64_t allocations = 0;    // of memory of the device
  uint64_t library_calls = 0;  // of cuBLASLt and cuDNN
  uint64_t fallbacks = 0;      // what these did not take, so that a slower kernel computed it
};

/// Must outlive the programs that are loaded with it. If a program's GPU is mapped to a simulated device, that device
/// runs its delegates.
class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Adds the allocators and backends of plug-ins. RegistrationAlreadyRegistered for an allocator of a device type that
  /// has one. Call it once.
  Status add_plugins(Span<const Plugin* const> plugins);

  /// Keeps compiled kernels of devices with Vulkan in `file` from one process to the next (docs/vulkan.md). Before a
  /// device is asked for. NotSupported without such devices in this build.
  Status keep_pipelines(const std::string& file);

  const DeviceAllocatorRegistry& registry() const { return registry_; }
  Span<Backend* const> backends() const { return {backend_list_.data(), backend_list_.size()}; }
  /// Initialises the devices, which may take time and memory, so it is not done earlier.
  std::vector<DeviceKind> kinds() const;

  /// The number of copies to, from and within devices so far.
  CopyCount copies() const;
  /// So far.
  DeviceWork work() const;
  /// Messages of validation layers so far, each of which was logged (BERTH_VULKAN_VALIDATION).
  uint64_t validation_messages() const;

 private:
  struct Parts;

  // `note` describes its devices.
  Error add(DeviceAllocator* allocator, std::function<std::string()> note);

  std::unique_ptr<Parts> parts_;
  std::vector<std::unique_ptr<CountingAllocator>> counters_;
  std::vector<std::function<std::string()>> notes_;  // as long
  std::unique_ptr<PluginDevices> plugins_;
  DeviceAllocatorRegistry registry_;
  std::vector<Backend*> backend_list_;
};

}  // namespace berth::tool

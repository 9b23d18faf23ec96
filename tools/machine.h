// Machine: the devices and backends that this build has and this machine offers, for every subcommand that runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/device_allocator.h"
#include "tools/counting_allocator.h"

namespace berth::tool {

/// A kind of device as `berth devices` lists it.
struct DeviceKind {
  DeviceType type = DeviceType::kCpu;
  int count = 0;
  /// What it is, or why there is none.
  std::string note;
};

/// Must outlive the programs that are loaded with it. The simulated device stands in for GPUs where a program's devices
/// are mapped to it.
class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const DeviceAllocatorRegistry& registry() const { return registry_; }
  Span<Backend* const> backends() const { return {backend_list_.data(), backend_list_.size()}; }
  /// Looks for the devices, which on some takes a while and much memory: nothing is looked for before.
  std::vector<DeviceKind> kinds() const;

  /// Copies to, from and within devices so far.
  CopyCount copies() const;

 private:
  struct Parts;

  // `note` says what its devices are.
  void add(DeviceAllocator* allocator, const char* (*note)());

  std::unique_ptr<Parts> parts_;
  std::vector<std::unique_ptr<CountingAllocator>> counters_;
  std::vector<const char* (*)()> notes_;  // as long
  DeviceAllocatorRegistry registry_;
  std::vector<Backend*> backend_list_;
};

}  // namespace berth::tool

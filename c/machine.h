// The handles of machines and thread pools.
#pragma once

#include <memory>
#include <vector>

#include "c/handles.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/kernel.h"
#include "tools/machine.h"

struct berth_machine : berth::c::Handle {
  berth_machine() : Handle(Kind::kMachine) {}

  berth::tool::Machine machine;
  std::vector<const berth::Plugin*> plugins;
  berth::PluginKernels kernels;
};

struct berth_threads : berth::c::Handle {
  berth_threads() : Handle(Kind::kThreads) {}

  std::unique_ptr<berth::ThreadPool> pool;  // null: the calling thread alone
  berth::SharedTemp temp;                   // of the methods that have these threads: one of them runs at a time
};

namespace berth::c {

Expected<std::unique_ptr<berth_machine>> make_machine(const berth_machine_options* options);

/// InvalidArgument for numbers that no device has.
Expected<Device> device_of(berth_device device);
berth_device device_of(Device device);

/// Copies between the host and a device, or within devices of one type. NotFound for a device type without an
/// allocator, NotSupported between devices of two types; the allocator's errors.
Status copy_between(const DeviceAllocatorRegistry& registry, Device target_device, void* target, Device source_device,
                    const void* source, size_t bytes);

}  // namespace berth::c

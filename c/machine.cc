#include "c/machine.h"

#include "backends/cpu/thread_pool.h"
#include "base/version.h"
#include "runtime/host/thread_pool.h"

namespace berth::c {
namespace {

// A pool of the caller's. Without more than one thread there is nothing to split.
class CallersPool final : public ThreadPool {
 public:
  explicit CallersPool(const berth_thread_pool& pool) : pool_(pool) {}

  int size() const override { return pool_.threads; }
  void run(int64_t count, int64_t grain, ParallelBody body) override {
    if (count > 0) pool_.run(pool_.self, count, grain, body.call, body.context);
  }

 private:
  berth_thread_pool pool_;
};

Status open_plugins(const berth_machine_options& options, std::vector<const Plugin*>* plugins) {
  if (options.num_plugins > 0 && options.plugins == nullptr) return is_null("berth_machine_options.plugins");
  if (options.num_entries > 0 && options.entries == nullptr) return is_null("berth_machine_options.entries");
  for (size_t i = 0; i < options.num_plugins; ++i) {
    if (options.plugins[i] == nullptr) return is_null("berth_machine_options.plugins");
    BERTH_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::open(options.plugins[i]));
    plugins->push_back(plugin);
  }
  for (size_t i = 0; i < options.num_entries; ++i) {
    if (options.entries[i] == nullptr) return is_null("berth_machine_options.entries");
    BERTH_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::adopt(options.entries[i], "entry " + std::to_string(i)));
    plugins->push_back(plugin);
  }
  return Done{};
}

Failure failed_there(Error error, Device device, const char* what) {
  return Failure{error, to_text(device).text, std::string(what) + ": " + berth::to_string(error)};
}

}  // namespace

Expected<std::unique_ptr<berth_machine>> make_machine(const berth_machine_options* given) {
  BERTH_ASSIGN_OR_RETURN(const berth_machine_options options, known_part(given, "berth_machine_options"));
  auto made = std::make_unique<berth_machine>();
  BERTH_TRY(open_plugins(options, &made->plugins));
  BERTH_TRY(made->machine.add_plugins(made->plugins));
  BERTH_ASSIGN_OR_RETURN(made->kernels, PluginKernels::make(made->plugins));
  return made;
}

Expected<Device> device_of(berth_device device) {
  if (device.type >= 0 && device.type <= INT8_MAX && device.index >= 0 && device.index <= INT8_MAX) {
    return Device(static_cast<DeviceType>(device.type), static_cast<DeviceIndex>(device.index));
  }
  return Failure{Error::kInvalidArgument, "berth_device",
                 "there is no device of type " + std::to_string(device.type) + " with the index " +
                     std::to_string(device.index) + "; both are numbers from 0 to 127"};
}

berth_device device_of(Device device) { return {static_cast<int32_t>(device.type), device.index}; }

Status copy_between(const DeviceAllocatorRegistry& registry, Device target_device, void* target, Device source_device,
                    const void* source, size_t bytes) {
  if (bytes == 0) return Done{};
  if (target == nullptr || source == nullptr) return is_null("an address of a copy");
  if (target_device.is_cpu() && source_device.is_cpu()) {
    std::memcpy(target, source, bytes);
    return Done{};
  }
  const Device device = target_device.is_cpu() ? source_device : target_device;
  if (!source_device.is_cpu() && source_device.type != device.type) {
    return failed_there(Error::kNotSupported, device, "a copy between devices of two types goes through the host");
  }
  DeviceAllocator* const allocator = registry.get_allocator(device.type);
  if (allocator == nullptr) return failed_there(Error::kNotFound, device, "this machine has no such device");
  const Error error =
      target_device.is_cpu() ? allocator->copy_device_to_host(target, source, bytes, source_device.index)
      : source_device.is_cpu()
          ? allocator->copy_host_to_device(target, source, bytes, target_device.index)
          : allocator->copy_device_to_device(target, target_device.index, source, source_device.index, bytes);
  return error == Error::kOk ? Status(Done{}) : failed_there(error, device, "the copy failed");
}

namespace {

Expected<DeviceAllocator*> allocator_of(const berth_machine& machine, Device device) {
  DeviceAllocator* const allocator = device.is_cpu() ? nullptr : machine.machine.registry().get_allocator(device.type);
  if (allocator != nullptr) return allocator;
  if (device.is_cpu()) return failed_there(Error::kInvalidArgument, device, "the host's memory is the caller's");
  return failed_there(Error::kNotFound, device, "this machine has no such device");
}

}  // namespace
}  // namespace berth::c

using namespace berth;     // NOLINT(google-build-using-namespace): the functions of C stand in no namespace
using namespace berth::c;  // NOLINT(google-build-using-namespace)

const char* berth_version() { return BERTH_VERSION; }
int32_t berth_api_version() { return BERTH_API_VERSION; }
const char* berth_code_name(int32_t code) { return berth::to_string(static_cast<Error>(code)); }

int32_t berth_machine_create(const berth_machine_options* options, berth_machine** machine, berth_error* error) {
  return guarded(error, [&]() -> Status {
    if (machine == nullptr) return is_null("machine");
    BERTH_ASSIGN_OR_RETURN(auto made, make_machine(options));
    add_open(made.get());
    *machine = made.release();
    return Done{};
  });
}

int32_t berth_machine_close(berth_machine* machine, berth_error* error) {
  if (machine == nullptr) return BERTH_OK;
  return guarded(error, [&]() -> Status {
    BERTH_TRY(remove_open(machine, Handle::Kind::kMachine));
    delete machine;
    return Done{};
  });
}

int32_t berth_machine_allocate(const berth_machine* machine, berth_device device, size_t bytes, size_t alignment,
                               void** address, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(machine, Handle::Kind::kMachine));
    if (address == nullptr) return is_null("address");
    BERTH_ASSIGN_OR_RETURN(const Device there, device_of(device));
    BERTH_ASSIGN_OR_RETURN(DeviceAllocator* const allocator, allocator_of(*machine, there));
    const auto memory = allocator->allocate(bytes, there.index, std::max<size_t>(alignment, 1));
    if (!memory.ok()) {
      return failed_there(memory.error(), there, (std::to_string(bytes) + " bytes cannot be allocated").c_str());
    }
    *address = *memory;
    return Done{};
  });
}

int32_t berth_machine_free(const berth_machine* machine, berth_device device, void* address, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(machine, Handle::Kind::kMachine));
    BERTH_ASSIGN_OR_RETURN(const Device there, device_of(device));
    BERTH_ASSIGN_OR_RETURN(DeviceAllocator* const allocator, allocator_of(*machine, there));
    allocator->deallocate(address, there.index);
    return Done{};
  });
}

int32_t berth_machine_copy(const berth_machine* machine, berth_device target_device, void* target,
                           berth_device source_device, const void* source, size_t bytes, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(machine, Handle::Kind::kMachine));
    BERTH_ASSIGN_OR_RETURN(const Device to, device_of(target_device));
    BERTH_ASSIGN_OR_RETURN(const Device from, device_of(source_device));
    return copy_between(machine->machine.registry(), to, target, from, source, bytes);
  });
}

int32_t berth_threads_create(int32_t count, berth_threads** threads, berth_error* error) {
  return guarded(error, [&]() -> Status {
    if (threads == nullptr) return is_null("threads");
    if (count < 1 || count > HostThreadPool::kMaxThreads) {
      return Failure{
          Error::kInvalidArgument, "count",
          "expected 1 to " + std::to_string(HostThreadPool::kMaxThreads) + " threads, found " + std::to_string(count)};
    }
    auto made = std::make_unique<berth_threads>();
    made->pool = make_cpu_thread_pool(count);
    add_open(made.get());
    *threads = made.release();
    return Done{};
  });
}

int32_t berth_threads_of_pool(const berth_thread_pool* pool, berth_threads** threads, berth_error* error) {
  return guarded(error, [&]() -> Status {
    if (pool == nullptr || threads == nullptr) return is_null(pool == nullptr ? "berth_thread_pool" : "threads");
    BERTH_ASSIGN_OR_RETURN(const berth_thread_pool known,
                           known_part(pool, "berth_thread_pool", BERTH_SIZE_UP_TO(berth_thread_pool, run)));
    if (known.run == nullptr) return is_null("berth_thread_pool.run");
    if (known.threads < 1 || known.threads > HostThreadPool::kMaxThreads) {
      return Failure{
          Error::kInvalidArgument, "berth_thread_pool.threads",
          "expected 1 to " + std::to_string(HostThreadPool::kMaxThreads) + ", found " + std::to_string(known.threads)};
    }
    auto made = std::make_unique<berth_threads>();
    made->pool = std::make_unique<CallersPool>(known);
    add_open(made.get());
    *threads = made.release();
    return Done{};
  });
}

int32_t berth_threads_close(berth_threads* threads, berth_error* error) {
  if (threads == nullptr) return BERTH_OK;
  return guarded(error, [&]() -> Status {
    BERTH_TRY(remove_open(threads, Handle::Kind::kThreads));
    delete threads;
    return Done{};
  });
}

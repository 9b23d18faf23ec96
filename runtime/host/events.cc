#include "runtime/host/events.h"

#include <chrono>

namespace berth {
namespace {

Event instruction_event(const InstructionEvent& event, Event::Phase phase) {
  Event told;
  told.kind = Event::Kind::kInstruction;
  told.phase = phase;
  told.method = event.method;
  told.name = event.name;
  told.index = event.index;
  return told;
}

// Forwards to another allocator.
class ObservedAllocator final : public DeviceAllocator {
 public:
  ObservedAllocator(DeviceAllocator* device, DeviceType type, EventObserver* observer)
      : device_(device), type_(type), observer_(observer) {}

  DeviceType device_type() const override { return device_->device_type(); }
  int device_count() const override { return device_->device_count(); }
  bool is_gpu() const override { return device_->is_gpu(); }

  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment) override {
    Result<void*> memory = device_->allocate(bytes, index, alignment);
    if (memory.ok()) tell_memory(Event::Phase::kBegin, index, bytes);
    return memory;
  }
  void deallocate(void* memory, DeviceIndex index) override {
    device_->deallocate(memory, index);
    if (memory != nullptr) tell_memory(Event::Phase::kEnd, index, 0);
  }
  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    return told(Device(type_, index), Device(), bytes,
                [&] { return device_->copy_host_to_device(target, source, bytes, index, stream); });
  }
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    return told(Device(), Device(type_, index), bytes,
                [&] { return device_->copy_device_to_host(target, source, bytes, index, stream); });
  }
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* stream) override {
    return told(Device(type_, target_index), Device(type_, source_index), bytes, [&] {
      return device_->copy_device_to_device(target, target_index, source, source_index, bytes, stream);
    });
  }
  Result<DeviceStream*> create_stream(DeviceIndex index) override { return device_->create_stream(index); }
  void destroy_stream(DeviceStream* stream, DeviceIndex index) override { device_->destroy_stream(stream, index); }
  Error synchronize(DeviceStream* stream, DeviceIndex index) override { return device_->synchronize(stream, index); }
  Error record(DeviceStream* stream, DeviceIndex index) override { return device_->record(stream, index); }
  Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) override {
    return device_->wait(stream, index, other, other_index);
  }

 private:
  void tell_memory(Event::Phase phase, DeviceIndex index, size_t bytes) {
    Event event;
    event.kind = Event::Kind::kMemory;
    event.phase = phase;
    event.name = "device";
    event.device = Device(type_, index);
    event.bytes = bytes;
    tell(observer_, event);
  }

  template <typename Copy>
  Error told(Device target, Device source, size_t bytes, Copy&& copy) {
    if (bytes == 0) return copy();
    Event event;
    event.kind = Event::Kind::kCopy;
    event.name = "copy";
    event.device = target;
    event.source = source;
    event.bytes = bytes;
    tell(observer_, event);
    event.phase = Event::Phase::kEnd;
    event.result = copy();
    tell(observer_, event);
    return event.result;
  }

  DeviceAllocator* device_;
  DeviceType type_;  // that it is registered for
  EventObserver* observer_;
};

}  // namespace

void tell(EventObserver* observer, Event event) {
  if (observer == nullptr) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  event.nanoseconds = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  observer->event(event);
}

EventScope::EventScope(EventObserver* observer, Event::Kind kind, const char* method, const char* name)
    : observer_(observer) {
  event_.kind = kind;
  event_.method = method;
  event_.name = name;
  tell(observer_, event_);
  event_.phase = Event::Phase::kEnd;
}

EventScope::~EventScope() { tell(observer_, event_); }

Error InstructionEvents::before(const InstructionEvent& event) {
  tell(observer_, instruction_event(event, Event::Phase::kBegin));
  return Error::kOk;
}

void InstructionEvents::after(const InstructionEvent& event, Error result) {
  Event told = instruction_event(event, Event::Phase::kEnd);
  told.result = result;
  tell(observer_, told);
}

Error run_observed(Method& method, EventObserver* observer) {
  if (observer == nullptr) return method.execute();
  EventScope scope(observer, Event::Kind::kRun, method.meta().name(), "run");
  return scope.ends_with(method.execute());
}

ObservedDevices::ObservedDevices(const DeviceAllocatorRegistry& devices, EventObserver* observer) {
  for (size_t i = 0; i < count_device_types(); ++i) {
    const DeviceType type = device_type_at(i);
    DeviceAllocator* const allocator = devices.get_allocator(type);
    if (allocator == nullptr) continue;
    allocators_.push_back(std::make_unique<ObservedAllocator>(allocator, type, observer));
    // A registry has room for all types that another one has.
    static_cast<void>(registry_.register_allocator(type, allocators_.back().get()));
  }
}

ObservedDevices::~ObservedDevices() = default;

}  // namespace berth

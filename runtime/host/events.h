// EventObserver: told what happens when programs are loaded and run, for profilers and logs: loads, runs, instructions,
// copies between devices, and memory.
//
//     ChromeTrace trace;                                      // runtime/host/chrome_trace.h; or an observer of one's
//                                                             own
//     ModuleOptions options;
//     options.events = &trace;
//
// ModuleOptions::events gets all of them. Code that uses Program and HostMethod sets HostOptions::events (loads, runs,
// instructions and memory of the host), and loads the program with a registry of ObservedDevices (copies, and memory of
// devices). Without an observer none of this costs anything.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/device.h"
#include "runtime/device_allocator.h"
#include "runtime/method.h"
#include "runtime/observer.h"

namespace berth {

/// Valid during the call.
struct Event {
  /// The numbers are those of the C API (BERTH_EVENT_LOAD, …).
  enum class Kind : uint8_t { kLoad, kRun, kInstruction, kCopy, kMemory };
  /// What begins ends: pairs nest, on one thread. Memory is taken (kBegin) and, on devices, given back (kEnd) without
  /// nesting; that of the host goes with its method.
  enum class Phase : uint8_t { kBegin, kEnd };

  Kind kind = Kind::kLoad;
  Phase phase = Phase::kBegin;
  /// The method; "delegate" inside a delegate; "" where there is none.
  const char* method = "";
  /// Of a load "program" or "method"; of an instruction its operator, or the delegate's backend; of memory "arena",
  /// "temp", "method", "output", or "device" for what a device allocates.
  const char* name = "";
  /// Of an instruction, in its method; of an arena, its id in the file, from 1 on.
  uint64_t index = 0;
  /// Of a copy and of memory.
  uint64_t bytes = 0;
  /// Of a copy, from `source` to `device`; of memory, where it is.
  Device device;
  Device source;
  /// At the end of a load, run, instruction or copy.
  Error result = Error::kOk;
  /// Of a clock that never goes back.
  uint64_t nanoseconds = 0;
};

/// Must be thread-safe if programs that share it are used by several threads. Must not call what it observes.
class EventObserver {
 public:
  virtual ~EventObserver() = default;
  virtual void event(const Event& event) = 0;
};

/// Gives `event` the time of now to `observer`, which may be null.
void tell(EventObserver* observer, Event event);

/// Tells of a load or run until it goes.
class EventScope {
 public:
  /// `observer` may be null. The texts must outlive this.
  EventScope(EventObserver* observer, Event::Kind kind, const char* method, const char* name);
  ~EventScope();
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;

  /// What the end says. Returns `error`.
  Error ends_with(Error error) { return event_.result = error; }

 private:
  EventObserver* observer_;
  Event event_;
};

/// Tells of instructions: Method::set_observer().
class InstructionEvents final : public InstructionObserver {
 public:
  explicit InstructionEvents(EventObserver* observer) : observer_(observer) {}
  Error before(const InstructionEvent& event) override;
  void after(const InstructionEvent& event, Error result) override;

 private:
  EventObserver* observer_;
};

/// Method::execute(), told of as a run. `observer` may be null.
Error run_observed(Method& method, EventObserver* observer);

/// The devices of a registry, which tell of copies of at least one byte and of memory. Their streams, and backends that
/// keep an allocator of their own, are as they were.
class ObservedDevices {
 public:
  /// Both must outlive this, and this the programs that are loaded with it.
  ObservedDevices(const DeviceAllocatorRegistry& devices, EventObserver* observer);
  ~ObservedDevices();

  const DeviceAllocatorRegistry& registry() const { return registry_; }

 private:
  std::vector<std::unique_ptr<DeviceAllocator>> allocators_;
  DeviceAllocatorRegistry registry_;
};

}  // namespace berth

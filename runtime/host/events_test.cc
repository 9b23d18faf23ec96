// Fears: an observer misses what happens, is told of a begin without its end, or of the wrong method; a trace that no
// viewer can read.
#include "runtime/host/events.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/device_programs_testing.h"
#include "runtime/host/chrome_trace.h"
#include "runtime/host/host_method.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::testing::add_relu;
using format::testing::bytes_of;

class Told final : public EventObserver {
 public:
  void event(const Event& event) override {
    events.push_back(event);
    if (event.kind == Event::Kind::kMemory) return;
    if (event.phase == Event::Phase::kBegin) {
      open.push_back(event.kind);
    } else {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), event.kind) << "ends what did not begin last";
      open.pop_back();
    }
  }
  size_t count(Event::Kind kind, Event::Phase phase = Event::Phase::kEnd) const {
    size_t found = 0;
    for (const Event& event : events) found += event.kind == kind && event.phase == phase ? 1 : 0;
    return found;
  }

  std::vector<Event> events;
  std::vector<Event::Kind> open;
};

// The program of add_relu(), loaded and run twice.
void load_and_run(EventObserver* observer) {
  static const std::vector<uint8_t> file = bytes_of(add_relu());
  const BufferLoader loader{Span<const uint8_t>(file)};
  const Result<Program> program = Program::load(loader, testing::kernels());
  ASSERT_TRUE(program.ok());
  HostOptions options;
  options.events = observer;
  Result<HostMethod> method = HostMethod::load(*program, "forward", options);
  ASSERT_TRUE(method.ok());
  const float x[4] = {0, 0, 4, 0};
  const int32_t sizes[] = {4};
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(method->method().set_input(0, x, sizes, DType::kF32), Error::kOk);
    ASSERT_EQ(method->execute(), Error::kOk);
  }
}

TEST(Events, LoadsRunsInstructionsAndMemoryAreTold) {
  Told told;
  load_and_run(&told);
  EXPECT_TRUE(told.open.empty());
  EXPECT_EQ(told.count(Event::Kind::kLoad), 1u);
  EXPECT_EQ(told.count(Event::Kind::kRun), 2u);
  EXPECT_EQ(told.count(Event::Kind::kInstruction), 4u) << "an add and a relu, twice";
  std::map<std::string, uint64_t> memory;
  uint64_t last = 0;
  for (const Event& event : told.events) {
    EXPECT_STREQ(event.method, "forward");
    EXPECT_GE(event.nanoseconds, last);
    last = event.nanoseconds;
    if (event.kind == Event::Kind::kMemory) memory[event.name] += event.bytes;
  }
  EXPECT_GT(memory["method"], 0u);
  EXPECT_GT(memory["arena"], 0u);
}

TEST(Events, WithoutAnObserverNothingChanges) { load_and_run(nullptr); }

TEST(Events, CopiesAndMemoryOfDevicesAreTold) {
  class Memory final : public DeviceAllocator {
   public:
    DeviceType device_type() const override { return DeviceType::kCuda; }
    Result<void*> allocate(size_t, DeviceIndex, size_t) override { return static_cast<void*>(bytes); }
    void deallocate(void*, DeviceIndex) override {}
    Error copy_host_to_device(void*, const void*, size_t, DeviceIndex, DeviceStream*) override { return Error::kOk; }
    Error copy_device_to_host(void*, const void*, size_t, DeviceIndex, DeviceStream*) override {
      return Error::kAccessFailed;
    }
    Error copy_device_to_device(void*, DeviceIndex, const void*, DeviceIndex, size_t, DeviceStream*) override {
      return Error::kOk;
    }
    char bytes[16] = {};
  } device;
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(&device), Error::kOk);
  Told told;
  const ObservedDevices observed(registry, &told);
  DeviceAllocator* const allocator = observed.registry().get_allocator(DeviceType::kCuda);
  ASSERT_NE(allocator, nullptr);
  EXPECT_EQ(observed.registry().get_allocator(DeviceType::kSim), nullptr);
  void* const memory = allocator->allocate(16, 1, 16).value();
  char here[16] = {};
  EXPECT_EQ(allocator->copy_host_to_device(memory, here, 0, 1), Error::kOk);
  EXPECT_TRUE(told.count(Event::Kind::kCopy) == 0) << "a copy of nothing";
  EXPECT_EQ(allocator->copy_host_to_device(memory, here, 16, 1), Error::kOk);
  EXPECT_EQ(allocator->copy_device_to_host(here, memory, 8, 1), Error::kAccessFailed);
  allocator->deallocate(memory, 1);
  ASSERT_EQ(told.count(Event::Kind::kCopy), 2u);
  EXPECT_EQ(told.count(Event::Kind::kMemory), 1u);
  const Event& failed = told.events[told.events.size() - 2];
  EXPECT_EQ(failed.bytes, 8u);
  EXPECT_EQ(failed.source, Device(DeviceType::kCuda, 1));
  EXPECT_TRUE(failed.device.is_cpu());
  EXPECT_EQ(failed.result, Error::kAccessFailed);
}

TEST(ChromeTrace, IsBalancedAndNamesWhatRan) {
  ChromeTrace trace;
  load_and_run(&trace);
  const std::string json = trace.json();
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = json.find(text); at != std::string::npos; at = json.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\"ph\":\"B\""), 7u) << json;
  EXPECT_EQ(count("\"ph\":\"E\""), 7u);
  EXPECT_EQ(count("\"cat\":\"run\",\"ph\":\"B\""), 2u);
  EXPECT_EQ(count("\"cat\":\"instruction\",\"ph\":\"B\""), 4u);
  EXPECT_GE(count("\"cat\":\"memory\",\"ph\":\"i\""), 2u);
  EXPECT_EQ(json.rfind("{\"traceEvents\":[{", 0), 0u);
}

TEST(ChromeTrace, NamesMayHoldAnything) {
  ChromeTrace trace;
  Event event;
  event.method = "a \"b\" \\ \n \xff";
  trace.event(event);
  const std::string json = trace.json();
  EXPECT_NE(json.find("\"a \\\"b\\\" \\\\ \\u000a \\u00ff\""), std::string::npos) << json;
}

}  // namespace
}  // namespace berth

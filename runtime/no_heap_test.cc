// After a program is loaded, and with all memory the caller's even before, nothing may come from the heap.

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/count_allocations_testing.h"
#include "runtime/device_programs_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using testing::allocations;
using testing::NoHeap;

TEST_F(NoHeap, TheHookCounts) {
  const size_t before = allocations;
  void* volatile a = std::malloc(8);
  int* volatile b = new int;
  EXPECT_EQ(allocations, before + 2);
  std::free(a);
  delete b;
}

TEST_F(NoHeap, LoadAndRunTakeNothing) {
  const std::vector<uint8_t> file = format::testing::bytes_of(format::testing::add_relu());
  alignas(64) static uint8_t method_memory[8192], arena[64];
  const float x[4] = {0, 0, 4, 0};
  const int32_t sizes[] = {4};
  const Span<uint8_t> arenas[] = {{arena, sizeof(arena)}};

  const size_t before = allocations;
  const BufferLoader loader{Span<const uint8_t>(file)};
  const Result<Program> program = Program::load(loader, testing::kernels());
  MemoryAllocator allocator({method_memory, sizeof(method_memory)});
  const HierarchicalAllocator planned(arenas);
  Result<Method> method = program->load_method("forward", MemoryManager(allocator, planned));
  Error error = method->set_input(0, x, sizes, DType::kF32);
  for (int i = 0; i < 3 && error == Error::kOk; ++i) error = method->execute();
  const size_t after = allocations;

  EXPECT_EQ(error, Error::kOk);
  EXPECT_EQ(method->get_output(0).tensor().data<float>()[2], 1);
  EXPECT_EQ(after, before);
}

// A device in one array, and a backend without state.
alignas(16) uint8_t device_memory[64];

class StaticDevice final : public DeviceAllocator {
 public:
  DeviceType device_type() const override { return DeviceType::kCuda; }
  Result<void*> allocate(size_t, DeviceIndex, size_t) override { return static_cast<void*>(device_memory); }
  void deallocate(void*, DeviceIndex) override {}
  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex, DeviceStream*) override {
    return copy(target, source, bytes);
  }
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex, DeviceStream*) override {
    return copy(target, source, bytes);
  }
  Error copy_device_to_device(void* target, DeviceIndex, const void* source, DeviceIndex, size_t bytes,
                              DeviceStream*) override {
    return copy(target, source, bytes);
  }

 private:
  static Error copy(void* target, const void* source, size_t bytes) {
    std::memcpy(target, source, bytes);
    return Error::kOk;
  }
};

class StaticAdd final : public Backend {
 public:
  const char* name() const override { return "FakeAdd"; }
  bool serves(DeviceType) const override { return true; }
  Error memory_needed(const DelegateSource&, Span<uint8_t>, int, DelegateMemory* needed,
                      format::Report*) const override {
    *needed = {48, 64, 2};
    return Error::kOk;
  }
  Result<DelegateHandle*> load(const DelegateSource&, const DelegateLoad& load, format::Report*) override {
    return static_cast<DelegateHandle*>(load.memory->allocate(48));
  }
  Error execute(DelegateHandle*, KernelContext&, Span<EValue* const> args) override {
    for (int i = 0; i < 4; ++i) {
      args[2]->tensor().data<float>()[i] = args[0]->tensor().data<float>()[i] + args[1]->tensor().data<float>()[i];
    }
    return Error::kOk;
  }
  void unload(DelegateHandle*) override {}
};

// Holds row 9.
TEST_F(NoHeap, ATableOfDevicesTakesNothing) {
  StaticDevice device;
  const size_t before = allocations;
  DeviceAllocatorRegistry registry;
  const Error added = registry.register_allocator(&device);
  const Error again = registry.register_allocator(&device);
  const DeviceAllocator* found = registry.get_allocator(DeviceType::kCuda);
  const size_t after = allocations;
  EXPECT_EQ(added, Error::kOk);
  EXPECT_EQ(again, Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(found, &device);
  EXPECT_EQ(after, before);
}

TEST_F(NoHeap, DevicesAndDelegatesTakeNothing) {
  const std::vector<uint8_t> file = format::testing::bytes_of(testing::delegated_add());
  alignas(64) static uint8_t method_memory[8192], host_arena[32], temp[64];
  const float x[4] = {1, 2, 3, 4};
  const int32_t sizes[] = {2, 2};
  const Span<uint8_t> arenas[] = {host_arena, {device_memory, 48}};
  const Device devices[] = {Device(), Device(DeviceType::kCuda, 0)};
  StaticDevice device;
  StaticAdd add;
  Backend* const backends[] = {&add};

  const size_t before = allocations;
  Error error = Error::kOk;
  float result = 0;
  {
    DeviceAllocatorRegistry registry;
    error = registry.register_allocator(&device);
    LoadOptions options;
    options.registry = &registry;
    options.backends = backends;
    const BufferLoader loader{Span<const uint8_t>(file)};
    const Result<Program> program = Program::load(loader, testing::copy_kernels(), options);
    MemoryAllocator allocator({method_memory, sizeof(method_memory)});
    const HierarchicalAllocator planned(arenas, devices);
    Result<Method> method = program->load_method("forward", MemoryManager(allocator, planned, temp), MethodOptions());
    for (int run = 0; run < 3 && error == Error::kOk; ++run) {
      for (size_t i = 0; i < 2 && error == Error::kOk; ++i) error = method->set_input(i, x, sizes, DType::kF32);
      if (error == Error::kOk) error = method->execute();
    }
    result = method->get_output(0).tensor().data<float>()[3];
  }
  const size_t after = allocations;

  EXPECT_EQ(error, Error::kOk);
  EXPECT_EQ(result, 8);
  EXPECT_EQ(after, before);
}

TEST_F(NoHeap, FailuresTakeNothing) {
  std::vector<uint8_t> file = format::testing::bytes_of(format::testing::add_relu());
  const size_t before = allocations;
  const BufferLoader cut{Span<const uint8_t>(file.data(), file.size() - 1)};
  const bool loaded = Program::load(cut, testing::kernels()).ok();
  const BufferLoader loader{Span<const uint8_t>(file)};
  const Result<Program> program = Program::load(loader, testing::kernels());
  MemoryAllocator none{Span<uint8_t>()};
  const HierarchicalAllocator planned;
  const bool made = program->load_method("forward", MemoryManager(none, planned)).ok();
  const size_t after = allocations;

  EXPECT_FALSE(loaded);
  EXPECT_FALSE(made);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace berth

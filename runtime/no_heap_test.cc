// After a program is loaded, and with all memory the caller's even before, nothing may come from the heap.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "runtime/test_kernels.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BERTH_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define BERTH_OWN_MALLOC 0
#endif
#endif
#ifndef BERTH_OWN_MALLOC
#ifdef __GLIBC__
#define BERTH_OWN_MALLOC 1
#else
#define BERTH_OWN_MALLOC 0
#endif
#endif

namespace {
// Not atomic: these tests have one thread.
size_t allocations = 0;
}  // namespace

#if BERTH_OWN_MALLOC
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* operator new(size_t size) {
  ++allocations;
  return __libc_malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace berth {
namespace {

// Sanitizers have a malloc of their own, which cannot be counted this way.
class NoHeap : public ::testing::Test {
 protected:
  void SetUp() override {
    if (BERTH_OWN_MALLOC == 0) GTEST_SKIP() << "allocations cannot be counted in this build";
  }
};

TEST_F(NoHeap, TheHookCounts) {
  const size_t before = allocations;
  void* volatile a = std::malloc(8);
  int* volatile b = new int;
  EXPECT_EQ(allocations, before + 2);
  std::free(a);
  delete b;
}

TEST_F(NoHeap, LoadingAndRunningTakeNothing) {
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

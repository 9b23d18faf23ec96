// What is measured and run takes nothing from the heap once a delegate is loaded.

#include <gtest/gtest.h>

#include "backends/nested/nested_backend.h"
#include "backends/nested/nested_programs_testing.h"
#include "runtime/count_allocations_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using testing::allocations;
using testing::NoHeap;

class QuietBackend final : public NestedBackend {
 public:
  QuietBackend() : NestedBackend("test.host", testing::kernels()) {}
  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }
};

TEST_F(NoHeap, RunsAndFailuresTakeNothing) {
  const testing::Calls calls = {Device(), "test.host", 4, false};
  const std::vector<uint8_t> file = format::testing::bytes_of(testing::program_with_delegate(calls));
  const BufferLoader loader{Span<const uint8_t>(file)};
  QuietBackend backend;
  Backend* const backends[] = {&backend};
  LoadOptions options;
  options.backends = backends;
  const Result<Program> program = Program::load(loader, testing::kernels(), options);
  ASSERT_TRUE(program.ok());
  alignas(64) static uint8_t method_memory[1 << 16], arena[192], temp[4096];
  const Span<uint8_t> arenas[] = {{arena, sizeof(arena)}};
  MemoryAllocator allocator({method_memory, sizeof(method_memory)});
  const HierarchicalAllocator planned(arenas);
  format::Report report;
  Result<Method> method =
      program->load_method("forward", MemoryManager(allocator, planned, {temp, sizeof(temp)}), nullptr, &report);
  ASSERT_TRUE(method.ok()) << report.place << ": " << report.message;
  const float x[4] = {0, 0, 4, 0};
  const int32_t sizes[] = {4};

  const size_t before = allocations;
  Error error = Error::kOk;
  for (int i = 0; i < 3 && error == Error::kOk; ++i) {
    error = method->set_input(0, x, sizes, DType::kF32);
    if (error == Error::kOk) error = method->execute();
  }
  const size_t after = allocations;

  EXPECT_EQ(error, Error::kOk);
  EXPECT_EQ(method->get_output(0).tensor().data<float>()[2], 1);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace berth

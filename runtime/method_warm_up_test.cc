// What a host is told before the first run. The fears: pages of a table brought in of which a run reads ten rows,
// memory that is not a constant touched, a weight brought in again after its kernel gave its pages back, a run that
// computes something else afterwards.

#include <gtest/gtest.h>

#include <vector>

#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using Visits = std::vector<Span<const uint8_t>>;

Visits visits_;
size_t visits_when_prepared_ = 0;

Error prepare(PrepareContext&, Span<EValue* const>, void** state) {
  visits_when_prepared_ = visits_.size();
  *state = &visits_;
  return Error::kOk;
}

struct Table {
  explicit Table(int picked) {
    entries[0].name = "aten::add.out";
    entries[0].signature = "Tensor self, Tensor other, Scalar alpha=1 -> Tensor out";
    entries[0].call = untyped<testing::add>;
    entries[0].prepare = prepare;
    entries[0].release = [](void*) {};
    entries[0].picked_argument = picked;
    entries[1].name = "aten::relu.out";
    entries[1].signature = "Tensor self -> Tensor out";
    entries[1].call = untyped<testing::relu>;
  }
  KernelEntry entries[2];
};

// Loads once more, into the memory of the first load, with a visitor.
void load_again(testing::Ready& r) {
  visits_.clear();
  visits_when_prepared_ = 0;
  r.method.reset();
  MemoryAllocator allocator(r.method_memory);
  const HierarchicalAllocator planned(r.spans);
  MethodOptions options;
  options.report = &r.report;
  options.read.call = [](void*, Span<const uint8_t> memory) { visits_.push_back(memory); };
  Result<Method> method = r.program->load_method("forward", MemoryManager(allocator, planned, r.temp), options);
  if (method.ok()) r.method = std::make_unique<Method>(std::move(*method));
}

TEST(MethodWarmUp, NamesConstantsOnly) {
  const Table table(-1);
  testing::Ready r =
      testing::ready(format::testing::add_relu(), Verification::kFull, "forward", nullptr, KernelTable(table.entries));
  ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
  load_again(r);
  ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
  ASSERT_EQ(visits_.size(), 1u);
  ASSERT_EQ(visits_[0].size(), 4 * sizeof(float));
  const float* const weight = reinterpret_cast<const float*>(visits_[0].data());
  EXPECT_EQ(std::vector<float>(weight, weight + 4), (std::vector<float>{-1, 2, -3, 4}));
  r.method->warm_up();
  EXPECT_EQ(visits_.size(), 1u);
  ASSERT_EQ(testing::set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(testing::floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

TEST(MethodWarmUp, NamesAConstantBeforeItsKernelIsPrepared) {
  const Table table(-1);
  testing::Ready r =
      testing::ready(format::testing::add_relu(), Verification::kFull, "forward", nullptr, KernelTable(table.entries));
  load_again(r);
  ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
  EXPECT_EQ(visits_when_prepared_, 1u);
  EXPECT_EQ(visits_.size(), 1u);
}

TEST(MethodWarmUp, SkipsTablesOfWhichRowsArePicked) {
  for (const int picked : {0, 1, 2}) {
    const Table table(picked);
    testing::Ready r = testing::ready(format::testing::add_relu(), Verification::kFull, "forward", nullptr,
                                      KernelTable(table.entries));
    load_again(r);
    ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
    EXPECT_EQ(visits_.size(), picked == 1 ? 0u : 1u) << picked;
  }
}

}  // namespace
}  // namespace berth

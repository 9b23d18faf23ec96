// What a host is told before the first run. The fears: pages of a table brought in of which a run reads ten rows,
// memory that is no constant touched, a run that computes something else afterwards.

#include <gtest/gtest.h>

#include <vector>

#include "runtime/test_kernels.h"

namespace berth {
namespace {

using Visits = std::vector<Span<const uint8_t>>;

MemoryVisitor into(Visits& visits) {
  return {[](void* context, Span<const uint8_t> memory) { static_cast<Visits*>(context)->push_back(memory); }, &visits};
}

TEST(WarmUp, NamesConstantsAndNothingElse) {
  testing::Ready r = testing::ready(format::testing::add_relu());
  ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
  Visits visits;
  r.method->warm_up(into(visits));
  ASSERT_EQ(visits.size(), 1u);
  ASSERT_EQ(visits[0].size(), 4 * sizeof(float));
  const float* const weight = reinterpret_cast<const float*>(visits[0].data());
  EXPECT_EQ(std::vector<float>(weight, weight + 4), (std::vector<float>{-1, 2, -3, 4}));
  ASSERT_EQ(testing::set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(testing::floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

TEST(WarmUp, LeavesTablesOfWhichRowsArePicked) {
  KernelEntry table[2];
  table[0].name = "aten::add.out";
  table[0].signature = "Tensor self, Tensor other, Scalar alpha=1 -> Tensor out";
  table[0].call = testing::add;
  table[1].name = "aten::relu.out";
  table[1].signature = "Tensor self -> Tensor out";
  table[1].call = testing::relu;
  for (const int picked : {0, 1, 2}) {
    table[0].picked_argument = picked;
    testing::Ready r =
        testing::ready(format::testing::add_relu(), Verification::kFull, "forward", nullptr, KernelTable(table));
    ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
    Visits visits;
    r.method->warm_up(into(visits));
    EXPECT_EQ(visits.size(), picked == 1 ? 0u : 1u) << picked;
  }
}

}  // namespace
}  // namespace berth

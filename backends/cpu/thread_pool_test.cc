// The fears: two teams of threads that wait awake beside each other, one thread that starts another, work that is lost
// when the pool changes from one team to the other.

#include "backends/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#ifdef BERTH_ONEDNN
#include "backends/cpu/omp_testing.h"
#include "kernels/cpu/onednn.h"
#endif

namespace berth {
namespace {

struct SeenItems {
  static void visit(void* context, int64_t begin, int64_t end) {
    SeenItems& seen = *static_cast<SeenItems*>(context);
    seen.items += end - begin;
#ifdef BERTH_ONEDNN
    if (testing::in_omp_region()) seen.in_region = true;
#endif
  }
  std::atomic<int64_t> items{0};
  std::atomic<bool> in_region{false};
};

TEST(CpuThreadPool, OneThreadNeedsNone) {
  EXPECT_EQ(make_cpu_thread_pool(1), nullptr);
  EXPECT_EQ(make_cpu_thread_pool(0), nullptr);
}

TEST(CpuThreadPool, OpensNoRegionWithoutOneDnn) {
  const auto pool = make_cpu_thread_pool(2);
  EXPECT_EQ(pool->size(), 2);
  SeenItems seen;
  pool->run(1000, 1, {SeenItems::visit, &seen});
  EXPECT_EQ(seen.items, 1000);
  EXPECT_FALSE(seen.in_region);
}

#ifdef BERTH_ONEDNN
TEST(CpuThreadPool, SharesOneDnnsTeamWhileThatIsInUse) {
  const auto pool = make_cpu_thread_pool(2);
  cpu::ConvSpec spec;
  spec.batch = 1;
  spec.groups = 1;
  spec.in_channels = spec.out_channels = 16;
  for (int i = 0; i < 2; ++i) {
    spec.in[i] = spec.out[i] = 8;
    spec.kernel[i] = spec.stride[i] = spec.dilation[i] = 1;
    spec.padding[i] = 0;
  }
  const int64_t strides[4] = {0, 1, 8 * 16, 16};
  for (int i = 0; i < 4; ++i) spec.in_stride[i] = spec.out_stride[i] = strides[i];
  auto call = cpu::OneDnnCall::make(cpu::OneDnnPrimitive::get(spec, 2));
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(cpu::onednn_is_used());
  SeenItems with;
  pool->run(1000, 1, {SeenItems::visit, &with});
  EXPECT_EQ(with.items, 1000);
  EXPECT_TRUE(with.in_region);
  call.reset();
  EXPECT_FALSE(cpu::onednn_is_used());
  SeenItems without;
  pool->run(1000, 1, {SeenItems::visit, &without});
  EXPECT_EQ(without.items, 1000);
  EXPECT_FALSE(without.in_region);
}
#endif

}  // namespace
}  // namespace berth

// Weights packed for a lesser processor than this one: a process of its own, for it stands on that one from then on.

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/cpu/packing.h"
#include "kernels/cpu/packing_layout.h"

namespace berth::cpu {
namespace {

TEST(PackingIsa, PackingForALesserProcessorUsesItsPanels) {
  LinearToPack linear;
  linear.rows = 20;
  linear.depth = 6;
  linear.columns = 40;
  std::vector<float> weight(240);
  std::iota(weight.begin(), weight.end(), 0.0f);
  PackedWeight packed;
  if (!pack_linear(linear, weight.data(), "avx2", &packed)) GTEST_SKIP() << "this machine cannot say";
  DenseSizes dense;
  WeightLayout layout;
  ASSERT_TRUE(read_packing({packed.text.data(), packed.text.size()}, &dense, &layout)) << packed.text;
  std::vector<float> back(weight.size());
  unpack(layout, reinterpret_cast<const float*>(packed.bytes.data()), back.data());
  EXPECT_EQ(back, weight);
  // 40 columns are five registers of AVX2, whose tiles have two at most: as three panels of two, not one of 48.
  ASSERT_EQ(layout.blocks, 1);
  EXPECT_LE(layout.block[0], 16) << packed.text;
  // What was said once is not taken back.
  EXPECT_FALSE(pack_linear(linear, weight.data(), "avx512", &packed));
  EXPECT_FALSE(pack_linear(linear, weight.data(), "generic", &packed));
}

}  // namespace
}  // namespace berth::cpu

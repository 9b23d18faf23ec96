#include "compiler/placement/group_limits.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"

namespace berth::placement {
namespace {

// %a is read by two nodes, %b and %y are read by one each, within the delegate or without it.
size_t longest(const targets::Limits& limits, size_t nodes = 4) {
  const auto module = ir::parse(R"(
    method forward(%x: f32[4], %z: f32[4]) {
      %a: f32[4] = aten::neg(%x)
      %b: f32[4] = aten::exp(%a)
      %y: f32[4] = aten::add.Tensor(%a, %b)
      %w: f32[4] = aten::mul.Tensor(%y, %z)
      return %w
    })",
                                "test");
  EXPECT_TRUE(module.ok());
  const Method& method = module->methods[0];
  const std::vector<NodeId> first(method.body.nodes.begin(), method.body.nodes.begin() + static_cast<long>(nodes));
  return longest_within(method, method.body, first, limits);
}

TEST(GroupLimits, WithoutAnyAllNodesFit) { EXPECT_EQ(longest({}), 4u); }

TEST(GroupLimits, NodesAreCounted) { EXPECT_EQ(longest({2, SIZE_MAX, SIZE_MAX}), 2u); }

// %z is the second input, of the last node.
TEST(GroupLimits, AnInputIsCountedOnce) {
  EXPECT_EQ(longest({SIZE_MAX, 1, SIZE_MAX}), 3u);
  EXPECT_EQ(longest({SIZE_MAX, 2, SIZE_MAX}), 4u);
  EXPECT_EQ(longest({SIZE_MAX, 0, SIZE_MAX}), 0u);
}

// Behind %b there are two: %a and %b. What is read within alone is none any more.
TEST(GroupLimits, AResultThatNobodyReadsOutsideIsNoOutput) {
  EXPECT_EQ(longest({SIZE_MAX, SIZE_MAX, 1}), 4u);
  EXPECT_EQ(longest({SIZE_MAX, SIZE_MAX, 1}, 2), 1u);
  EXPECT_EQ(longest({SIZE_MAX, SIZE_MAX, 0}), 0u);
}

}  // namespace
}  // namespace berth::placement

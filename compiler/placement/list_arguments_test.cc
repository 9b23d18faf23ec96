// Delegates of nodes that take lists of tensors, or give them: what crosses the border is tensors, one by one.
#include "compiler/placement/partition.h"
#include "compiler/placement/placement_testing.h"

namespace berth::placement {
namespace {

// Holds row 223.
TEST(ListArguments, CrossTheBoundaryOneByOne) {
  const ir::Module module = placed(R"(
    method f(%x: f32[2], %y: f32[3]) {
      %a: f32[5] = aten::cat([%x, %y], 0)
      %b: f32[5] = aten::neg(%a)
      return %b
    })",
                                   options_of("cpu"));
  EXPECT_EQ(steps(module), (std::vector<std::string>{"berth::delegate(x, y) -> b"}));
  const ir::Module several = placed(R"(
    method f(%x: f32[5]) {
      %a: f32[2], %b: f32[3] = aten::split_with_sizes_copy(%x, [2, 3], 0)
      %c: f32[2] = aten::neg(%a)
      return %b, %c
    })",
                                    options_of("cpu"));
  EXPECT_EQ(steps(several), (std::vector<std::string>{"berth::delegate(x) -> b c"}));
}

}  // namespace
}  // namespace berth::placement

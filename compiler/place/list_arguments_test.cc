// Delegates of nodes that take lists of tensors, or give them: what crosses the border is tensors, one by one.
#include "compiler/place/partition.h"
#include "compiler/place/testing.h"

namespace berth::place {
namespace {

// Holds row 223.
TEST(ListsOfTensors, CrossTheBorderOneByOne) {
  const ir::Module module = placed(
      "method f(%x: f32[2], %y: f32[3]) {\n  %a: f32[5] = aten::cat([%x, %y], 0)\n  %b: f32[5] = aten::neg(%a)\n"
      "  return %b\n}\n",
      options_of("cpu"));
  EXPECT_EQ(steps(module), (std::vector<std::string>{"berth::delegate(x, y) -> b"}));
  const ir::Module several = placed(
      "method f(%x: f32[5]) {\n"
      "  %a: f32[2], %b: f32[3] = aten::split_with_sizes_copy(%x, [2, 3], 0)\n  %c: f32[2] = aten::neg(%a)\n"
      "  return %b, %c\n}\n",
      options_of("cpu"));
  EXPECT_EQ(steps(several), (std::vector<std::string>{"berth::delegate(x) -> b c"}));
}

}  // namespace
}  // namespace berth::place

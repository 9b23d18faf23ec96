// The fear: a table of which a run picks ten rows is brought into memory as a whole, or a weight that is read from end
// to end is not.

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

TEST(PickedArgument, IsTheTableOfARowLookUp) {
  std::vector<std::string_view> found;
  for (const KernelEntry& entry : kernels()) {
    if (entry.picked_argument < 0) continue;
    EXPECT_EQ(entry.picked_argument, 0) << entry.name;
    EXPECT_EQ(std::string_view(entry.signature).substr(0, 6), "Tensor") << entry.name;
    found.emplace_back(entry.name);
  }
  for (const char* name : {"aten::embedding.out", "aten::index.Tensor_out", "aten::index_select.out",
                           "aten::gather.out", "quantized_decomposed::embedding_byte.out"}) {
    EXPECT_NE(std::find(found.begin(), found.end(), name), found.end()) << name;
  }
  EXPECT_EQ(std::find(found.begin(), found.end(), "aten::convolution.out"), found.end());
}

}  // namespace
}  // namespace berth::portable

// Fears about finding which buffers share bytes and steps: that one is not seen.
#include "compiler/memory/packing/overlap_index.h"

#include <gtest/gtest.h>

namespace berth::packing {
namespace {

// The third lives nearly for ever; by their bytes alone it would be met last, and lives are what tells them apart.
TEST(OverlapIndex, LongLiveRangesAreFoundByThem) {
  OverlapIndex index;
  index.add({0, 64, 0, 1}, 0);
  index.add({0, 64, 1, 1}, 1);
  index.add({0, 64, 0, (int64_t{1} << 62) + 5}, 2);
  EXPECT_TRUE(index.any({0, 64, (int64_t{1} << 62) + 1, 1}, [](int32_t id) { return id == 2; }));
}

}  // namespace
}  // namespace berth::packing

// Views as strides of a base.
#include "compiler/fuse/strided.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Sizes of 0 do not divide each other.
TEST(Strided, LeavesViewsOfEmptyTensors) {
  fused(R"(
    method forward(%x: f32[0,12]) {
      %v: f32[0,3,4] = aten::view_copy(%x, [0, 3, 4])
      %p: f32[0,4,3] = aten::permute_copy(%v, [0, 2, 1])
      %w: f32[0,12] = aten::view_copy(%p, [0, 12])
      %y: f32[0,12] = aten::relu(%w)
      return %y
    })");
}

}  // namespace
}  // namespace berth::fuse

// Batch norms without a convolution to go into.
#include "compiler/fuse/expand_batch_norms.h"

#include "compiler/fuse/fuse_testing.h"
#include "compiler/passes/fold_constants.h"

namespace berth::fuse {
namespace {

// As in networks whose convolutions come after norm and activation: it must not bring the image back to planes.
TEST(ExpandBatchNorms, ABatchNormBeforeAConvolutionStaysChannelsLast) {
  const Constants numbers = {{"w", {4}}, {"b", {4}}, {"mean", {4}}, {"v", {4}}, {"k", {4, 4, 3, 3}}};
  // A variance is not negative.
  const std::string text = with_constants(numbers, "%x: f32[1,4,6,6]", R"(
    %square: f32[4] = aten::mul.Tensor(%v, %v)
    %y: f32[1,4,6,6], %m: f32[0], %r: f32[0] = aten::_native_batch_norm_legit_no_training(
      %x, %w, %b, %mean, %square, 0.1, 0.001)
    %z: f32[1,4,6,6] = aten::relu(%y)
    return %z
  )");
  // The square is not a constant yet, so that the norm stays.
  const Fused stays = fused(text);
  EXPECT_TRUE(stays.says("not-constant")) << stays.text;
  ir::Module module = passes::parsed(text);
  passes::Options options;
  ASSERT_TRUE(passes::fold_constants(module, options).ok());
  const Fused one = fuse_module(std::move(module));
  EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
}

}  // namespace
}  // namespace berth::fuse

// Batch norms behind a concatenation of convolutions. The fears: a channel that gets another one's scale, a part that
// others read, scales that no convolution takes.
#include "compiler/passes/split_joined_norms.h"

#include "compiler/passes/dce.h"
#include "compiler/passes/fold_batch_norm.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

// Convolutions to two and to three channels, joined; `rest` reads %j.
std::string joined(const std::string& rest, const std::string& outputs = "%y") {
  return R"(
    const @v: f32[2,2,1,1] = dense<[1, 2, -3, 4]>
    const @w: f32[3,2,1,1] = dense<[0.5, -0.25, 1.5, 0.125, 2, -1]>
    const @b: f32[2] = dense<[0.5, -1]>
    const @gamma: f32[5] = dense<[1, 2, 0.5, -1, 3]>
    const @beta: f32[5] = dense<[0, 1, -1, 0.25, 2]>
    const @mean: f32[5] = dense<[0.1, -0.2, 0.3, 0, 1]>
    const @var: f32[5] = dense<[1, 0.25, 4, 0.01, 2]>
    const @scale: f32[5,1,1] = dense<[2, 3, 4, 5, 6]>
    method f(%x: f32[1,2,3,3]) {
      %v: f32[2,2,1,1] = const @v
      %w: f32[3,2,1,1] = const @w
      %b: f32[2] = const @b
      %gamma: f32[5] = const @gamma
      %beta: f32[5] = const @beta
      %mean: f32[5] = const @mean
      %var: f32[5] = const @var
      %scale: f32[5,1,1] = const @scale
      %c: f32[1,2,3,3] = aten::convolution(%x, %v, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %d: f32[1,3,3,3] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
)" + rest +
         "\nreturn " + outputs + "\n}";
}

const std::string kJoin = "%j: f32[1,5,3,3] = aten::cat([%c, %d], 1)\n";
const std::string kNorm =
    "%y: f32[1,5,3,3], %s: f32[0], %t: f32[0] = aten::_native_batch_norm_legit_no_training("
    "%j, %gamma, %beta, %mean, %var, 0.1, 1e-05)\n";

// The operators of the method behind both passes; its outputs stay.
std::string operators_of(const std::string& text) {
  ir::Module module = parsed(text);
  EXPECT_TRUE(split_joined_norms(module, Options()).ok());
  EXPECT_TRUE(dce(module, Options()).ok());
  EXPECT_TRUE(fold_batch_norm(module, Options()).ok());
  EXPECT_TRUE(ir::verify(module).ok()) << ir::verify(module).error().text();
  expect_keeps_outputs(split_joined_norms, text, 1e-5);
  std::string names;
  for (const ir::NodeId id : module.methods[0].body.nodes) {
    names += (names.empty() ? "" : " ") + module.methods[0].node(id).op->functional_name.substr(6);
  }
  return names;
}

TEST(SplitJoinedNorms, EachPartTakesItsOwnChannels) {
  const std::string gone = "convolution convolution cat";
  EXPECT_EQ(operators_of(joined(kJoin + kNorm)), gone);
  EXPECT_EQ(operators_of(joined("%j: f32[1,5,3,3] = aten::cat([%c, %d], -3)\n" + kNorm)), gone);
  EXPECT_EQ(operators_of(joined(kJoin + "%y: f32[1,5,3,3] = aten::mul.Tensor(%j, %scale)\n")), gone);
}

TEST(SplitJoinedNorms, WhatOthersReadStaysWhole) {
  const std::string stays = "convolution convolution cat _native_batch_norm_legit_no_training";
  EXPECT_EQ(operators_of(joined(kJoin + kNorm, "%y, %c")), stays);
  EXPECT_EQ(operators_of(joined(kJoin + kNorm, "%y, %j")), stays);
  EXPECT_EQ(operators_of(joined(kJoin + kNorm + "%z: f32[2,2,1,1] = aten::relu(%v)\n", "%y, %z")), stays + " relu");
}

TEST(SplitJoinedNorms, PartsThatTakeNoScaleStay) {
  EXPECT_EQ(
      operators_of(joined("%e: f32[1,3,3,3] = aten::relu(%d)\n%j: f32[1,5,3,3] = aten::cat([%c, %e], 1)\n" + kNorm)),
      "convolution convolution relu cat _native_batch_norm_legit_no_training");
}

}  // namespace
}  // namespace berth::passes

// Weights with what is summed over innermost. The fears: an element that is read as another's; a weight that is given
// so to a target that did not ask; one weight ordered twice.
#include "compiler/fuse/order_weights.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// After all passes of this room, as the target `vulkan` has them.
ir::Module ordered(const std::string& text, bool depth_last = true) {
  ir::Module module = passes::parsed(text);
  delegate_all(module);
  Targets targets = cpu_targets();
  targets[0].channels_last = true;
  targets[0].depth_last = depth_last;
  passes::Options options;
  options.verify = true;
  const Status done = passes::run(fuse_passes(targets), module, options);
  EXPECT_TRUE(done.ok()) << done.error().text();
  return module;
}

// The dimension order of each weight, as in "0231", or "rows" for row-major: of convolutions and linear layers in
// order.
std::string orders(const ir::Module& module) {
  std::string text;
  const ir::Method& method = module.methods[0];
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (ir::NodeId id : graph.nodes) {
      const ir::Node& node = method.node(id);
      const bool bytes = node.is(ir::OpId::quantized_conv_out) || node.is(ir::OpId::quantized_linear_out);
      if (!node.is(ir::OpId::fused_conv_out) && !node.is(ir::OpId::fused_linear_out) && !bytes) continue;
      text += text.empty() ? "" : " ";
      const size_t weight = bytes ? size_t{arg::quantized_conv_out::weight} : size_t{arg::fused_conv_out::weight};
      const std::vector<uint8_t> order = ir::constant_of(module, method, node.args[weight])->type.dim_order;
      if (order.empty()) text += "rows";
      for (const uint8_t d : order) text += std::to_string(d);
    }
  });
  return text;
}

void expect_same_outputs(const std::string& text) {
  const ir::Module before = passes::parsed(text);
  const ir::Module after = ordered(text);
  const std::vector<eval::Item> inputs = passes::random_inputs(before, before.methods[0], 3);
  const auto expected = eval::evaluate(before, before.methods[0], inputs);
  const auto found = eval::evaluate(after, after.methods[0], inputs);
  ASSERT_TRUE(expected.ok() && found.ok()) << ir::print(after);
  ASSERT_EQ(expected->size(), found->size());
  for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], 1e-5);
}

std::string convolved(const std::string& weight, const std::string& result, const std::string& arguments) {
  return "%c: " + result + " = aten::convolution(%x, %" + weight + ", none, " + arguments + ")\nreturn %c";
}

TEST(OrderWeights, ConvolutionsHaveTheirInputChannelsInnermost) {
  const std::string text = with_constants({{"w", {4, 3, 2, 3}}}, "%x: f32[1,3,6,6]",
                                          convolved("w", "f32[1,4,5,4]", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"));
  EXPECT_EQ(orders(ordered(text)), "0231");
  expect_same_outputs(text);
}

TEST(OrderWeights, TransposedConvolutionsToo) {
  const std::string text = with_constants({{"w", {3, 4, 2, 2}}}, "%x: f32[1,3,3,3]",
                                          convolved("w", "f32[1,4,6,6]", "[2, 2], [0, 0], [1, 1], true, [0, 0], 1"));
  EXPECT_EQ(orders(ordered(text)), "1230");
  expect_same_outputs(text);
}

TEST(OrderWeights, ChannelsByThemselvesAreSideBySide) {
  const std::string text = with_constants({{"w", {4, 1, 3, 2}}}, "%x: f32[1,4,6,6]",
                                          convolved("w", "f32[1,4,4,5]", "[1, 1], [0, 0], [1, 1], false, [0, 0], 4"));
  EXPECT_EQ(orders(ordered(text)), "1230");
  expect_same_outputs(text);
}

TEST(OrderWeights, GroupsOfATransposedConvolutionStay) {
  const std::string text = with_constants({{"w", {4, 3, 2, 2}}}, "%x: f32[1,4,3,3]",
                                          convolved("w", "f32[1,6,6,6]", "[2, 2], [0, 0], [1, 1], true, [0, 0], 2"));
  EXPECT_EQ(orders(ordered(text)), "rows");
  expect_same_outputs(text);
}

const std::string kLinear = with_constants({{"w", {3, 5}}, {"b", {5}}}, "%x: f32[2,3]", R"(
  %y: f32[2,5] = aten::addmm(%b, %x, %w, 1, 1)
  %z: f32[2,5] = aten::addmm(%b, %x, %w, 1, 1)
  %s: f32[2,5] = aten::mul.Tensor(%y, %z)
  return %s)");

TEST(OrderWeights, LinearLayersHaveTheirInputsInnermost) {
  const ir::Module module = ordered(kLinear);
  EXPECT_EQ(orders(module).substr(0, 2), "10");
  size_t made = 0;
  for (const ir::Constant& constant : module.constants) made += constant.name.find("_ordered") != std::string::npos;
  EXPECT_EQ(made, 1u) << "of two layers with one weight";
  expect_same_outputs(kLinear);
}

// Convolutions, one of each channel by itself, and a linear layer, all of bytes.
TEST(OrderWeights, ThoseOfBytesToo) {
  const std::string text = R"(
    const @w: i8[4,3,1,1] = dense<[-128, -3, 0, 5, 77, 127, -1, 9, 40, -60, 2, 1]>
    const @d: i8[4,1,1,2] = dense<[-128, -3, 0, 5, 77, 127, -1, 9]>
    const @m: i8[4,2] = dense<[-128, -3, 0, 5, 77, 127, -1, 9]>
    method forward(%x: u8[1,3,5,5]) {
      %w: i8[4,3,1,1] = const @w
      %d: i8[4,1,1,2] = const @d
      %m: i8[4,2] = const @m
      %xf: f32[1,3,5,5] = quantized_decomposed::dequantize_per_tensor(%x, 0.5, 7, 0, 255, u8)
      %wf: f32[4,3,1,1] = quantized_decomposed::dequantize_per_tensor(%w, 0.25, 0, -128, 127, i8)
      %df: f32[4,1,1,2] = quantized_decomposed::dequantize_per_tensor(%d, 0.25, 0, -128, 127, i8)
      %mf: f32[4,2] = quantized_decomposed::dequantize_per_tensor(%m, 0.25, 0, -128, 127, i8)
      %c: f32[1,4,5,5] = aten::convolution(%xf, %wf, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %q: i8[1,4,5,5] = quantized_decomposed::quantize_per_tensor(%c, 64, 3, -128, 127, i8)
      %qf: f32[1,4,5,5] = quantized_decomposed::dequantize_per_tensor(%q, 64, 3, -128, 127, i8)
      %e: f32[1,4,5,4] = aten::convolution(%qf, %df, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 4)
      %r: i8[1,4,5,4] = quantized_decomposed::quantize_per_tensor(%e, 512, 3, -128, 127, i8)
      %rows: i8[20,4] = aten::view_copy(%r, [20, 4])
      %rf: f32[20,4] = quantized_decomposed::dequantize_per_tensor(%rows, 512, 3, -128, 127, i8)
      %y: f32[20,2] = aten::mm(%rf, %mf)
      return %y
    }
  )";
  EXPECT_EQ(orders(ordered(text)), "0231 1230 10");
  expect_same_outputs(text);
}

TEST(OrderWeights, TargetsThatDidNotAskKeepThem) { EXPECT_EQ(orders(ordered(kLinear, false)), "rows rows"); }

}  // namespace
}  // namespace berth::fuse

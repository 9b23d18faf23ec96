#include "compiler/fuse/quantized_pairs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

using ir::ValueId;

constexpr char kPairConstants[] = R"(
  const @q: i8[3,2,2] = dense<[-128, -3, 0, 5, 77, 127, -1, 9, 40, -60, 2, 1]>
  const @zero: f32[] = dense<[-7]>
  const @zeros: i8[3,1,1] = dense<[4, -5, 6]>
  const @scale: f32[] = dense<[0.125]>
  const @scales: f32[3,1,1] = dense<[0.5, 0.25, 2]>
  const @scales1: f32[3] = dense<[0.5, 0.25, 2]>
  const @zeros1: i64[3] = dense<[4, -5, 6]>
  const @blocks: f32[3,2,1] = dense<[1, 2, 3, 4, 5, 6]>
)";

constexpr char kPairValues[] = R"(
  %q: i8[3,2,2] = const @q
  %zero: f32[] = const @zero
  %zeros: i8[3,1,1] = const @zeros
  %scale: f32[] = const @scale
  %scales: f32[3,1,1] = const @scales
  %scales1: f32[3] = const @scales1
  %zeros1: i64[3] = const @zeros1
  %blocks: f32[3,2,1] = const @blocks
  %f: f32[3,2,2] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
)";

// A method whose output is what `body` calls %y.
struct Read {
  explicit Read(const std::string& body, const std::string& signature = "%x: f32[3,2,2]")
      : module(passes::parsed(std::string(kPairConstants) + "method forward(" + signature + ") {" + kPairValues + body +
                              "\nreturn %y\n}")),
        context(module, module.methods[0], options) {}

  ValueId output() const { return std::get<ValueId>(module.methods[0].body.outputs[0]); }
  const ir::Node& maker() const { return *context.maker(output()); }

  passes::Options options;
  ir::Module module;
  Context context;
};

double at(const Parameter& parameter, const std::vector<ir::Dim>& shape, size_t element) {
  if (parameter.axis < 0) return parameter.known.at(0);
  size_t inner = 1;
  for (size_t i = parameter.axis + 1; i < shape.size(); ++i) inner *= shape[i].value;
  return parameter.known.at(element / inner % shape[parameter.axis].value);
}

// What is read must stand for the numbers that the kernels compute.
void expect_reads(const std::string& body) {
  Read read(body);
  const auto pair = dequantized_constant(read.context, read.output());
  ASSERT_TRUE(pair.has_value()) << body;
  const auto inputs = passes::random_inputs(read.module, read.module.methods[0], 3);
  const auto computed = eval::evaluate(read.module, read.module.methods[0], inputs);
  ASSERT_TRUE(computed.ok()) << computed.error().text();
  const auto& array = std::get<eval::Array>((*computed)[0]);
  ASSERT_EQ(pair->type.shape, read.context.type(read.output()).shape);
  const float* numbers = reinterpret_cast<const float*>(array.bytes.data());
  for (size_t i = 0; i < pair->bytes.size(); ++i) {
    const double q = static_cast<int8_t>(pair->bytes[i]);
    const auto& shape = pair->type.shape;
    EXPECT_EQ(numbers[i], (q - at(pair->zero_point, shape, i)) * at(pair->scale, shape, i)) << body << i;
  }
}

TEST(QuantizedPairs, ReadsTheImportersArithmetic) {
  expect_reads("%c: f32[3,2,2] = aten::sub.Tensor(%f, %zero, 1)\n %y: f32[3,2,2] = aten::mul.Tensor(%c, %scale)");
  expect_reads("%y: f32[3,2,2] = aten::mul.Tensor(%f, %scale)");
  expect_reads("%y: f32[3,2,2] = aten::mul.Tensor(%scales, %f)");
  expect_reads("%y: f32[3,2,2] = aten::mul.Scalar(%f, 0.25)");
  expect_reads("%y: f32[3,2,2] = aten::sub.Tensor(%f, %zero, 1)");
}

TEST(QuantizedPairs, ReadsZeroPointsThatAreCast) {
  expect_reads(R"(
    %z: f32[3,1,1] = dim_order_ops::_to_dim_order_copy(%zeros, false, none, f32)
    %c: f32[3,2,2] = aten::sub.Tensor(%f, %z, 1)
    %y: f32[3,2,2] = aten::mul.Tensor(%c, %scales))");
}

TEST(QuantizedPairs, ReadsPyTorchsOperators) {
  expect_reads("%y: f32[3,2,2] = quantized_decomposed::dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8)");
  expect_reads(
      "%y: f32[3,2,2] = quantized_decomposed::dequantize_per_channel(%q, %scales1, %zeros1, 0, -128, 127, i8)");
  expect_reads("%y: f32[3,2,2] = quantized_decomposed::dequantize_per_channel(%q, %scales1, none, -3, -128, 127, i8)");
}

TEST(QuantizedPairs, FollowsTheChannelsThroughPermutationsAndViews) {
  const std::string pair = "%d: f32[3,2,2] = aten::mul.Tensor(%f, %scales)\n";
  expect_reads(pair + "%y: f32[2,3,2] = aten::permute_copy(%d, [2, 0, 1])");
  expect_reads(pair + "%y: f32[2,2,3] = aten::transpose_copy.int(%d, 0, -1)");
  expect_reads(pair + "%y: f32[3,4] = aten::view_copy(%d, [3, 4])");
  expect_reads(pair + "%v: f32[3,4] = aten::view_copy(%d, [3, 4])\n%y: f32[4,3] = aten::t_copy(%v)");
  expect_reads(pair + "%v: f32[3,4] = aten::view_copy(%d, [3, 4])\n%p: f32[4,3] = aten::permute_copy(%v, [1, 0])\n" +
               "%y: f32[1,2,2,3] = aten::view_copy(%p, [1, 2, 2, 3])");
}

TEST(QuantizedPairs, LeavesAViewThatMixesChannels) {
  Read read("%d: f32[3,2,2] = aten::mul.Tensor(%f, %scales)\n%y: f32[2,6] = aten::view_copy(%d, [2, 6])");
  EXPECT_FALSE(dequantized_constant(read.context, read.output()).has_value());
}

TEST(QuantizedPairs, LeavesScalesOfBlocks) {
  Read read("%y: f32[3,2,2] = aten::mul.Tensor(%f, %blocks)");
  EXPECT_FALSE(dequantized(read.context, read.output()).has_value());
}

TEST(QuantizedPairs, LeavesADifferenceWithAFactor) {
  Read read("%c: f32[3,2,2] = aten::sub.Tensor(%f, %zero, 2)\n %y: f32[3,2,2] = aten::mul.Tensor(%c, %scale)");
  EXPECT_FALSE(dequantized(read.context, read.output()).has_value());
}

TEST(QuantizedPairs, LeavesFloatsAndStretchedIntegers) {
  Read floats("%y: f32[3,2,2] = aten::mul.Tensor(%x, %scale)");
  EXPECT_FALSE(dequantized(floats.context, floats.output()).has_value());
  Read stretched("%z: f32[3,1,1] = dim_order_ops::_to_dim_order_copy(%zeros, false, none, f32)\n" +
                 std::string("%y: f32[3,2,2] = aten::mul.Tensor(%z, %x)"));
  EXPECT_FALSE(dequantized(stretched.context, stretched.output()).has_value());
}

TEST(QuantizedPairs, ReadsParametersOfTheRun) {
  Read one("%c: f32[3,2,2] = aten::sub.Tensor(%f, %z, 1)\n %y: f32[3,2,2] = aten::mul.Tensor(%c, %s)",
           "%z: f32[], %s: f32[1]");
  const auto pair = dequantized(one.context, one.output());
  ASSERT_TRUE(pair.has_value());
  EXPECT_TRUE(pair->scale.value.valid());
  EXPECT_EQ(pair->scale.axis, -1);
  EXPECT_TRUE(pair->zero_point.value.valid());
  Read rows("%y: f32[3,2,2] = quantized_decomposed::dequantize_per_token(%q, %s, %z, -128, 127, i8, f32)",
            "%s: f64[3,2,1], %z: i64[3,2,1]");
  const auto tokens = dequantized(rows.context, rows.output());
  ASSERT_TRUE(tokens.has_value());
  EXPECT_EQ(tokens->scale.axis, Parameter::kRows);
}

constexpr char kClampAndCast[] = R"(
  %l: f32[3,2,2] = aten::clamp(%r, -128.0, 100.0)
  %y: i8[3,2,2] = dim_order_ops::_to_dim_order_copy(%l, false, none, i8))";

TEST(QuantizedPairs, ReadsQuotientsThatAreRounded) {
  Read read(std::string(R"(
    %d: f32[3,2,2] = aten::div.Tensor(%x, %scale)
    %n: f32[3,2,2] = aten::round(%d)
    %r: f32[3,2,2] = aten::add.Tensor(%n, %zero, 1))") +
            kClampAndCast);
  const auto pair = quantized(read.context, read.maker());
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->input, read.module.methods[0].body.inputs[0]);
  EXPECT_TRUE(pair->scale.is(0.125));
  EXPECT_TRUE(pair->zero_point.is(-7));
  EXPECT_EQ(pair->rounding, Quantized::Rounding::kDivide);
  EXPECT_EQ(pair->low, -128);
  EXPECT_EQ(pair->high, 100);
}

TEST(QuantizedPairs, ReadsProductsThatAreRounded) {
  Read read(std::string("%d: f32[3,2,2] = aten::mul.Tensor(%x, %scales)\n%r: f32[3,2,2] = aten::round(%d)") +
            kClampAndCast);
  const auto pair = quantized(read.context, read.maker());
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->rounding, Quantized::Rounding::kFactor);
  EXPECT_EQ(pair->scale.axis, 0);
  EXPECT_EQ(pair->scale.known, (std::vector<double>{0.5, 0.25, 2}));
  EXPECT_TRUE(pair->zero_point.is(0));
}

TEST(QuantizedPairs, ReadsPyTorchsQuantisation) {
  Read read("%y: i8[3,2,2] = quantized_decomposed::quantize_per_tensor(%x, 0.5, 3, -127, 127, i8)");
  const auto pair = quantized(read.context, read.maker());
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->rounding, Quantized::Rounding::kInverse);
  EXPECT_TRUE(pair->scale.is(0.5));
  EXPECT_TRUE(pair->zero_point.is(3));
  EXPECT_EQ(pair->low, -127);
  EXPECT_EQ(pair->high, 127);
}

TEST(QuantizedPairs, LeavesLimitsBeyondTheType) {
  Read read(R"(
    %n: f32[3,2,2] = aten::round(%x)
    %l: f32[3,2,2] = aten::clamp(%n, -128.0, 128.0)
    %y: i8[3,2,2] = dim_order_ops::_to_dim_order_copy(%l, false, none, i8))");
  EXPECT_FALSE(quantized(read.context, read.maker()).has_value());
}

TEST(QuantizedPairs, LeavesWhatIsNotRounded) {
  Read read("%r: f32[3,2,2] = aten::div.Tensor(%x, %scale)" + std::string(kClampAndCast));
  EXPECT_FALSE(quantized(read.context, read.maker()).has_value());
}

}  // namespace
}  // namespace berth::fuse

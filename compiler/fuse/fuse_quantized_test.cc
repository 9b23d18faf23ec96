#include "compiler/fuse/fuse_quantized.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// An image of u8, a weight of i8 with a scale a channel, a bias in steps of both scales.
constexpr char kConstants[] = R"(
  const @w: i8[4,3,1,1] = dense<[-128, -3, 0, 5, 77, 127, -1, 9, 40, -60, 2, 1]>
  const @wt: i8[4,3] = dense<[-128, -3, 0, 5, 77, 127, -1, 9, 40, -60, 2, 1]>
  const @ws: f32[4,1,1,1] = dense<[0.5, 0.25, 2, 0.125]>
  const @wts: f32[4,1] = dense<[0.5, 0.25, 2, 0.125]>
  const @b: f32[4] = dense<[0.5, -1.25, 4, 0.0625]>
  const @odd: f32[4] = dense<[0.3, -1.7, 4.1, 0.01]>
  const @zero: f32[] = dense<[100]>
  const @xs: f32[] = dense<[0.25]>
  const @ys: f32[] = dense<[3.5]>
  const @zs: f32[] = dense<[2.25]>
  const @big: f32[] = dense<[350]>
  const @bad: f32[] = dense<[inf]>
  const @three: f32[] = dense<[3]>
  const @nothing: f32[] = dense<[0]>
  const @wt2: i8[3,4] = dense<[-128, -3, 0, 5, 77, 127, -1, 9, 40, -60, 2, 1]>
)";

constexpr char kValues[] = R"(
  %w: i8[4,3,1,1] = const @w
  %wt: i8[4,3] = const @wt
  %ws: f32[4,1,1,1] = const @ws
  %wts: f32[4,1] = const @wts
  %b: f32[4] = const @b
  %odd: f32[4] = const @odd
  %zero: f32[] = const @zero
  %xs: f32[] = const @xs
  %ys: f32[] = const @ys
  %zs: f32[] = const @zs
  %big: f32[] = const @big
  %bad: f32[] = const @bad
  %three: f32[] = const @three
  %nothing: f32[] = const @nothing
)";

// In one zero point and a scale.
std::string dequantize(const std::string& x, const std::string& type, const std::string& result,
                       const std::string& scale = "%xs") {
  return filled(R"(
    %$r_f: f32$t = dim_order_ops::_to_dim_order_copy($x, false, none, f32)
    %$r_c: f32$t = aten::sub.Tensor(%$r_f, %zero, 1)
    %$r: f32$t = aten::mul.Tensor(%$r_c, $s)
)",
                {{"x", x}, {"t", type}, {"r", result}, {"s", scale}});
}

std::string quantize(const std::string& x, const std::string& type, const std::string& result,
                     const std::string& scale = "%ys") {
  return filled(R"(
    %$r_d: f32$t = aten::div.Tensor($x, $s)
    %$r_r: f32$t = aten::round(%$r_d)
    %$r_a: f32$t = aten::add.Tensor(%$r_r, %zero, 1)
    %$r_l: f32$t = aten::clamp(%$r_a, 0.0, 255.0)
    %$r: u8$t = dim_order_ops::_to_dim_order_copy(%$r_l, false, none, u8)
)",
                {{"x", x}, {"t", type}, {"r", result}, {"s", scale}});
}

const std::string kWeight = R"(
  %wf: f32[4,3,1,1] = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)
  %wd: f32[4,3,1,1] = aten::mul.Tensor(%wf, %ws)
)";
const std::string kMatrix = R"(
  %wtf: f32[4,3] = dim_order_ops::_to_dim_order_copy(%wt, false, none, f32)
  %wtd: f32[4,3] = aten::mul.Tensor(%wtf, %wts)
  %m: f32[3,4] = aten::permute_copy(%wtd, [1, 0])
)";
const std::string kImageShape = "[1,3,5,5]";
const std::string kOut = "[1,4,5,5]";

std::string conv(const std::string& x, const std::string& result, const std::string& bias = "%b",
                 const std::string& padding = "0, 0") {
  return "%" + result + ": f32[1,4,5,5] = aten::convolution(" + x + ", %wd, " + bias + ", [1, 1], [" + padding +
         "], [1, 1], false, [0, 0], 1)\n";
}

// Before and after. Results of 8 bits may be a step apart where halves are rounded at other places: `tolerance` is
// relative to the largest.
Fused fused_quantized(const std::string& signature, const std::string& body, double tolerance = 1e-5) {
  return fuse_module(passes::parsed(std::string(kConstants) + "method forward(" + signature + ") {" + kValues + body +
                                    "\nreturn %y\n}"),
                     7, tolerance);
}

// The operators, without the copies of images from and to row-major order.
std::string operators(const Fused& fused) {
  const std::string copy = "dim_order_ops::_clone_dim_order";
  std::string names = fused.operators() + " ";
  for (size_t at = names.find(copy); at != std::string::npos; at = names.find(copy)) names.erase(at, copy.size() + 1);
  return names.substr(0, names.empty() ? 0 : names.size() - 1);
}

// The text of the one node of `op`.
std::string node_of(const Fused& fused, const std::string& op) {
  const size_t at = fused.text.find("berth::" + op + "(");
  if (at == std::string::npos) return "none";
  return fused.text.substr(at, fused.text.find('\n', at) - at);
}

constexpr double kStep = 1.01 / 255;

TEST(FuseQuantized, GivesFloatsOfAConvolution) {
  const Fused f = fused_quantized("%x: u8[1,3,5,5]", dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "y"));
  EXPECT_EQ(operators(f), "berth::quantized_conv") << f.text;
}

TEST(FuseQuantized, TakesABiasInStepsAsIntegers) {
  const Fused f = fused_quantized("%x: u8[1,3,5,5]", dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "y"));
  EXPECT_NE(f.text.find("@bias: i32[4] = dense<[4, -20, 8, 2]>"), std::string::npos) << f.text;
  const Fused odd =
      fused_quantized("%x: u8[1,3,5,5]", dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "y", "%odd"));
  EXPECT_NE(odd.text.find("@bias: f32[4] = dense<[0.3, -1.7, 4.1, 0.01]>"), std::string::npos) << odd.text;
}

TEST(FuseQuantized, FoldsTheResultsScaleAndLimits) {
  const Fused f = fused_quantized("%x: u8[1,3,5,5]",
                                  dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "c") +
                                      "%r: f32[1,4,5,5] = aten::clamp(%c, 0.0, 70.0)\n" + quantize("%r", kOut, "y"),
                                  kStep);
  EXPECT_EQ(operators(f), "berth::quantized_conv") << f.text;
  // A scale of 1 and the range from 100 (0) to 120 (70 / 3.5).
  EXPECT_NE(node_of(f, "quantized_conv").find("1.0, 100, 100, 120, \"divide\", u8, \"\")"), std::string::npos)
      << f.text;
}

// What only the caller reads is numbers at once, so that bytes and numbers do not stand side by side.
TEST(FuseQuantized, GivesTheNumbersOfBytesThatNothingReads) {
  const std::string bytes = dequantize("%x", "[10,3]", "d") + kMatrix +
                            "%p: f32[10,4] = aten::addmm(%b, %d, %m, 1, 1)\n" + quantize("%p", "[10,4]", "q");
  const std::string views = bytes + "%v: u8[2,5,4] = aten::view_copy(%q, [2, 5, 4])\n";
  const auto product_of = [](const Fused& f) { return node_of(f, "quantized_linear"); };
  const Fused f = fused_quantized("%x: u8[10,3]", bytes + dequantize("%q", "[10,4]", "y", "%ys"), kStep);
  EXPECT_EQ(operators(f), "berth::quantized_linear") << f.text;
  EXPECT_NE(product_of(f).find("3.5, 100, 1.0, 0, 1.0, 0, 0, 255, \"divide\", f32, \"\")"), std::string::npos)
      << f.text;
  // Of another scale than they were rounded to, and of other sizes: there is no view of what is given.
  const Fused other = fused_quantized("%x: u8[10,3]", views + dequantize("%v", "[2,5,4]", "y", "%zs"), kStep);
  EXPECT_EQ(operators(other), "berth::quantized_linear") << other.text;
  EXPECT_NE(other.text.find("f32[2,5,4] = berth::quantized_linear"), std::string::npos) << other.text;
  // Something reads the numbers.
  const Fused read = fused_quantized(
      "%x: u8[10,3]", bytes + dequantize("%q", "[10,4]", "e", "%ys") + "%y: f32[10,4] = aten::tanh(%e)\n", kStep);
  EXPECT_NE(read.text.find("u8[10,4] = berth::quantized_linear"), std::string::npos) << read.text;
  // Times 0: a product without a scale in the middle does not round.
  const Fused none = fused_quantized("%x: u8[10,3]", bytes + dequantize("%q", "[10,4]", "y", "%nothing"), kStep);
  EXPECT_NE(none.text.find("u8[10,4] = berth::quantized_linear"), std::string::npos) << none.text;
}

TEST(FuseQuantized, KeepsAnActivationThatIsNoLimit) {
  const Fused f = fused_quantized("%x: u8[1,3,5,5]",
                                  dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "c") +
                                      "%r: f32[1,4,5,5] = aten::tanh(%c)\n" + quantize("%r", kOut, "y"),
                                  kStep);
  EXPECT_EQ(operators(f), "berth::quantized_conv") << f.text;
  EXPECT_NE(node_of(f, "quantized_conv").find("\"tanh\""), std::string::npos) << f.text;
}

TEST(FuseQuantized, RoundsInTheMiddleWhereTheModelDoes) {
  const std::string body = dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "c") + quantize("%c", kOut, "q") +
                           dequantize("%q", kOut, "e", "%ys") + dequantize("%o", kOut, "p", "%zs") +
                           "%s: f32[1,4,5,5] = aten::add.Tensor(%e, %p, 1)\n%t: f32[1,4,5,5] = aten::relu(%s)\n" +
                           quantize("%t", kOut, "y", "%zs");
  const Fused f = fused_quantized("%x: u8[1,3,5,5], %o: u8[1,4,5,5]", body, kStep);
  EXPECT_EQ(operators(f), "berth::quantized_conv") << f.text;
  EXPECT_NE(node_of(f, "quantized_conv").find("\"relu\", 0.0, 0.0, 3.5, 100, 2.25, 100, 2.25, 100, 0, 255"),
            std::string::npos)
      << f.text;
}

TEST(FuseQuantized, LeavesASumWhoseProductIsReadElsewhere) {
  const std::string body = dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "c") + quantize("%c", kOut, "q") +
                           dequantize("%q", kOut, "e", "%ys") + dequantize("%o", kOut, "p", "%zs") +
                           "%s: f32[1,4,5,5] = aten::add.Tensor(%e, %p, 1)\n" + quantize("%s", kOut, "v", "%zs") +
                           "%y: u8[1,4,10,5] = aten::cat([%v, %q], 2)";
  const Fused f = fused_quantized("%x: u8[1,3,5,5], %o: u8[1,4,5,5]", body, kStep);
  EXPECT_NE(operators(f), "berth::quantized_conv aten::cat") << f.text;
  EXPECT_EQ(node_of(f, "quantized_conv").find("3.5, 100, 2.25"), std::string::npos) << f.text;
}

TEST(FuseQuantized, AddsFloatsAndDequantizedResidualsToFloats) {
  const std::string body = dequantize("%x", kImageShape, "d") + kWeight + conv("%d", "c");
  const Fused floats =
      fused_quantized("%x: u8[1,3,5,5], %o: f32[1,4,5,5]", body + "%y: f32[1,4,5,5] = aten::add.Tensor(%o, %c, 1)\n");
  EXPECT_EQ(operators(floats), "berth::quantized_conv") << floats.text;
  const Fused bytes =
      fused_quantized("%x: u8[1,3,5,5], %o: u8[1,4,5,5]",
                      body + dequantize("%o", kOut, "p", "%zs") + "%y: f32[1,4,5,5] = aten::add.Tensor(%c, %p, 1)\n");
  EXPECT_EQ(operators(bytes), "berth::quantized_conv") << bytes.text;
}

TEST(FuseQuantized, PadsWithWhatStandsForZero) {
  const std::string body =
      dequantize("%x", kImageShape, "d") + kWeight +
      "%p: f32[1,3,7,6] = aten::constant_pad_nd(%d, [1, 0, 2, 0], 0.0)\n"
      "%y: f32[1,4,9,8] = aten::convolution(%p, %wd, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)";
  const Fused f = fused_quantized("%x: u8[1,3,5,5]", body);
  EXPECT_EQ(operators(f), "aten::constant_pad_nd berth::quantized_conv") << f.text;
}

TEST(FuseQuantized, MultipliesRowsThroughViews) {
  const std::string body =
      dequantize("%x", "[2,5,3]", "d") + kMatrix +
      "%v: f32[10,3] = aten::view_copy(%d, [10, 3])\n%p: f32[10,4] = aten::addmm(%b, %v, %m, 1, 1)\n"
      "%u: f32[2,5,4] = aten::view_copy(%p, [2, 5, 4])\n" +
      quantize("%u", "[2,5,4]", "y");
  const Fused f = fused_quantized("%x: u8[2,5,3]", body, kStep);
  EXPECT_EQ(operators(f), "berth::quantized_linear") << f.text;
}

TEST(FuseQuantized, TakesScalesOfTheRun) {
  const std::string body = R"(
    %d: f32[5,3] = quantized_decomposed::dequantize_per_token(%x, %s, %z, -128, 127, i8, f32))" +
                           kMatrix + "%p: f32[5,4] = aten::mm(%d, %m)\n%y: f32[5,4] = aten::gelu(%p)";
  ir::Module module =
      passes::parsed(std::string(kConstants) + "method forward(%x: i8[5,3], %s: f64[5,1], %z: i64[5,1]) {" + kValues +
                     body + "\nreturn %y\n}");
  delegate_all(module);
  passes::Options options;
  options.verify = true;
  ASSERT_TRUE(passes::run(fuse_passes(cpu_targets()), module, options).ok());
  EXPECT_NE(ir::print(module).find("berth::quantized_linear("), std::string::npos) << ir::print(module);
}

// What ConvInteger and a product with both scales become.
TEST(FuseQuantized, ScalesSumsOfIntegers) {
  const std::string body = R"(
    %f: f32[1,3,5,5] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
    %d: f32[1,3,5,5] = aten::sub.Tensor(%f, %zero, 1)
    %wf: f32[4,3,1,1] = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)
    %c: f32[1,4,5,5] = aten::convolution(%d, %wf, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %i: i32[1,4,5,5] = dim_order_ops::_to_dim_order_copy(%c, false, none, i32)
    %g: f32[1,4,5,5] = dim_order_ops::_to_dim_order_copy(%i, false, none, f32)
    %y: f32[1,4,5,5] = aten::mul.Tensor(%g, %s))";
  const Fused f = fused_quantized("%x: u8[1,3,5,5], %s: f32[]", body);
  EXPECT_EQ(operators(f), "berth::quantized_conv") << f.text;
}

TEST(FuseQuantized, JoinsSumsThatWereSplit) {
  const std::string parts = R"(
    %f: f32[5,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
    %d: f32[5,3] = aten::sub.Tensor(%f, %zero, 1)
    %wtf: f32[4,3] = dim_order_ops::_to_dim_order_copy(%wt, false, none, f32)
    %m: f32[3,4] = aten::permute_copy(%wtf, [1, 0])
    %d1: f32[5,2] = aten::slice_copy.Tensor(%d, 1, 0, $cut, 1)
    %d2: f32[5,1] = aten::slice_copy.Tensor(%d, 1, 2, 3, 1)
    %m1: f32[2,4] = aten::slice_copy.Tensor(%m, 0, 0, 2, 1)
    %m2: f32[1,4] = aten::slice_copy.Tensor(%m, 0, 2, 3, 1)
    %p1: f32[5,4] = aten::mm(%d1, %m1)
    %p2: f32[5,4] = aten::mm(%d2, %m2)
    %i1: i32[5,4] = dim_order_ops::_to_dim_order_copy(%p1, false, none, i32)
    %i2: i32[5,4] = dim_order_ops::_to_dim_order_copy(%p2, false, none, i32)
    %i: i32[5,4] = aten::add.Tensor(%i1, %i2, 1)
    %g: f32[5,4] = dim_order_ops::_to_dim_order_copy(%i, false, none, f32)
    %y: f32[5,4] = aten::mul.Tensor(%g, %xs))";
  const Fused f = fused_quantized("%x: u8[5,3]", filled(parts, {{"cut", "2"}}));
  EXPECT_EQ(operators(f), "berth::quantized_linear") << f.text;
}

// pick_first cuts the constants themselves.
TEST(FuseQuantized, JoinsPartsOfCutConstants) {
  const std::string parts = R"(
    %wt2: i8[3,4] = const @wt2
    %f: f32[5,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
    %d: f32[5,3] = aten::sub.Tensor(%f, %zero, 1)
    %d1: f32[5,2] = aten::slice_copy.Tensor(%d, 1, 0, 2, 1)
    %d2: f32[5,1] = aten::slice_copy.Tensor(%d, 1, 2, 3, 1)
    %w1: i8[2,4] = aten::slice_copy.Tensor(%wt2, 0, 0, 2, 1)
    %w2: i8[1,4] = aten::slice_copy.Tensor(%wt2, 0, $cut, 3, 1)
    %m1: f32[2,4] = dim_order_ops::_to_dim_order_copy(%w1, false, none, f32)
    %m2: f32[1,4] = dim_order_ops::_to_dim_order_copy(%w2, false, none, f32)
    %c1: f32[2,4] = aten::sub.Tensor(%m1, %three, 1)
    %c2: f32[1,4] = aten::sub.Tensor(%m2, $three, 1)
    %p1: f32[5,4] = aten::mm(%d1, %c1)
    %p2: f32[5,4] = aten::mm(%d2, %c2)
    %i1: i32[5,4] = dim_order_ops::_to_dim_order_copy(%p1, false, none, i32)
    %i2: i32[5,4] = dim_order_ops::_to_dim_order_copy(%p2, false, none, i32)
    %i: i32[5,4] = aten::add.Tensor(%i1, %i2, 1)
    %g: f32[5,4] = dim_order_ops::_to_dim_order_copy(%i, false, none, f32)
    %y: f32[5,4] = aten::mul.Tensor(%g, %xs))";
  const Fused f = fused_quantized("%x: u8[5,3]", filled(parts, {{"cut", "2"}, {"three", "%three"}}));
  EXPECT_EQ(operators(f), "berth::quantized_linear") << f.text;
  const Fused other = fused_quantized("%x: u8[5,3]", filled(parts, {{"cut", "2"}, {"three", "%zero"}}));
  EXPECT_EQ(operators(other).find("quantized"), std::string::npos) << other.text;
}

TEST(FuseQuantized, LeavesSumsOfOverlappingParts) {
  const std::string parts = R"(
    %f: f32[5,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
    %wtf: f32[4,3] = dim_order_ops::_to_dim_order_copy(%wt, false, none, f32)
    %m: f32[3,4] = aten::permute_copy(%wtf, [1, 0])
    %d1: f32[5,2] = aten::slice_copy.Tensor(%f, 1, 0, 2, 1)
    %m1: f32[2,4] = aten::slice_copy.Tensor(%m, 0, 0, 2, 1)
    %d2: f32[5,2] = aten::slice_copy.Tensor(%f, 1, 1, 3, 1)
    %m2: f32[2,4] = aten::slice_copy.Tensor(%m, 0, 1, 3, 1)
    %p1: f32[5,4] = aten::mm(%d1, %m1)
    %p2: f32[5,4] = aten::mm(%d2, %m2)
    %i1: i32[5,4] = dim_order_ops::_to_dim_order_copy(%p1, false, none, i32)
    %i2: i32[5,4] = dim_order_ops::_to_dim_order_copy(%p2, false, none, i32)
    %i: i32[5,4] = aten::add.Tensor(%i1, %i2, 1)
    %g: f32[5,4] = dim_order_ops::_to_dim_order_copy(%i, false, none, f32)
    %y: f32[5,4] = aten::mul.Tensor(%g, %xs))";
  const Fused f = fused_quantized("%x: u8[5,3]", parts);
  EXPECT_EQ(operators(f).find("quantized"), std::string::npos) << f.text;
}

// One random convolution of what is quantised before it.
class RandomProduct {
 public:
  explicit RandomProduct(unsigned seed) : random_(seed) {}

  std::string text() {
    const std::string in = pick({"u8", "i8"});
    const std::string weight = pick({"u8", "i8"});
    const int groups = 1 + number(2);
    const int channels = groups * (1 + number(3));
    const int outs = groups * (1 + number(3));
    const int kernel = 1 + number(3);
    const int padding = number(kernel);
    const int size = 5 + 2 * padding - kernel + 1;
    const std::string shape = "[1," + std::to_string(channels) + ",5,5]";
    const std::string square = "," + std::to_string(size) + "," + std::to_string(size) + "]";
    const std::string result = "[1," + std::to_string(outs) + square;
    const std::string dims =
        std::to_string(channels / groups) + "," + std::to_string(kernel) + "," + std::to_string(kernel) + "]";
    constants_ = "const @wq: " + weight + "[" + std::to_string(outs) + "," + dims + " = dense<[" +
                 bytes(weight, outs * channels / groups * kernel * kernel) + "]>\n";
    values_ = "%wq: " + weight + "[" + std::to_string(outs) + "," + dims + " = const @wq\n";
    const std::string channel = "[" + std::to_string(outs) + ",1,1,1]";
    const bool each = number(2) == 0;
    const std::string wide = "f32[" + std::to_string(outs) + "," + dims;
    body_ = "";
    scalar("xs", "0.016");
    scalar("xz", in == "u8" ? "120" : "-9");
    quantize("%x", in, shape, "%xs", "%xz", "q");
    body_ += filled(
        "%f: f32$s = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)\n"
        "%d: f32$s = aten::sub.Tensor(%f, %xz, 1)\n%g: f32$s = aten::mul.Tensor(%d, %xs)\n",
        {{"s", shape}});
    body_ += "%wf: " + wide + " = dim_order_ops::_to_dim_order_copy(%wq, false, none, f32)\n";
    std::string centred = "%wf";
    if (number(2) == 0) {
      add("wz", weight + (each ? channel : "[]"), bytes(weight, each ? outs : 1));
      body_ += "%wzf: f32" + (each ? channel : "[]") + " = dim_order_ops::_to_dim_order_copy(%wz, false, none, f32)\n";
      body_ += "%wc: " + wide + " = aten::sub.Tensor(%wf, %wzf, 1)\n";
      centred = "%wc";
    }
    add("ws", "f32" + (each ? channel : "[]"), reals(each ? outs : 1, 0.001, 0.02));
    body_ += "%wd: " + wide + " = aten::mul.Tensor(" + centred + ", %ws)\n";
    const bool bias = number(2) == 0;
    if (bias) add("bias", "f32[" + std::to_string(outs) + "]", reals(outs, -1, 1));
    body_ += "%c: f32" + result + " = aten::convolution(%g, %wd, " + (bias ? "%bias" : "none") + ", [1, 1], [" +
             std::to_string(padding) + ", " + std::to_string(padding) + "], [1, 1], false, [0, 0], " +
             std::to_string(groups) + ")\n";
    std::string last = "%c";
    if (number(3) == 0) {
      signature_ = ", %r: f32" + result;
      body_ += "%sum: f32" + result + " = aten::add.Tensor(%c, %r, 1)\n";
      last = "%sum";
    }
    const std::string activation = pick({"", "aten::relu($x)", "aten::clamp($x, -0.5, 1.5)", "aten::sigmoid($x)"});
    if (!activation.empty()) {
      body_ += "%a: f32" + result + " = " + filled(activation, {{"x", last}}) + "\n";
      last = "%a";
    }
    if (number(3) != 0) {
      const std::string out = pick({"u8", "i8"});
      scalar("ys", "0.004");
      scalar("yz", out == "u8" ? "77" : "11");
      quantize(last, out, result, "%ys", "%yz", "y");
      last = "%y";
    }
    return constants_ + "method forward(%x: f32" + shape + signature_ + ") {\n" + values_ + body_ + "return " + last +
           "\n}";
  }

 private:
  int number(int below) { return static_cast<int>(random_() % below); }
  std::string pick(const std::vector<std::string>& of) { return of[number(static_cast<int>(of.size()))]; }
  std::string bytes(const std::string& type, int count) {
    std::string all;
    for (int i = 0; i < count; ++i)
      all += (i == 0 ? "" : ", ") + std::to_string(number(256) - (type == "i8" ? 128 : 0));
    return all;
  }
  std::string reals(int count, double low, double high) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      all += (i == 0 ? "" : ", ") + std::to_string(low + (high - low) * number(1000) / 1000);
    }
    return all;
  }
  void add(const std::string& name, const std::string& type, const std::string& numbers) {
    constants_ += "const @" + name + ": " + type + " = dense<[" + numbers + "]>\n";
    values_ += "%" + name + ": " + type + " = const @" + name + "\n";
  }
  void scalar(const std::string& name, const std::string& number) { add(name, "f32[]", number); }
  void quantize(const std::string& x, const std::string& type, const std::string& shape, const std::string& scale,
                const std::string& zero, const std::string& result) {
    body_ += filled(R"(
      %$r_d: f32$t = aten::div.Tensor($x, $s)
      %$r_r: f32$t = aten::round(%$r_d)
      %$r_a: f32$t = aten::add.Tensor(%$r_r, $z, 1)
      %$r_l: f32$t = aten::clamp(%$r_a, $low, $high)
      %$r: $k$t = dim_order_ops::_to_dim_order_copy(%$r_l, false, none, $k)
)",
                    {{"low", type == "u8" ? "0.0" : "-128.0"},
                     {"high", type == "u8" ? "255.0" : "127.0"},
                     {"x", x},
                     {"t", shape},
                     {"r", result},
                     {"s", scale},
                     {"z", zero},
                     {"k", type}});
  }

  std::mt19937 random_;
  std::string constants_, signature_, values_, body_;
};

TEST(FuseQuantized, ComputesRandomConvolutionsToAStep) {
  berth::testing::for_each_seed(60, [](unsigned seed) {
    const std::string text = RandomProduct(seed).text();
    ir::Module module = passes::parsed(text);
    const bool floats =
        module.methods[0].tensor(std::get<ir::ValueId>(module.methods[0].body.outputs[0])).dtype == DType::kF32;
    const Fused f = fuse_module(std::move(module), seed, floats ? 1e-5 : 1.01 / 128);
    EXPECT_NE(f.text.find("berth::quantized_conv("), std::string::npos) << text << f.text;
    EXPECT_EQ(f.text.find("aten::convolution("), std::string::npos) << f.text;
    EXPECT_EQ(f.text.find("berth::conv("), std::string::npos) << f.text;
  });
}

TEST(FuseQuantized, LeavesHostileScales) {
  const Fused f =
      fused_quantized("%x: u8[1,3,5,5]", dequantize("%x", kImageShape, "d", "%bad") + kWeight + conv("%d", "y"));
  EXPECT_EQ(operators(f).find("quantized"), std::string::npos) << f.text;
  EXPECT_TRUE(f.says("scale"));
}

TEST(FuseQuantized, LeavesAWeightOfTheRun) {
  const Fused f =
      fused_quantized("%x: u8[1,3,5,5], %k: f32[4,3,1,1]",
                      dequantize("%x", kImageShape, "d") + "%wd: f32[4,3,1,1] = aten::relu(%k)\n" + conv("%d", "y"));
  EXPECT_EQ(operators(f).find("quantized"), std::string::npos) << f.text;
  EXPECT_TRUE(f.says("not-constant"));
}

// Scores of attention: both sides are computed, of two heads.
TEST(FuseQuantized, MultipliesBytesThatAreBothComputed) {
  const std::string heads = "%x: u8[2,9,16], %k: u8[2,16,8]";
  const std::string both = dequantize("%x", "[2,9,16]", "q") + dequantize("%k", "[2,16,8]", "t", "%zs");
  const std::string product = "%s: f32[2,9,8] = aten::bmm(%q, %t)\n";
  const Fused f = fused_quantized(heads, both + product + quantize("%s", "[2,9,8]", "y", "%big"), kStep);
  EXPECT_EQ(operators(f), "berth::quantized_linear") << f.text;
  const Fused g = fused_quantized(heads, both + "%y: f32[2,9,8] = aten::bmm(%q, %t)");
  EXPECT_EQ(operators(g), "berth::quantized_linear") << g.text;
  // A sum behind it is as large as the batch.
  const Fused h =
      fused_quantized(heads + ", %r: f32[2,9,8]", both + product + "%y: f32[2,9,8] = aten::add.Tensor(%s, %r, 1)");
  EXPECT_EQ(operators(h), "berth::quantized_linear") << h.text;
  // Of one side alone nothing is known.
  const Fused i = fused_quantized("%x: u8[2,9,16], %t: f32[2,16,8]",
                                  dequantize("%x", "[2,9,16]", "q") + "%y: f32[2,9,8] = aten::bmm(%q, %t)");
  EXPECT_EQ(operators(i).find("quantized"), std::string::npos) << i.text;
}

// Packing and rounding would take longer than the floats.
TEST(FuseQuantized, LeavesFewRowsOrColumnsOfABatch) {
  const auto product = [](const std::string& left, const std::string& right, const std::string& out) {
    return fused_quantized(
        "%x: u8" + left + ", %k: u8" + right,
        dequantize("%x", left, "q") + dequantize("%k", right, "t", "%zs") + "%y: f32" + out + " = aten::bmm(%q, %t)");
  };
  const Fused rows = product("[64,7,16]", "[64,16,32]", "[64,7,32]");
  EXPECT_EQ(operators(rows).find("quantized_linear"), std::string::npos) << rows.text;
  EXPECT_TRUE(rows.says("small"));
  const Fused columns = product("[64,32,16]", "[64,16,7]", "[64,32,7]");
  EXPECT_EQ(operators(columns).find("quantized_linear"), std::string::npos) << columns.text;
  const Fused enough = product("[64,8,16]", "[64,16,8]", "[64,8,8]");
  EXPECT_EQ(operators(enough), "berth::quantized_linear") << enough.text;
}

TEST(FuseQuantized, LeavesCudaAlone) {
  EXPECT_TRUE((*targets::parse_targets("cuda:0"))[0].fuses);
  EXPECT_TRUE(keeps_quantized(*targets::parse_targets("cpu")));
  EXPECT_FALSE(keeps_quantized(*targets::parse_targets("portable")));
  EXPECT_FALSE(keeps_quantized(*targets::parse_targets("cuda:0,cpu")));
}

}  // namespace
}  // namespace berth::fuse

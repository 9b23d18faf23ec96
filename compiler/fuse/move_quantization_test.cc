// Bytes moved instead of the numbers that they stand for. The fears: another byte than the operators give, a move that
// does more than to move, and more work than before.
#include "compiler/fuse/move_quantization.h"

#include <random>

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

constexpr const char* kMovedShape = "[1,4,6,6]";

// %to: what the bytes %from stand for.
std::string numbers(const std::string& from, const std::string& to, const std::string& shape = kMovedShape,
                    const std::string& scale = "0.125", const std::string& zero = "100.0") {
  return filled(R"(
    %$to.1: f32$shape = dim_order_ops::_to_dim_order_copy(%$from, false, none, f32)
    %$to.2: f32$shape = aten::sub.Scalar(%$to.1, $zero, 1)
    %$to: f32$shape = aten::mul.Scalar(%$to.2, $scale)
)",
                {{"from", from}, {"to", to}, {"shape", shape}, {"scale", scale}, {"zero", zero}});
}

// %to: bytes of the numbers %from.
std::string bytes(const std::string& from, const std::string& to, const std::string& shape = kMovedShape,
                  const std::string& scale = "0.125", const std::string& zero = "100.0",
                  const std::string& low = "0.0") {
  return filled(
      R"(
    %$to.1: f32$shape = aten::div.Scalar(%$from, $scale)
    %$to.2: f32$shape = aten::round(%$to.1)
    %$to.3: f32$shape = aten::add.Scalar(%$to.2, $zero, 1)
    %$to.4: f32$shape = aten::clamp(%$to.3, $low, 255.0)
    %$to: u8$shape = dim_order_ops::_to_dim_order_copy(%$to.4, false, none, u8)
)",
      {{"from", from}, {"to", to}, {"shape", shape}, {"scale", scale}, {"zero", zero}, {"low", low}});
}

Fused fused_body(const std::string& signature, const std::string& body) {
  return fused("method forward(" + signature + ") {\n" + body + "\n}\n");
}

struct MoveCase {
  const char* result;  // the shape
  const char* move;    // of %x to %m
};

const MoveCase kMoves[] = {
    {"[1,6,6,4]", "aten::permute_copy(%x, [0, 2, 3, 1])"},
    {"[1,6,4,6]", "aten::transpose_copy.int(%x, 1, 2)"},
    {"[1,144]", "aten::view_copy(%x, [1, 144])"},
    {"[4,6,6]", "aten::squeeze_copy.dim(%x, 0)"},
    {"[1,1,4,6,6]", "aten::unsqueeze_copy(%x, 0)"},
    {"[1,2,6,6]", "aten::slice_copy.Tensor(%x, 1, 1, 3, 1)"},
    {"[1,6,6]", "aten::select_copy.int(%x, 1, 2)"},
    {"[3,4,6,6]", "aten::expand_copy(%x, [3, 4, 6, 6])"},
    {"[1,8,6,6]", "aten::repeat(%x, [1, 2, 1, 1])"},
    {"[1,4,6,6]", "aten::flip(%x, [2])"},
    {"[1,4,12,12]", "aten::upsample_nearest2d.vec(%x, [12, 12], none)"},
    {"[1,1,12,12]", "aten::pixel_shuffle(%x, 2)"},
    {"[1,4,8,8]", "aten::constant_pad_nd(%x, [1, 1, 1, 1], 0.0)"},
    {"[1,4,8,8]", "aten::constant_pad_nd(%x, [1, 1, 1, 1], -1.5)"},
    {"[1,4,8,8]", "aten::reflection_pad2d(%x, [1, 1, 1, 1])"},
};

TEST(MoveQuantization, MovesBytesBetweenEqualRoundings) {
  for (const MoveCase& c : kMoves) {
    SCOPED_TRACE(c.move);
    const Fused moved = fused_body("%q: u8[1,4,6,6]", numbers("q", "x") + "%m: f32" + c.result + " = " + c.move +
                                                          bytes("m", "r", c.result) + "return %r");
    EXPECT_EQ(moved.text.find("f32"), std::string::npos) << moved.text;
    EXPECT_EQ(moved.operators().find("berth::"), std::string::npos) << moved.text;
  }
}

TEST(MoveQuantization, MovesBytesBeforeTheyAreNumbers) {
  for (const MoveCase& c : kMoves) {
    SCOPED_TRACE(c.move);
    const Fused moved = fused_body("%q: u8[1,4,6,6]", numbers("q", "x") + "%m: f32" + c.result + " = " + c.move +
                                                          "\n%y: f32" + c.result + " = aten::tanh(%m)\nreturn %y");
    const std::string moved_bytes = std::string(": u8") + c.result + " = aten::";
    EXPECT_NE(moved.text.find(moved_bytes), std::string::npos) << moved.text;
    const std::string operators = moved.operators();
    EXPECT_EQ(operators.substr(operators.rfind(' ') + 1), "berth::elementwise") << moved.text;
  }
}

TEST(MoveQuantization, WindowsOfBytes) {
  const std::string pool =
      "%m: f32[1,4,3,3], %i: i64[1,4,3,3] = aten::max_pool2d_with_indices(%x, [2, 2], [2, 2], [0, 0], [1, 1], false)";
  const Fused moved =
      fused_body("%q: u8[1,4,6,6]", numbers("q", "x") + pool + bytes("m", "r", "[1,4,3,3]") + "return %r");
  EXPECT_EQ(moved.operators(), "aten::max_pool2d_with_indices") << moved.text;
  // The first of equal numbers is where the first of equal bytes is, but a scale may make unequal ones equal.
  const Fused asked =
      fused_body("%q: u8[1,4,6,6]", numbers("q", "x") + pool + bytes("m", "r", "[1,4,3,3]") + "return %r, %i");
  EXPECT_NE(asked.text.find("f32[1,4,3,3], "), std::string::npos) << asked.text;
  const Fused falling = fused_body("%q: u8[1,4,6,6]", numbers("q", "x", kMovedShape, "-0.125") + pool +
                                                          bytes("m", "r", "[1,4,3,3]", "-0.125") + "return %r");
  EXPECT_NE(falling.text.find("f32[1,4,3,3], "), std::string::npos) << falling.text;
}

// The largest of a window in the padding alone is less than what any byte stands for.
TEST(MoveQuantization, WindowsThatSeeNoElementStayOfNumbers) {
  const auto pooled = [](const std::string& result, const std::string& dilation) {
    return fused_body("%q: u8[1,4,6,6]", numbers("q", "x") + "%m: f32" + result + ", %i: i64" + result +
                                             " = aten::max_pool2d_with_indices(%x, [2, 2], [1], [1, 1], " + dilation +
                                             ", false)\nreturn %m");
  };
  const Fused none = pooled("[1,4,1,1]", "[7, 7]");
  EXPECT_NE(none.text.find("f32[1,4,1,1], "), std::string::npos) << none.text;
  const Fused some = pooled("[1,4,5,5]", "[3, 3]");
  EXPECT_NE(some.text.find("u8[1,4,5,5], "), std::string::npos) << some.text;
}

TEST(MoveQuantization, JoinsAndCutsBytes) {
  const std::string join = "%m: f32[1,8,6,6] = aten::cat([%x, %y], 1)";
  const std::string whole = "[1,8,6,6]";
  const std::string two = "%p: u8[1,4,6,6], %q: u8[1,4,6,6]";
  const Fused equal =
      fused_body(two, numbers("p", "x") + numbers("q", "y") + join + bytes("m", "r", whole) + "return %r");
  EXPECT_EQ(equal.operators(), "aten::cat") << equal.text;
  // One part is on the result's grid, the other is brought to it.
  const Fused unequal = fused_body(
      two, numbers("p", "x") + numbers("q", "y", kMovedShape, "0.2") + join + bytes("m", "r", whole) + "return %r");
  EXPECT_EQ(unequal.operators(), "berth::elementwise aten::cat") << unequal.text;
  EXPECT_EQ(unequal.text.find("f32"), std::string::npos) << unequal.text;
  const Fused cut =
      fused_body("%q: u8[1,4,6,6]", numbers("q", "x") +
                                        "%a: f32[1,1,6,6], %b: f32[1,3,6,6] = "
                                        "aten::split_with_sizes_copy(%x, [1, 3], 1)" +
                                        bytes("a", "c", "[1,1,6,6]") + bytes("b", "d", "[1,3,6,6]") + "return %c, %d");
  EXPECT_EQ(cut.operators(), "aten::split_with_sizes_copy") << cut.text;
}

TEST(MoveQuantization, NumbersAreRoundedBeforeTheyAreMoved) {
  const Fused moved = fused_body("%x: f32[1,4,6,6]", R"(
    %t: f32[1,4,6,6] = aten::tanh(%x)
    %v: f32[1,4,36] = aten::view_copy(%t, [1, 4, 36])
    %p: f32[1,4,38] = aten::constant_pad_nd(%v, [1, 1], 0.3)
    %m: f32[1,38,4] = aten::permute_copy(%p, [0, 2, 1]))" +
                                                         bytes("m", "r", "[1,38,4]", "0.01") + "return %r");
  EXPECT_EQ(moved.operators(), "berth::elementwise aten::constant_pad_nd aten::permute_copy") << moved.text;
  EXPECT_NE(moved.text.find("u8[1,38,4] = aten::permute_copy"), std::string::npos) << moved.text;
}

TEST(MoveQuantization, LeavesWhatItWouldChangeOrMakeMore) {
  const std::string turned = "%m: f32[1,6,6,4] = aten::permute_copy(%x, [0, 2, 3, 1])";
  const std::string shape = "[1,6,6,4]";
  // Another grid, and limits that cut: the bytes are rounded once more.
  for (const std::string& end : {bytes("m", "r", shape, "0.25"), bytes("m", "r", shape, "0.125", "99.0"),
                                 bytes("m", "r", shape, "0.125", "100.0", "2.0")}) {
    const Fused other = fused_body("%q: u8[1,4,6,6]", numbers("q", "x") + turned + end + "return %r");
    EXPECT_NE(other.operators().find("berth::elementwise"), std::string::npos) << other.text;
  }
  // What no byte stands for.
  const Fused padded = fused_body("%q: u8[1,4,6,6]", numbers("q", "x") + R"(
    %m: f32[1,4,8,8] = aten::constant_pad_nd(%x, [1, 1, 1, 1], 0.01)
    %y: f32[1,4,8,8] = aten::tanh(%m)
    return %y)");
  EXPECT_NE(padded.text.find("f32[1,4,8,8] = aten::constant_pad_nd"), std::string::npos) << padded.text;
  // A part: all of it would be rounded.
  const Fused part = fused_body("%x: f32[1,4,6,6]", R"(
    %m: f32[1,1,6,6] = aten::slice_copy.Tensor(%x, 1, 0, 1, 1))" +
                                                        bytes("m", "r", "[1,1,6,6]") + "return %r");
  EXPECT_NE(part.text.find("f32[1,1,6,6] = aten::slice_copy"), std::string::npos) << part.text;
  // Read as numbers too.
  const Fused read = fused_body("%x: f32[1,4,6,6]", turned + bytes("m", "r", shape) + "return %r, %m");
  EXPECT_NE(read.text.find("f32[1,6,6,4] = aten::permute_copy"), std::string::npos) << read.text;
  // Scales that are too large or too small for the proof.
  for (const char* scale : {"1e-38", "1e36"}) {
    const Fused far = fused_body(
        "%q: u8[1,4,6,6]", numbers("q", "x", kMovedShape, scale) + bytes("x", "r", kMovedShape, scale) + "return %r");
    EXPECT_EQ(far.operators(), "berth::elementwise") << far.text;
  }
}

// The proof at the head of the pass, by plain loops.
TEST(MoveQuantization, RoundingWhatAByteStandsForGivesTheByte) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> exponent(-30, 30);
  for (int i = 0; i < 3000; ++i) {
    const auto scale =
        i < 60 ? std::pow(10.0f, static_cast<float>(i - 30)) : static_cast<float>(std::pow(10, exponent(random)));
    if (!(scale >= 1e-30f && scale <= 1e30f)) continue;
    const auto inverse = static_cast<float>(1 / static_cast<double>(scale));
    for (int n = -383; n <= 383; ++n) {
      const float number = static_cast<float>(n) * scale;
      ASSERT_EQ(std::nearbyint(number / scale), static_cast<float>(n)) << scale;
      ASSERT_EQ(std::nearbyint(number * inverse), static_cast<float>(n)) << scale;
    }
  }
}

TEST(MoveQuantization, OperatorsOfQuantisationAreMovedToo) {
  const Fused moved = fused_body("%q: i8[2,8]", R"(
    %x: f32[2,8] = quantized_decomposed::dequantize_per_tensor(%q, 0.1, -3, -128, 127, i8, none)
    %m: f32[8,2] = aten::permute_copy(%x, [1, 0])
    %r: i8[8,2] = quantized_decomposed::quantize_per_tensor(%m, 0.1, -3, -128, 127, i8)
    return %r)");
  EXPECT_EQ(moved.operators(), "aten::permute_copy") << moved.text;
}

}  // namespace
}  // namespace berth::fuse

// Shape rules of berth::quantized_linear and berth::quantized_conv.
#include <gtest/gtest.h>

#include "compiler/ir/parse.h"

namespace berth::ir {
namespace {

std::string error_of_quantized(const std::string& call) {
  const auto module = parse(R"(
method m(%x: u8[2,5,8], %image: i8[1,4,6,6], %w: i8[8,3], %packed: i8[192], %window: u8[6,2,3,3], %f: f32[2,5,8],
    %one: f32[1], %three: f32[3], %six: f32[6], %ten: f32[10], %bias: i32[3], %zero: u8[1], %izero: i8[1],
    %wide: i32[10], %r3: i8[2,5,3], %rf: f32[1,6,6,6], %each: i8[2,8,3], %others: i8[4,8,3]) {
  )" + call + "\n  return\n}");
  return module.ok() ? "" : module.error().message;
}

// All arguments of the product but those that are given.
std::string linear(const std::string& result, const std::string& tensors, const std::string& rest) {
  return error_of_quantized("%r: " + result + " = berth::quantized_linear(" + tensors +
                            ", \"none\", 0.0, 0.0, 0.0, 0, 1.0, 0, 1.0, 0, 0, 255, " + rest + ")");
}

std::string conv(const std::string& result, const std::string& tensors, int groups) {
  return error_of_quantized("%r: " + result + " = berth::quantized_conv(" + tensors + ", [1, 1], [1, 1], [1, 1], " +
                            std::to_string(groups) +
                            ", \"none\", 0.0, 0.0, 0.0, 0, 1.0, 0, 1.0, 0, 0, 255, \"divide\", u8, \"\")");
}

constexpr const char* kRest = "\"divide\", u8, \"\"";

TEST(ShapeRulesQuantized, AProductHasTheTypeThatIsNamed) {
  EXPECT_EQ(linear("u8[2,5,3]", "%x, none, none, %w, none, %one, none, none", kRest), "");
  EXPECT_EQ(linear("f32[2,5,3]", "%x, %ten, %wide, %w, %izero, %three, %bias, %r3", "\"inverse\", f32, \"\""), "");
  EXPECT_EQ(linear("u8[2,5,3]", "%x, %one, %zero, %packed, none, %three, %three, none",
                   "\"divide\", u8, \"berth int8 [8,3]\""),
            "");
  EXPECT_EQ(linear("u8[2,5,3]", "%x, none, %zero, %each, %izero, %three, none, %r3", kRest), "");
}

TEST(ShapeRulesQuantized, AProductRefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& tensors, const std::string& rest, const std::string& expected) {
    const std::string error = linear("u8[2,5,3]", tensors, rest);
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  };
  refused("%f, none, none, %w, none, %one, none, none", kRest, "expected u8 or i8, found f32");
  refused("%x, none, none, %three, none, %one, none, none", kRest, "expected u8 or i8, found f32");
  refused("%x, none, none, %packed, none, %one, none, none", kRest, "a weight of 2 to 3 dimensions");
  refused("%x, none, none, %packed, none, %one, none, none", "\"divide\", u8, \"what\"",
          "that holds the weight's sizes");
  refused("%x, none, none, %others, none, %one, none, none", kRest, "batches, found 2 and 4");
  refused("%x, %ten, none, %each, none, %one, none, none", kRest, "scales of the input and rows, found 10 and 1");
  refused("%x, %six, none, %w, none, %one, none, none", kRest, "scales of the input and rows, found 6 and 10");
  refused("%x, none, %izero, %w, none, %one, none, none", kRest, "expected u8 or i32 for 'input_zero_point'");
  refused("%x, none, none, %w, none, %six, none, none", kRest, "scales and columns, found 6 and 3");
  refused("%x, none, none, %w, none, %bias, none, none", kRest, "expected f32 for 'scale'");
  refused("%x, none, none, %w, none, %one, %six, none", kRest, "sizes of bias and columns");
  refused("%x, none, none, %w, none, %one, none, %x", kRest, "expected a residual of [2,5,3]");
  refused("%x, none, none, %w, none, %one, none, none", "\"up\", u8, \"\"",
          "rounding 'divide' or 'inverse', found 'up'");
  refused("%x, none, none, %w, none, %one, none, none", "\"divide\", i16, \"\"",
          "a result of f32, u8 or i8, found i16");
}

TEST(ShapeRulesQuantized, AConvolutionHasTheSizesOfOneOfFloats) {
  EXPECT_EQ(conv("u8[1,6,6,6]", "%image, %one, %izero, %window, %zero, %six, none, %rf", 2), "");
  EXPECT_NE(conv("u8[1,6,6,6]", "%image, none, none, %window, none, %one, none, none", 1), "");
  EXPECT_NE(conv("u8[1,6,6,6]", "%image, %six, none, %window, none, %one, none, none", 2), "");
  EXPECT_NE(conv("u8[1,6,6,6]", "%image, none, none, %window, none, %three, none, none", 2), "");
}

}  // namespace
}  // namespace berth::ir

// Products with weights of 8 and 4 bits, as models write them. The fears: a scale in another's place, a weight that
// others read too, numbers that four bits do not hold.
#include "compiler/fuse/fuse_narrow_products.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

std::string list(int count, int low, int high, unsigned state = 1) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    state = state * 1103515245 + 12345;
    const int n = low + static_cast<int>((state >> 16) % static_cast<unsigned>(high - low + 1));
    text += (i == 0 ? "" : ", ") + std::to_string(n);
  }
  return text;
}

std::string scales(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(0.25 + 0.125 * (i * 7 % 11));
  return text;
}

// %x [3, 8], and constants by name: type and numbers.
struct NamedConstant {
  std::string name, type, numbers;
};

Fused narrow(const std::vector<NamedConstant>& constants, const std::string& body) {
  std::string declarations;
  std::string values;
  for (const NamedConstant& one : constants) {
    declarations += "const @" + one.name + ": " + one.type + " = dense<[" + one.numbers + "]>\n";
    values += "%" + one.name + ": " + one.type + " = const @" + one.name + "\n";
  }
  return fused(declarations + "method forward(%x: f32[3,8]) {\n" + values + body + "\n}");
}

const std::string kCast = "%c: f32[8,6] = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)\n";

TEST(FuseNarrowProducts, ScalesOfTheTensorAColumnAndABlockAreTaken) {
  const NamedConstant weight = {"w", "i8[8,6]", list(48, -127, 127)};
  const auto scaled = [&](const std::string& sizes, int count) {
    return narrow({weight, {"s", "f32" + sizes, scales(count)}}, kCast + R"(
      %m: f32[8,6] = aten::mul.Tensor(%c, %s)
      %y: f32[3,6] = aten::mm(%x, %m)
      return %y
    )");
  };
  EXPECT_EQ(scaled("[1]", 1).operators(), "berth::narrow_linear");
  EXPECT_EQ(scaled("[6]", 6).operators(), "berth::narrow_linear");
  EXPECT_EQ(scaled("[1,6]", 6).operators(), "berth::narrow_linear");
  // A scale for each element, as kernels would have it, is larger than the weight.
  EXPECT_EQ(scaled("[8,1]", 8).operators().find("narrow"), std::string::npos);
  const Fused blocks = narrow({{"w", "i8[32,6]", list(192, -127, 127)}, {"s", "f32[4,1,6]", scales(24)}}, R"(
      %c: f32[32,6] = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)
      %e: f32[4,8,6] = aten::expand_copy(%s, [4, 8, 6])
      %v: f32[32,6] = aten::view_copy(%e, [32, 6])
      %m: f32[32,6] = aten::mul.Tensor(%v, %c)
      %l: f32[3,32] = aten::cat([%x, %x, %x, %x], 1)
      %y: f32[3,6] = aten::mm(%l, %m)
      return %y
    )");
  EXPECT_EQ(blocks.operators(), "aten::cat berth::narrow_linear");
  EXPECT_NE(blocks.text.find(", 8, 8, \"none\""), std::string::npos);
}

TEST(FuseNarrowProducts, WeightsAreTurnedAndCutAndHaveZeroPoints) {
  const Fused one = narrow({{"w", "u8[6,10]", list(60, 0, 255)},
                            {"z", "f32[6,1]", "128, 3, 0, 255, 17, 100"},
                            {"s", "f32[6,1]", scales(6)},
                            {"b", "f32[6]", scales(6)}},
                           R"(
      %c: f32[6,10] = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)
      %d: f32[6,10] = aten::sub.Tensor(%c, %z)
      %m: f32[6,10] = aten::mul.Tensor(%d, %s)
      %k: f32[6,8] = aten::slice_copy.Tensor(%m, 1, 1, 9)
      %t: f32[8,6] = aten::permute_copy(%k, [1, 0])
      %a: f32[3,6] = aten::addmm(%b, %x, %t)
      %y: f32[3,6] = aten::relu(%a)
      return %y
    )");
  EXPECT_EQ(one.operators(), "berth::narrow_linear");
  EXPECT_NE(one.text.find("\"relu\""), std::string::npos);
}

TEST(FuseNarrowProducts, FourBitsAreTwoInAByte) {
  const auto with = [](int low, int high, const std::string& type) {
    return narrow({{"w", type + "[8,6]", list(48, low, high)}, {"s", "f32[6]", scales(6)}}, kCast + R"(
      %d: f32[8,6] = aten::sub.Scalar(%c, 7)
      %m: f32[8,6] = aten::mul.Tensor(%d, %s)
      %y: f32[3,6] = aten::mm(%x, %m)
      return %y
    )")
        .text;
  };
  EXPECT_NE(with(0, 15, "u8").find("u8[4,6]"), std::string::npos);
  EXPECT_NE(with(-8, 7, "i8").find("u8[4,6]"), std::string::npos);
  EXPECT_NE(with(0, 255, "u8").find("i8[8,6]"), std::string::npos);
}

// As MatMulNBits is imported.
TEST(FuseNarrowProducts, HalvesOfBytesAreReadThroughTheirUnpacking) {
  const Fused one = narrow({{"w", "u8[6,2,2]", list(24, 0, 255)}, {"s", "f32[6,2,1]", scales(12)}}, R"(
      %l: u8[6,2,2] = aten::bitwise_and.Scalar(%w, 15)
      %h: u8[6,2,2] = aten::bitwise_right_shift.Tensor_Scalar(%w, 4)
      %p: u8[6,2,2,2] = aten::stack([%l, %h], -1)
      %q: u8[6,2,4] = aten::view_copy(%p, [6, 2, 4])
      %c: f32[6,2,4] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
      %d: f32[6,2,4] = aten::sub.Scalar(%c, 8)
      %m: f32[6,2,4] = aten::mul.Tensor(%d, %s)
      %v: f32[6,8] = aten::view_copy(%m, [6, 8])
      %t: f32[8,6] = aten::permute_copy(%v, [1, 0])
      %y: f32[3,6] = aten::mm(%x, %t)
      return %y
    )");
  EXPECT_EQ(one.operators(), "berth::narrow_linear");
  EXPECT_NE(one.text.find("u8[4,6]"), std::string::npos);
  EXPECT_NE(one.text.find(", 4, 4, \"none\""), std::string::npos);
}

// As torchao exports it.
TEST(FuseNarrowProducts, ScalesBehindTheProductGoIntoIt) {
  const std::vector<NamedConstant> constants = {
      {"w", "i8[8,6]", list(48, -127, 127)}, {"s", "f32[6]", scales(6)}, {"b", "f32[6]", scales(6)}};
  const std::string product = kCast + R"(
      %p: f32[3,6] = aten::mm(%x, %c)
      %m: f32[3,6] = aten::mul.Tensor(%p, %s)
      %v: f32[1,3,6] = aten::view_copy(%m, [1, 3, 6])
  )";
  EXPECT_EQ(narrow(constants, product + "return %v").operators(), "berth::narrow_linear");
  // The sum is of products, not of scaled ones.
  EXPECT_EQ(narrow(constants, kCast + R"(
      %p: f32[3,6] = aten::mm(%x, %c)
      %a: f32[3,6] = aten::add.Tensor(%p, %b)
      %m: f32[3,6] = aten::mul.Tensor(%a, %s)
      return %m)")
                .operators(),
            "berth::narrow_linear aten::mul.Tensor");
}

// As torchao exports models of bf16: scales of 16 bits, zero points of 8, in groups of 16. The fear: a weight of 4 bits
// that is folded into one of 16.
TEST(FuseNarrowProducts, ModelsOf16BitsKeepTheirWeightsNarrow) {
  for (const std::string type : {"bf16", "f16"}) {
    const std::string text =
        filled(R"(
      symbol n in [1, 4]
      const @w: i8[6,64] = dense<[$w]>
      const @z: i8[6,4] = dense<[$z]>
      const @s: $t[6,4,1] = dense<[$s]>
      const @b: $t[6] = dense<[$b]>
      method forward(%x: $t[n,64], %r: $t[n,6]) {
        %w: i8[6,64] = const @w
        %z: i8[6,4] = const @z
        %s: $t[6,4,1] = const @s
        %b: $t[6] = const @b
        %v: i8[6,4,16] = aten::view_copy(%w, [6, 4, 16])
        %c: $t[6,4,16] = dim_order_ops::_to_dim_order_copy(%v, false, none, $t)
        %o: i8[6,4,1] = aten::view_copy(%z, [6, 4, 1])
        %f: $t[6,4,1] = dim_order_ops::_to_dim_order_copy(%o, false, none, $t)
        %d: $t[6,4,16] = aten::sub.Tensor(%c, %f, 1)
        %m: $t[6,4,16] = aten::mul.Tensor(%d, %s)
        %g: $t[6,64] = aten::view_copy(%m, [6, 64])
        %t: $t[64,6] = aten::permute_copy(%g, [1, 0])
        %a: $t[n,6] = aten::addmm(%b, %x, %t)
        %e: $t[n,6] = aten::add.Tensor(%a, %r, 1)
        %y: $t[n,6] = aten::relu(%e)
        return %y
      })",
               {{"t", type}, {"w", list(384, -8, 7)}, {"z", list(24, -3, 3)}, {"s", scales(24)}, {"b", scales(6)}});
    const Fused one = fuse_module(passes::parsed(text), 7, 2e-2);
    EXPECT_EQ(one.operators(),
              "dim_order_ops::_to_dim_order_copy dim_order_ops::_to_dim_order_copy berth::narrow_linear "
              "dim_order_ops::_to_dim_order_copy")
        << one.text;
    EXPECT_NE(one.text.find("u8[32,6]"), std::string::npos) << one.text;
    EXPECT_NE(one.text.find("4, 16, \"relu\""), std::string::npos) << one.text;
  }
}

// A weight that f32 multiplies is what the model rounded it to.
TEST(FuseNarrowProducts, WhatIsRoundedTo16BitsInAModelOfF32Stays) {
  EXPECT_EQ(narrow({{"w", "i8[8,6]", list(48, -127, 127)}, {"s", "bf16[6]", scales(6)}}, R"(
      %c: bf16[8,6] = dim_order_ops::_to_dim_order_copy(%w, false, none, bf16)
      %m: bf16[8,6] = aten::mul.Tensor(%c, %s)
      %f: f32[8,6] = dim_order_ops::_to_dim_order_copy(%m, false, none, f32)
      %y: f32[3,6] = aten::mm(%x, %f)
      return %y
    )")
                .operators()
                .find("narrow"),
            std::string::npos);
}

TEST(FuseNarrowProducts, ScalesOf16BitsBehindTheProductGoIntoIt) {
  const Fused one = fuse_module(passes::parsed(filled(R"(
    const @w: i8[32,6] = dense<[$w]>
    const @s: bf16[6] = dense<[$s]>
    method forward(%x: bf16[3,32]) {
      %w: i8[32,6] = const @w
      %s: bf16[6] = const @s
      %c: bf16[32,6] = dim_order_ops::_to_dim_order_copy(%w, false, none, bf16)
      %p: bf16[3,6] = aten::mm(%x, %c)
      %m: bf16[3,6] = aten::mul.Tensor(%p, %s)
      return %m
    })",
                                                      {{"w", list(192, -127, 127)}, {"s", scales(6)}})),
                                7, 2e-2);
  EXPECT_EQ(one.operators(), "dim_order_ops::_to_dim_order_copy berth::narrow_linear dim_order_ops::_to_dim_order_copy")
      << one.text;
}

TEST(FuseNarrowProducts, OperatorsOfQuantizedDecomposedAreTaken) {
  const NamedConstant weight = {"w", "i8[6,8]", list(48, -127, 127)};
  const std::string product = R"(
      %t: f32[8,6] = aten::t_copy(%d)
      %y: f32[3,6] = aten::mm(%x, %t)
      return %y
  )";
  EXPECT_EQ(narrow({weight, {"s", "f32[6]", scales(6)}, {"z", "i64[6]", list(6, -9, 9)}}, R"(
      %d: f32[6,8] = quantized_decomposed::dequantize_per_channel(%w, %s, %z, 0, -128, 127, i8)
    )" + product)
                .operators(),
            "berth::narrow_linear");
  EXPECT_EQ(narrow({weight}, R"(
      %d: f32[6,8] = quantized_decomposed::dequantize_per_tensor(%w, 0.5, 3, -128, 127, i8)
    )" + product)
                .operators(),
            "berth::narrow_linear");
  EXPECT_EQ(narrow({weight, {"s", "f32[6]", scales(6)}, {"z", "f32[6]", scales(6)}}, R"(
      %y: f32[3,6] = quantized_decomposed::mixed_linear(%x, %w, %s, %z)
      return %y
    )")
                .operators(),
            "berth::narrow_linear");
}

TEST(FuseNarrowProducts, SeveralProductsShareAWeight) {
  const Fused one = narrow({{"w", "i8[8,6]", list(48, -127, 127)}, {"b", "f32[6]", scales(6)}}, kCast + R"(
      %y: f32[3,6] = aten::mm(%x, %c)
      %z: f32[3,6] = aten::addmm(%b, %x, %c)
      %s: f32[3,6] = aten::mul.Tensor(%y, %z)
      return %s
    )");
  EXPECT_EQ(one.operators(), "berth::narrow_linear berth::narrow_linear aten::mul.Tensor") << one.text;
}

TEST(FuseNarrowProducts, WhatOthersReadOrIsComputedStays) {
  const NamedConstant weight = {"w", "i8[8,6]", list(48, -127, 127)};
  const Fused other = narrow({weight}, kCast + R"(
      %y: f32[3,6] = aten::mm(%x, %c)
      %z: f32[8,6] = aten::abs(%c)
      return %y, %z
    )");
  EXPECT_EQ(other.operators().find("narrow"), std::string::npos) << other.text;
  EXPECT_TRUE(other.says("result-read-elsewhere"));
  // Its input is the weight of another.
  EXPECT_EQ(narrow({{"w", "i8[3,8]", list(24, -127, 127)}}, R"(
      %c: f32[3,8] = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)
      %t: f32[8,3] = aten::permute_copy(%x, [1, 0])
      %y: f32[8,8] = aten::mm(%t, %c)
      %u: f32[3,8] = aten::mm(%c, %y)
      return %u
    )")
                .operators()
                .find("narrow"),
            std::string::npos);
  EXPECT_EQ(narrow({{"w", "f32[8,6]", scales(48)}, {"s", "f32[6]", scales(6)}}, R"(
      %m: f32[8,6] = aten::mul.Tensor(%w, %s)
      %y: f32[3,6] = aten::mm(%x, %m)
      return %y
    )")
                .operators()
                .find("narrow"),
            std::string::npos);
}

}  // namespace
}  // namespace berth::fuse

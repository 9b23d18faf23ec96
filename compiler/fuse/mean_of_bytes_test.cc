// Means of bytes. The fears: a zero point that counts once for each place; floats where a sum of bytes would not be
// exact.
#include "compiler/fuse/mean_of_bytes.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

Fused mean(const std::string& type, const std::string& sizes, const std::string& dims, const std::string& result,
           const std::string& end = "", const std::string& scale = "0.05") {
  const std::string zero = type == "u8" ? "100" : "-7";
  const std::string low = type == "u8" ? "0" : "-128", high = type == "u8" ? "255" : "127";
  const std::string range = zero + ", " + low + ", " + high + ", " + type;
  const std::string body = filled(R"(
    %q: $t$s = quantized_decomposed::quantize_per_tensor(%x, $c, $r)
    %f: f32$s = quantized_decomposed::dequantize_per_tensor(%q, $c, $r, none)
    %y: f32$o = aten::mean.dim(%f, $d, true, $e)
)",
                                  {{"t", type},
                                   {"s", sizes},
                                   {"r", range},
                                   {"o", result},
                                   {"d", dims},
                                   {"c", scale},
                                   {"e", end.empty() ? "none" : end}});
  return fuse_module(passes::parsed("method forward(%x: f32" + sizes + ") {" + body + "return %y\n}"));
}

// What scales a mean of bytes stands behind it.
bool ends_with_mean(const Fused& fused) {
  const std::string names = fused.operators(), mean = "aten::mean.dim";
  return names.size() >= mean.size() && names.compare(names.size() - mean.size(), mean.size(), mean) == 0;
}

TEST(MeanOfBytes, ReadsTheBytesAndNoFloatsOfThem) {
  for (const char* type : {"u8", "i8"}) {
    const Fused f = mean(type, "[2,5,7,6]", "[2, -1]", "[2,5,1,1]");
    EXPECT_EQ(f.operators(), "berth::elementwise aten::mean.dim berth::elementwise") << f.text;
    EXPECT_EQ(f.text.find("f32[2,5,7,6] ="), std::string::npos) << f.text;
  }
}

TEST(MeanOfBytes, LeavesWhatFloatsDoNotSumExactly) {
  const Fused f = mean("u8", "[1,2,65537]", "[2]", "[1,2,1]");
  EXPECT_TRUE(ends_with_mean(f)) << f.text;
  const Fused named = mean("u8", "[1,2,9]", "[2]", "[1,2,1]", "f32");
  EXPECT_TRUE(ends_with_mean(named)) << named.text;
}

TEST(MeanOfBytes, LeavesFloatsThatMayBeInfinite) {
  const Fused large = mean("i8", "[1,2,9]", "[2]", "[1,2,1]", "", "1.5e36");
  EXPECT_TRUE(ends_with_mean(large)) << large.text;
  const Fused least = mean("i8", "[1,2,9]", "[2]", "[1,2,1]", "", "1e36");
  EXPECT_FALSE(ends_with_mean(least)) << least.text;
}

}  // namespace
}  // namespace berth::fuse

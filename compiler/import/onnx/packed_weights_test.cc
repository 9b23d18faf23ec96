// Weights of 2 and 4 bits of com.microsoft's operators. MatMulBnb4's figures are ONNX Runtime's.
#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

constexpr char kCodes[] = "\x1f\x2e\x3d\x4c\x50";  // of 3 x 3 elements, and four bits that none has

TestModel with_codes(int64_t kind) {
  TestModel m;
  m.input("x", {1, 3});
  m.tensor("w", {5}, ElementType::kUint8).set_raw_data(std::string(kCodes, 5));
  m.floats("scale", {1}, {2});
  m.node("MatMulBnb4", {"x", "w", "scale"}, {"y"})
      .domain("com.microsoft")
      .set("K", 3)
      .set("N", 3)
      .set("block_size", 16)
      .set("quant_type", kind);
  m.output("y");
  return m;
}

TEST(MatMulBnb4, AnOddNumberOfElementsEndsWithinAByte) {
  expect_near(numbers<float>(run(with_codes(0), {floats({1, 3}, {1, 1, 1})})), {0.84375F, 0.6666666F, 1});
  expect_near(numbers<float>(run(with_codes(1), {floats({1, 3}, {1, 1, 1})})), {-0.4425316F, 1.7813127F, -0.05701F});
}

TEST(MatMulBnb4, OtherTablesThanItsTwoAreRefused) {
  for (const int64_t kind : {-1, 2, 5}) {
    EXPECT_CONTAINS(failure(with_codes(kind)), "attribute 'quant_type' must be 0 (FP4) or 1 (NF4), found ");
  }
}

// Counted over a weight that is an input, so that nothing is computed beforehand.
TEST(MatMulNBits, NothingIsDoneToTheBitsThatStandWhereTheyShould) {
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  for (const int64_t bits : {2, 4}) {
    TestModel m;
    m.input("x", {1, 4});
    m.input("w", {1, 1, bits / 2}, ElementType::kUint8);
    m.floats("s", {1}, {1});
    m.node("MatMulNBits", {"x", "w", "s"}, {"y"})
        .domain("com.microsoft")
        .set("K", 4)
        .set("N", 1)
        .set("bits", bits)
        .set("block_size", 4);
    m.output("y");
    const std::string text = body(m);
    EXPECT_EQ(count(text, "aten::bitwise_right_shift"), 8 / bits - 1) << text;
    EXPECT_EQ(count(text, "aten::bitwise_and"), 8 / bits - 1) << text;
    const std::vector<uint8_t> bytes = bits == 2 ? std::vector<uint8_t>{0xd8} : std::vector<uint8_t>{0x21, 0xf3};
    const Floats expected = {bits == 2 ? -2 * 1.0F + 0 * 10 - 1 * 100 + 1 * 1000 : -7 - 60 - 500 + 7000.0F};
    expect_near(numbers<float>(run(m, {floats({1, 4}, {1, 10, 100, 1000}),
                                       array(DType::kU8, {1, 1, static_cast<int32_t>(bits / 2)}, bytes)})),
                expected);
  }
}

// Signed bytes would be shifted with their sign.
TEST(MatMulNBits, ZeroPointsAreBytesWithoutASign) {
  TestModel m;
  m.input("x", {1, 4});
  m.input("w", {1, 1, 2}, ElementType::kUint8);
  m.floats("s", {1}, {1});
  m.input("z", {1}, ElementType::kInt8);
  m.node("MatMulNBits", {"x", "w", "s", "z"}, {"y"})
      .domain("com.microsoft")
      .set("K", 4)
      .set("N", 1)
      .set("block_size", 4);
  m.output("y");
  EXPECT_CONTAINS(failure(m), "must be u8, found i8[1");
}

}  // namespace
}  // namespace berth::onnx

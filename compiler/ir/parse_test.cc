#include "compiler/ir/parse.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/text_testing.h"
#include "compiler/ir/parse_testing.h"
#include "compiler/ir/print.h"

namespace berth::ir {
namespace {

constexpr char kEverything[] = R"(symbol n in [1, 8]
symbol h in [33, 321] step 32
symbol p in [0, 511]
symbol $"odd name" in [0, 4]
symbol w = (h * 2)
where (n + p) <= 512
where mod(p, n) == 0
const @w: f32[2,3] = dense<[1.0, -0.5, 1e-05, inf, -inf, nan]>
const @half: f16[4] = splat<0.1>
const @"with space": i64[2] = dense<[-9223372036854775808, 9223372036854775807]>
const @c: c64[1] = hex"0000803f00000040"
const @payload: f32[1] = hex"0100c07f"
const @flags: bool[3] = dense<[true, false, true]>
const @last: f32[1,2,2,2]{0,2,3,1} = splat<2.5>
state @cache: f32[2,3] = splat<0.0>
state @fresh: i32[4]

method forward(%x: f32[n,3], %"a/b:0": f32[2,3]@sim:1, %flag: bool, %y: f32[$"odd name",(n + 1),floordiv(n, 2)]) {
  %w: f32[2,3] = const @w
  %again: i64[2] = const @"with space"
  %f: bool[3] = const @flags
  %c: c64[1] = const @c
  %p: f32[1] = const @payload
  %h: f16[4] = const @half
  %last: f32[1,2,2,2]{0,2,3,1} = const @last
  %old: f32[2,3] = berth::state_read() @cache
  %sum: f32[2,3] = aten::add.Tensor(%old, %w, 1) "Add \"0\""
  berth::state_write(%sum) @cache
  %d: f32[2,3]@sim:1 = aten::relu(%"a/b:0")
  %u: f64[n,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f64)
  %e: f32[2,3] = aten::elu(%sum, 1, 1.0, 2)
  %m: f32[n,2] = aten::index.Tensor(%x, [none, %again])
  %r: f32[2,3] = berth::if(%flag) {
    ()
    %inner: f32[2,3] = aten::relu(%sum)
    yield %inner
  } {
    ()
    yield %sum
  } "If_1"
  %k: f32[2,3] = berth::while([%r]) {
    (%a: f32[2,3])
    yield %flag
  } {
    (%b: f32[2,3])
    %b2: f32[2,3] = aten::mul.Scalar(%b, 0.5)
    yield %b2
  }
  return %k, 1, (n * 2), 0.5, true, none, "text", %u, %d
}
)";

TEST(Parse, WhatPrintsParsesBack) {
  const std::string text = std::string(kEverything) + R"(
    method second(%z: i64[2]) {
      %v: i64[2] = const @"with space"
      %a: i64[2] = aten::add.Tensor(%z, %v, 1)
      return %a
    })";
  auto module = parse(text, "t");
  ASSERT_TRUE(module.ok()) << module.error().text();
  const std::string once = print(*module);
  auto again = parse(once, "once");
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << once;
  EXPECT_EQ(print(*again), once);
  // And it keeps what stands there, word by word.
  EXPECT_NE(once.find("%sum: f32[2,3] = aten::add.Tensor(%old, %w, 1) \"Add \\\"0\\\"\"\n"), std::string::npos);
  EXPECT_NE(once.find("  return %k, 1, (n * 2), 0.5, true, none, \"text\", %u, %d\n"), std::string::npos);
  EXPECT_NE(once.find("%\"a/b:0\": f32[2,3]@sim:1"), std::string::npos);
  EXPECT_NE(once.find("const @w: f32[2,3] = dense<[1, -0.5, 1e-05, inf, -inf, nan]>"), std::string::npos) << once;
}

TEST(Parse, NumbersParseBackBitForBit) {
  const std::string text = dedent(R"(
    const @a: f32[3] = dense<[0.1, 3.4028235e38, 1e-45]>
    const @b: bf16[2] = dense<[0.1, -3.0]>
    const @d: f64[1] = splat<0.1>
    const @u: u64[1] = dense<[18446744073709551615]>
    const @e: f32[0] = dense<[]>
    const @p: f32[1] = hex"0100c07f"
    method f() {
      %a: f32[3] = const @a
      %b: bf16[2] = const @b
      %d: f64[1] = const @d
      %u: u64[1] = const @u
      %e: f32[0] = const @e
      %p: f32[1] = const @p
      return %a, %b, %d, %u, %e, %p
    }
  )");
  auto module = parse(text, "t");
  ASSERT_TRUE(module.ok()) << module.error().text();
  auto again = parse(print(*module), "again");
  ASSERT_TRUE(again.ok()) << again.error().text();
  ASSERT_EQ(again->constants.size(), 6u);
  for (ConstantId id : again->constants.ids()) {
    EXPECT_TRUE(Blob::equal(module->constants[id].blob, again->constants[id].blob)) << id.index;
  }
  const std::vector<uint8_t> floats = module->constants[{0}].blob.to_vector();
  // 0.1f, the largest float and the smallest subnormal, as IEEE 754 writes them.
  EXPECT_EQ(floats, (std::vector<uint8_t>{0xcd, 0xcc, 0xcc, 0x3d, 0xff, 0xff, 0x7f, 0x7f, 1, 0, 0, 0}));
}

TEST(Parse, SymbolsKeepTheirTextInAnyOrderOfCreation) {
  const std::string text = dedent(R"(
    symbol n in [1, 8]
    symbol m in [1, 8]

    method f(%a: f32[floordiv(n, 2),(m * n),(n + m)]) {
      return %a
    }
  )");
  auto module = parse(text, "t");
  ASSERT_TRUE(module.ok()) << module.error().text();
  const std::string once = print(*module);
  auto again = parse(once, "t");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(print(*again), once);
}

struct BadText {
  const char* text;
  const char* message;
};

class ParseBadTextTest : public testing::TestWithParam<BadText> {};

TEST_P(ParseBadTextTest, IsRefusedWithLineAndSentence) {
  const std::string error = error_of(GetParam().text);
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << "[" << error << "]";
}

const BadText kBadTexts[] = {
    {"method", "t:1: expected a method's name, found the end of the text"},
    {"garbage", "t:1: expected symbol, where, const, state, delegate, data or method, found 'garbage'"},
    {"\n\n#", "t:3: the character \"#\" means nothing here"},
    {"method f() {\n  return %x\n}", "t:2: the value %x is not defined here"},
    {"method f(%x: f32[2]) {\n  %y: f32[3] = aten::relu(%x)\n  return %y\n}",
     "t:2: aten::relu: expected the result %y: f32[2], found f32[3]"},
    {"method f(%x: f32[2]) {\n  %y: f32[2] = aten::nothing(%x)\n  return %y\n}",
     "t:2: the operator 'aten::nothing' does not exist"},
    {"method f(%x: f32[2]) {\n  %x: f32[2] = aten::relu(%x)\n  return %x\n}", "t:2: the value %x is defined twice"},
    {"method f(%x: f32[k]) {\n  return\n}", "t:1: the symbol 'k' is not declared"},
    {"method f(%x: f32[-1]) {\n  return\n}", "sizes between 0 and 2147483647, found -1"},
    {"method f(%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) {\n  return\n}", "at most 16 dimensions"},
    {"method f(%x: f32[2,2]{0,0}) {\n  return\n}", "a dimension order that names each dimension once"},
    {"method f(%x: f32[2]@tpu:0) {\n  return\n}", "a device such as cpu"},
    {"method f(%x: f32[99999999999999999999]) {\n  return\n}", "a whole number of 64 bits"},
    {"symbol n in [0, 4]\nmethod f(%x: f32[floordiv(8, n)]) {\n  return\n}", "a divisor that is never 0"},
    {"symbol n in [0, 4] step 3", "its range does not end after whole steps"},
    {"symbol n in [0, 4]\nsymbol n = 4", "declared twice"},
    {"symbol n in [0, 4]\nwhere n < 4", "'='"},
    {"symbol n in [0, 4]\nwhere n + 4", "'<=' or '=='"},
    {"symbol n in [4, 0]", "the symbol 'n': its range is empty"},
    {"symbol n in [0, 4]\nsymbol n in [0, 4]", "declared twice"},
    {"const @c: f32[4] = dense<[1, 2]>", "expected 4 numbers, found 2"},
    {"const @c: i8[1] = dense<[300]>", "expected a number of i8, found '300'"},
    {"const @c: f32[1] = hex\"00\"", "expected 4 bytes, found 1"},
    {"const @c: f32[1] = hex\"zz000000\"", "expected hexadecimal digits"},
    {"const @c: f32[1] = file(\"/etc/passwd\", 0, 4)", "this text may not name files"},
    {"const @c: f32[2147483647,2147483647,2147483647] = splat<1.0>", "more than 2^56 elements"},
    {"const @c: f32[2] = ...", "were left out when the text was printed"},
    {"method f() {\n  %w: f32[1] = const @nothing\n  return\n}", "the constant @nothing is not declared"},
    {"method f() {\n  berth::state_write(none) @s\n  return\n}", "the state @s is not declared"},
    {"method f(%x: f32[2]) {\n  %r: f32[2] = berth::if(%x) {\n  ()\n yield %x\n} {\n ()\n yield %x\n}\n  return\n}",
     "expected a condition that is one bool"},
    {"method f(%c: bool, %x: f32[2]) {\n  %r: f32[2] = berth::if(%c) {\n  ()\n yield %x\n} {\n ()\n yield\n}\n"
     "  return\n}",
     "expected outputs of the second region of types (f32[2]), found ()"},
    {"method f(%c: bool, %x: f32[2]) {\n  %r: f32[2] = berth::if(%c) {\n  ()\n %i: f32[2] = aten::relu(%x)\n yield %i\n"
     "} {\n ()\n yield %i\n}\n  return\n}",
     "the value %i is not defined here"},
    {"method f(%x: f32[2]) {\n  %y: f32[2] = aten::relu(%x, %x)\n  return\n}", "takes 1 arguments, found more"},
    {"method f(%x: f32[2]) {\n  %y: f32[2] = aten::relu(1)\n  return\n}", "argument 'self' has the wrong kind"},
    {"method f(%x: f32[2]) {\n  return \"open\n}", "lacks its closing quote"},
};

INSTANTIATE_TEST_SUITE_P(All, ParseBadTextTest, testing::ValuesIn(kBadTexts));

TEST(Parse, DeepTextIsRefusedBeforeTheStackOverflows) {
  std::string sizes = "method f(%x: f32[";
  for (int i = 0; i < 100000; ++i) sizes += "(";
  EXPECT_NE(error_of(sizes).find("64 nested operations"), std::string::npos);

  std::string regions = "method f(%c: bool) {\n";
  for (int i = 0; i < 100000; ++i) regions += "berth::if(%c) { ()\n";
  EXPECT_NE(error_of(regions).find("32 regions within each other"), std::string::npos);
}

TEST(Parse, DoublingSizesAreRefusedBeforeTheirTextDoubles) {
  std::string text = R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method f(%v0: f32[(n + floordiv(m, 3))]) {
  )";
  std::string size = "(n + floordiv(m, 3))";
  for (int i = 0; i < 40; ++i) {
    text += filled(R"(
      %v$next: f32[1] = aten::repeat(%v$i, [$size])
    )",
                   {{"next", std::to_string(i + 1)}, {"i", std::to_string(i)}, {"size", size}});
  }
  EXPECT_NE(error_of(text).find("expected the result"), std::string::npos);
  // A tower of products, each twice as long as the one before, fails at the limit instead of filling the memory.
  std::string tower = "n";
  for (int i = 0; i < 60; ++i) tower = "floordiv((" + tower + " + m), 2)";
  EXPECT_EQ(error_of("symbol n in [1, 8]\nsymbol m in [1, 8]\nmethod f(%x: f32[" + tower + "]) {\n  return\n}"),
            "t:3: "
            "expected a size of at most 64 nested operations");
}

class ParseFileTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "berth_parse_" + std::to_string(::getpid());
    ASSERT_EQ(std::system(("mkdir -p " + directory_ + "/in").c_str()), 0);
    std::ofstream(directory_ + "/in/w.bin") << "0123456789abcdef";
    std::ofstream(directory_ + "/out.bin") << "secret secret secret";
  }
  void TearDown() override { EXPECT_EQ(std::system(("rm -r " + directory_).c_str()), 0); }

  std::string error_of_file(const std::string& arguments) {
    const auto module = parse("const @c: u8[4] = file(" + arguments + ")", "t", directory_ + "/in");
    return module.ok() ? "" : module.error().text();
  }

  std::string directory_;
};

TEST_F(ParseFileTest, OnlyFilesInItsDirectoryAreRead) {
  auto module = parse("const @c: u8[4] = file(\"w.bin\", 2, 4)\nmethod f() {\n  %c: u8[4] = const @c\n  return %c\n}",
                      "t", directory_ + "/in");
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(module->constants[{0}].blob.to_vector(), (std::vector<uint8_t>{'2', '3', '4', '5'}));
  const std::string large = print(*module, PrintOptions{0, false});
  auto again = parse(large, "again", directory_ + "/in");
  ASSERT_TRUE(again.ok()) << again.error().text();

  ASSERT_EQ(::symlink("../out.bin", (directory_ + "/in/link.bin").c_str()), 0);
  EXPECT_NE(error_of_file("\"link.bin\", 0, 4").find("expected a file below"), std::string::npos);
  EXPECT_NE(error_of_file("\"../out.bin\", 0, 4").find("expected a file below"), std::string::npos);
  EXPECT_NE(error_of_file("\"nothing.bin\", 0, 4").find("cannot be found"), std::string::npos);
  EXPECT_NE(error_of_file("\".\", 0, 4").find("expected a file below"), std::string::npos);
  EXPECT_NE(error_of_file("\"w.bin\", 13, 4").find("within the 16 bytes"), std::string::npos);
  EXPECT_NE(error_of_file("\"w.bin\", -1, 4").find("within the 16 bytes"), std::string::npos);
  EXPECT_NE(error_of_file("\"w.bin\", 0, 5").find("expected 4 bytes"), std::string::npos);
}

TEST(Parse, TruncatedTextIsAnErrorAtEveryLength) {
  const std::string text = kEverything;
  for (size_t length = 1; length + 2 < text.size(); ++length) {
    const std::string part = text.substr(0, length);
    const auto module = parse(part, "t");
    // Whole declarations may end there; a method never does.
    const bool in_method = part.find("method") != std::string::npos;
    EXPECT_TRUE(!in_method || !module.ok()) << part;
  }
}

TEST(Parse, KeepsTheNamesOfOutputs) {
  const std::string text = dedent(R"(

    method f(%x: f32[2]) {
      %y: f32[2] = aten::relu(%x)
      return %x "same", %y, %y "twice"
    }
  )");
  auto module = parse(text, "t");
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(module->methods[0].output_names, (std::vector<std::string>{"same", "y", "twice"}));
  EXPECT_EQ(print(*module), text);
}

}  // namespace
}  // namespace berth::ir

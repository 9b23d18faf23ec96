#include "compiler/emit/copies.h"

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"

namespace berth::emit {
namespace {

/// Of the copies of `body` to sim:0, which are of 16 bytes each: "count, bytes, per_turn". `x` is f32[4], `c` a bool.
std::string copies_to_device(const std::string& body) {
  const ir::Module module = testing::module_of(R"(
    symbol n in [1, 6]
    method forward(%c: bool[], %x: f32[4], %s: f32[n,4]) {
  )" + body + R"(
    return %x
    })");
  std::string text;
  for (const CopyReport& copy : find_copies(module, module.methods[0])) {
    if (copy.from != Device() || copy.to != Device(DeviceType::kSim, 0)) continue;
    text += std::to_string(copy.count) + ", " + std::to_string(copy.bytes) + ", " + std::to_string(copy.per_turn);
  }
  return text;
}

std::string copy(const std::string& name) { return "%" + name + ": f32[4]@sim:0 = et_copy::_h2d_copy(%x)\n"; }

std::string scan(const std::string& length, const std::string& name, const std::string& body) {
  return filled(R"(
    %r$name: f32[4] = berth::scan($length, [%x], []) { (%i$name: f32[4])
      $body
      yield %x
    })",
                {{"name", name}, {"length", length}, {"body", body}});
}

std::string loop(const std::string& name, const std::string& condition, const std::string& body) {
  return filled(R"(
    %r$name: f32[4] = berth::while([%x]) { (%i$name: f32[4])
      $condition
      yield %c
    } { (%j$name: f32[4])
      $body
      yield %x
    })",
                {{"name", name}, {"condition", condition}, {"body", body}});
}

TEST(CountCopies, OneEachOutsideLoops) {
  EXPECT_EQ(copies_to_device(""), "");
  EXPECT_EQ(copies_to_device(copy("a") + copy("b")), "2, 32, 0");
}

TEST(CountCopies, AsManyAsAScanHasIterations) {
  EXPECT_EQ(copies_to_device(scan("50", "", copy("a"))), "50, 800, 0");
  EXPECT_EQ(copies_to_device(scan("n", "", copy("a"))), "6, 96, 0") << "at the upper end of the symbol";
  EXPECT_EQ(copies_to_device(copy("a") + scan("5", "o", copy("b") + scan("7", "i", copy("d")))), "41, 656, 0");
}

TEST(CountCopies, OneIterationWhereTheirNumberIsUnknown) {
  EXPECT_EQ(copies_to_device(copy("a") + loop("", copy("b"), copy("d"))), "3, 48, 2");
  EXPECT_EQ(copies_to_device(scan("5", "s", loop("l", "", copy("a")))), "5, 80, 5");
  EXPECT_EQ(copies_to_device(loop("l", "", scan("5", "s", copy("a")))), "5, 80, 5");
}

TEST(CountCopies, TheBranchThatCopiesMoreCounts) {
  const auto branches = [](const std::string& first, const std::string& second) {
    return filled(R"(
      %r: f32[4] = berth::if(%c) { ()
        $first
        yield %x
      } { ()
        $second
        yield %x
      })",
                  {{"first", first}, {"second", second}});
  };
  EXPECT_EQ(copies_to_device(branches(copy("a"), copy("b") + copy("d"))), "2, 32, 0");
  EXPECT_EQ(copies_to_device(branches(copy("a"), "")), "1, 16, 0");
}

TEST(CountCopies, TheCountSaturates) {
  std::string body = copy("a");
  for (int i = 0; i < 4; ++i) body = scan("2000000000", std::to_string(i), body);
  EXPECT_EQ(copies_to_device(body), "9223372036854775807, 9223372036854775807, 0");
}

}  // namespace
}  // namespace berth::emit

// What waits in a bank that a device cannot read: who goes, which copies there are, and when nothing helps.
#include "compiler/memory/spill.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/memory/plan_memory.h"

namespace berth::memory {
namespace {

/// The body of the first method after spilling, a node a line, or the error. Far values have their bank behind them.
std::string spilled(const std::string& text, const std::vector<std::string>& banks) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return "";
  std::vector<MemoryOptions> options(module->methods.size());
  for (MemoryOptions& own : options) {
    own.in_place = false;
    own.reorder = false;
    for (const std::string& bank : banks) own.banks.push_back(parse_bank(bank).value());
  }
  const Status done = spill_to_far_banks(&*module, &options);
  if (!done.ok()) return done.error().text();
  const Status sound = ir::verify(*module);
  EXPECT_TRUE(sound.ok()) << sound.error().text();
  const auto plans = plan_memory(*module, options);
  EXPECT_TRUE(plans.ok()) << plans.error().text();
  const ir::Method& method = module->methods[0];
  const auto name = [&](const ir::ValueId& value) {
    const auto found = options[0].spilled.find(value);
    return method.value(value).name +
           (found == options[0].spilled.end() ? "" : "@" + banks[found->second].substr(0, 1));
  };
  std::string lines;
  for (const ir::NodeId id : method.body.nodes) {
    const ir::Node& node = method.node(id);
    lines += name(node.results[0]) + " = " + std::string(node.op->name.substr(node.op->name.find("::") + 2)) + "(";
    std::string separator;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ir::ValueId& value) {
        lines += separator + name(value);
        separator = ", ";
      });
    }
    lines += ")\n";
  }
  for (size_t k = 0; k < method.body.outputs.size(); ++k) {
    lines += "out " + name(std::get<ir::ValueId>(method.body.outputs[k])) + " as " + method.output_name(k) + "\n";
  }
  return lines;
}

// %b waits while %c, %d and %e are made; those that multiply need 192 bytes.
constexpr char kWaits[] = R"(
  method forward(%x: f32[16]) {
    %b: f32[16] = aten::sin(%x)
    %c: f32[16] = aten::cos(%x)
    %d: f32[16] = aten::mul.Tensor(%c, %x)
    %e: f32[16] = aten::exp(%d)
    %f: f32[16] = aten::mul.Tensor(%e, %b)
    return %f
  })";

TEST(Spill, NothingIsCopiedWhileAllFits) {
  EXPECT_EQ(spilled(kWaits, {"n=256", "f,far"}).find("clone"), std::string::npos);
}

TEST(Spill, WhatWaitsLongestGoesAndComesBackBeforeItsReader) {
  EXPECT_EQ(spilled(kWaits, {"n=192", "f,far"}),
            "b = sin(x)\n"
            "b.far@f = clone(b)\n"
            "c = cos(x)\n"
            "d = mul(c, x)\n"
            "e = exp(d)\n"
            "b.near = clone(b.far@f)\n"
            "f = mul(e, b.near)\n"
            "out f as f\n");
}

TEST(Spill, AnInputWaitsFromTheStartAndAnOutputToTheEnd) {
  EXPECT_EQ(spilled(R"(
  method forward(%x: f32[16], %y: f32[16]) {
    %b: f32[16] = aten::sin(%x)
    %c: f32[16] = aten::sigmoid(%b)
    %d: f32[16] = aten::tanh(%c)
    %e: f32[16] = aten::mul.Tensor(%d, %y)
    return %b, %e
  })",
                    {"n=192", "f,far"}),
            "b = sin(x)\n"
            "c = sigmoid(b)\n"
            "b.far@f = clone(b)\n"
            "d = tanh(c)\n"
            "y.near = clone(y@f)\n"
            "e = mul(d, y.near)\n"
            "out b.far@f as b\n"
            "out e as e\n");
}

TEST(Spill, WhatWaitsTwiceIsCopiedOutOnce) {
  const std::string body = spilled(R"(
  method forward(%x: f32[16]) {
    %b: f32[16] = aten::sin(%x)
    %c: f32[16] = aten::cos(%x)
    %d: f32[16] = aten::mul.Tensor(%c, %x)
    %e: f32[16] = aten::mul.Tensor(%d, %b)
    %g: f32[16] = aten::cos(%e)
    %h: f32[16] = aten::mul.Tensor(%g, %e)
    %i: f32[16] = aten::mul.Tensor(%h, %b)
    return %i
  })",
                                   {"n=192", "f,far"});
  EXPECT_NE(body.find("b.far@f = clone(b)\n"), std::string::npos) << body;
  EXPECT_NE(body.find("b.near = clone(b.far@f)\n"), std::string::npos) << body;
  EXPECT_NE(body.find("b.near_1 = clone(b.far@f)\n"), std::string::npos) << body;
  EXPECT_EQ(body.find("clone(b.near"), std::string::npos) << body;
}

TEST(Spill, WithinADeviceTheCopiesAreTheDevices) {
  const std::string body = spilled(R"(
  delegate @d "Chip" {target_device = "sim:0"} = hex"01"
  method forward(%x: f32[64]) {
    %s: f32[64]@sim:0 = et_copy::_h2d_copy(%x)
    %b: f32[64]@sim:0 = berth::delegate([%s]) @d
    %c: f32[64]@sim:0 = berth::delegate([%s]) @d
    %d: f32[64]@sim:0 = berth::delegate([%c, %s]) @d
    %e: f32[64]@sim:0 = berth::delegate([%d]) @d
    %f: f32[64]@sim:0 = berth::delegate([%e, %b]) @d
    %y: f32[64] = et_copy::_d2h_copy(%f)
    return %y
  })",
                                   {"n=768@sim:0", "f=256@sim:0,far"});
  EXPECT_NE(body.find("b.far@f = _d2d_copy(b)\n"), std::string::npos) << body;
  EXPECT_NE(body.find("b.near = _d2d_copy(b.far@f)\n"), std::string::npos) << body;
}

TEST(Spill, WhatNothingHelpsIsSaid) {
  // A node takes 192 bytes at once.
  EXPECT_NE(spilled(kWaits, {"n=191", "f,far"}).find("method forward: step"), std::string::npos)
      << spilled(kWaits, {"n=191", "f,far"});
  // The far bank has no room.
  EXPECT_NE(spilled(kWaits, {"n=192", "f=63,far"}).find("64 are missing"), std::string::npos)
      << spilled(kWaits, {"n=192", "f=63,far"});
  EXPECT_EQ(spilled(kWaits, {"f,far"}), "bank f: all banks of cpu are far; name one that its nodes can read");
}

// The other method's alignment spreads the state that both share: 512 bytes of the bank instead of 32.
TEST(Spill, WhatFitsAloneFitsBesideTheStateOfAllMethods) {
  std::string text = kWaits;
  text.insert(text.find("%b"), "%s: f32[4] = berth::state_read() @s\n    ");
  text = "state @s: f32[4]\nstate @t: f32[4]\n" + text + R"(
  method other() {
    %t: f32[4] = berth::state_read() @t
    return %t
  })";
  for (const char* near : {"n=600", "n=704"}) {
    auto module = ir::parse(text, "test");
    ASSERT_TRUE(module.ok()) << module.error().text();
    std::vector<MemoryOptions> options(2);
    for (MemoryOptions& own : options) {
      own.in_place = false;
      own.banks = {parse_bank(near).value(), parse_bank("f,far").value()};
    }
    options[1].alignments = {256, 256};
    const Status done = spill_to_far_banks(&*module, &options);
    EXPECT_EQ(done.ok(), near == std::string("n=704")) << near;
    EXPECT_EQ(plan_memory(*module, options).ok(), done.ok()) << near;
  }
}

TEST(Spill, APinToAFarBankIsRefused) {
  auto module = ir::parse(kWaits, "test");
  ASSERT_TRUE(module.ok());
  std::vector<MemoryOptions> options(1);
  options[0].banks = {parse_bank("n").value(), parse_bank("f,far").value()};
  options[0].bank_of = [](const ir::Method& method, ir::ValueId value) {
    return method.value(value).name == "b" ? 1 : -1;
  };
  const Status done = spill_to_far_banks(&*module, &options);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(
      done.error().text(),
      "method forward: %b: bank f, to which it is pinned, is far: nodes of cpu cannot read it, and only copies lie "
      "there");
}

}  // namespace
}  // namespace berth::memory

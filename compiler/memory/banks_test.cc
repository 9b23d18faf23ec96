// Banks of a device: what lies where, what is asked of them, and what they may not do.
#include "compiler/memory/banks.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/memory/traffic.h"

namespace berth::memory {
namespace {

ir::Module module_of(const std::string& text) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? std::move(module).value() : ir::Module();
}

/// "sram 64: x y; psram 128: z", of the first method.
std::string banks_text(const ir::Module& module, const MemoryOptions& options) {
  auto plan = plan_memory(module, 0, options);
  if (!plan.ok()) return plan.error().text();
  const MethodPlan& method = plan->plan;
  std::string text;
  for (size_t s = 0; s < method.model.arenas.size(); ++s) {
    const Arena& arena = method.model.arenas[s];
    text += (text.empty() ? "" : "; ") + (arena.bank.empty() ? "own" : arena.bank) +
            (arena.holds_state ? " state " : " ") + std::to_string(method.packing.spaces[s].height) + ":";
    for (const ir::ValueId value : module.methods[0].values.ids()) {
      const ValueHome& home = method.model.aliases.homes[value];
      if (home.home != Home::kBuffer) continue;
      if (method.model.buffers.all[home.buffer].space == static_cast<int32_t>(s)) {
        text += " " + module.methods[0].value(value).name;
      }
    }
  }
  return text;
}

/// In the order of the text.
MemoryOptions with(const std::vector<std::string>& banks) {
  MemoryOptions options;
  options.reorder = false;
  for (const std::string& text : banks) {
    auto bank = parse_bank(text);
    EXPECT_TRUE(bank.ok()) << bank.error().text();
    if (bank.ok()) options.banks.push_back(*bank);
  }
  return options;
}

// %a is read by four nodes, %b by one; while %c is made, all three are alive.
constexpr char kThree[] = R"(
  method forward(%x: f32[16]) {
    %a: f32[16] = aten::exp(%x)
    %b: f32[16] = aten::sin(%a)
    %c: f32[16] = aten::cos(%a)
    %d: f32[16] = aten::mul.Tensor(%a, %c)
    %e: f32[16] = aten::mul.Tensor(%a, %d)
    %f: f32[16] = aten::mul.Tensor(%e, %b)
    return %f
  })";

TEST(Banks, AllLiesInTheFirstWhileItFits) {
  EXPECT_EQ(banks_text(module_of(kThree), with({})), "own 192: x a b c d e f");
  EXPECT_EQ(banks_text(module_of(kThree), with({"sram=192", "psram=1M,slow"})), "sram 192: x a b c d e f; psram 0:");
}

TEST(Banks, WhatMovesLeastGoesToTheNext) {
  EXPECT_EQ(banks_text(module_of(kThree), with({"sram=128", "psram=1M,slow"})), "sram 128: x a c d e f; psram 64: b");
}

TEST(Banks, SlowOnesComeLastWhereverTheyStand) {
  EXPECT_EQ(banks_text(module_of(kThree), with({"psram=1M,slow", "sram=128"})), "psram 64: b; sram 128: x a c d e f");
}

TEST(Banks, WhatIsMissingIsNamed) {
  EXPECT_EQ(
      banks_text(module_of(kThree), with({"sram=64", "more=100"})),
      "method forward: step 4: at least 192 bytes are needed and the banks hold 164: 28 are missing; alive there: "
      "%a (64), %b (64), %c (64), %d (64)");
}

TEST(Banks, TheNaivePlannerReusesNothingThereEither) {
  MemoryOptions options = with({"sram=128", "rest"});
  options.planner = packing::Planner::kNaive;
  EXPECT_EQ(banks_text(module_of(kThree), options), "sram 128: x a; rest 320: b c d e f");
}

TEST(Banks, AThousandOfThemAreQuickToFill) {
  std::vector<std::string> banks;
  for (int i = 0; i < 1000; ++i) banks.push_back("b" + std::to_string(i) + "=64");
  EXPECT_EQ(banks_text(module_of(kThree), with(banks)).substr(0, 6), "b0 64:");
  for (std::string& bank : banks) bank.pop_back();
  EXPECT_EQ(banks_text(module_of(kThree), with(banks)),
            "method forward: %x: has 64 bytes, 58 more than the largest bank");
}

TEST(Banks, StateHasAddressesOfItsOwnInTheFirstBankThatHoldsIt) {
  const ir::Module module = module_of(R"(
    state @s: f32[32]
    method forward(%x: f32[16]) {
      %old: f32[32] = berth::state_read() @s
      %both: f32[32] = aten::cat([%x, %x], 0)
      %new: f32[32] = aten::add.Tensor(%old, %both, 1)
      berth::state_write(%new) @s
      %y: f32[16] = aten::exp(%x)
      return %y
    })");
  EXPECT_EQ(banks_text(module, with({"sram=100", "psram=1K"})).substr(0, 20), "sram 64: x y; psram ");
  EXPECT_NE(banks_text(module, with({"sram=100", "psram=1K"})).find("psram state 128: old"), std::string::npos)
      << banks_text(module, with({"sram=100", "psram=1K"}));
  EXPECT_EQ(banks_text(module, with({"sram=100"})),
            "method forward: state: takes 128 bytes, more than any bank of cpu has");
}

TEST(Banks, EveryMethodHasAllOfThem) {
  const ir::Module module = module_of(R"(
    method a(%x: f32[16]) {
      %y: f32[16] = aten::exp(%x)
      return %y
    }
    method b(%x: f32[16]@sim:0) {
      %y: f32[16]@sim:0 = aten::exp(%x)
      return %y
    })");
  auto plans = plan_memory(module, with({"one", "two@sim:0", "three"}));
  ASSERT_TRUE(plans.ok()) << plans.error().text();
  for (const MemoryPlan& plan : *plans) {
    ASSERT_EQ(plan.plan.model.arenas.size(), 3u);
    EXPECT_EQ(plan.plan.model.arenas[0].bank, "one");
    EXPECT_EQ(plan.plan.model.arenas[1].bank, "three");
    EXPECT_EQ(plan.plan.model.arenas[2].bank, "two");
  }
}

TEST(Banks, WhatCannotBeIsRefused) {
  const auto error = [](MemoryOptions options, int32_t a = -1, int32_t b = -1) {
    options.bank_of = [a, b](const ir::Method& method, ir::ValueId value) {
      return method.value(value).name == "a" ? a : method.value(value).name == "b" ? b : -1;
    };
    return banks_text(module_of(kThree), options);
  };
  EXPECT_EQ(error(with({"a=1K", "a"})), "bank a: two banks have this name");
  EXPECT_EQ(error(with({"a=1K", "b@sim:0"})), "bank b: no value lies on sim:0");
  EXPECT_EQ(error(with({"a=1K"}), 1), "method forward: %a: bank 1 does not exist; there is 1");
  EXPECT_EQ(error(with({"tiny=32", "rest"}), 0), "method forward: %a: has 64 bytes, 32 more than its bank");
}

TEST(Banks, TextIsParsedStrictly) {
  const auto bank = parse_bank("psram=8M@sim:1,slow");
  ASSERT_TRUE(bank.ok()) << bank.error().text();
  EXPECT_EQ(bank->name, "psram");
  EXPECT_EQ(bank->capacity, 8 << 20);
  EXPECT_EQ(bank->device, Device(DeviceType::kSim, 1));
  EXPECT_TRUE(bank->slow);
  const auto all = parse_bank("dram");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->capacity, packing::kUnlimited);
  EXPECT_EQ(all->device, Device());
  for (const char* bad :
       {"", "=4", "a=", "a=0", "a=-1", "a=1.5K", "a=4T", "a=4KK", "a=K", "a= 4", "a=4@", "a=4@tpu", "a=4,",
        "a=4,slow,slow", "a=4,fast", "a b", "a=99999999999999999999", "a=9999999999G", "a/b=4"}) {
    EXPECT_FALSE(parse_bank(bad).ok()) << bad;
  }
  for (const char* bad : {"", "=", "a=", "=a", "a"}) EXPECT_FALSE(parse_bank_pin(bad).ok()) << bad;
}

TEST(Banks, WhatIsWrittenAndReadIsTraffic) {
  const ir::Module module = module_of(R"(
    method forward(%x: f32[8,4], %w: f32[4]) {
      %z: f32[8,4] = aten::exp(%x)
      return %z
    })");
  auto plan = plan_memory(module, 0, {});
  ASSERT_TRUE(plan.ok());
  const auto traffic = find_traffic(module, module.methods[0], plan->plan.model);
  // %x: set and read; %z: written and read.
  const auto of = [&](int32_t value) { return traffic[plan->plan.model.aliases.homes[ir::ValueId{value}].buffer]; };
  EXPECT_EQ(of(0), 256);
  EXPECT_EQ(of(2), 256);
}

}  // namespace
}  // namespace berth::memory

// Banks of a device: what lies where, what is asked of them, and what they may not do.
#include "compiler/memory/banks.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/memory/traffic.h"

namespace berth::memory {
namespace {

ir::Module parsed(const std::string& text) {
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
MemoryOptions with_banks(const std::vector<std::string>& banks) {
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
  EXPECT_EQ(banks_text(parsed(kThree), with_banks({})), "own 192: x a b c d e f");
  EXPECT_EQ(banks_text(parsed(kThree), with_banks({"sram=192", "psram=1M,slow"})), "sram 192: x a b c d e f; psram 0:");
}

TEST(Banks, WhatMovesLeastGoesToTheNext) {
  EXPECT_EQ(banks_text(parsed(kThree), with_banks({"sram=128", "psram=1M,slow"})),
            "sram 128: x a c d e f; psram 64: b");
}

TEST(Banks, SlowOnesComeLastWhereverTheyStand) {
  EXPECT_EQ(banks_text(parsed(kThree), with_banks({"psram=1M,slow", "sram=128"})),
            "psram 64: b; sram 128: x a c d e f");
}

TEST(Banks, WhatIsMissingIsNamed) {
  EXPECT_EQ(
      banks_text(parsed(kThree), with_banks({"sram=64", "more=100"})),
      "method forward: step 4: at least 192 bytes are needed and the banks hold 164: 28 are missing; alive there: "
      "%a (64), %b (64), %c (64), %d (64)");
}

TEST(Banks, TheNaivePlannerReusesNothingThereEither) {
  MemoryOptions options = with_banks({"sram=128", "rest"});
  options.planner = packing::Planner::kNaive;
  EXPECT_EQ(banks_text(parsed(kThree), options), "sram 128: x a; rest 320: b c d e f");
}

TEST(Banks, AsManyAsAProgramHasAreQuickToFillAndMoreAreRefused) {
  std::vector<std::string> banks;
  for (int i = 0; i < 1000; ++i) banks.push_back("b" + std::to_string(i) + "=64");
  EXPECT_EQ(banks_text(parsed(kThree), with_banks(banks)),
            "method forward: banks: they make 1000 arenas, state's and other devices' among them, and a program has at "
            "most 255");
  banks.resize(255);
  EXPECT_EQ(banks_text(parsed(kThree), with_banks(banks)).substr(0, 6), "b0 64:");
  for (std::string& bank : banks) bank.pop_back();
  EXPECT_EQ(banks_text(parsed(kThree), with_banks(banks)),
            "method forward: %x: has 64 bytes, 58 more than the largest bank");
}

TEST(Banks, StateHasAddressesOfItsOwnInTheFirstBankThatHoldsIt) {
  const ir::Module module = parsed(R"(
    state @s: f32[32]
    method forward(%x: f32[16]) {
      %old: f32[32] = berth::state_read() @s
      %both: f32[32] = aten::cat([%x, %x], 0)
      %new: f32[32] = aten::add.Tensor(%old, %both, 1)
      berth::state_write(%new) @s
      %y: f32[16] = aten::exp(%x)
      return %y
    })");
  EXPECT_EQ(banks_text(module, with_banks({"sram=100", "psram=1K"})).substr(0, 20), "sram 64: x y; psram ");
  EXPECT_NE(banks_text(module, with_banks({"sram=100", "psram=1K"})).find("psram state 128: old"), std::string::npos)
      << banks_text(module, with_banks({"sram=100", "psram=1K"}));
  EXPECT_EQ(banks_text(module, with_banks({"sram=100"})),
            "method forward: state: takes 128 bytes, more than any bank of cpu has");
}

TEST(Banks, EveryMethodHasAllOfThem) {
  const ir::Module module = parsed(R"(
    method a(%x: f32[16]) {
      %y: f32[16] = aten::exp(%x)
      return %y
    }
    method b(%x: f32[16]@sim:0) {
      %y: f32[16]@sim:0 = aten::exp(%x)
      return %y
    })");
  auto plans = plan_memory(module, with_banks({"one", "two@sim:0", "three"}));
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
    return banks_text(parsed(kThree), options);
  };
  EXPECT_EQ(error(with_banks({"a=1K", "a"})), "bank a: two banks have this name");
  EXPECT_EQ(error(with_banks({"a=1K", "b@sim:0"})), "bank b: no value lies on sim:0");
  EXPECT_EQ(error(with_banks({"a=1K"}), 1), "method forward: %a: bank 1 does not exist; there is 1");
  EXPECT_EQ(error(with_banks({"tiny=32", "rest"}), 0), "method forward: %a: has 64 bytes, 32 more than its bank");
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
  EXPECT_TRUE(parse_bank("dram,far").value().far);
  for (const char* bad : {"",
                          "=4",
                          "a=",
                          "a=0",
                          "a=-1",
                          "a=1.5K",
                          "a=4T",
                          "a=4KK",
                          "a=K",
                          "a= 4",
                          "a=4@",
                          "a=4@tpu",
                          "a=4,",
                          "a=4,slow,slow",
                          "a=4,fast",
                          "a=4,far,slow",
                          "a,",
                          "a b",
                          "a=99999999999999999999",
                          "a=9999999999G",
                          "a/b=4"}) {
    EXPECT_FALSE(parse_bank(bad).ok()) << bad;
  }
  for (const char* bad : {"", "=", "a=", "=a", "a"}) EXPECT_FALSE(parse_bank_pin(bad).ok()) << bad;
}

TEST(Banks, WhatIsWrittenAndReadIsTraffic) {
  const ir::Module module = parsed(R"(
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

// %x and the delegate's two values, 256 bytes each, and its scratch of 128.
std::string calls(const std::string& specs) {
  return R"(
    delegate @d "Chip" {target_device = "sim:0", berth.scratch = "128")" +
         specs + R"(} = hex"01"
    method forward(%x: f32[64]@sim:0) {
      %a: f32[64]@sim:0 = aten::exp(%x)
      %b: f32[64]@sim:0, %c: f32[64]@sim:0 = berth::delegate([%a]) @d
      %y: f32[64]@sim:0 = aten::mul.Tensor(%b, %c)
      %z: f32[64]@sim:0 = aten::exp(%y)
      return %z
    })";
}

MemoryOptions chip_banks() {
  MemoryOptions options = with_banks({"tcm=1K@sim:0", "dram@sim:0"});
  options.in_place = false;
  return options;
}

TEST(Banks, WhatADelegateMustHaveThereLiesThere) {
  const auto banks = [](const std::string& specs) { return banks_text(parsed(calls(specs)), chip_banks()); };
  EXPECT_EQ(banks(""), "tcm 896: a b c y; dram 0:");
  EXPECT_EQ(banks(R"(, berth.input_bank = "dram")"), "tcm 768: b c y; dram 256: a");
  EXPECT_EQ(banks(R"(, berth.output_bank.1 = "dram")"), "tcm 640: a b y; dram 256: c");
  EXPECT_EQ(banks(R"(, berth.output_bank.1 = "tcm", berth.output_bank = "dram")"), "tcm 640: a c y; dram 256: b");
  EXPECT_EQ(banks(R"(, berth.scratch_bank = "dram")"), "tcm 768: a b c y; dram 128:");
}

TEST(Banks, WhatADelegateShouldHaveThereLiesThereIfAllFits) {
  const auto banks = [](const std::string& specs, const char* dram) {
    MemoryOptions options = chip_banks();
    options.banks[1].capacity = std::strtoll(dram, nullptr, 10);
    return banks_text(parsed(calls(specs)), options);
  };
  EXPECT_EQ(banks(R"(, berth.scratch_bank = "dram?")", "128"), "tcm 768: a b c y; dram 128:");
  EXPECT_EQ(banks(R"(, berth.scratch_bank = "dram?")", "64").substr(0, 8), "tcm 896:");
  EXPECT_EQ(banks(R"(, berth.scratch_bank = "dram")", "64"),
            "method forward: scratch or a copy: has 128 bytes, 64 more than its bank");
}

TEST(Banks, WordsThatCannotBeKeptAreRefused) {
  const auto error = [](const std::string& specs, int32_t pin_of_a) {
    MemoryOptions options = chip_banks();
    options.bank_of = [pin_of_a](const ir::Method& method, ir::ValueId value) {
      return method.value(value).name == "a" ? pin_of_a : -1;
    };
    return banks_text(parsed(calls(specs)), options);
  };
  EXPECT_EQ(
      error(R"(, berth.input_bank = "sram")", -1),
      "method forward: delegate @d: an input must lie in bank \"sram\", and sim:0 has no bank of this name; name it "
      "with --bank");
  EXPECT_EQ(error(R"(, berth.input_bank = "sram?")", -1), "tcm 896: a b c y; dram 0:");
  EXPECT_EQ(error(R"(, berth.input_bank = "tcm")", 1),
            "method forward: %a: delegate @d must have it in bank tcm, and it is pinned to bank dram");
  // A pin goes before a wish.
  EXPECT_EQ(error(R"(, berth.input_bank = "tcm?")", 1), "tcm 768: b c y; dram 256: a");
  // Of a device without banks nothing counts.
  EXPECT_EQ(banks_text(parsed(calls(R"(, berth.input_bank = "sram")")), with_banks({})).substr(0, 3), "own");
}

TEST(Banks, StateLiesWhereADelegateMustHaveIt) {
  const auto banks = [](const std::string& spec) {
    return banks_text(parsed(R"(
    delegate @d "Chip" {target_device = "sim:0")" +
                             spec + R"(} = hex"01"
    state @s: f32[64]@sim:0
    method forward(%x: f32[64]@sim:0) {
      %old: f32[64]@sim:0 = berth::state_read() @s
      %new: f32[64]@sim:0 = berth::delegate([%old, %x]) @d
      berth::state_write(%new) @s
      %y: f32[64]@sim:0 = aten::exp(%new)
      return %y
    })"),
                      with_banks({"tcm=256@sim:0", "dram@sim:0"}));
  };
  EXPECT_NE(banks("").find("tcm state 256: old"), std::string::npos) << banks("");
  const std::string must = banks(R"(, berth.state_bank = "dram")");
  EXPECT_NE(must.find("dram state 256: old"), std::string::npos) << must;
  const std::string wish = banks(R"(, berth.state_bank = "dram?")");
  EXPECT_NE(wish.find("dram state 256: old"), std::string::npos) << wish;
}

TEST(Banks, ATimeLimitIsKeptAndSaid) {
  // Values of many sizes and lives: which of them go to the slow bank is not clear at once.
  std::string text = "method forward(%x: f32[64]) {\n";
  std::string sum = "%x";
  for (int i = 1; i <= 12; ++i) {
    const std::string n = std::to_string(i);
    text += "%v" + n + ": f32[" + std::to_string(7 * i % 13 + 1) + ",64] = aten::expand_copy(%x, [" +
            std::to_string(7 * i % 13 + 1) + ", 64])\n";
  }
  for (int i = 1; i <= 12; ++i) {
    const std::string n = std::to_string(i * 5 % 13);
    text += "%s" + n + ": f32[64] = aten::sum.dim_IntList(%v" + n + ", [0])\n";
    text += "%t" + n + ": f32[64] = aten::add.Tensor(" + sum + ", %s" + n + ", 1)\n";
    sum = "%t" + n;
  }
  text += "return " + sum + "\n}";
  MemoryOptions options = with_banks({"sram=4K", "dram=4K", "psram=1M,slow"});
  auto whole = plan_memory(parsed(text), 0, options);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_FALSE(whole->cost().truncated);
  options.time_limit = 1e-9;
  auto cut = plan_memory(parsed(text), 0, options);
  ASSERT_TRUE(cut.ok()) << cut.error().text();
  EXPECT_TRUE(cut->cost().truncated);
  EXPECT_GE(cut->plan.bank_costs[0].cost, whole->plan.bank_costs[0].cost);
}

}  // namespace
}  // namespace berth::memory

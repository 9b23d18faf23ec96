// Operators of one's own from the IR to the numbers, beside each of Berth's own passes and targets.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/ir/own_operators.h"
#include "compiler/ir/parse.h"
#include "tests/plugin/own_operators.h"

namespace berth::own_operators_testing {
namespace {

TEST(OwnOperators, SizesThatAreKnownAtRunTimeFollowTheShapeRule) {
  const Bytes program = compiled(parsed(R"(
    symbol n in [1, 8]
    method forward(%x: f32[n,6]) {
      %a: f32[n,6] = my::gain(%x)
      %b: f32[(n + 1),9] = my::grow(%a, 3)
      %c: f32[(n + 1),9] = my::gain(%b, 10)
      return %c
    })"));
  for (const int32_t n : {1, 3, 8}) {
    Floats x(static_cast<size_t>(n) * 6);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    Floats expected;
    for (int32_t i = 0; i <= n; ++i) {
      for (int32_t k = 0; k < 9; ++k) expected.push_back(i < n ? 20 * static_cast<float>(6 * i + k % 6) : 0);
    }
    expect_close(run(program, {{{n, 6}, x}}), expected);
  }
  has(failure_of("symbol n in [1, 8]\nmethod forward(%x: f32[n,6]) {\n%b: f32[n,9] = my::grow(%x, 3)\nreturn %b\n}"),
      "expected the result %b: f32[(n + 1),9], found f32[n,9]");
}

TEST(OwnOperators, ResultsAreAsLongAsTheirContentsSay) {
  const Bytes program = compiled(parsed(R"(
    symbol n in [1, 8]
    symbol p in [0, 8]
    symbol q in [0, 8]
    method forward(%x: f32[n]) {
      %a: f32[p] = my::filter(%x, 2.0)
      %b: f32[p] = my::gain(%a, 10)
      %c: f32[q] = my::filter(%x, 3.0)
      return %b, %c
    })"));
  for (const Floats& x : {Floats{1, 2, 3, 4}, Floats{0}, Floats{9, 9, 9, 9, 9, 9, 9, 9}, Floats{2, 1}}) {
    Floats tens;
    Floats threes;
    for (const float element : x) {
      if (element >= 2) tens.push_back(10 * element);
      if (element >= 3) threes.push_back(element);
    }
    const Outcome out = run(program, {{{static_cast<int32_t>(x.size())}, x}});
    ASSERT_EQ(out.error, Error::kOk) << out.said;
    EXPECT_EQ(out.results[0], tens);
    EXPECT_EQ(out.results[1], threes);
  }
}

TEST(OwnOperators, LoopsCallItInEachTurn) {
  const Bytes program = compiled(parsed(R"(
    method forward(%x: f32[4], %rows: f32[5,4]) {
      %y: f32[4], %all: f32[5,4] = berth::scan(5, [%x], [%rows]) {
        (%state: f32[4], %row: f32[4])
        %g: f32[4] = my::gain(%state, 0.5)
        %next: f32[4] = aten::add.Tensor(%g, %row)
        %out: f32[4] = my::gain(%next, -1)
        yield %next, %out
      }
      return %y, %all
    })"));
  Floats state = {1, 2, 3, 4};
  Floats rows(20);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const Outcome out = run(program, {{{4}, state}, {{5, 4}, rows}});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  Floats all;
  for (size_t t = 0; t < 5; ++t) {
    for (size_t k = 0; k < 4; ++k) {
      state[k] = 0.5f * state[k] + rows[4 * t + k];
      all.push_back(-state[k]);
    }
  }
  EXPECT_EQ(out.results, std::vector<Floats>({state, all}));
}

TEST(OwnOperators, CallsWithEffectsAreNotDroppedMergedOrMoved) {
  const Bytes program = compiled(parsed(R"(
    method forward(%x: f32[2], %y: f32[2]) {
      %a: f32[2] = my::count(%x)
      %b: f32[2] = my::count(%y)
      %c: f32[2] = my::count(%x)
      %d: f32[2] = aten::neg(%y)
      return %d
    })"));
  Count::seen.clear();
  const Outcome out = run(program, {{{2}, {1, 1}}, {{2}, {2, 2}}});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  EXPECT_EQ(Count::seen, Floats({1, 2, 1, 1, 2, 1}));
}

// An order that needs less memory would begin with the first of the large tensors.
TEST(OwnOperators, CallsWithEffectsKeepTheirOrderWhereAnotherNeedsLessMemory) {
  const char* const text = R"(
    method forward(%x: f32[2], %y: f32[2]) {
      %large: f32[512] = aten::repeat(%x, [256])
      %other: f32[512] = aten::repeat(%y, [256])
      %a: f32[512] = my::OP(%other)
      %b: f32[512] = my::OP(%large)
      %c: f32[] = aten::sum.dim_IntList(%a, [0])
      %d: f32[] = aten::sum.dim_IntList(%b, [0])
      return %c, %d
    })";
  const auto with = [&](const char* op) {
    std::string made = text;
    for (size_t at = made.find("OP"); at != std::string::npos; at = made.find("OP")) made.replace(at, 2, op);
    return made;
  };
  CompileReport report;
  const Bytes program = compiled(parsed(with("count")), options_for(), &report);
  EXPECT_GT(report.saved_by_order, 0);
  Count::seen.clear();
  const Outcome out = run(program, {{{2}, {1, 1}}, {{2}, {2, 2}}});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  EXPECT_EQ(Count::seen, Floats({2, 1, 2, 1}));
}

// What is pure is: two equal calls are one, and an unread one is none.
TEST(OwnOperators, PureCallsAreMergedAndDropped) {
  CompileReport report;
  compiled(parsed(R"(
    method forward(%x: f32[2]) {
      %a: f32[2] = my::gain(%x, 3)
      %b: f32[2] = my::gain(%x, 3)
      %c: f32[2] = my::plain(%x, 3)
      %d: f32[2] = my::plain(%x, 4)
      %e: f32[2] = aten::add.Tensor(%a, %b)
      %f: f32[2] = aten::add.Tensor(%e, %c)
      return %f
    })"),
           options_for(), &report);
  EXPECT_EQ(report.instructions, 4);
}

// Its kernel is the runtime's: nothing of it is computed while compiling.
TEST(OwnOperators, ConstantsAreNotFoldedThroughIt) {
  CompileReport report;
  const Bytes program = compiled(parsed(R"(
    const @c: f32[2] = dense<[1, 2]>
    method forward(%x: f32[2]) {
      %c: f32[2] = const @c
      %a: f32[2] = my::gain(%c)
      %b: f32[2] = aten::add.Tensor(%a, %x)
      return %b
    })"),
                                 options_for(), &report);
  EXPECT_EQ(report.instructions, 2);
  EXPECT_EQ(run(program, {{{2}, {10, 20}}}).results.at(0), Floats({12, 24}));
}

TEST(OwnOperators, ATargetOfAPluginIsAskedAndMayTakeIt) {
  CompileReport report;
  const Bytes program = compiled(parsed(twice("gain")), options_for("gainer"), &report);
  EXPECT_EQ(report.delegates.size(), 2u);
  const Floats x = ramp(64);
  expect_close(run(program, {{{64}, x}}, KernelTable()), expected_twice(x));
}

TEST(OwnOperators, BerthsOwnTargetsLeaveItToTheProgram) {
  CompileOptions options = options_for("sim:0");
  options.why = {"partition"};
  CompileReport report;
  const Bytes program = compiled(parsed(twice("gain")), options, &report);
  std::string why;
  for (const std::string& line : report.why) why += line + "\n";
  has(why, "operator");
  EXPECT_EQ(own_operators_of(program).substr(0, 8), "my::gain");
}

// Without a plug-in: functions for the compiler, a table of kernels for the runtime, which may take temporary memory
// and data of its own.
TEST(OwnOperators, AnApplicationNeedsNoPlugin) {
  ir::OperatorSet set;
  const auto like = [](const ir::OwnCall& call) { return Expected<std::vector<ir::TensorType>>({call.tensor(0)}); };
  ASSERT_TRUE(set.add({"app::reverse", "Tensor self, int[] by -> Tensor out", like}).ok());
  const auto module = ir::parse("method forward(%x: f32[4]) {\n%y: f32[4] = app::reverse(%x, [1, 10])\nreturn %y\n}",
                                "test", "", std::make_shared<const ir::OperatorSet>(std::move(set)));
  ASSERT_TRUE(module.ok()) << module.error().text();
  const float offset = 0.5f;
  KernelEntry entry;
  entry.name = "app::reverse.out";
  entry.signature = "Tensor self, int[] by -> Tensor out";
  entry.data = &offset;
  entry.temp_bytes = [](Span<EValue* const> args, int) { return args[0]->tensor().nbytes() + 64; };
  entry.call = [](KernelContext& context, Span<EValue* const> args) {
    const Tensor& self = args[0]->tensor();
    auto* copy = static_cast<float*>(context.allocate_temp(self.nbytes()));
    if (copy == nullptr) return Error::kMemoryAllocationFailed;
    std::memcpy(copy, self.raw(), self.nbytes());
    const float by = static_cast<float>(args[1]->items()[1]->to_int());
    for (int64_t i = 0; i < self.numel(); ++i) {
      args[2]->tensor().data<float>()[i] = by * copy[self.numel() - 1 - i] + *static_cast<const float*>(context.data());
    }
    return Error::kOk;
  };
  const Outcome out = run(compiled(*module), {{{4}, {1, 2, 3, 4}}}, {&entry, 1});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  EXPECT_EQ(out.results.at(0), Floats({40.5f, 30.5f, 20.5f, 10.5f}));
}

// A graph of 30 nodes over [n, 4], some of them views, with two results of one call now and then.
std::string random_graph(std::mt19937& random) {
  std::string text = "symbol n in [1, 6]\nmethod forward(%v0: f32[n,4], %v1: f32[n,4]) {\n";
  int count = 2;
  const auto any = [&] { return "%v" + std::to_string(std::max(0, count - 1 - static_cast<int>(random() % 5))); };
  const auto add = [&](const std::string& node) {
    text += "%v" + std::to_string(count++) + ": f32[n,4] = " + node + "\n";
  };
  for (int i = 0; i < 30; ++i) {
    const std::string k = std::to_string(static_cast<int>(random() % 5) - 2);
    switch (random() % 7) {
      case 0: add("my::gain(" + any() + ", " + k + ")"); break;
      case 1: add("my::plain(" + any() + ", " + k + ")"); break;
      case 2: add("my::gain.Twice(" + any() + ", 0.5)"); break;
      case 3: add("aten::relu(" + any() + ")"); break;
      case 4: add("aten::add.Tensor(" + any() + ", " + any() + ")"); break;
      case 5: {
        const std::string flat = "%f" + std::to_string(count);
        text += flat + ": f32[(n * 4)] = aten::view_copy(" + any() + ", [(n * 4)])\n";
        text += flat + "g: f32[(n * 4)] = my::gain(" + flat + ", 3)\n";
        add("aten::view_copy(" + flat + "g, [n, 4])");
        break;
      }
      default: {
        const std::string both = any() + ", " + any();
        text += "%v" + std::to_string(count) + ": f32[n,4], %v" + std::to_string(count + 1) +
                ": f32[n,4] = my::blend(" + any() + ", [" + both + "], [0.5, 0.25], [1, " + k + "])\n";
        count += 2;
      }
    }
  }
  return text + "return %v" + std::to_string(count - 1) + ", %v" + std::to_string(count - 3) + "\n}";
}

TEST(OwnOperators, RandomGraphsGiveTheSameWhereNothingIsShared) {
  std::vector<KernelEntry> willing(own_kernels().begin(), own_kernels().end());
  // my::plain's kernel is the same as my::gain's, so it may work in place when it is asked.
  for (KernelEntry& entry : willing) entry.in_place_arguments |= std::strstr(entry.name, "plain") == nullptr ? 0 : 1;
  int64_t in_place = 0;
  testing::for_each_seed(60, [&](unsigned seed) {
    std::mt19937 random(seed);
    const std::string text = random_graph(random);
    CompileOptions apart = options_for();
    apart.planner = Planner::kNaive;
    apart.alias = false;
    CompileOptions shared = options_for();
    if (random() % 2 == 0) shared.in_place_operators = {"+my::plain=self"};
    if (random() % 2 == 0) shared.planner = Planner::kGreedy;
    CompileReport report;
    const Bytes expected = compiled(parsed(text), apart);
    const Bytes program = compiled(parsed(text), shared, &report);
    in_place += report.in_place;
    const int32_t n = 1 + static_cast<int32_t>(random() % 6);
    Floats x(static_cast<size_t>(n) * 4);
    Floats y = x;
    for (float& one : x) one = static_cast<float>(static_cast<int>(random() % 17)) - 8;
    for (float& one : y) one = static_cast<float>(static_cast<int>(random() % 17)) - 8;
    const KernelTable kernels(willing.data(), willing.size());
    const Outcome a = run(expected, {{{n, 4}, x}, {{n, 4}, y}}, kernels);
    const Outcome b = run(program, {{{n, 4}, x}, {{n, 4}, y}}, kernels);
    ASSERT_EQ(a.error, Error::kOk) << a.said << "\n" << text;
    ASSERT_EQ(b.error, Error::kOk) << b.said << "\n" << text;
    ASSERT_EQ(a.results, b.results) << text;
  });
  EXPECT_GT(in_place, 300);
}

}  // namespace
}  // namespace berth::own_operators_testing

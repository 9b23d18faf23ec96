#include "compiler/placement/by_cost.h"

#include <algorithm>
#include <map>

#include "base/seeds_testing.h"
#include "base/splitmix64.h"
#include "compiler/placement/assign.h"
#include "compiler/placement/operator_work.h"
#include "compiler/placement/placement_testing.h"

namespace berth::placement {
namespace {

/// A second for each call, launch and copy, and 10^9 of everything a second.
DeviceCosts costs_like(const std::string& target) {
  DeviceCosts costs;
  costs.target = target;
  costs.measured = true;
  costs.call_seconds = costs.operator_seconds = 1;
  costs.to_device = costs.from_device = {1, 1e9};
  for (const WorkKind kind : work_kinds()) costs.rates[kind] = {{1, 1e9}};
  return costs;
}

/// What takes almost no time.
DeviceCosts fast(const std::string& target) {
  DeviceCosts costs = costs_like(target);
  costs.call_seconds = costs.operator_seconds = costs.to_device.seconds = costs.from_device.seconds = 1e-3;
  return costs;
}

Options by_cost(const std::string& targets, std::vector<DeviceCosts> costs) {
  Options options = options_of(targets);
  options.by_cost = true;
  options.costs = std::move(costs);
  options.costs.push_back(costs_like("portable"));
  return options;
}

constexpr char kModel[] = R"(
  const @w: f32[64,64] = splat<0.5>
  method forward(%x: f32[64,64]) {
    %w: f32[64,64] = const @w
    %a: f32[64,64] = aten::mm(%x, %w) "MatMul_0"
    %b: f32[64,64] = aten::relu(%a) "Relu_1"
    %c: f32[64,64] = aten::_softmax(%b, 1, false) "Softmax_2"
    %d: f32[64,64] = aten::mm(%c, %w) "MatMul_3"
    return %d
  })";

std::string text(const std::string& module, const Options& options) { return ir::print(placed(module, options)); }

TEST(ByCost, NothingMovesToADeviceThatIsSlow) {
  const Options options = by_cost("sim:0,cpu", {costs_like("sim:0"), fast("cpu")});
  EXPECT_EQ(text(kModel, options), text(kModel, options_of("cpu")));
}

TEST(ByCost, EverythingMovesToADeviceThatIsFast) {
  for (const char* targets : {"sim:0,cpu", "cpu,sim:0"}) {
    const Options options = by_cost(targets, {costs_like("cpu"), fast("sim:0")});
    EXPECT_EQ(text(kModel, options), text(kModel, options_of("sim:0"))) << targets;
  }
}

TEST(ByCost, TheFirstOfEqualDevicesIsTaken) {
  const Options options = by_cost("sim:1,sim:0", {fast("sim:0"), fast("sim:1")});
  EXPECT_EQ(text(kModel, options), text(kModel, options_of("sim:1")));
}

// A device that is good at nothing but products, for a model with a softmax between two of them.
Options good_at_products(double copy) {
  DeviceCosts sim = fast("sim:0");
  sim.to_device.seconds = sim.from_device.seconds = copy;
  sim.rates[WorkKind::kReduction] = {{1, 10}};
  DeviceCosts cpu = fast("cpu");
  cpu.rates[WorkKind::kProduct] = {{1, 1e5}};
  return by_cost("sim:0,cpu", {sim, cpu});
}

TEST(ByCost, OnePartMovesAloneWhereTheOthersAreSlow) {
  const ir::Module module = placed(kModel, good_at_products(0.01));
  EXPECT_EQ(count(module), (Counts{2, 2, 0, 3}));
  EXPECT_EQ(device_of(module, "c"), Device());
  EXPECT_EQ(steps(module),
            (std::vector<std::string>{"et_copy::_h2d_copy(x) -> x.sim0", "berth::delegate(x.sim0) -> b",
                                      "et_copy::_d2h_copy(b) -> b.cpu", "berth::delegate(b.cpu) -> c",
                                      "et_copy::_h2d_copy(c) -> c.sim0", "berth::delegate(c.sim0) -> d.sim0",
                                      "et_copy::_d2h_copy(d.sim0) -> d"}));
}

TEST(ByCost, CopiesThatTakeMoreThanThePartGainsKeepIt) {
  EXPECT_EQ(text(kModel, good_at_products(100)), text(kModel, options_of("cpu")));
}

TEST(ByCost, ADivisionThatGainsLittleIsNotTaken) {
  // On cpu the two products take 10.5 ms, which the device would save.
  const auto delegates = [](double softmax_seconds) {
    Options options = good_at_products(0);
    for (DeviceCosts& costs : options.costs) costs.operator_seconds = costs.call_seconds = 0;
    options.costs[1].rates[WorkKind::kProduct] = {{1, 1e8}};
    options.costs[1].rates[WorkKind::kReduction] = {{1, 2 * 64 * 64 * 4 / softmax_seconds}};
    return count(placed(kModel, options)).delegates;
  };
  EXPECT_EQ(delegates(0.05), 3);
  EXPECT_EQ(delegates(0.15), 1);
}

TEST(ByCost, WhatTheUserPlacesStaysThere) {
  Options options = by_cost("sim:0,cpu", {costs_like("sim:0"), fast("cpu")});
  options.rules = {*parse_rule("Softmax_2=sim:0")};
  const ir::Module module = placed(kModel, options);
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 3}));
}

TEST(ByCost, WhatNoTargetTakesStaysInTheProgram) {
  const ir::Module module = placed(R"(
    method forward(%x: f32[64,64]) {
      %a: f32[64,64] = aten::relu(%x)
      %b: f32[64,64] = aten::rand([64, 64]) "Rand"
      %c: f32[64,64] = aten::mul.Tensor(%a, %b)
      return %c
    })",
                                   by_cost("sim:0,cpu", {costs_like("cpu"), fast("sim:0")}));
  EXPECT_EQ(count(module).delegates, 1);
}

TEST(ByCost, AStateLivesWhereItIsRead) {
  const char* const model = R"(
    state @s: f32[64,64]
    method forward(%x: f32[64,64]) {
      %s: f32[64,64] = berth::state_read() @s
      %a: f32[64,64] = aten::mm(%s, %x)
      berth::state_write(%a) @s
      return %a
    })";
  // A copy takes 2.5 s: with the state on the device there are two in a run, and with the state on the host three,
  // which take more than the operator there.
  DeviceCosts cpu = costs_like("cpu");
  cpu.operator_seconds = 6;
  cpu.call_seconds = 0;
  DeviceCosts sim = fast("sim:0");
  sim.to_device.seconds = sim.from_device.seconds = 2.5;
  const ir::Module module = placed(model, by_cost("sim:0,cpu", {sim, cpu}));
  EXPECT_EQ(module.states[{0}].type.device, berth::placement::sim(0));
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 1}));
}

TEST(ByCost, CopiesInALoopCountOnceATurn) {
  const char* const model = R"(
    method forward(%x: f32[50,64], %h: f32[64]) {
      %r: f32[64], %ys: f32[50,64] = berth::scan(50, [%h], [%x]) { (%c: f32[64], %s: f32[64])
        %a: f32[64] = aten::add.Tensor(%c, %s, 1)
        yield %a, %a
      }
      %y: f32[50,64] = aten::mul.Tensor(%ys, %ys)
      return %r, %y
    })";
  // A turn gains 2 s on the device and would take two copies of 1.5; behind the loop one operator gains 4.
  DeviceCosts cpu = fast("cpu");
  cpu.operator_seconds = 2;
  DeviceCosts sim = fast("sim:0");
  sim.to_device.seconds = sim.from_device.seconds = 1.5;
  const CostEstimate estimate = [&] {
    const ir::Module module = parsed(model);
    const Options options = by_cost("sim:0,cpu", {sim, cpu});
    return assign(module, options)->estimate;
  }();
  ASSERT_EQ(estimate.alone.size(), 2u);
  EXPECT_GT(estimate.alone[0].second, 50 * 3 * 1.5);
  EXPECT_NEAR(estimate.alone[1].second, 51 * 2, 1);
  EXPECT_LE(estimate.seconds, estimate.alone[1].second);
}

TEST(ByCost, MethodsThatAreNotPlacedByCostStayAsTheyAre) {
  const std::string second = std::string(kModel).replace(std::string(kModel).find("forward"), 7, "other");
  const std::string both = kModel + second.substr(second.find("method"));
  Options options = by_cost("sim:0,cpu", {costs_like("sim:0"), fast("cpu")});
  options.methods["other"] = {options.targets, false, false, true};
  const ir::Module module = placed(both, options);
  EXPECT_EQ(count(module.methods[0]), (Counts{0, 0, 0, 1}));
  EXPECT_EQ(count(module.methods[1]), (Counts{1, 1, 0, 1}));
}

TEST(ByCost, WhySaysTheEstimatesOfEachPart) {
  std::vector<std::string> why;
  placed(kModel, good_at_products(0.01), &why);
  why.erase(
      std::remove_if(why.begin(), why.end(), [](const std::string& line) { return line.rfind("partition", 0) != 0; }),
      why.end());
  const auto expect_line = [&](const std::string& line) {
    EXPECT_EQ(std::count(why.begin(), why.end(), line), 1) << line;
  };
  expect_line(
      "partition: by cost: a run takes 47.15 ms; on sim:0 alone 3276.83 s (measured); on cpu alone 10.49 s (measured)");
  expect_line("partition: \"MatMul_0\" aten::mm (%a): @d0 on sim:0: sim:0 1.52 ms, cpu 5.24 s");
  expect_line("partition: @d0 on sim:0: 2 nodes, 1.52 ms, 11.02 ms to get there, 11.02 ms to leave; on cpu 5.24 s");
  expect_line("partition: @d1 on cpu: 1 node, 1.03 ms, 11.02 ms to get there, 11.02 ms to leave; on sim:0 3276.80 s");
  why.clear();
  placed(kModel, options_of("cpu"), &why);
  for (const std::string& line : why) EXPECT_EQ(line.find(" us"), std::string::npos) << line;
}

// The plain sum of what is said at the head of by_cost.h, for targets that do not fuse.
class PlainSum {
 public:
  PlainSum(const ir::Module& module, const Options& options)
      : module_(module), method_(module.methods[0]), options_(options) {}

  double of(const IdVector<NodeId, int32_t>& target) const {
    std::map<ValueId, std::vector<bool>> read;  // by target, the host behind them
    const size_t count = options_.targets.size();
    const auto read_at = [&](ValueId value, size_t place) {
      read.try_emplace(value, count + 1).first->second[place] = true;
    };
    double sum = 0;
    for (const NodeId id : method_.body.nodes) {
      const Node& node = method_.node(id);
      sum += seconds_of(work_at(module_, method_, node), options_.costs[target[id]]);
      ir::for_each_mention(method_, node, [&](const ValueId& value) { read_at(value, target[id]); });
    }
    for (const Argument& output : method_.body.outputs) read_at(std::get<ValueId>(output), count);
    for (const auto& [value, places] : read) {
      if (method_.value(value).kind == ir::ValueKind::kConstant) continue;
      const bool input = method_.value(value).kind == ir::ValueKind::kInput;
      const size_t maker = input ? count : target[method_.value(value).node];
      for (size_t place = 0; place <= count; ++place) {
        if (places[place] && place != maker) sum += crossing(maker, place, bytes_of(module_, method_, value));
      }
    }
    return sum;
  }

 private:
  bool on_host(size_t place) const {
    return place == options_.targets.size() || options_.targets[place].device.is_cpu();
  }

  double crossing(size_t from, size_t to, double bytes) const {
    double sum = to == options_.targets.size() ? 0 : options_.costs[to].call_seconds;
    if (on_host(from) && on_host(to)) return sum;
    if (!on_host(from)) sum += seconds_of(options_.costs[from].from_device, bytes);
    if (!on_host(to)) sum += seconds_of(options_.costs[to].to_device, bytes);
    return sum;
  }

  const ir::Module& module_;
  const Method& method_;
  const Options& options_;
};

std::string random_model(SplitMix64& random) {
  std::string text = "const @w: f32[8,8] = splat<0.5>\nmethod forward(%v0: f32[8,8]) {\n  %w: f32[8,8] = const @w\n";
  const int64_t nodes = 1 + random.below(8);
  const auto value = [&](int64_t below) { return "%v" + std::to_string(random.below(below)); };
  for (int64_t i = 1; i <= nodes; ++i) {
    const std::string read = value(i);
    const std::string calls[] = {"aten::mm(" + read + ", %w)", "aten::mm(" + read + ", " + value(i) + ")",
                                 "aten::add.Tensor(" + read + ", " + value(i) + ", 1)", "aten::tanh(" + read + ")",
                                 "aten::_softmax(" + read + ", 1, false)"};
    text += "  %v" + std::to_string(i) + ": f32[8,8] = " + calls[random.below(5)] + "\n";
  }
  return text + "  return %v" + std::to_string(nodes) + ", " + value(nodes + 1) + "\n}\n";
}

DeviceCosts random_costs(SplitMix64& random, const std::string& target) {
  DeviceCosts costs = costs_like(target);
  costs.call_seconds = random.unit();
  costs.operator_seconds = random.unit();
  costs.to_device = {random.unit(), 1e3 * random.unit()};
  costs.from_device = {random.unit(), 1e3 * random.unit()};
  for (const WorkKind kind : work_kinds()) costs.rates[kind] = {{1, 1e3 * random.unit()}};
  return costs;
}

TEST(ByCost, NoAssignmentOfSmallGraphsTakesLess) {
  testing::for_each_seed(60, [](unsigned seed) {
    SplitMix64 random(seed);
    const std::string text = random_model(random);
    const ir::Module module = parsed(text);
    Options options = by_cost("sim:0,cpu", {random_costs(random, "sim:0"), random_costs(random, "cpu")});
    for (targets::Target& target : options.targets) target.fuses = false;
    auto assigned = assign(module, options);
    ASSERT_TRUE(assigned.ok()) << assigned.error().text();
    const PlainSum sum(module, options);
    const std::vector<NodeId>& nodes = module.methods[0].body.nodes;
    IdVector<NodeId, int32_t> target(module.methods[0].nodes.size(), 0);
    double least = 1e300;
    double alone = 1e300;
    for (uint32_t bits = 0; bits < 1u << nodes.size(); ++bits) {
      for (size_t i = 0; i < nodes.size(); ++i) target[nodes[i]] = static_cast<int32_t>((bits >> i) & 1);
      least = std::min(least, sum.of(target));
      if (bits == 0 || bits + 1 == 1u << nodes.size()) alone = std::min(alone, sum.of(target));
    }
    const double due = least < (1 - kLeastGain) * alone ? least : alone;
    EXPECT_NEAR(assigned->estimate.seconds, due, 1e-9 * due) << text;
    EXPECT_NEAR(sum.of(assigned->methods[0].target), due, 1e-9 * due) << text;
    EXPECT_EQ(ir::print(placed(text, options)), ir::print(placed(text, options))) << "the same twice";
  });
}

TEST(ByCost, WhatIsElementwiseCostsNoLaunchBesideItsMaker) {
  const char* const model = R"(
    method forward(%x: f32[64,64], %r: f32[64,64]) {
      %a: f32[64,64] = aten::mm(%x, %x)
      %b: f32[64,64] = aten::add.Tensor(%a, %r, 1)
      %c: f32[64,64] = aten::relu(%b)
      return %c
    })";
  const ir::Module module = parsed(model);
  Options options = by_cost("cpu", {costs_like("cpu")});
  const auto seconds = [&] { return assign(module, options)->estimate.seconds; };
  const double fused = seconds();
  options.targets[0].fuses = false;
  const double apart = seconds();
  // Two launches of a second, 40960 bytes of the sum and 32768 of the relu, of which 16384 are read beside.
  EXPECT_NEAR(apart - fused, 2 + (3 * 16384 + 2 * 16384 - 16384) * 1e-9, 1e-9);
}

}  // namespace
}  // namespace berth::placement

#include "compiler/placement/partition.h"

#include <algorithm>

#include "base/text_testing.h"
#include "compiler/ir/arguments.h"
#include "compiler/placement/placement_testing.h"

namespace berth::placement {
namespace {

constexpr char kChain[] = R"(
const @w: f32[3,4] = splat<0.5>
method forward(%x: f32[2,3]) {
  %w: f32[3,4] = const @w
  %a: f32[2,4] = aten::mm(%x, %w) "MatMul_0"
  %b: f32[2,4] = aten::relu(%a) "Relu_1"
  %c: f32[2,4] = aten::tanh(%b) "Tanh_2"
  return %c
}
)";

TEST(Partition, WhatATargetTakesBecomesOneDelegate) {
  const ir::Module module = placed(kChain, options_of("sim:0"));
  EXPECT_EQ(ir::print(module), passes::as_printed(R"(
const @w: f32[3,4] = splat<0.5>
delegate @d0 "berth.sim" {target_device = "sim:0"}

method forward(%x: f32[2,3]) {
  %w: f32[3,4] = const @w
  %x.sim0: f32[2,3]@sim:0 = et_copy::_h2d_copy(%x) "x to sim:0: delegate-input"
  %c.sim0: f32[2,4]@sim:0 = berth::delegate([%x.sim0]) @d0 {
    (%x.in: f32[2,3]@sim:0)
    %a: f32[2,4]@sim:0 = aten::mm(%x.in, %w) "MatMul_0"
    %b: f32[2,4]@sim:0 = aten::relu(%a) "Relu_1"
    %c.out: f32[2,4]@sim:0 = aten::tanh(%b) "Tanh_2"
    yield %c.out
  } "MatMul_0 ... Tanh_2"
  %c: f32[2,4] = et_copy::_d2h_copy(%c.sim0) "c to cpu: graph-output"
  return %c
}
)"));
}

TEST(Partition, AValueReadBySeveralNodesIsOneInput) {
  const ir::Module module = placed(R"(
    method f(%x: f32[2], %y: f32[2]) {
      %a: f32[2] = aten::mul.Tensor(%y, %x)
      %b: f32[2] = aten::add.Tensor(%a, %x, 1)
      return %b, %b, %a
    })",
                                   options_of("cpu"));
  // Arguments in the order in which they are read, results in the order in which they are made.
  EXPECT_EQ(steps(module), (std::vector<std::string>{"berth::delegate(y, x) -> a b"}));
}

TEST(Partition, PortableMakesNoDelegatesAndChangesNothing) {
  for (const char* target : {"portable", "portable,sim:0"}) {
    EXPECT_EQ(ir::print(placed(kChain, options_of(target))), passes::as_printed(kChain)) << target;
  }
  EXPECT_EQ(ir::print(placed(kChain)), passes::as_printed(kChain));
}

TEST(Partition, TheCpuTargetNeedsNoDeviceAndNoCopies) {
  const ir::Module module = placed(kChain, options_of("cpu"));
  ASSERT_EQ(module.delegates.size(), 1u);
  EXPECT_EQ(module.delegates[{0}].backend, "berth.cpu");
  EXPECT_TRUE(module.delegates[{0}].specs.empty());
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 1}));
}

TEST(Partition, CompileSpecsHaveTheRequestedDevice) {
  const auto specs = [](const std::string& targets) {
    const ir::Module module = placed(R"(
      method f(%x: f32[2]) {
        %y: f32[2] = aten::relu(%x)
        return %y
      })",
                                     options_of(targets));
    EXPECT_EQ(module.delegates.size(), 1u);
    return module.delegates.empty() ? std::vector<ir::CompileSpec>() : module.delegates[{0}].specs;
  };
  // Holds row 235, row 251.
  for (const auto& [target, device] : {std::pair("CUDA:1,cpu", "cuda:1"), std::pair("cuda", "cuda:0")}) {
    const std::vector<ir::CompileSpec> found = specs(target);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].key, "target_device");
    EXPECT_EQ(found[0].value, device);
  }
}

TEST(Partition, PlaceRulesAssignNodesByTheirSourceOrTheirResult) {
  Options options = options_of("sim:0,sim:1,cpu");
  options.rules = {{"*_[12]", sim(1)}, {"c", Device()}};
  const ir::Module module = placed(kChain, options);
  ASSERT_EQ(module.delegates.size(), 3u);
  EXPECT_EQ(device_of(module, "a.out"), sim(0));
  EXPECT_EQ(device_of(module, "b.out"), sim(1));
  // The later rule wins.
  EXPECT_EQ(device_of(module, "c.out"), Device());
  EXPECT_EQ(count(module), (Counts{1, 1, 1, 3}));
}

TEST(Partition, PlaceRulesIgnoreCopiesAndState) {
  Options options = options_of("sim:0");
  options.rules = {{"*", sim(0)}};
  const ir::Module module = placed(R"(
    state @k: f32[2]
    method f() {
      %old: f32[2] = berth::state_read() @k
      %a: f32[2]@sim:0 = et_copy::_h2d_copy(%old)
      %b: f32[2] = aten::relu(%a)
      berth::state_write(%b) @k
      return %b
    })",
                                   options);
  EXPECT_EQ(count(module), (Counts{0, 1, 0, 1}));
}

TEST(Partition, ImpossiblePlaceRulesAreRefused) {
  Options options = options_of("sim:0");
  options.rules = {{"Conv_*", sim(0)}};
  EXPECT_EQ(
      error_of(kChain, options),
      "place \"Conv_*\": is like no node: neither the source of any nor the name of a result; berth inspect MODEL "
      "--values lists them");
  options.rules = {{"Relu_1", sim(2)}};
  EXPECT_EQ(error_of(kChain, options),
            "method forward, aten::relu (%b) \"Relu_1\": is to run on sim:2, which is none of the targets sim:0");
  const char* text = R"(
    method f(%x: f32[2]) {
      %y: i64[y_rows,1] = aten::nonzero(%x) "NonZero_0"
      return %y
    })";
  options.rules = {{"NonZero*", sim(0)}};
  const std::string symbol = "symbol y_rows in [0, 2]";
  EXPECT_EQ(error_of(symbol + text, options),
            "method f, aten::nonzero (%y) \"NonZero_0\": cannot run on sim:0: data-dependent-size");
  options.rules = {{"NonZero*", Device()}};
  EXPECT_EQ(error_of(symbol + text, options), "");
}

TEST(Partition, AFunctionsAssignmentsAreChecked) {
  Options options = options_of("sim:0,sim:1");
  options.rules = {{"*", sim(0)}};
  options.node_device = [](const ir::Method&, const ir::Node& node) -> std::optional<Device> {
    if (node.is(ir::OpId::tanh_out)) return sim(1);
    return std::nullopt;
  };
  EXPECT_EQ(device_of(placed(kChain, options), "c.out"), sim(1));
  options.node_device = [](const ir::Method&, const ir::Node&) { return cuda(0); };
  EXPECT_NE(error_of(kChain, options).find("is to run on cuda:0, which is none of the targets sim:0, sim:1"),
            std::string::npos);
}

TEST(Partition, RemarksSayWhereEachNodeIsAndWhyNotElsewhere) {
  std::vector<std::string> why;
  placed(R"(
    symbol s in [0, 2]
    state @k: f32[2]
    method f(%x: f32[2], %c: bool) {
      %old: f32[2] = berth::state_read() @k
      %y: f32[2] = aten::relu(%x) "Relu_0"
      %z: i64[s,1] = aten::nonzero(%y)
      berth::state_write(%y) @k
      %r: f32[2] = berth::if(%c) {
        ()
        yield %old
      } {
        ()
        yield %x
      }
      return %z, %r
    })",
         options_of("sim:0"), &why);
  why.resize(std::min<size_t>(why.size(), 5));
  EXPECT_EQ(why, (std::vector<std::string>{
                     "partition: berth::state_read (%old): outside of delegates: state",
                     "partition: \"Relu_0\" aten::relu (%y): @d0 on sim:0",
                     "partition: aten::nonzero (%z): outside of delegates: data-dependent-size",
                     "partition: berth::state_write: outside of delegates: state",
                     "partition: berth::if (%r): outside of delegates: control-flow",
                 }));
}

TEST(Partition, ViewsAloneAreNotWorthADelegate) {
  const char* text = R"(
    method f(%x: f32[2,3], %y: f32[2,3]) {
      %v: f32[6] = aten::view_copy(%x, [6])
      %w: f32[3,2] = aten::view_copy(%y, [3, 2])
      return %v, %w
    })";
  EXPECT_EQ(count(placed(text, options_of("sim:0"))), (Counts{0, 0, 0, 0}));
  Options options = options_of("sim:0");
  options.rules = {{"v", sim(0)}};
  EXPECT_EQ(count(placed(text, options)), (Counts{1, 1, 0, 1}));
}

// A delegate would copy what it has computed only to give it other sizes.
TEST(Partition, TrailingViewsAreLeftToTheProgram) {
  const char* text = R"(
    method f(%x: f32[2,3]) {
      %a: f32[2,3] = aten::exp(%x)
      %b: f32[3,2] = aten::view_copy(%a, [3, 2])
      %c: f32[3,2] = aten::neg(%b)
      %v: f32[6] = aten::view_copy(%c, [6])
      %w: f32[1,6] = aten::unsqueeze_copy(%v, 0)
      return %w
    })";
  std::vector<std::string> why;
  const ir::Module module = placed(text, options_of("cpu"), &why);
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 1}));
  const ir::Method& method = module.methods[0];
  ASSERT_EQ(method.body.nodes.size(), 3u) << ir::print(module);
  const ir::Node& call = method.node(method.body.nodes[0]);
  ASSERT_EQ(call.regions.size(), 1u);
  EXPECT_EQ(call.regions[0].nodes.size(), 3u) << "the first view is read within\n" << ir::print(module);
  EXPECT_TRUE(method.node(method.body.nodes[1]).is(ir::OpId::view_copy_out));
  EXPECT_NE(std::find(why.begin(), why.end(), "partition: aten::view_copy (%v): outside of delegates: last-view"),
            why.end())
      << ::testing::PrintToString(why);
  // What comes back from a device gets its other sizes on the host.
  const ir::Module away = placed(text, options_of("sim:0"));
  EXPECT_EQ(count(away), (Counts{1, 1, 0, 1}));
  const ir::Method& far = away.methods[0];
  EXPECT_EQ(far.node(far.body.nodes[1]).regions[0].nodes.size(), 3u) << ir::print(away);
  EXPECT_TRUE(far.node(far.body.nodes.back()).is(ir::OpId::unsqueeze_copy_out)) << ir::print(away);
}

TEST(Partition, TrailingViewsThatADeviceReadsOrKeepsAreInside) {
  const char* text = R"(
    method f(%x: f32[6]) {
      %a: f32[6] = aten::exp(%x)
      %v: f32[2,3] = aten::view_copy(%a, [2, 3])
      %n: f32[2,3] = aten::neg(%v)
      return %v, %n
    })";
  Options options = options_of("sim:0,sim:1");
  options.rules = {{"n", sim(1)}};
  const ir::Module both = placed(text, options);
  EXPECT_EQ(both.methods[0].node(both.methods[0].body.nodes[1]).regions[0].nodes.size(), 2u) << ir::print(both);
  const char* alone = R"(
    method f(%x: f32[6]) {
      %a: f32[6] = aten::exp(%x)
      %v: f32[2,3] = aten::view_copy(%a, [2, 3])
      return %v
    })";
  Options kept = options_of("sim:0");
  kept.device_io = {*parse_device_io("v=sim:0")};
  const ir::Module stays = placed(alone, kept);
  EXPECT_EQ(stays.methods[0].node(stays.methods[0].body.nodes[1]).regions[0].nodes.size(), 2u) << ir::print(stays);
}

TEST(Partition, TrailingViewsInAPlaceRuleAreInside) {
  const char* text = R"(
    method f(%x: f32[6]) {
      %a: f32[6] = aten::exp(%x)
      %v: f32[2,3] = aten::view_copy(%a, [2, 3])
      return %v
    })";
  Options options = options_of("cpu");
  options.rules = {{"v", Device()}};
  const ir::Module module = placed(text, options);
  EXPECT_EQ(module.methods[0].body.nodes.size(), 1u) << ir::print(module);
}

// Entries.

// A picture of a million numbers, its bytes, and what is computed from those; $read may read the picture too.
std::string picture_text(const std::string& size, const std::string& read) {
  return filled(R"(
    method f(%x: f32[$n]) {
      %d: f32[$n] = aten::div.Scalar(%x, 0.02) "QuantizeLinear_0"
      %q: i8[$n] = quantized_decomposed::quantize_per_tensor(%d, 0.1, -3, -128, 127, i8) "QuantizeLinear_0"
      %y: f32[$n] = quantized_decomposed::dequantize_per_tensor(%q, 0.1, -3, -128, 127, i8, none)
      %z: f32[$n] = aten::add.Tensor(%y, %$read, 1)
      return %z
    })",
                {{"n", size}, {"read", read}});
}

TEST(Partition, AnInputDoesNotOutliveItsBytes) {
  const ir::Module module = placed(picture_text("1000000", "y"), options_of("cpu"));
  EXPECT_EQ(steps(module), (std::vector<std::string>{"berth::delegate(x) -> q", "berth::delegate(q) -> z"}))
      << ir::print(module);
}

TEST(Partition, AnInputThatIsSmallOrReadElsewhereStaysWithItsReaders) {
  const std::vector<std::string> one = {"berth::delegate(x) -> z"};
  EXPECT_EQ(steps(placed(picture_text("1000", "y"), options_of("cpu"))), one);
  EXPECT_EQ(steps(placed(picture_text("1000000", "x"), options_of("cpu"))), one);
  // A device has a copy of it, which is its own.
  EXPECT_EQ(count(placed(picture_text("1000000", "y"), options_of("sim:0"))).delegates, 1);
}

// Constants.

// Limits 1.9.
TEST(Partition, AConstantOfTwoDelegatesIsInBoth) {
  const char* text = R"(
    const @w: f32[2] = dense<[1, 2]>
    method f(%x: f32[2], %c: bool) {
      %w: f32[2] = const @w
      %a: f32[2] = aten::mul.Tensor(%x, %w) "a"
      %b: f32[2] = aten::mul.Tensor(%a, %w) "b"
      return %b
    })";
  Options options = options_of("sim:0,sim:1");
  options.rules = {{"b", sim(1)}};
  const ir::Module module = placed(text, options);
  // Holds row 239, row 241. One constant of the module, mentioned in both regions, an argument of neither call.
  ASSERT_EQ(module.constants.size(), 1u);
  EXPECT_EQ(steps(module),
            (std::vector<std::string>{"et_copy::_h2d_copy(x) -> x.sim0", "berth::delegate(x.sim0) -> a",
                                      "berth::_d2d_copy(a) -> a.sim1", "berth::delegate(a.sim1) -> b.sim1",
                                      "et_copy::_d2h_copy(b.sim1) -> b"}));
  const ir::Method& method = module.methods[0];
  const ir::Value* w = find_value(method, "w");
  ASSERT_NE(w, nullptr);
  int inside = 0;
  for (const ir::NodeId id : method.body.nodes) {
    for (const ir::Graph& region : method.node(id).regions) {
      ASSERT_EQ(region.nodes.size(), 1u);
      ir::for_each_value(method.node(region.nodes[0]).args[arg::mul_out::other],
                         [&](const ir::ValueId& value) { inside += &method.value(value) == w ? 1 : 0; });
    }
  }
  EXPECT_EQ(inside, 2);
}

// Holds row 240: what a model never changes is inside, what it does change is an argument and a result of the call.
TEST(Partition, StateIsPassedToADelegateAndConstantsAreInside) {
  const ir::Module module = placed(R"(
    const @w: f32[2] = dense<[1, 2]>
    state @k: f32[2]
    method f(%x: f32[2]) {
      %w: f32[2] = const @w
      %old: f32[2] = berth::state_read() @k
      %a: f32[2] = aten::mul.Tensor(%old, %w)
      %b: f32[2] = aten::add.Tensor(%a, %x, 1)
      berth::state_write(%b) @k
      return %a
    })",
                                   options_of("cpu"));
  EXPECT_EQ(steps(module), (std::vector<std::string>{"berth::state_read() -> old", "berth::delegate(old, x) -> a b",
                                                     "berth::state_write(b) ->"}));
  EXPECT_EQ(module.states[{0}].type.device, Device());
}

// Targets stacked, methods, control flow.

TEST(Partition, LaterTargetsGetWhatEarlierOnesLeave) {
  // index_put is none of CUDA's; the cpu takes it.
  const char* text = R"(
    method f(%x: f32[4], %i: i64[2], %v: f32[2]) {
      %a: f32[4] = aten::relu(%x)
      %b: f32[4] = aten::index_put(%a, [%i], %v, false)
      %c: f32[4] = aten::exp(%b)
      return %c
    })";
  const ir::Module module = placed(text, options_of("cuda:0,cpu"));
  ASSERT_EQ(module.delegates.size(), 3u);
  EXPECT_EQ(module.delegates[{0}].backend, "berth.cuda");
  EXPECT_EQ(module.delegates[{1}].backend, "berth.cpu");
  EXPECT_EQ(module.delegates[{2}].backend, "berth.cuda");
  EXPECT_EQ(count(module), (Counts{2, 2, 0, 3}));
}

TEST(Partition, ExistingDelegatesAreUntouched) {
  const ir::Module module =
      placed(filled(R"(
    $delegate
    method f(%x: f32[2], %y: f32[2]) {
      $call
      %r: f32[2] = aten::relu(%s)
      return %r
    })",
                    {{"delegate", "delegate @mine \"some\" {level = \"3\", target_device = \"cuda:0\", level = \"4\"}"},
                     {"call", add_call("s", "mine", "x", "y")}}),
             options_of("sim:0"));
  // Holds row 235, row 255. Its specs too, in their order.
  ASSERT_EQ(module.delegates.size(), 2u);
  EXPECT_EQ(module.delegates[{0}].backend, "some");
  std::string specs;
  for (const ir::CompileSpec& spec : module.delegates[{0}].specs) specs += spec.key + "=" + spec.value + " ";
  EXPECT_EQ(specs, "level=3 target_device=cuda:0 level=4 ");
  EXPECT_EQ(module.delegates[{1}].name, "d1");
  EXPECT_EQ(count(module), (Counts{3, 2, 0, 2}));
}

TEST(Partition, MethodsArePartitionedSeparately) {
  const char* text = R"(
    method first(%x: f32[2]) {
      %y: f32[2] = aten::relu(%x)
      return %y
    }
    method second(%x: f32[2]) {
      %y: f32[2] = aten::exp(%x)
      %z: f32[2] = aten::relu(%y)
      return %z
    })";
  Options options = options_of("sim:0,sim:1");
  options.node_device = [](const ir::Method& method, const ir::Node& node) -> std::optional<Device> {
    if (method.name == "second" && node.is(ir::OpId::relu_out)) return sim(1);
    return std::nullopt;
  };
  const ir::Module module = placed(text, options);
  // Holds row 244.
  EXPECT_EQ(count(module.methods[0]), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(count(module.methods[1]), (Counts{1, 1, 1, 2}));
}

TEST(Partition, BranchesArePartitionedSeparately) {
  const char* text = R"(
    method f(%x: f32[2], %c: bool) {
      %a: f32[2] = aten::exp(%x)
      %r: f32[2] = berth::if(%c) {
        ()
        %b: f32[2] = aten::relu(%a)
        yield %b
      } {
        ()
        %d: f32[2] = aten::neg(%x)
        yield %d
      }
      %e: f32[2] = aten::exp(%r)
      return %e
    })";
  passes::expect_keeps_outputs(
      [](ir::Module& module, const passes::Options&) -> Expected<passes::Changed> {
        const Status status = place(module, options_of("sim:0"));
        if (!status.ok()) return status.error();
        EXPECT_EQ(count(module).delegates, 4);
        return passes::Changed::kYes;
      },
      text);
}

// Sizes that are known only when the program runs.

TEST(Partition, SymbolicSizesAreTakenFromInputs) {
  const char* text = R"(
    symbol n in [1, 8]
    method f(%x: f32[n,6]) {
      %a: f32[n,6] = aten::relu(%x)
      %b: f32[n,2,3] = aten::view_copy(%a, [n, 2, 3])
      %c: f32[(n * 2),3] = aten::view_copy(%b, [(n * 2), 3])
      %d: f32[(n * 2),3] = aten::exp(%c)
      return %d
    })";
  EXPECT_EQ(count(placed(text, options_of("sim:0"))), (Counts{1, 1, 0, 1}));
}

// %i lies between the two halves; the second one needs n, and nothing that it reads says it.
std::string halves(const std::string& second) {
  return R"(
    symbol n in [1, 8]
    method f(%x: f32[n,6], %i: i64[2], %v: f32[2]) {
      %a: f32[n,6] = aten::relu(%x)
      %b: f32[(n * 6)] = aten::view_copy(%a, [(n * 6)])
      %p: f32[(n * 6)] = aten::index_put(%b, [%i], %v, false) "host"
  )" + second +
         R"(
    return %d
    })";
}

TEST(Partition, SymbolicSizesMayNeedAnExtraInputOfTheMethod) {
  Options options = options_of("sim:0");
  options.rules = {{"host", Device()}};
  const ir::Module module = placed(halves(R"(
    %c: f32[n,2,3] = aten::view_copy(%p, [n, 2, 3])
    %d: f32[n,2,3] = aten::exp(%c)
  )"),
                                   options);
  // x is on the device already.
  EXPECT_EQ(count(module), (Counts{2, 2, 0, 2}));
  EXPECT_EQ(steps(module)[5], "berth::delegate(p.sim0, x.sim0) -> d.sim0") << ir::print(module);
}

TEST(Partition, ANodeIsExcludedForASymbolicSizeOfNoTensor) {
  // No input has m or 2 * m alone.
  const char* text = R"(
    symbol m in [1, 8]
    method f(%x: f32[(m + 1),6]) {
      %a: f32[(m + 1),6] = aten::relu(%x) "a"
      %c: f32[(m + 1),2,3] = aten::view_copy(%a, [(m + 1), 2, 3]) "c"
      %d: f32[(m + 1),2,3] = aten::exp(%c) "d"
      return %d
    })";
  std::vector<std::string> why;
  EXPECT_EQ(count(placed(text, options_of("sim:0"), &why)).delegates, 2);
  EXPECT_EQ(why[1], "partition: \"c\" aten::view_copy (%c): outside of delegates: symbol-unknown");
  Options options = options_of("sim:0");
  options.rules = {{"c", sim(0)}};
  EXPECT_EQ(
      error_of(text, options),
      "method f, aten::view_copy (%c) \"c\": cannot run where it was placed: symbol-unknown: no tensor that is there "
      "has the size m as a dimension");
}

// Splits.

TEST(Partition, ASplitGivesEachTargetAnEqualShareInOrder) {
  std::string text = R"(
    method f(%x0: f32[100]) {
  )";
  for (int i = 0; i < 9; ++i) {
    text += filled(R"(
      %x$next: f32[100] = aten::relu(%x$i)
    )",
                   {{"next", std::to_string(i + 1)}, {"i", std::to_string(i)}});
  }
  text += R"(
    return %x9
    })";
  Options options = options_of("sim:0,sim:1,cpu");
  options.split = true;
  const ir::Module module = placed(text, options);
  ASSERT_EQ(module.delegates.size(), 3u);
  for (const ir::Node& node : module.methods[0].nodes) {
    EXPECT_EQ(is_delegate(node) ? node.regions[0].nodes.size() : 3u, 3u);
  }
  EXPECT_EQ(count(module), (Counts{1, 1, 1, 3}));
  EXPECT_EQ(device_of(module, "x1"), sim(0));
  EXPECT_EQ(device_of(module, "x5"), sim(1));
  EXPECT_EQ(device_of(module, "x8"), Device());
}

// The first call waits for a group that also needs %s, which comes late: by what it needs alone, the second call would
// come first.
TEST(Partition, DelegatesWithUnknownEffectsKeepTheirOrder) {
  const ir::Module module = placed(R"(
    delegate @a "Chip" = hex"01"
    method f(%x: f32[2], %y: f32[2]) {
      %g: f32[2] = aten::relu(%x)
      %p: f32[2] = berth::delegate([%g]) @a
      %q: f32[2] = berth::delegate([%y]) @a
      %s: f32[2] = berth::scan(2, [%y], []) {
        (%c: f32[2])
        %n: f32[2] = aten::exp(%c)
        yield %n
      }
      %h: f32[2] = aten::add.Tensor(%x, %s, 1)
      return %p, %q, %h
    })",
                                   options_of("sim:0"));
  const std::vector<std::string> lines = steps(module);
  const auto at = [&](const std::string& line) { return std::find(lines.begin(), lines.end(), line) - lines.begin(); };
  EXPECT_LT(at("berth::delegate(g.cpu) -> p"), at("berth::delegate(y) -> q")) << ir::print(module);
  EXPECT_LT(at("berth::delegate(y) -> q"), static_cast<ptrdiff_t>(lines.size())) << ir::print(module);
}

}  // namespace
}  // namespace berth::placement

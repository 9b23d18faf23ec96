// Which nodes of a graph become regions of a plug-in's target: limits, sets that stay together, and what it sees.
#include "tests/plugin/plugin_testing.h"

namespace berth::plugin_testing {
namespace {

// relu, add, mul, sub, tanh.
constexpr const char* kChain = R"(
    method forward(%x: f32[4], %z: f32[4]) {
      %a: f32[4] = aten::relu(%x)
      %b: f32[4] = aten::add.Tensor(%a, %z)
      %c: f32[4] = aten::mul.Tensor(%b, %a)
      %d: f32[4] = aten::sub.Tensor(%c, %b)
      %e: f32[4] = aten::tanh(%d)
      return %e, %c
    })";

// The lengths of the payloads.
std::vector<int64_t> sizes_of_delegates(const Plugin* plugin, const char* text = kChain) {
  CompileReport report;
  compiled(text, options_for("scripted", {plugin}), &report);
  std::vector<int64_t> sizes;
  for (const DelegateReport& delegate : report.delegates) sizes.push_back(delegate.payload_bytes);
  return sizes;
}

// The payload tells how many nodes, inputs and outputs a region had, as its length.
void count_in_payload(Scripted& t) {
  t.on_region = [](const plugin::Graph& region, plugin::Output& output) {
    const std::string payload(region.nodes_size() * 100 + region.inputs_size() * 10 + region.outputs_size(), 'x');
    output.payload(payload.data(), payload.size());
    return plugin::Status();
  };
}

TEST(Plugin, RegionsAreCutToTheLimitsOfTheirTarget) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(sizes_of_delegates(adopt<10>(count_in_payload)), (Sizes{522}));
  EXPECT_EQ(sizes_of_delegates(adopt<11>([](Scripted& t) {
              count_in_payload(t);
              t.facts().most_nodes = 2;
            })),
            (Sizes{222, 222, 111}));
  EXPECT_EQ(sizes_of_delegates(adopt<12>([](Scripted& t) {
              count_in_payload(t);
              t.facts().most_outputs = 1;
            })),
            (Sizes{111, 121, 121, 221}))
      << "relu feeds two, so does add";
  EXPECT_EQ(sizes_of_delegates(adopt<13>([](Scripted& t) {
              count_in_payload(t);
              t.facts().most_inputs = 1;
            })),
            (Sizes{111, 111}))
      << "relu and tanh: the others read two tensors, and stay outside";
}

// The numbers of the nodes with one of these operators.
std::vector<int32_t> nodes_of(const plugin::Graph& graph, const std::vector<std::string>& operators) {
  std::vector<int32_t> nodes;
  for (size_t i = 0; i < graph.nodes_size(); ++i) {
    const bool is = std::find(operators.begin(), operators.end(), graph.node(i).op()) != operators.end();
    if (is) nodes.push_back(static_cast<int32_t>(i));
  }
  return nodes;
}

void keep_together(Scripted& t, const std::vector<std::string>& operators) {
  count_in_payload(t);
  t.on_graph = [operators](const plugin::Graph& graph, plugin::Sets& sets) {
    sets.together(nodes_of(graph, operators));
    return plugin::Status();
  };
}

// Without marks the chain's pieces of two nodes are 222, 222, 111.
TEST(Plugin, WhatItsTargetWantsTogetherIsNotCut) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(sizes_of_delegates(adopt<30>([](Scripted& t) {
              keep_together(t, {"aten::add.Tensor", "aten::mul.Tensor"});
              t.facts().most_nodes = 2;
            })),
            (Sizes{111, 222, 221}))
      << "relu alone, so that add and mul are one delegate";
  EXPECT_EQ(sizes_of_delegates(adopt<31>([](Scripted& t) {
              keep_together(t, {"aten::add.Tensor", "aten::mul.Tensor", "aten::sub.Tensor"});
              t.facts().most_nodes = 2;
            })),
            (Sizes{111, 111}))
      << "three nodes are beyond the limit, so none of them is in a delegate";
  EXPECT_EQ(sizes_of_delegates(adopt<32>([](Scripted& t) {
              count_in_payload(t);
              t.facts().most_nodes = 3;
              t.on_graph = [](const plugin::Graph& graph, plugin::Sets& sets) {
                sets.together(nodes_of(graph, {"aten::relu", "aten::add.Tensor"}));
                sets.together(nodes_of(graph, {"aten::add.Tensor", "aten::mul.Tensor"}));
                sets.together({4});
                sets.together({});
                return plugin::Status();
              };
            })),
            (Sizes{322, 221}))
      << "sets that share a node are one";
  EXPECT_EQ(sizes_of_delegates(adopt<39>([](Scripted& t) {
              keep_together(t, {"aten::mul.Tensor", "aten::sub.Tensor"});
              t.facts().most_nodes = 3;
            })),
            (Sizes{222, 322}))
      << "tanh is with the set that was not cut";
}

// Regions are formed from front to back: mul would be with add, behind the tanh that its target does not take.
TEST(Plugin, ASetThatIsApartOtherwiseBecomesARegionOfItsOwn) {
  EXPECT_EQ(sizes_of_delegates(adopt<40>([](Scripted& t) {
                                 keep_together(t, {"aten::relu", "aten::mul.Tensor"});
                                 t.on_node = [](const plugin::Node& node) {
                                   return node.op() == "aten::tanh" ? plugin::refuse("no") : plugin::Status();
                                 };
                               }),
                               R"(
    method forward(%x: f32[4], %z: f32[4]) {
      %a: f32[4] = aten::relu(%x)
      %t: f32[4] = aten::tanh(%a)
      %b: f32[4] = aten::add.Tensor(%t, %z)
      %c: f32[4] = aten::mul.Tensor(%z, %z)
      return %b, %c, %a
    })"),
            (std::vector<int64_t>{222, 121}));
}

TEST(Plugin, ASetThatCannotBeTogetherStaysOutside) {
  using Sizes = std::vector<int64_t>;
  // tanh and relu with the refused nodes between them, which no delegate can hold.
  const auto between = [](Scripted& t) {
    keep_together(t, {"aten::relu", "aten::tanh"});
    t.on_node = [](const plugin::Node& node) {
      const bool is = node.op() == "aten::relu" || node.op() == "aten::tanh";
      return is ? plugin::Status() : plugin::refuse("not that");
    };
  };
  EXPECT_EQ(sizes_of_delegates(adopt<33>(between)), Sizes{});
  CompileOptions options = options_for("scripted", {adopt<34>(between)});
  CompileReport report;
  compiled(kNetwork, options, &report);
  EXPECT_TRUE(report.delegates.empty());
  const auto says = [](const std::string& line) { return line.find("outside of delegates: together") != line.npos; };
  EXPECT_EQ(std::count_if(report.why.begin(), report.why.end(), says), 3) << "both relus, and tanh";
  options.place = {"q=cpu"};
  const auto asked = compile(module_of(kNetwork), options);
  ASSERT_FALSE(asked.ok());
  EXPECT_NE(asked.error().text().find("cannot run where it was placed: together"), std::string::npos)
      << asked.error().text();
}

TEST(Plugin, NodesThatItsTargetLeavesAfterAllStayOutside) {
  EXPECT_EQ(sizes_of_delegates(adopt<35>([](Scripted& t) {
              count_in_payload(t);
              t.on_graph = [](const plugin::Graph& graph, plugin::Sets& sets) {
                EXPECT_EQ(graph.nodes_size(), 5u);
                EXPECT_EQ(graph.inputs_size(), 2u);
                EXPECT_EQ(graph.outputs_size(), 2u);
                sets.leave(nodes_of(graph, {"aten::mul.Tensor"}));
                return plugin::Status();
              };
            })),
            (std::vector<int64_t>{222, 221}));
}

TEST(Plugin, MarksOfNodesThatAreNotThereAreRefused) {
  const auto said = [](const Plugin* plugin) { return failure_of(plugin); };
  EXPECT_NE(said(adopt<36>([](Scripted& t) {
              t.on_graph = [](const plugin::Graph&, plugin::Sets& sets) {
                sets.together({0, 7});
                return plugin::Status();
              };
            })).find("target scripted: the plug-in marks node 7; there are 7"),
            std::string::npos);
  EXPECT_NE(said(adopt<37>([](Scripted& t) {
              t.on_graph = [](const plugin::Graph&, plugin::Sets& sets) {
                sets.leave({-1});
                return plugin::Status();
              };
            })).find("marks node -1"),
            std::string::npos);
  EXPECT_NE(said(adopt<38>([](Scripted& t) {
              t.on_graph = [](const plugin::Graph&, plugin::Sets&) -> plugin::Status { throw 7; };
            })).find("method forward: target scripted: the plug-in threw an exception"),
            std::string::npos);
}

TEST(Plugin, TheGraphIsWhatTheModelSays) {
  static std::string seen;
  seen.clear();
  compiled(kNetwork, options_for("scripted", {adopt<20>([](Scripted& t) {
                                   t.on_region = [](const plugin::Graph& region, plugin::Output& output) {
                                     for (size_t i = 0; i < region.nodes_size(); ++i) {
                                       const plugin::Node node = region.node(i);
                                       seen += std::string(node.op()) + " ";
                                       if (node.op() == "aten::add.Tensor") {
                                         EXPECT_EQ(node.argument("alpha").number(), 2);
                                         EXPECT_EQ(node.argument("alpha").kind(), BERTH_ARG_INTS);
                                         const plugin::Value b = node.argument("other").value();
                                         EXPECT_TRUE(b.is_constant());
                                         EXPECT_EQ(b.sizes(), (std::vector<int64_t>{3}));
                                         float numbers[3] = {};
                                         EXPECT_EQ(b.constant().size, sizeof numbers);
                                         std::memcpy(numbers, b.constant().data, sizeof numbers);
                                         EXPECT_EQ(numbers[1], -1.25f);
                                         EXPECT_TRUE(node.argument("no such").is_none());
                                         EXPECT_EQ(node.argument(0).value().users(), 1);
                                       }
                                     }
                                     EXPECT_EQ(region.inputs_size(), 1u);
                                     EXPECT_EQ(region.input(0).sizes(), (std::vector<int64_t>{2, 4}));
                                     EXPECT_EQ(region.outputs_size(), 1u);
                                     EXPECT_EQ(region.output(0).dtype(), BERTH_F32);
                                     output.payload("x", 1);
                                     return plugin::Status();
                                   };
                                 })}));
  EXPECT_EQ(seen, "aten::mm aten::relu aten::add.Tensor aten::relu aten::tanh aten::mul.Tensor aten::sub.Tensor ");
}

}  // namespace
}  // namespace berth::plugin_testing

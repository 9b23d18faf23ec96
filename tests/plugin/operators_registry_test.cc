// What a plug-in says of its operators: tables, versions, names and schemas.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/ir/own_operators.h"
#include "compiler/targets/plugin_operators.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/signature.h"
#include "tests/plugin/own_operators.h"

namespace berth::own_operators_testing {
namespace {

template <int kNumber>
std::string refused(std::function<void(berth_operator&)> bend, size_t count = 1, bool twice_listed = false) {
  static Gain gain;
  static berth_operator table;
  static const berth_operator* list[2];
  static size_t listed;
  table = *gain.table();
  bend(table);
  list[0] = list[1] = &table;
  listed = twice_listed ? 2 : count;
  const auto entry = [](const berth_host*, berth_plugin* out) {
    out->operators = list;
    out->num_operators = listed;
    return int32_t{BERTH_OK};
  };
  const auto plugin = Plugin::adopt(entry, "bent");
  if (!plugin.ok()) return plugin.error().text();
  const std::vector<const Plugin*> plugins = {*plugin};
  const auto set = plugin_operators(plugins);
  if (!set.ok()) return set.error().text();
  const auto kernels = PluginKernels::make(plugins);
  return kernels.ok() ? "is taken" : kernels.error().text();
}

TEST(OwnOperators, WhatAPluginSaysOfThemIsChecked) {
  EXPECT_EQ(refused<0>([](berth_operator&) {}), "is taken");
  has(refused<1>([](berth_operator& op) { op.name = "aten::add"; }), "the name space aten is not one's own");
  has(refused<2>([](berth_operator& op) { op.name = nullptr; }), "expected a name such as my::gain");
  has(refused<3>([](berth_operator& op) { op.name = "gain"; }), "expected a name such as my::gain");
  has(refused<4>([](berth_operator& op) { op.schema = nullptr; }), "has no schema");
  has(refused<5>([](berth_operator& op) { op.infer = nullptr, op.compute = nullptr; }),
      "neither a shape rule nor a kernel");
  has(refused<6>([](berth_operator& op) { op.size = 8; }), "its size is too small");
  has(refused<7>([](berth_operator&) {}, 1, true), "stands twice");
  has(refused<8>([](berth_operator& op) { op.schema = "Tensor self -> Tensor(self)"; }), "schema: expected results");
  has(refused<9>([](berth_operator& op) { op.in_place = 2; }), "argument 1, which is not a tensor");
  has(refused<10>([](berth_operator& op) { op.in_place = 1u << 31; }), "argument 31, which is not a tensor");
  has(refused<11>([](berth_operator& op) { op.out_overload = "a.b"; }), "out overload");
  has(refused<12>([](berth_operator&) {}, SIZE_MAX), "expected at most 1024");
  EXPECT_EQ(refused<13>([](berth_operator& op) { op.infer = nullptr; }), "is taken");
  EXPECT_EQ(refused<14>([](berth_operator& op) { op.compute = nullptr; }), "is taken");
  has(refused<15>([](berth_operator& op) { op.infer = nullptr, op.schema = "nonsense"; }),
      "not one that a kernel can have");
}

TEST(OwnOperators, TwoPluginsWithOneOperatorAreRefused) {
  static const berth_operator* list[1];
  static Gain gain;
  list[0] = gain.table();
  const auto other = Plugin::adopt(
      [](const berth_host*, berth_plugin* out) {
        out->operators = list;
        out->num_operators = 1;
        return int32_t{BERTH_OK};
      },
      "other");
  ASSERT_TRUE(other.ok());
  const std::vector<const Plugin*> both = {mine(), *other};
  const auto set = plugin_operators(both);
  ASSERT_FALSE(set.ok());
  has(set.error().text(), "plug-in other");
  has(set.error().text(), "is there twice");
  const auto kernels = PluginKernels::make(both);
  ASSERT_FALSE(kernels.ok());
  has(kernels.error().text(), "another operator has the kernel my::gain.out");
}

// A plug-in of an older header knows no operators, and hosts of one do not ask for them.
TEST(OwnOperators, OlderPluginsAndOlderHostsStillFit) {
  berth_plugin plugin = {};
  plugin.size = offsetof(berth_plugin, operators);
  const berth_host host = {sizeof(berth_host), BERTH_PLUGIN_VERSION, "0.1"};
  const auto none = [](plugin::Parts&) { return plugin::Status(); };
  EXPECT_EQ(plugin::Parts::enter(&host, &plugin, none), BERTH_OK);
  EXPECT_EQ(plugin.num_operators, 0u);
  const auto one = [](plugin::Parts& parts) {
    parts.add(std::make_unique<Gain>());
    return plugin::Status();
  };
  EXPECT_EQ(plugin::Parts::enter(&host, &plugin, one), BERTH_NOT_SUPPORTED);
  has(plugin.message.text, "later version");
}

// The compiler's schemas and the runtime's are one language: what passes here parses there, with as many parameters.
TEST(OwnOperators, EverySchemaThatIsTakenIsOneOfTheRuntimes) {
  const char* pieces[] = {"Tensor", "Tensor?",   "Tensor[]",   "Tensor?[]", "int",  "int[]?", "float", "bool[]",
                          "str",    "Scalar?",   " ",          " ",         " ",    ", ",     ", ",    "a",
                          "b",      "c1",        "_d",         "=",         "=1",   "=None",  "='x'",  "=[]",
                          " -> ",   "->",        "-> ",        "@",         "(",    ")",      "'",     "\n",
                          "%s",     "Tensor(a)", "Tensor out", "\xff",      "=1e9", "=-2",    "=True"};
  int taken = 0;
  testing::for_each_seed(1, [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 200000; ++round) {
      std::string schema;
      if (random() % 2 == 0) schema = "Tensor x";
      const size_t count = random() % 12;
      for (size_t i = 0; i < count; ++i) schema += pieces[random() % std::size(pieces)];
      if (random() % 2 == 0) schema += " -> Tensor out";
      ir::OperatorSet set;
      const auto rule = [](const ir::OwnCall& call) { return Expected<std::vector<ir::TensorType>>({call.tensor(0)}); };
      const Status added = set.add({"my::op", schema, rule});
      if (!added.ok()) continue;
      ++taken;
      Signature signature;
      ASSERT_TRUE(Signature::parse(schema.c_str(), &signature)) << schema;
      const ir::Operator& op = *set.find("my::op");
      EXPECT_EQ(signature.arguments(), op.parameters.size()) << schema;
      EXPECT_EQ(signature.parameters().size() - signature.arguments(), op.outputs.size()) << schema;
    }
  });
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace berth::own_operators_testing

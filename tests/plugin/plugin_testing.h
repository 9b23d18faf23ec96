// What tests of plug-ins share: the accelerator of examples/plugin, which is a shared library that knows nothing of
// Berth's insides, and a target that does what a test writes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "compiler/targets/plugin_operators.h"
#include "plugin/target.h"

namespace berth::plugin_testing {

using Bytes = std::vector<uint8_t>;

/// The example's plug-in.
inline const Plugin* npu() {
  static const Plugin* const plugin = [] {
    const auto opened = Plugin::open(BERTH_EXAMPLE_NPU);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? *opened : nullptr;
  }();
  return plugin;
}

/// tanh is the host's: two delegates, each of several nodes, with a constant in both.
inline constexpr const char* kNetwork = R"(
  const @w: f32[4,3] = dense<[1, -2, 3, 4, 5, -6, 7, 8, 9, -10, 11, 12]>
  const @b: f32[3] = dense<[0.5, -1.25, 2]>
  method forward(%x: f32[2,4]) {
    %w: f32[4,3] = const @w
    %b: f32[3] = const @b
    %p: f32[2,3] = aten::mm(%x, %w)
    %q: f32[2,3] = aten::relu(%p)
    %s: f32[2,3] = aten::add.Tensor(%q, %b, 2)
    %r: f32[2,3] = aten::relu(%s)
    %t: f32[2,3] = aten::tanh(%r)
    %m: f32[2,3] = aten::mul.Tensor(%t, %b)
    %d: f32[2,3] = aten::sub.Tensor(%m, %r)
    return %d
  })";

inline ir::Module module_of(const std::string& text) {
  const auto operators = plugin_operators(std::vector<const Plugin*>{npu()});
  EXPECT_TRUE(operators.ok());
  auto module = ir::parse(text, "test", "", *operators);
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? std::move(*module) : ir::Module();
}

inline CompileOptions options_for(const std::string& target, std::vector<const Plugin*> plugins = {npu()}) {
  CompileOptions options;
  options.plugins = std::move(plugins);
  options.target = target;
  options.why = {"partition"};
  options.verify_ir = true;
  return options;
}

inline Bytes compiled(const std::string& text, const CompileOptions& options, CompileReport* report = nullptr) {
  auto program = compile(module_of(text), options, report);
  EXPECT_TRUE(program.ok()) << program.error().text();
  return program.ok() ? *program : Bytes();
}

/// A target for one test, linked into it. What it does is kept in functions.
struct Scripted final : plugin::Target {
  Scripted() : Target("scripted", "acme.scripted", 0) { see_all(); }
  plugin::Status takes(const plugin::Node& node, const plugin::Specs&) override { return on_node(node); }
  plugin::Status preprocess(const plugin::Graph& region, const plugin::Specs&, plugin::Output& output) override {
    return on_region(region, output);
  }
  plugin::Status together(const plugin::Graph& taken, const plugin::Specs&, plugin::Sets& sets) override {
    return on_graph(taken, sets);
  }
  berth_target& facts() { return table_; }

  std::function<plugin::Status(const plugin::Node&)> on_node = [](const plugin::Node&) { return plugin::Status(); };
  std::function<plugin::Status(const plugin::Graph&, plugin::Output&)> on_region = [](const plugin::Graph&,
                                                                                      plugin::Output& output) {
    output.payload("x", 1);
    return plugin::Status();
  };
  std::function<plugin::Status(const plugin::Graph&, plugin::Sets&)> on_graph =
      [](const plugin::Graph&, plugin::Sets&) { return plugin::Status(); };
};

/// A plug-in with the target that `make` makes. Each test has its own number: a plug-in is asked once.
template <int kNumber>
const Plugin* adopt(const std::function<void(Scripted&)>& bend) {
  static Scripted target;
  bend(target);
  static const berth_target* const list[] = {target.table()};
  const auto plugin = Plugin::adopt(
      [](const berth_host*, berth_plugin* out) {
        out->targets = list;
        out->num_targets = 1;
        return int32_t{BERTH_OK};
      },
      "scripted");
  EXPECT_TRUE(plugin.ok()) << plugin.error().text();
  return *plugin;
}

/// What compiling kNetwork for the scripted target says.
inline std::string failure_of(const Plugin* plugin) {
  const auto program = compile(module_of(kNetwork), options_for("scripted", {plugin}));
  return program.ok() ? "compiles" : program.error().text();
}

}  // namespace berth::plugin_testing

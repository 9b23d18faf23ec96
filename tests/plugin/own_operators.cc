#include "tests/plugin/own_operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/own_operators.h"
#include "compiler/ir/parse.h"
#include "compiler/targets/plugin_operators.h"
#include "format/program_view.h"
#include "kernels/portable/portable.h"
#include "runtime/data_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_devices.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/program.h"

namespace berth::own_operators_testing {
namespace {

// A target on the host that takes my::gain and nothing else, and its backend.
struct GainTarget final : plugin::Target {
  GainTarget() : Target("gainer", "acme.gainer", 0) { table_.is_pure = 1; }
  plugin::Status takes(const Node& node, const plugin::Specs&) override {
    return node.op() == "my::gain" ? plugin::Status() : plugin::refuse("only gains");
  }
  plugin::Status preprocess(const plugin::Graph& region, const plugin::Specs&, plugin::Output& output) override {
    float factor = 1;
    for (size_t i = 0; i < region.nodes_size(); ++i) {
      factor *= static_cast<float>(region.node(i).argument("factor").number());
    }
    output.payload(&factor, sizeof factor);
    return {};
  }
};

struct GainDelegate final : plugin::Delegate {
  plugin::Status run(const berth_tensor* arguments, size_t, berth_stream) override {
    for (size_t i = 0; i < arguments[0].bytes / sizeof(float); ++i) {
      static_cast<float*>(arguments[1].data)[i] = factor * static_cast<const float*>(arguments[0].data)[i];
    }
    return {};
  }
  float factor = 1;
};

struct GainBackend final : plugin::Backend {
  GainBackend() : Backend("acme.gainer") {}
  bool serves(int32_t type) const override { return type == 0; }
  plugin::Status load(const plugin::Source& source, std::unique_ptr<plugin::Delegate>* delegate) override {
    auto loaded = std::make_unique<GainDelegate>();
    std::memcpy(&loaded->factor, source.payload().data, sizeof(float));
    *delegate = std::move(loaded);
    return {};
  }
};

std::shared_ptr<const ir::OperatorSet> operators() {
  static const auto set = plugin_operators(std::vector<const Plugin*>{mine()});
  EXPECT_TRUE(set.ok());
  return *set;
}

}  // namespace

const Plugin* mine() {
  static const Plugin* const plugin = [] {
    const auto entry = [](const berth_host* host, berth_plugin* out) {
      return plugin::Parts::enter(host, out, [](plugin::Parts& parts) {
        parts.set_name("the test's operators");
        parts.add(std::make_unique<Gain>());
        parts.add(std::make_unique<Gain>("my::plain", 0));
        parts.add(std::make_unique<Gain>("my::gain.Twice", 1));
        parts.add(std::make_unique<Grow>());
        parts.add(std::make_unique<Blend>());
        parts.add(std::make_unique<Count>());
        parts.add(std::make_unique<Filter>());
        parts.add(std::make_unique<Scripted>());
        parts.add(std::make_unique<GainTarget>());
        parts.add(std::make_unique<GainBackend>());
        return plugin::Status();
      });
    };
    const auto adopted = Plugin::adopt(entry, "test");
    EXPECT_TRUE(adopted.ok()) << adopted.error().text();
    return adopted.ok() ? *adopted : nullptr;
  }();
  return plugin;
}

ImportOptions with_operators() {
  ImportOptions options;
  options.operators = operators();
  return options;
}

Expected<ir::Module> parsed(const std::string& text) { return ir::parse(text, "test", "", operators()); }

std::string failure_of(const std::string& text) {
  auto module = parsed(text);
  return module.ok() ? "is taken" : module.error().text();
}

CompileOptions options_for(const std::string& target) {
  CompileOptions options;
  options.plugins = {mine()};
  options.target = target;
  options.verify_ir = true;
  return options;
}

Bytes compiled(Expected<ir::Module> module, const CompileOptions& options, CompileReport* report) {
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  auto program = compile(std::move(*module), options, report);
  EXPECT_TRUE(program.ok()) << program.error().text();
  return program.ok() ? *program : Bytes();
}

std::string own_operators_of(const Bytes& bytes) {
  format::ProgramView view;
  EXPECT_EQ(format::ProgramView::open(Span<const uint8_t>(bytes.data(), bytes.size()), &view, nullptr), Error::kOk);
  std::string list;
  for (const fb::OwnOperator* own : *view.meta()->methods()->Get(0)->own_operators()) {
    list += std::string(list.empty() ? "" : ", ") +
            format::text(view.method(0).operators()->Get(static_cast<uint32_t>(own->index()))->name()) + "=" +
            std::to_string(own->in_place());
  }
  return list;
}

KernelTable own_kernels() {
  static const auto kernels = PluginKernels::make(std::vector<const Plugin*>{mine()});
  EXPECT_TRUE(kernels.ok());
  return kernels->table();
}

Outcome run(const Bytes& bytes, const std::vector<std::pair<std::vector<int32_t>, Floats>>& inputs, KernelTable own) {
  Outcome out;
  Report report;
  BufferLoader loader(Span<const uint8_t>(bytes.data(), bytes.size()));
  const Plugin* const list[] = {mine()};
  PluginDevices devices(list);
  LoadOptions options;
  options.backends = devices.backends();
  options.report = &report;
  const auto fail = [&](Error error, const Report& why) {
    out.error = error;
    out.said = std::string(why.place) + ": " + why.message;
    return out;
  };
  const KernelTable tables[] = {own, portable::kernels()};
  const auto program = Program::load(loader, tables, options);
  if (!program.ok()) return fail(program.error(), report);
  HostOptions host;
  host.report = &report;
  auto method = HostMethod::load(*program, "forward", host);
  if (!method.ok()) return fail(method.error(), report);
  for (int again = 0; again < 2; ++again) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Error set = method->method().set_input(i, inputs[i].second.data(), inputs[i].first, DType::kF32);
      if (set != Error::kOk) return fail(set, method->method().last_report());
    }
    const Error error = method->method().execute();
    if (error != Error::kOk) return fail(error, method->method().last_report());
  }
  for (size_t i = 0; i < method->method().meta().num_outputs(); ++i) {
    const Tensor& result = method->method().get_output(i).tensor();
    out.results.emplace_back(result.data<float>(), result.data<float>() + result.numel());
  }
  return out;
}

constexpr char kTwice[] = R"(
    method forward(%x: f32[64]) {
      %a: f32[64] = aten::exp(%x)
      %b: f32[64] = my::OP(%a, 3)
      %c: f32[64] = aten::add.Tensor(%b, %a)
      %d: f32[64] = my::OP(%c, 0.5)
      return %d
    })";

std::string twice(const std::string& op) {
  std::string text = kTwice;
  for (size_t at = text.find("OP"); at != std::string::npos; at = text.find("OP")) text.replace(at, 2, op);
  return text;
}

Floats expected_twice(const Floats& x) {
  Floats y;
  for (const float one : x) y.push_back(0.5f * (3 * std::exp(one) + std::exp(one)));
  return y;
}

Floats ramp(size_t count) {
  Floats x(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i) / 32 - 1;
  return x;
}

void expect_close(const Outcome& out, const Floats& expected) {
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  ASSERT_EQ(out.results.at(0).size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(out.results[0][i], expected[i], 1e-5f * std::max(1.0f, std::fabs(expected[i]))) << i;
  }
}

bool has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
  return text.find(part) != std::string::npos;
}

}  // namespace berth::own_operators_testing

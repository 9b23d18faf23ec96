// Operators of one's own from the model to the numbers: a plug-in that is linked into the test has them, and does what it
// should not where a test asks for it. Expected numbers are computed by plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>

#include "base/seeds_testing.h"
#include "compiler/compile.h"
#include "compiler/import/onnx/model_testing.h"
#include "compiler/import/pte/import_pte.h"
#include "compiler/ir/own_operators.h"
#include "compiler/ir/parse.h"
#include "compiler/memory/replan/replan.h"
#include "compiler/targets/plugin_operators.h"
#include "format/plan_check/verify_plan.h"
#include "format/program_view.h"
#include "kernels/portable/portable.h"
#include "plugin/target.h"
#include "runtime/data_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_devices.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/program.h"
#include "runtime/signature.h"

namespace berth {
namespace {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;
using plugin::Call;
using plugin::Node;
using plugin::Results;

// out = factor * self. May lie on self.
struct Gain final : plugin::Operator {
  explicit Gain(const char* name = "my::gain", uint32_t in_place = 1)
      : Operator(name, "Tensor self, float factor=2 -> Tensor out") {
    table_.in_place = in_place;
  }
  plugin::Status infer(const Node& call, Results& results) override {
    if (call.argument("self").value().dtype() != BERTH_F32) return {BERTH_INVALID_ARGUMENT, "takes floats only"};
    results.like(call.argument("self").value());
    return {};
  }
  plugin::Status compute(const Call& call) override {
    call.resize_like(2, 0);
    const float factor = static_cast<float>(call.number(1));
    for (int64_t i = 0; i < call.numel(0); ++i) call.data<float>(2)[i] = factor * call.data<float>(0)[i];
    return {};
  }
};

// [n, m] to [n + 1, parts * m / 2]: row i is row i of self repeated, the last row is zero. Sizes of every operation.
struct Grow final : plugin::Operator {
  Grow() : Operator("my::grow", "Tensor self, int parts -> Tensor out") {}
  plugin::Status infer(const Node& call, Results& results) override {
    const plugin::Value self = call.argument("self").value();
    if (self.rank() != 2) return {BERTH_INVALID_ARGUMENT, "takes matrices"};
    const int64_t width = results.multiply(results.dim(self, 1), call.argument("parts").integer());
    results.give(self.dtype(), {results.add(results.dim(self, 0), 1), results.divide(width, 2)});
    return {};
  }
  plugin::Status compute(const Call& call) override {
    const berth_tensor& self = call.tensor(0);
    berth_tensor& out = call.tensor(2);
    out.sizes[0] = self.sizes[0] + 1;
    out.sizes[1] = static_cast<int32_t>(self.sizes[1] * call.integer(1) / 2);
    for (int32_t i = 0; i < out.sizes[0]; ++i) {
      for (int32_t k = 0; k < out.sizes[1]; ++k) {
        call.data<float>(2)[i * out.sizes[1] + k] =
            i < self.sizes[0] ? call.data<float>(0)[i * self.sizes[1] + k % self.sizes[1]] : 0;
      }
    }
    return {};
  }
};

// Lists of tensors and numbers, an optional tensor, a text: a weighted sum, two results.
struct Blend final : plugin::Operator {
  Blend()
      : Operator("my::blend",
                 "Tensor? bias, Tensor[] parts, float[] weights, int[] signs, str mode='sum', bool twice=False "
                 "-> Tensor sum, Tensor half") {}
  plugin::Status infer(const Node& call, Results& results) override {
    if (call.argument("parts").size() == 0) return {BERTH_INVALID_ARGUMENT, "has no parts"};
    results.like(call.argument("parts").value(0));
    results.like(call.argument("parts").value(0));
    return {};
  }
  plugin::Status compute(const Call& call) override {
    if (call.text(4) != "sum") return {BERTH_INVALID_ARGUMENT, "knows no mode " + std::string(call.text(4))};
    for (const size_t result : {6, 7}) call.resize_like(result, 1);
    const double times = call.integer(5) != 0 ? 2 : 1;
    for (int64_t i = 0; i < call.numel(6); ++i) {
      double sum = call.is_none(0) ? 0 : call.data<float>(0)[i];
      for (size_t k = 0; k < call[1].count; ++k) {
        sum += times * call.number(2, k) * static_cast<double>(call.integer(3, k)) * call.data<float>(1, k)[i];
      }
      call.data<float>(6)[i] = static_cast<float>(sum);
      call.data<float>(7)[i] = static_cast<float>(sum / 2);
    }
    return {};
  }
};

// Copies and counts its calls.
struct Count final : plugin::Operator {
  Count() : Operator("my::count", "Tensor self -> Tensor out") { table_.has_effects = 1; }
  plugin::Status infer(const Node& call, Results& results) override {
    results.like(call.argument(0).value());
    return {};
  }
  plugin::Status compute(const Call& call) override {
    seen.push_back(call.data<float>(0)[0]);
    std::memcpy(call.tensor(1).data, call.tensor(0).data, call.tensor(0).bytes);
    return {};
  }
  static Floats seen;
};
Floats Count::seen;

// A shape rule and a kernel that a test writes.
struct Scripted final : plugin::Operator {
  Scripted() : Operator("my::scripted", "Tensor self -> Tensor out") {}
  plugin::Status infer(const Node& call, Results& results) override { return on_infer(call, results); }
  plugin::Status compute(const Call& call) override { return on_compute(call); }
  static std::function<plugin::Status(const Node&, Results&)> on_infer;
  static std::function<plugin::Status(const Call&)> on_compute;
};
std::function<plugin::Status(const Node&, Results&)> Scripted::on_infer;
std::function<plugin::Status(const Call&)> Scripted::on_compute;

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

std::shared_ptr<const ir::OperatorSet> operators() {
  static const auto set = plugin_operators(std::vector<const Plugin*>{mine()});
  EXPECT_TRUE(set.ok());
  return *set;
}

ImportOptions with_operators() {
  ImportOptions options;
  options.operators = operators();
  return options;
}

Expected<ir::Module> parsed(const std::string& text) { return ir::parse(text, "test", "", operators()); }

CompileOptions options_for(const std::string& target = "portable") {
  CompileOptions options;
  options.plugins = {mine()};
  options.target = target;
  options.verify_ir = true;
  return options;
}

Bytes compiled(Expected<ir::Module> module, const CompileOptions& options = options_for(),
               CompileReport* report = nullptr) {
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  auto program = compile(std::move(*module), options, report);
  EXPECT_TRUE(program.ok()) << program.error().text();
  return program.ok() ? *program : Bytes();
}

std::string failure_of(const std::string& text) {
  auto module = parsed(text);
  return module.ok() ? "is taken" : module.error().text();
}

struct Outcome {
  Error error = Error::kOk;
  std::string said;
  std::vector<Floats> results;
};

KernelTable own_kernels() {
  static const auto kernels = PluginKernels::make(std::vector<const Plugin*>{mine()});
  EXPECT_TRUE(kernels.ok());
  return kernels->table();
}

// Runs a program whose inputs are floats, twice.
Outcome run(const Bytes& bytes, const std::vector<std::pair<std::vector<int32_t>, Floats>>& inputs,
            KernelTable own = own_kernels()) {
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

bool has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
  return text.find(part) != std::string::npos;
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

TEST(OwnOperators, AForeignDomainOfOnnxRunsWithThePluginsKernel) {
  onnx::TestModel m(17);
  m.input("x", {2, 3});
  m.node("gain", {"x"}, {"a"}).domain("my").set("factor", 3.0f).name("first");
  m.node("Relu", {"a"}, {"b"});
  m.node("gain", {"b"}, {"y"}).domain("my").name("second");
  m.output("y");
  CompileReport report;
  const Bytes program = compiled(m.import(with_operators()), options_for(), &report);
  EXPECT_EQ(report.in_place, 3);
  const Outcome out = run(program, {{{2, 3}, {-1, 2, -3, 4, 5, -6}}});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  EXPECT_EQ(out.results, std::vector<Floats>({{0, 12, 0, 24, 30, 0}}));
  EXPECT_EQ(own_operators_of(program), "my::gain=1");
}

TEST(OwnOperators, AttributesInputsAndOutputsGoByTheSchema) {
  onnx::TestModel m(17);
  m.input("b", {3});
  m.input("x", {3});
  m.input("y", {3});
  m.node("blend", {"b", "x", "y"}, {"sum", "half"})
      .domain("my")
      .set("weights", std::vector<float>{0.5f, 2})
      .set("signs", std::vector<int64_t>{1, -1})
      .set("twice", 1);
  m.node("blend", {"", "x"}, {"alone"})
      .domain("my")
      .set("weights", std::vector<float>{1})
      .set("signs", std::vector<int64_t>{-1});
  for (const char* name : {"sum", "half", "alone"}) m.output(name);
  const Outcome out =
      run(compiled(m.import(with_operators())), {{{3}, {1, 1, 1}}, {{3}, {2, 4, 6}}, {{3}, {1, 0, -1}}});
  ASSERT_EQ(out.error, Error::kOk) << out.said;
  EXPECT_EQ(out.results, std::vector<Floats>({{-1, 5, 11}, {-0.5, 2.5, 5.5}, {-2, -4, -6}}));
}

TEST(OwnOperators, WhatTheSchemaDoesNotHaveIsRefusedByName) {
  const auto said = [](const std::function<void(onnx::TestModel&)>& add) {
    onnx::TestModel m(17);
    m.input("x", {2, 3});
    add(m);
    m.output("y");
    return onnx::failure(m, with_operators());
  };
  has(said([](onnx::TestModel& m) { m.node("gain", {"x"}, {"y"}).domain("my").set("factr", 3.0f).name("n"); }),
      "onnx node \"n\": gain: attribute 'factr' is not in the schema of my::gain");
  has(said([](onnx::TestModel& m) { m.node("gain", {"x", "x"}, {"y"}).domain("my"); }), "at most 1 inputs, found 2");
  has(said([](onnx::TestModel& m) {
        m.node("gain", {"x"}, {"y", "z"}).domain("my");
      }),
      "has 2 outputs in the model, and 1");
  has(said([](onnx::TestModel& m) { m.node("gain", {"x"}, {"y"}).domain("my").set("factor", "3"); }),
      "'factor' must be");
  has(said([](onnx::TestModel& m) { m.node("grow", {"x"}, {"y"}).domain("my"); }), "attribute 'parts' is missing");
  has(said([](onnx::TestModel& m) { m.node("grow", {}, {"y"}).domain("my").set("parts", 2); }),
      "input 'self' is missing");
  has(said([](onnx::TestModel& m) { m.node("lost", {"x"}, {"y"}).domain("my"); }), "my.lost");
  onnx::TestModel none(17);
  none.input("x", {2, 3});
  none.node("gain", {"x"}, {"y"}).domain("my");
  none.output("y");
  has(onnx::failure(none), "uses operators that Berth does not have: my.gain");
  has(onnx::failure(none), "come with --plugin");
}

// What a function of that name says is for who has no kernel.
TEST(OwnOperators, AKernelOfOnesOwnComesBeforeTheModelsFunction) {
  onnx::TestModel m(17);
  m.input("x", {2});
  auto* f = m.model.add_functions();
  f->set_name("gain");
  f->set_domain("my");
  f->add_input("a");
  f->add_output("b");
  f->add_opset_import()->set_version(17);
  onnx::TestModel::fill(f->add_node(), "Neg", {"a"}, {"b"});
  m.node("gain", {"x"}, {"y"}).domain("my");
  m.output("y");
  EXPECT_EQ(run(compiled(m.import(with_operators())), {{{2}, {1, 2}}}).results.at(0), Floats({2, 4}));
  EXPECT_EQ(run(compiled(m.import()), {{{2}, {1, 2}}}).results.at(0), Floats({-1, -2}));
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

// %a is read after the first call, and nothing after the second.
TEST(OwnOperators, WorksInPlaceWhereItsMakerSaysAndTheInputIsDead) {
  CompileReport own;
  CompileReport never;
  CompileReport plain;
  const Bytes in_place = compiled(parsed(twice("gain")), options_for(), &own);
  CompileOptions off = options_for();
  off.in_place = false;
  const Bytes apart = compiled(parsed(twice("gain")), off, &never);
  const Bytes without = compiled(parsed(twice("plain")), options_for(), &plain);
  EXPECT_EQ(own.in_place, 3);    // exp, add, the second gain
  EXPECT_EQ(plain.in_place, 2);  // exp, add
  EXPECT_EQ(never.in_place, 0);
  EXPECT_EQ(own_operators_of(in_place), "my::gain=1");
  EXPECT_EQ(own_operators_of(apart), "my::gain=0");
  EXPECT_EQ(own_operators_of(without), "my::plain=0");
  const Floats x = ramp(64);
  for (const Bytes& program : {in_place, apart, without}) expect_close(run(program, {{{64}, x}}), expected_twice(x));
}

TEST(OwnOperators, AKernelThatDoesNotWorkInPlaceRefusesThePlan) {
  const Bytes program = compiled(parsed(twice("gain")));
  std::vector<KernelEntry> careful(own_kernels().begin(), own_kernels().end());
  for (KernelEntry& entry : careful) entry.in_place_arguments = 0;
  const Outcome out = run(program, {{{64}, ramp(64)}}, {careful.data(), careful.size()});
  EXPECT_EQ(out.error, Error::kNotSupported);
  has(out.said, "the program computes my::gain.out in place of argument 0, and its kernel does not allow that");
}

// --inplace my::plain=self: wider than the maker says. The plan is proved, and the kernel is asked.
TEST(OwnOperators, TheCallerMayWidenWhatTheMakerSaysAndTheKernelIsAsked) {
  CompileOptions options = options_for();
  options.in_place_operators = {"+my::plain=self"};
  CompileReport report;
  const Bytes program = compiled(parsed(twice("plain")), options, &report);
  EXPECT_EQ(report.in_place, 3);
  EXPECT_EQ(own_operators_of(program), "my::plain=1");
  const Floats x = ramp(64);
  const Outcome refused = run(program, {{{64}, x}});
  EXPECT_EQ(refused.error, Error::kNotSupported);
  has(refused.said, "my::plain.out in place of argument 0");
  std::vector<KernelEntry> willing(own_kernels().begin(), own_kernels().end());
  for (KernelEntry& entry : willing) entry.in_place_arguments = 1;
  expect_close(run(program, {{{64}, x}}, {willing.data(), willing.size()}), expected_twice(x));

  options.in_place_operators = {"my::plain=self"};  // without '+', only this
  compiled(parsed(twice("plain")), options, &report);
  EXPECT_EQ(report.in_place, 1);
}

TEST(OwnOperators, WideningThatCannotBeIsRefused) {
  const auto said = [](const std::string& entry, Planner planner = Planner::kBest) {
    CompileOptions options = options_for();
    options.planner = planner;
    options.in_place_operators = {entry};
    auto module = parsed(twice("plain"));
    const auto program = compile(std::move(*module), options);
    return program.ok() ? "is taken" : program.error().text();
  };
  has(said("my::plain"), "its maker does not say of which argument");
  has(said("my::plain=factor"), "factor is not a tensor");
  has(said("my::plain=nothing"), "has no argument nothing");
  has(said("my::plain="), "has no argument ");
  has(said("+my::lost=self"), "there is no such operator");
  has(said("+aten::sum.dim_IntList=self"), "never works in place");
  has(said("+my::plain=self", Planner::kNaive), "would have no effect");
}

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

TEST(OwnOperators, AMissingKernelIsNamedAtLoad) {
  const Outcome out = run(compiled(parsed(twice("gain"))), {{{64}, ramp(64)}}, KernelTable());
  EXPECT_EQ(out.error, Error::kOperatorMissing);
  has(out.said, "no kernel for my::gain.out");
}

constexpr char kScripted[] = "method forward(%x: f32[4]) {\n%y: f32[4] = my::scripted(%x)\nreturn %y\n}";

TEST(OwnOperators, AShapeRuleThatLiesIsAFailureOfItsNode) {
  const auto said = [](std::function<plugin::Status(const Node&, Results&)> rule) {
    Scripted::on_infer = std::move(rule);
    const std::string text = failure_of(kScripted);
    has(text, "my::scripted");
    return text;
  };
  using S = plugin::Status;
  has(said([](const Node&, Results&) { return S(); }), "gives 0 results, its schema has 1");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {4}), r.give(BERTH_F32, {4}), S(); }),
      "gives 2 results");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {5}), S(); }), "expected the result %y: f32[5]");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {-1}), S(); }), "the size -1, which cannot be");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {INT64_MIN}), S(); }), "which cannot be");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {BERTH_NO_NUMBER - 7}), S(); }), "which cannot be");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {int64_t{1} << 39}), S(); }), "my::scripted");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, std::vector<int64_t>(17, 1)), S(); }),
      "17 dimensions");
  has(said([](const Node&, Results& r) { return r.give(99, {4}), S(); }), "element type 99, which does not exist");
  has(said([](const Node& n, Results& r) { return r.give(BERTH_F32, {r.dim(n.argument(0).value(), 3)}), S(); }),
      "asks for dimension 3");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {r.divide(4, 0)}), S(); }), "divides by");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {r.add(INT64_MAX, INT64_MIN)}), S(); }),
      "is given what is not a size");
  has(said([](const Node&, Results&) { return S(BERTH_NOT_SUPPORTED, "not on %s%n Sundays"); }), "not on %s%n Sundays");
  has(said([](const Node&, Results&) -> S { throw std::runtime_error("bang"); }), "threw an exception: bang");
  has(said([](const Node&, Results&) -> S { throw 7; }), "threw an exception");
}

// A rule that says one thing now and another later is found by the check of the IR.
TEST(OwnOperators, AShapeRuleThatChangesItsMindIsFound) {
  Scripted::on_infer = [](const Node& n, Results& r) { return r.like(n.argument(0).value()), plugin::Status(); };
  auto module = parsed(kScripted);
  ASSERT_TRUE(module.ok());
  Scripted::on_infer = [](const Node&, Results& r) { return r.give(BERTH_F32, {3}), plugin::Status(); };
  const auto program = compile(std::move(*module), options_for());
  ASSERT_FALSE(program.ok());
  has(program.error().text(), "f32[3]");
}

TEST(OwnOperators, AKernelThatLiesAboutSizesOrThrowsIsAnErrorOfTheRun) {
  Scripted::on_infer = [](const Node& n, Results& r) { return r.like(n.argument(0).value()), plugin::Status(); };
  const Bytes fixed = compiled(parsed(kScripted));
  const Bytes dynamic =
      compiled(parsed("symbol n in [1, 4]\nmethod forward(%x: f32[n]) {\n%y: f32[n] = my::scripted(%x)\nreturn %y\n}"));
  const auto said = [&](const Bytes& program, std::function<plugin::Status(const Call&)> kernel) {
    Scripted::on_compute = std::move(kernel);
    const Outcome out = run(program, {{{4}, {1, 2, 3, 4}}});
    EXPECT_NE(out.error, Error::kOk);
    return out.said;
  };
  using S = plugin::Status;
  const std::string cannot = "gives a result sizes that it cannot have";
  for (const Bytes& program : {fixed, dynamic}) {
    has(said(program, [](const Call& c) { return c.tensor(1).sizes[0] = 5, S(); }), cannot);
    has(said(program, [](const Call& c) { return c.tensor(1).sizes[0] = -1, S(); }), cannot);
    has(said(program, [](const Call& c) { return c.tensor(1).sizes[0] = INT32_MAX, S(); }), cannot);
    has(said(program, [](const Call&) { return S(BERTH_INVALID_ARGUMENT, "no %s%n today"); }), "no %s%n today");
    has(said(program, [](const Call&) -> S { throw std::runtime_error("bang"); }), "threw an exception: bang");
    has(said(program, [](const Call&) { return S(12345, std::string(5000, 'x')); }), "xxx");
  }
  has(said(fixed, [](const Call& c) { return c.tensor(1).sizes[0] = 3, S(); }), cannot);
  // What it does to the sizes of an input has no effect.
  Scripted::on_compute = [](const Call& c) {
    c.tensor(0).sizes[0] = 1000;
    std::memcpy(c.tensor(1).data, c.tensor(0).data, c.tensor(0).bytes);
    return S();
  };
  EXPECT_EQ(run(fixed, {{{4}, {1, 2, 3, 4}}}).results.at(0), Floats({1, 2, 3, 4}));
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

TEST(OwnOperators, ACompiledProgramComesInAgain) {
  const Bytes once = compiled(parsed(twice("gain")));
  const Span<const uint8_t> file(once.data(), once.size());
  const auto unknown = import_pte(file, {});
  ASSERT_FALSE(unknown.ok());
  has(unknown.error().text(), "my::gain.out");
  has(unknown.error().text(), "is an operator that Berth does not have; one of your own comes with --plugin");
  const Bytes again = compiled(import_pte(file, with_operators()));
  const Floats x = ramp(64);
  expect_close(run(again, {{{64}, x}}), expected_twice(x));
}

TEST(OwnOperators, OverloadsAreTold) {
  const Bytes program = compiled(parsed(
      "method forward(%x: f32[2]) {\n%a: f32[2] = my::gain(%x, 3)\n%y: f32[2] = my::gain.Twice(%a, 5)\nreturn %y\n}"));
  EXPECT_EQ(run(program, {{{2}, {1, 2}}}).results.at(0), Floats({15, 30}));
  const Bytes again = compiled(import_pte(Span<const uint8_t>(program.data(), program.size()), with_operators()));
  EXPECT_EQ(run(again, {{{2}, {1, 2}}}).results.at(0), Floats({15, 30}));
}

TEST(OwnOperators, ReplanningKeepsWhatTheFileAllows) {
  CompileOptions loose = options_for();
  loose.planner = Planner::kGreedy;
  loose.reorder = false;
  const Bytes program = compiled(parsed(twice("gain")), loose);
  const auto replanned = replan::replan(Span<const uint8_t>(program.data(), program.size()));
  ASSERT_TRUE(replanned.ok()) << replanned.error().text();
}

// A file that was bent: without the permission its own check refuses the plan, and it cannot permit what the operator
// table forbids.
TEST(OwnOperators, APlanInPlaceStandsAndFallsWithThePermission) {
  Bytes program = compiled(parsed(twice("gain")));
  format::ProgramView view;
  const auto check = [&] {
    format::Report report;
    EXPECT_EQ(format::ProgramView::open(Span<const uint8_t>(program.data(), program.size()), &view, nullptr),
              Error::kOk);
    std::vector<uint8_t> scratch(format::plan_scratch_bytes(view, 0));
    const Error error = format::verify_plan(view, 0, scratch, nullptr, &report);
    return error == Error::kOk ? std::string("sound") : std::string(report.message);
  };
  EXPECT_EQ(check(), "sound");
  auto* own = const_cast<fb::OwnOperator*>(view.meta()->methods()->Get(0)->own_operators()->Get(0));
  const auto field = const_cast<uint8_t*>(
      reinterpret_cast<const flatbuffers::Table*>(own)->GetAddressOf(fb::OwnOperator::VT_IN_PLACE));
  ASSERT_NE(field, nullptr);
  ASSERT_EQ(*field, 1);
  *field = 2;
  has(check(), "the operator does not allow that");
  *field = 0;
  has(check(), "the operator does not allow that");
  // The same of an operator of the table: aten::exp computes in place, and would not if the file had a say.
  const auto index =
      const_cast<uint8_t*>(reinterpret_cast<const flatbuffers::Table*>(own)->GetAddressOf(fb::OwnOperator::VT_INDEX));
  ASSERT_NE(index, nullptr);
  *field = 1;
  *index = 77;
  format::Report report;
  Outcome out = run(program, {{{64}, ramp(64)}});
  EXPECT_EQ(out.error, Error::kInvalidProgram);
  has(out.said, "own_operators");
}

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

// Without a plug-in: functions for the compiler, a table of kernels for the runtime, which may take temporary memory and
// data of its own.
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
}  // namespace berth

// Plug-ins from the model to the numbers: the accelerator of examples/plugin, which is a shared library that knows nothing
// of Berth's insides, and targets that do what they should not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "base/backend_facts.h"
#include "base/delegate_specs.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "compiler/memory/replan/replan.h"
#include "compiler/targets/plugin_operators.h"
#include "format/delegate_device.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "kernels/portable/portable.h"
#include "plugin/target.h"
#include "runtime/data_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_devices.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/program.h"

namespace berth {
namespace {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

const Plugin* npu() {
  static const Plugin* const plugin = [] {
    const auto opened = Plugin::open(BERTH_EXAMPLE_NPU);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? *opened : nullptr;
  }();
  return plugin;
}

// tanh is the host's: two delegates, each of several nodes, with a constant in both.
constexpr const char* kNetwork = R"(
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

ir::Module module_of(const std::string& text) {
  const auto operators = plugin_operators(std::vector<const Plugin*>{npu()});
  EXPECT_TRUE(operators.ok());
  auto module = ir::parse(text, "test", "", *operators);
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? std::move(*module) : ir::Module();
}

CompileOptions options_for(const std::string& target, std::vector<const Plugin*> plugins = {npu()}) {
  CompileOptions options;
  options.plugins = std::move(plugins);
  options.target = target;
  options.why = {"partition"};
  options.verify_ir = true;
  return options;
}

Bytes compiled(const std::string& text, const CompileOptions& options, CompileReport* report = nullptr) {
  auto program = compile(module_of(text), options, report);
  EXPECT_TRUE(program.ok()) << program.error().text();
  return program.ok() ? *program : Bytes();
}

struct Outcome {
  Error error = Error::kOk;
  std::string said;
  Floats result;
};

// Runs a program of one input of floats, which are 0.25, 0.5, …
Outcome run(const Bytes& program_bytes) {
  Outcome out;
  const Plugin* const list[] = {npu()};
  PluginDevices devices(list);
  DeviceAllocatorRegistry registry;
  for (DeviceAllocator* allocator : devices.allocators()) registry.register_allocator(allocator);
  Report report;
  BufferLoader loader(Span<const uint8_t>(program_bytes.data(), program_bytes.size()));
  LoadOptions options;
  options.registry = &registry;
  options.backends = devices.backends();
  options.report = &report;
  const auto fail = [&](Error error, const Report& why) {
    out.error = error;
    out.said = std::string(why.place) + ": " + why.message;
    return out;
  };
  const auto own = PluginKernels::make(list);
  EXPECT_TRUE(own.ok());
  const KernelTable tables[] = {own->table(), portable::kernels()};
  const auto program = Program::load(loader, tables, options);
  if (!program.ok()) return fail(program.error(), report);
  HostOptions host;
  host.report = &report;
  auto method = HostMethod::load(*program, "forward", host);
  if (!method.ok()) return fail(method.error(), report);
  const auto info = method->method().meta().input_tensor_meta(0);
  Floats x(info->nbytes / sizeof(float));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1) / 4;
  for (int again = 0; again < 2; ++again) {
    Error error = method->method().set_input(0, x.data(), info->sizes, info->dtype);
    if (error == Error::kOk) error = method->method().execute();
    if (error != Error::kOk) return fail(error, method->method().last_report());
  }
  const Tensor& result = method->method().get_output(0).tensor();
  out.result.assign(result.data<float>(), result.data<float>() + result.numel());
  return out;
}

double largest_difference(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
  return most;
}

format::ProgramView view_of(const Bytes& program) {
  format::ProgramView view;
  EXPECT_EQ(format::ProgramView::open(Span<const uint8_t>(program.data(), program.size()), &view, nullptr), Error::kOk);
  return view;
}

TEST(Plugin, AnAcceleratorOfOnesOwnGivesTheHostsNumbers) {
  const Outcome host = run(compiled(kNetwork, options_for("portable")));
  CompileReport report;
  const Outcome there = run(compiled(kNetwork, options_for("npu:0"), &report));
  ASSERT_EQ(there.error, Error::kOk) << there.said;
  EXPECT_EQ(host.result.size(), 6u);
  EXPECT_LE(largest_difference(there.result, host.result), 1e-5);
  ASSERT_EQ(report.delegates.size(), 2u);
  EXPECT_EQ(report.delegates[0].backend, "acme.npu");
  EXPECT_STREQ(to_text(report.delegates[0].device).text, "npu:0");
  EXPECT_EQ(report.delegates[0].scratch_bytes, 192) << "of three intermediates of 24 bytes, each at a multiple of 64";
  const auto refused = [](const std::string& line) { return line.find("refused: it has no aten::tanh") != line.npos; };
  EXPECT_TRUE(std::any_of(report.why.begin(), report.why.end(), refused)) << "the plug-in's own words";
}

// Its own operator: a kernel for the host, and one in the accelerator's delegates.
TEST(Plugin, AnOperatorOfItsOwnRunsOnTheHostAndInItsDelegates) {
  constexpr const char* kClips = R"(
    const @w: f32[4,3] = dense<[1, -2, 3, 4, 5, -6, 7, 8, 9, -10, 11, 12]>
    method forward(%x: f32[2,4]) {
      %w: f32[4,3] = const @w
      %p: f32[2,3] = aten::mm(%x, %w)
      %c: f32[2,3] = npu::clip(%p, 7.5)
      %t: f32[2,3] = aten::tanh(%c)
      %d: f32[2,3] = npu::clip(%t, 0.5)
      return %d
    })";
  const Outcome host = run(compiled(kClips, options_for("portable")));
  CompileReport report;
  const Bytes program = compiled(kClips, options_for("npu:0"), &report);
  const Outcome there = run(program);
  ASSERT_EQ(host.error, Error::kOk) << host.said;
  ASSERT_EQ(there.error, Error::kOk) << there.said;
  EXPECT_EQ(report.delegates.size(), 2u);
  for (const auto* op : *view_of(program).method(0).operators()) EXPECT_STRNE(format::text(op->name()), "npu::clip");
  EXPECT_EQ(there.result, host.result);
  EXPECT_EQ(host.result.at(0), -0.5f);
}

// A constant of one repeated element, which has no bytes in the compiler, is a constant like others to a plug-in.
TEST(Plugin, ConstantsOfOneElementHaveTheirBytes) {
  constexpr const char* kSplat = R"(
    const @w: f32[4,3] = splat<0.75>
    const @b: f32[3] = splat<-1.5>
    method forward(%x: f32[2,4]) {
      %w: f32[4,3] = const @w
      %b: f32[3] = const @b
      %p: f32[2,3] = aten::mm(%x, %w)
      %r: f32[2,3] = aten::relu(%p)
      %s: f32[2,3] = aten::add.Tensor(%r, %b, 1)
      return %s
    })";
  CompileReport report;
  const Outcome there = run(compiled(kSplat, options_for("npu:0"), &report));
  ASSERT_EQ(there.error, Error::kOk) << there.said;
  EXPECT_EQ(report.delegates.size(), 1u);
  EXPECT_EQ(there.result, (Floats{0.375f, 0.375f, 0.375f, 3.375f, 3.375f, 3.375f}));
}

TEST(Plugin, ItsMemoryIsDividedIntoBanks) {
  CompileOptions options = options_for("npu:0");
  options.banks = {"sram=128@npu:0", "dram@npu:0,slow"};
  CompileReport report;
  const Outcome there = run(compiled(kNetwork, options, &report));
  ASSERT_EQ(there.error, Error::kOk) << there.said;
  EXPECT_LE(largest_difference(there.result, run(compiled(kNetwork, options_for("portable"))).result), 1e-4);
  std::vector<std::string> banks;
  for (const ArenaReport& arena : report.arenas) {
    if (arena.device.is_cpu()) continue;
    banks.push_back(arena.bank);
    EXPECT_GT(arena.bytes, 0) << arena.bank;
  }
  EXPECT_EQ(banks, (std::vector<std::string>{"sram", "dram"}));
}

TEST(Plugin, ADelegateSaysWhichBankItsTensorsLieIn) {
  CompileOptions options = options_for("npu:0");
  options.banks = {"sram@npu:0", "dram@npu:0,slow"};
  const auto bytes_in_dram = [&](std::vector<std::string> specs) {
    options.specs = std::move(specs);
    CompileReport report;
    const Outcome there = run(compiled(kNetwork, options, &report));
    EXPECT_EQ(there.error, Error::kOk) << there.said;
    EXPECT_LE(largest_difference(there.result, run(compiled(kNetwork, options_for("portable"))).result), 1e-4);
    for (const ArenaReport& arena : report.arenas) {
      if (arena.bank == "dram") return arena.bytes;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(bytes_in_dram({}), 0);
  EXPECT_GT(bytes_in_dram({"npu:berth.output_bank=dram"}), 0);
}

TEST(Plugin, CompileSpecsReachBothHalves) {
  CompileOptions low = options_for("npu:0");
  low.specs = {"npu:precision=low"};
  const Bytes program = compiled(kNetwork, low);
  const Outcome rounded = run(program);
  const Outcome host = run(compiled(kNetwork, options_for("portable")));
  ASSERT_EQ(rounded.error, Error::kOk) << rounded.said;
  EXPECT_GT(largest_difference(rounded.result, host.result), 1e-4);
  EXPECT_LE(largest_difference(rounded.result, host.result), 1);
  const auto& specs = *view_of(program).method(0).delegates()->Get(0)->compile_specs();
  std::vector<std::string> keys;
  for (const auto* spec : specs) keys.emplace_back(format::text(spec->key()));
  EXPECT_EQ(keys, (std::vector<std::string>{"target_device", "berth.alignment", "berth.padding", "berth.pure",
                                            "precision", "berth.scratch"}));
}

TEST(Plugin, SpecsThatNobodyTakesAreRefused) {
  const auto said = [](const std::string& spec) {
    CompileOptions options = options_for("npu:0,cpu");
    options.specs = {spec};
    const auto program = compile(module_of(kNetwork), options);
    return program.ok() ? "compiles" : program.error().text();
  };
  EXPECT_EQ(said("npu:0:precision=full"), "compiles");
  EXPECT_EQ(said("NPU:precision=full"), "compiles");
  EXPECT_NE(said("npu:precision=none").find("target npu:0: precision is \"none\"; expected full or low"),
            std::string::npos);
  EXPECT_NE(said("npu:1:precision=low").find("its target is not among those that make delegates"), std::string::npos);
  EXPECT_NE(said("sim:a=b").find("its target is not among those that make delegates"), std::string::npos);
  for (const char* wrong : {"", "=", "npu", "npu:", "npu:=1", ":a=1", "precision=low"}) {
    EXPECT_NE(said(wrong).find("expected TARGET:KEY=VALUE"), std::string::npos) << wrong;
  }
  EXPECT_NE(said("npu:target_device=npu:1").find("target_device is set by the target itself"), std::string::npos);
  EXPECT_NE(said("npu:berth.alignment=1").find("is set by the target itself"), std::string::npos);
}

TEST(Plugin, TargetsAreNamedLikeBerthsOwn) {
  const auto said = [](const std::string& target) {
    const auto program = compile(module_of(kNetwork), options_for(target));
    return program.ok() ? "compiles" : program.error().text();
  };
  EXPECT_EQ(said("NPU"), "compiles");
  EXPECT_EQ(said("npu:127"), "compiles");
  EXPECT_NE(said("npu:128").find("expected an index from 0 to 127"), std::string::npos);
  EXPECT_NE(said("tpu").find("portable, cpu, cuda:N, sim:N, npu:N"), std::string::npos);
  EXPECT_NE(said("npu,npu:0").find("stands twice"), std::string::npos);
  const auto without = compile(module_of(kNetwork), options_for("npu:0", {}));
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.error().text().find("expected one of portable, cpu"), std::string::npos)
      << "a device type that is registered is not a target by itself";
  const auto twice = compile(module_of(kNetwork), options_for("npu:0", {npu(), npu()}));
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().text().find("is in two plug-ins"), std::string::npos);
}

// What its maker relies on: where its tensors begin, what lies behind them, and that scratch is its own.
void expect_promises(const Bytes& program, const char* which) {
  const format::ProgramView view = view_of(program);
  const fb::ExecutionPlan& plan = view.method(0);
  std::vector<int64_t> ends(plan.non_const_buffer_sizes()->size());
  int arguments = 0;
  for (const auto* chain : *plan.chains()) {
    for (const auto* instruction : *chain->instructions()) {
      const auto* call = instruction->instr_args_as_DelegateCall();
      if (call == nullptr) continue;
      for (const int32_t arg : *call->args()) {
        const fb::Tensor& tensor = *format::tensor_at(plan, arg);
        ASSERT_TRUE(format::is_planned(tensor));
        EXPECT_EQ(format::planned_offset(*tensor.allocation_info()) % 64, 0u) << which << ": argument " << arg;
        ++arguments;
      }
    }
  }
  EXPECT_EQ(arguments, 3 + 4);
  for (uint32_t i = 0; i < plan.values()->size(); ++i) {
    const fb::Tensor* tensor = format::tensor_at(plan, static_cast<int32_t>(i));
    if (tensor == nullptr || !format::is_planned(*tensor)) continue;
    int64_t bytes = 4;
    for (const int32_t size : *tensor->sizes()) bytes *= size;
    if (tensor->scalar_type() == fb::ScalarType::BYTE) bytes /= 4;
    int64_t& end = ends[tensor->allocation_info()->memory_id()];
    end = std::max(end, static_cast<int64_t>(format::planned_offset(*tensor->allocation_info())) + bytes);
  }
  for (uint32_t arena = 1; arena < ends.size(); ++arena) {
    EXPECT_GE(plan.non_const_buffer_sizes()->Get(arena), ends[arena] + 32) << which << ": arena " << arena;
  }
}

TEST(Plugin, AlignmentAndPaddingHoldAfterCompileAndReplan) {
  for (const Planner planner : {Planner::kNaive, Planner::kGreedy, Planner::kBest}) {
    CompileOptions options = options_for("npu:0");
    options.planner = planner;
    const Bytes program = compiled(kNetwork, options);
    expect_promises(program, "compile");
    const auto smaller = replan::replan(Span<const uint8_t>(program.data(), program.size()));
    ASSERT_TRUE(smaller.ok()) << smaller.error().text();
    Bytes bytes = smaller->program.head;
    bytes.insert(bytes.end(), smaller->program.segments.begin(), smaller->program.segments.end());
    expect_promises(bytes, "replan");
    EXPECT_EQ(run(bytes).result, run(program).result);
  }
}

TEST(Plugin, AProgramWithItsDelegatesCompilesAgain) {
  const Bytes once = compiled(kNetwork, options_for("npu:0"));
  const std::string path = ::testing::TempDir() + "/berth_plugin_again.pte";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(once.data(), 1, once.size(), file);
  std::fclose(file);
  auto module = load_model(path, {});
  ASSERT_TRUE(module.ok()) << module.error().text();
  const auto again = compile(std::move(*module), options_for("portable"));
  ASSERT_TRUE(again.ok()) << again.error().text();
  expect_promises(*again, "compiled again");
  EXPECT_EQ(run(*again).result, run(once).result);
  std::remove(path.c_str());
}

TEST(Plugin, DamagedPayloadsAreErrorsOrNumbers) {
  const Bytes program = compiled(kNetwork, options_for("npu:0"));
  const format::ProgramView view = view_of(program);
  Span<const uint8_t> payload;
  ASSERT_EQ(view.delegate_payload(*view.method(0).delegates()->Get(0), &payload), Error::kOk);
  const size_t begin = payload.data() - program.data();
  int refused = 0;
  for (size_t i = 0; i < payload.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      Bytes damaged = program;
      damaged[begin + i] = static_cast<uint8_t>(damaged[begin + i] ^ flip);
      if (run(damaged).error != Error::kOk) ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(payload.size())) << "of " << payload.size() * 3;
}

// A target for one test, linked into it. What it does is kept in functions.
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

// A plug-in with the target that `make` makes. Each test has its own number: a plug-in is asked once.
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

std::string failure_of(const Plugin* plugin) {
  const auto program = compile(module_of(kNetwork), options_for("scripted", {plugin}));
  return program.ok() ? "compiles" : program.error().text();
}

TEST(Plugin, ATargetThatFailsOrThrowsEndsTheCompilationWithItsWords) {
  EXPECT_EQ(failure_of(adopt<1>([](Scripted& t) {
              t.on_node = [](const plugin::Node&) { return plugin::Status(BERTH_INTERNAL, "the licence is over"); };
            })),
            "method forward, aten::mm (%p): target scripted: the licence is over");
  EXPECT_NE(failure_of(adopt<2>([](Scripted& t) {
              t.on_node = [](const plugin::Node&) -> plugin::Status { throw std::runtime_error("oh"); };
            })).find("target scripted: the plug-in threw an exception: oh"),
            std::string::npos);
  EXPECT_NE(failure_of(adopt<3>([](Scripted& t) {
              t.on_region = [](const plugin::Graph&, plugin::Output&) {
                return plugin::Status(BERTH_NOT_SUPPORTED, "");
              };
            })).find("target scripted: the plug-in gives no reason: NotSupported"),
            std::string::npos);
  EXPECT_NE(failure_of(adopt<4>([](Scripted& t) {
              t.on_region = [](const plugin::Graph&, plugin::Output& output) {
                output.scratch(size_t{1} << 40);
                return plugin::Status();
              };
            })).find("asks for 1099511627776 bytes of scratch"),
            std::string::npos);
  EXPECT_NE(failure_of(adopt<5>([](Scripted& t) {
              t.on_region = [](const plugin::Graph&, plugin::Output& output) {
                output.spec("target_device", "cuda:0");
                return plugin::Status();
              };
            })).find("'target_device', which is not a plug-in's to set"),
            std::string::npos);
}

// What each call of the program's delegates is given begins at a multiple of 64. On the host, where 16 is usual.
void expect_at_multiples_of_64(const Bytes& program, const char* which) {
  const format::ProgramView view = view_of(program);
  const fb::ExecutionPlan& plan = view.method(0);
  for (const auto* instruction : *plan.chains()->Get(0)->instructions()) {
    const auto* call = instruction->instr_args_as_DelegateCall();
    if (call == nullptr) continue;
    EXPECT_EQ(call->args()->size(), 3u);
    for (const int32_t arg : *call->args()) {
      const fb::Tensor& tensor = *format::tensor_at(plan, arg);
      EXPECT_EQ(format::planned_offset(*tensor.allocation_info()) % 64, 0u) << which << ": argument " << arg;
    }
  }
}

TEST(Plugin, AlignmentOnTheHostHoldsAfterCompileAndReplan) {
  const Plugin* plugin = adopt<7>([](Scripted& t) {
    t.facts().alignment = 64;
    t.on_node = [](const plugin::Node& node) {
      return node.op() == "aten::mul.Tensor" ? plugin::Status() : plugin::refuse("not that");
    };
  });
  CompileOptions options = options_for("scripted", {plugin});
  options.planner = Planner::kNaive;
  const Bytes program = compiled(R"(
    method forward(%x: f32[5], %z: f32[5]) {
      %a: f32[5] = aten::relu(%x)
      %b: f32[5] = aten::mul.Tensor(%a, %z)
      %c: f32[5] = aten::tanh(%b)
      %d: f32[5] = aten::mul.Tensor(%c, %a)
      %e: f32[5] = aten::tanh(%d)
      return %e
    })",
                                 options);
  expect_at_multiples_of_64(program, "compile");
  const auto smaller = replan::replan(Span<const uint8_t>(program.data(), program.size()));
  ASSERT_TRUE(smaller.ok()) << smaller.error().text();
  EXPECT_LT(smaller->after(), smaller->before());
  Bytes bytes = smaller->program.head;
  bytes.insert(bytes.end(), smaller->program.segments.begin(), smaller->program.segments.end());
  expect_at_multiples_of_64(bytes, "replan");
}

TEST(Plugin, NamedDataOfOneKeyMustBeTheSameBytes) {
  static int calls = 0;
  const Plugin* plugin = adopt<6>([](Scripted& t) {
    t.on_node = [](const plugin::Node& node) {
      return node.op() == "aten::tanh" ? plugin::refuse("not that") : plugin::Status();
    };
    t.on_region = [](const plugin::Graph&, plugin::Output& output) {
      const char bytes[] = {'a', static_cast<char>(++calls)};
      output.payload(bytes, 2);
      output.named_data("shared", bytes, 1);
      output.named_data("mine", bytes, 2);
      return plugin::Status();
    };
  });
  EXPECT_NE(failure_of(plugin).find("named data 'mine': is there already with other bytes"), std::string::npos);
}

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
}  // namespace berth

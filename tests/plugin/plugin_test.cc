// Plug-ins from the model to the numbers: the accelerator of examples/plugin, which is a shared library that knows
// nothing of Berth's insides, and targets that do what they should not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "base/backend_facts.h"
#include "base/delegate_specs.h"
#include "compiler/memory/replan/replan.h"
#include "format/delegate_device.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "kernels/portable/portable.h"
#include "runtime/data_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_devices.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/program.h"
#include "tests/plugin/plugin_testing.h"

namespace berth::plugin_testing {
namespace {

using Floats = std::vector<float>;

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
  EXPECT_NE(said("tpu").find(", sim:N, npu:N"), std::string::npos);
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

// The fear: a crash where the compiler copies what is not there, or a program that its own runtime refuses.
TEST(Plugin, WhatATargetGivesThatCannotBeIsASentence) {
  static std::function<void(plugin::Output&)> give;
  const Plugin* plugin = adopt<8>([](Scripted& t) {
    t.on_region = [](const plugin::Graph&, plugin::Output& output) {
      give(output);
      return plugin::Status();
    };
  });
  const auto said = [&](std::function<void(plugin::Output&)> what) {
    give = std::move(what);
    return failure_of(plugin);
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(said([](plugin::Output& out) { out.payload(nullptr, 16); }),
                  "gives 16 bytes of its payload at a null pointer"));
  EXPECT_TRUE(has(said([](plugin::Output& out) { out.named_data("w", nullptr, 16); }),
                  "gives 16 bytes of the named data 'w' at a null pointer"));
  EXPECT_TRUE(has(said([](plugin::Output& out) { out.spec("k", std::string_view(nullptr, 16)); }),
                  "gives 16 bytes of the compile spec 'k' at a null pointer"));
  EXPECT_TRUE(has(said([](plugin::Output& out) { out.named_data("berth.meta", "xx", 2); }),
                  "keys that begin with berth. are Berth's own"));
  const auto specs = [&](int count) {
    return said([count](plugin::Output& out) {
      for (int i = 0; i < count; ++i) out.spec(std::to_string(i).c_str(), "");
    });
  };
  EXPECT_EQ(specs(32), "compiles");
  EXPECT_TRUE(has(specs(33), "its delegate has 33 compile specs")) << specs(33);
}

TEST(Plugin, ABackendThatLoadsNoDelegateIsAnErrorOfTheLoad) {
  struct Empty final : plugin::Backend {
    Empty() : Backend("acme.empty") {}
    bool serves(int32_t) const override { return true; }
    plugin::Status load(const plugin::Source& source, std::unique_ptr<plugin::Delegate>*) override {
      berth_bytes bytes;
      EXPECT_EQ(source.named_data(nullptr, &bytes).code, BERTH_NOT_FOUND);
      return {};
    }
  } backend;
  berth_delegate source = {};
  source.named_data = [](void*, const char*, berth_bytes*) -> int32_t { return BERTH_NOT_FOUND; };
  void* handle = nullptr;
  berth_message message = {};
  EXPECT_EQ(backend.table()->load(backend.table()->self, &source, &handle, &message), BERTH_INTERNAL);
  EXPECT_STREQ(message.text, "load() gives no delegate");
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

}  // namespace
}  // namespace berth::plugin_testing

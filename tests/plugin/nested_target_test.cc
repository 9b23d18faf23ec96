// Targets whose delegates are nested programs, for backends and kernels of an application: what Berth's own targets are
// made of, in the hands of a stranger.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>

#include "backends/cpu/cpu_backend.h"
#include "backends/nested/nested_backend.h"
#include "backends/sim/sim_allocator.h"
#include "base/backend_facts.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "compiler/memory/replan/replan.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "kernels/portable/portable.h"
#include "plugin/load_plugin.h"
#include "plugin/target.h"
#include "runtime/data_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/program.h"

namespace berth {
namespace {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

constexpr int32_t kMineType = 117;

struct Mine final : plugin::NestedTarget {
  Mine(const char* name, const char* backend, int32_t type) : NestedTarget(name, backend, type) {}
  plugin::Status takes(const plugin::Node& node, const plugin::Specs&) override { return on_node(node); }
  berth_target& facts() { return table_; }

  std::function<plugin::Status(const plugin::Node&)> on_node = [](const plugin::Node&) { return plugin::Status(); };
};

// A plug-in with one target. Each test has its own number: a plug-in is asked once.
template <int kNumber>
Expected<const Plugin*> adopt(const char* name, const char* backend, int32_t type,
                              const std::function<void(Mine&)>& bend) {
  static Mine target(name, backend, type);
  bend(target);
  static const berth_target* const list[] = {target.table()};
  return Plugin::adopt(
      [](const berth_host*, berth_plugin* out) {
        static const berth_device_type types[] = {{"mine", kMineType}};
        out->device_types = types;
        out->num_device_types = 1;
        out->targets = list;
        out->num_targets = 1;
        return int32_t{BERTH_OK};
      },
      "an application");
}

constexpr const char* kNetwork = R"(
  const @w: f32[4,3] = dense<[1, -2, 3, 4, 5, -6, 7, 8, 9, -10, 11, 12]>
  method forward(%x: f32[2,4]) {
    %w: f32[4,3] = const @w
    %p: f32[2,3] = aten::mm(%x, %w)
    %q: f32[2,3] = aten::relu(%p)
    %t: f32[2,3] = aten::tanh(%q)
    %u: f32[2,3] = aten::exp(%t)
    %d: f32[2,3] = aten::sub.Tensor(%u, %q)
    return %d
  })";

std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string((i * 37 % 101 - 50) / 128.0);
  return text;
}

// Convolutions, and what is fused around them.
std::string images() {
  return "const @w: f32[8,3,3,3] = dense<[" + numbers(216) + "]>\nconst @v: f32[8,8,3,3] = dense<[" + numbers(576) +
         "]>\nconst @b: f32[8] = dense<[" + numbers(8) + "]>" + R"(
  method forward(%x: f32[1,3,8,8]) {
    %w: f32[8,3,3,3] = const @w
    %b: f32[8] = const @b
    %v: f32[8,8,3,3] = const @v
    %c: f32[1,8,8,8] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %r: f32[1,8,8,8] = aten::relu(%c)
    %d: f32[1,8,8,8] = aten::convolution(%r, %v, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %s: f32[1,8,8,8] = aten::add.Tensor(%d, %r, 1)
    %e: f32[1,8,8,8] = aten::relu(%s)
    return %e
  })";
}

Expected<Bytes> compiled(const std::string& text, const std::string& target, std::vector<const Plugin*> plugins,
                         CompileReport* report = nullptr) {
  BERTH_ASSIGN_OR_RETURN(ir::Module module, ir::parse(text, "test"));
  CompileOptions options;
  options.target = target;
  options.plugins = std::move(plugins);
  options.verify_ir = true;
  options.why = {"partition"};
  return compile(std::move(module), options, report);
}

// The application's backend: kernels of its own before the portable ones, on memory that only they may touch.
std::atomic<int> own_calls{0};

Error counted_tanh(KernelContext& context, Span<EValue* const> args) {
  for (const KernelEntry& entry : portable::kernels()) {
    if (std::strcmp(entry.name, "aten::tanh.out") == 0) {
      ++own_calls;
      return entry.call(context, args);
    }
  }
  return Error::kInternal;
}

KernelTable own_kernels() {
  static const KernelEntry own = [] {
    KernelEntry entry;
    for (const KernelEntry& known : portable::kernels()) {
      if (std::strcmp(known.name, "aten::tanh.out") == 0) entry = known;
    }
    entry.call = counted_tanh;
    return entry;
  }();
  return {&own, 1};
}

struct Tables {
  KernelTable list[2] = {own_kernels(), portable::kernels()};
};

class MineBackend final : public NestedBackend {
 public:
  explicit MineBackend(SimAllocator* memory)
      : NestedBackend("berth.mine", Span<const KernelTable>(Tables().list, 2)), memory_(memory) {}
  bool serves(DeviceType type) const override { return type == static_cast<DeviceType>(kMineType); }

 protected:
  Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const override {
    return memory_->use(address, bytes, use.device.index, use.stream, reached);
  }

 private:
  SimAllocator* memory_;
};

struct Outcome {
  Error error = Error::kOk;
  std::string said;
  Floats result;
};

Outcome run(const Bytes& bytes) {
  Outcome out;
  SimAllocator memory;
  MineBackend mine(&memory);
  CpuBackend cpu;
  Backend* const backends[] = {&mine, &cpu};
  DeviceAllocatorRegistry registry;
  registry.register_allocator(static_cast<DeviceType>(kMineType), &memory);
  Report report;
  BufferLoader loader(Span<const uint8_t>(bytes.data(), bytes.size()));
  LoadOptions options;
  options.registry = &registry;
  options.backends = backends;
  options.report = &report;
  const auto program = Program::load(loader, portable::kernels(), options);
  HostOptions host;
  host.report = &report;
  auto method = program.ok() ? HostMethod::load(*program, "forward", host) : Result<HostMethod>(program.error());
  if (!method.ok()) return {method.error(), std::string(report.place) + ": " + report.message, {}};
  const auto info = method->method().meta().input_tensor_meta(0);
  Floats x(info->nbytes / sizeof(float));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 4 - 2;
  out.error = method->method().set_input(0, x.data(), info->sizes, info->dtype);
  if (out.error == Error::kOk) out.error = method->method().execute();
  if (out.error != Error::kOk) {
    out.said = method->method().last_report().message;
    return out;
  }
  const Tensor& result = method->method().get_output(0).tensor();
  out.result.assign(result.data<float>(), result.data<float>() + result.numel());
  return out;
}

TEST(NestedTarget, RunsWithKernelsOfTheApplicationOnItsOwnDevice) {
  const auto mine = adopt<1>("mine", "berth.mine", kMineType, [](Mine& t) {
    t.facts().alignment = 512;
    t.on_node = [](const plugin::Node& node) {
      return node.op() == "aten::exp" ? plugin::refuse("its exponents are in another department") : plugin::Status();
    };
  });
  ASSERT_TRUE(mine.ok()) << mine.error().text();
  CompileReport report;
  const auto program = compiled(kNetwork, "mine:1", {*mine}, &report);
  ASSERT_TRUE(program.ok()) << program.error().text();
  ASSERT_EQ(report.delegates.size(), 2u);
  EXPECT_EQ(report.delegates[0].backend, "berth.mine");
  EXPECT_STREQ(to_text(report.delegates[0].device).text, "mine:1");
  const auto words = [](const std::string& line) { return line.find("in another department") != line.npos; };
  EXPECT_TRUE(std::any_of(report.why.begin(), report.why.end(), words));

  own_calls = 0;
  const Outcome there = run(*program);
  ASSERT_EQ(there.error, Error::kOk) << there.said;
  EXPECT_EQ(own_calls, 1) << "the application's tanh comes before the portable one";
  const auto host = compiled(kNetwork, "portable", {});
  EXPECT_EQ(there.result, run(*host).result);
  EXPECT_EQ(there.result.size(), 6u);
}

TEST(NestedTarget, ItsAlignmentHoldsAfterCompileAndReplan) {
  const auto mine = adopt<2>("mine", "berth.mine", kMineType, [](Mine& t) {
    t.facts().alignment = 512;
    t.on_node = [](const plugin::Node& node) {
      return node.op() == "aten::exp" ? plugin::refuse("no") : plugin::Status();
    };
  });
  const auto expect_multiples = [](const Bytes& bytes, const char* which) {
    format::ProgramView view;
    ASSERT_EQ(format::ProgramView::open(Span<const uint8_t>(bytes.data(), bytes.size()), &view, nullptr), Error::kOk);
    int seen = 0;
    for (const auto* instruction : *view.method(0).chains()->Get(0)->instructions()) {
      const auto* call = instruction->instr_args_as_DelegateCall();
      if (call == nullptr) continue;
      for (const int32_t arg : *call->args()) {
        const fb::Tensor& tensor = *format::tensor_at(view.method(0), arg);
        EXPECT_EQ(format::planned_offset(*tensor.allocation_info()) % 512, 0u) << which << ": argument " << arg;
        ++seen;
      }
    }
    EXPECT_GE(seen, 5) << which;
  };
  const auto program = compiled(kNetwork, "mine:0", {*mine});
  ASSERT_TRUE(program.ok()) << program.error().text();
  expect_multiples(*program, "compile");
  const auto smaller = replan::replan(Span<const uint8_t>(program->data(), program->size()));
  ASSERT_TRUE(smaller.ok()) << smaller.error().text();
  Bytes bytes = smaller->program.head;
  bytes.insert(bytes.end(), smaller->program.segments.begin(), smaller->program.segments.end());
  expect_multiples(bytes, "replan");
}

// `cpu` is what a stranger can say as well: the same facts make the same program.
TEST(NestedTarget, WhatCpuIsMadeOfMakesTheSameProgram) {
  const auto like_cpu = adopt<3>("fast", "berth.cpu", 0, [](Mine& t) {
    t.facts().alignment = 64;
    t.facts().fuses = 1;
    t.facts().channels_last = 1;
    t.facts().packs_weights = 1;
  });
  ASSERT_TRUE(like_cpu.ok()) << like_cpu.error().text();
  const auto own = compiled(images(), "cpu", {});
  const auto same = compiled(images(), "fast", {*like_cpu});
  ASSERT_TRUE(own.ok() && same.ok());
  EXPECT_EQ(*own, *same);
  const Outcome there = run(*same);
  EXPECT_EQ(there.error, Error::kOk) << there.said;
}

// Each fact by itself changes what is compiled, and none what is computed.
TEST(NestedTarget, EachFactCounts) {
  const auto size = [](const Expected<const Plugin*>& plugin) {
    const auto program = compiled(images(), "fast", {*plugin});
    EXPECT_TRUE(program.ok()) << program.error().text();
    const Outcome there = run(*program);
    EXPECT_EQ(there.error, Error::kOk) << there.said;
    const Floats host = run(*compiled(images(), "portable", {})).result;
    EXPECT_EQ(there.result.size(), host.size());
    for (size_t i = 0; i < host.size(); ++i) EXPECT_NEAR(there.result[i], host[i], 1e-4) << i;
    return program->size();
  };
  const size_t plain = size(adopt<4>("fast", "berth.cpu", 0, [](Mine&) {}));
  const size_t fused = size(adopt<5>("fast", "berth.cpu", 0, [](Mine& t) { t.facts().fuses = 1; }));
  const size_t channels = size(adopt<6>("fast", "berth.cpu", 0, [](Mine& t) {
    t.facts().fuses = 1;
    t.facts().channels_last = 1;
  }));
  EXPECT_NE(plain, fused);
  EXPECT_NE(fused, channels);
}

TEST(NestedTarget, WithoutABackendItKeepsNodesInTheProgram) {
  const auto keep = adopt<7>("keep", nullptr, 0, [](Mine& t) {
    t.on_node = [](const plugin::Node& node) {
      return node.op() == "aten::tanh" ? plugin::Status() : plugin::refuse("may go");
    };
  });
  ASSERT_TRUE(keep.ok()) << keep.error().text();
  CompileReport report;
  const auto program = compiled(kNetwork, "keep,sim:0", {*keep}, &report);
  ASSERT_TRUE(program.ok()) << program.error().text();
  EXPECT_EQ(report.delegates.size(), 2u) << "before tanh and after it";
}

TEST(NestedTarget, ANameOfBerthsOwnIsRefusedWhereTargetsAreNamed) {
  const char* const names[] = {"cpu", "cuda", "sim", "portable"};
  const Expected<const Plugin*> plugins[] = {
      adopt<8>(names[0], "berth.cpu", 0, [](Mine&) {}), adopt<9>(names[1], "berth.cpu", 0, [](Mine&) {}),
      adopt<10>(names[2], "berth.cpu", 0, [](Mine&) {}), adopt<11>(names[3], "berth.cpu", 0, [](Mine&) {})};
  for (size_t i = 0; i < 4; ++i) {
    const auto program = compiled(kNetwork, "portable", {*plugins[i]});
    ASSERT_FALSE(program.ok()) << names[i];
    EXPECT_EQ(program.error().text(),
              std::string("plug-in an application: target ") + names[i] + ": has the name of a target of Berth's own");
  }
}

// A program for a backend that is not there says so, and is verified without it.
TEST(NestedTarget, AProgramWithoutItsBackendNamesIt) {
  const auto other = adopt<12>("other", "berth.other", 0, [](Mine&) {});
  const auto program = compiled(kNetwork, "other", {*other});
  ASSERT_TRUE(program.ok()) << program.error().text();
  const Outcome there = run(*program);
  EXPECT_NE(there.error, Error::kOk);
  EXPECT_NE(there.said.find("berth.other"), std::string::npos) << there.said;
}

}  // namespace
}  // namespace berth

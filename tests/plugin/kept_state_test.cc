// Delegates that keep state which Berth plans: of a plug-in, and of programs that another compiler made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backends/sim/sim_allocator.h"
#include "base/delegate_specs.h"
#include "compiler/check_program.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "compiler/memory/replan/replan.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/write/programs_testing.h"
#include "kernels/portable/portable.h"
#include "plugin/target.h"
#include "runtime/data_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_devices.h"
#include "runtime/program.h"

namespace berth {
namespace {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

constexpr int32_t kCounterType = 118;

// Where the counters' device has its memory while a program runs; null: they are on the host.
SimAllocator* device_memory = nullptr;

float* reach(const berth_tensor& tensor) {
  if (device_memory == nullptr) return static_cast<float*>(tensor.data);
  void* alias = nullptr;
  return device_memory->use(tensor.data, tensor.bytes, 0, nullptr, &alias) == Error::kOk ? static_cast<float*>(alias)
                                                                                         : nullptr;
}

// Takes relu, and adds up what it gives from run to run: state += relu(x), out = state. Its scratch is there to be
// spoilt.
class CounterTarget final : public plugin::Target {
 public:
  CounterTarget(const char* name, int32_t type) : Target(name, "acme.counter", type) {
    table_.is_pure = 1;
    table_.alignment = 64;
  }
  plugin::Status takes(const plugin::Node& node, const plugin::Specs&) override {
    return node.op() == "aten::relu" ? plugin::Status() : plugin::refuse("counts what is not negative");
  }
  plugin::Status preprocess(const plugin::Graph& region, const plugin::Specs& specs, plugin::Output& output) override {
    if (region.nodes_size() != 1) return {BERTH_INVALID_ARGUMENT, "expected one node"};
    const size_t numel = static_cast<size_t>(region.input(0).numel());
    output.payload("counter", 7);
    output.scratch(numel * sizeof(float));
    const std::string asked = specs.get("state");
    if (asked == "none") return {};
    if (asked == "empty") return output.state(nullptr, 0);
    if (asked == "huge") return output.state(nullptr, size_t{1} << 31);
    if (asked == "twice") static_cast<void>(output.state(nullptr, 4));
    // All that share a name are of one size, or refused.
    const Floats first(numel, 100);
    const void* const initial = specs.get("first") == "100" ? first.data() : nullptr;
    return output.state(asked == "shared" ? "sum" : nullptr, numel * sizeof(float), initial);
  }
};

class Counter final : public plugin::Delegate {
 public:
  plugin::Status run(const berth_tensor* arguments, size_t size, berth_stream) override {
    if (size != 4) return {BERTH_INVALID_ARGUMENT, "expected input, state, output and scratch"};
    if (arguments[1].bytes != arguments[0].bytes || arguments[1].dtype != BERTH_U8) {
      return {BERTH_INVALID_ARGUMENT, "the second argument is not the state"};
    }
    const float* x = reach(arguments[0]);
    float* state = reach(arguments[1]);
    float* out = reach(arguments[2]);
    float* scratch = reach(arguments[3]);
    if (x == nullptr || state == nullptr || out == nullptr || scratch == nullptr) return {BERTH_INTERNAL, "no memory"};
    for (size_t i = 0; i < arguments[0].bytes / sizeof(float); ++i) {
      scratch[i] = -1e9f;
      state[i] += std::max(0.0f, x[i]);
      out[i] = state[i];
    }
    return {};
  }
};

class CounterBackend final : public plugin::Backend {
 public:
  CounterBackend() : Backend("acme.counter") {}
  bool serves(int32_t type) const override { return type == 0 || type == kCounterType; }
  plugin::Status load(const plugin::Source&, std::unique_ptr<plugin::Delegate>* delegate) override {
    *delegate = std::make_unique<Counter>();
    return {};
  }
};

const Plugin* counters() {
  static const Plugin* const plugin = [] {
    const auto adopted = Plugin::adopt(
        [](const berth_host* host, berth_plugin* out) {
          return plugin::Parts::enter(host, out, [](plugin::Parts& parts) {
            parts.add_device_type("counter", kCounterType);
            parts.add(std::make_unique<CounterTarget>("count", 0));
            parts.add(std::make_unique<CounterTarget>("counter", kCounterType));
            parts.add(std::make_unique<CounterBackend>());
            return plugin::Status();
          });
        },
        "counters");
    EXPECT_TRUE(adopted.ok()) << adopted.error().text();
    return adopted.ok() ? *adopted : nullptr;
  }();
  return plugin;
}

// Two delegates, one of them behind an operator that is the host's.
constexpr const char* kTwo = R"(
  method forward(%x: f32[4]) {
    %a: f32[4] = aten::relu(%x)
    %n: f32[4] = aten::neg(%a)
    %m: f32[4] = aten::sub.Tensor(%x, %n, 1)
    %b: f32[4] = aten::relu(%m)
    return %b
  })";

Expected<Bytes> compiled(const std::string& text, const std::string& target, std::vector<std::string> specs = {},
                         CompileReport* report = nullptr) {
  BERTH_ASSIGN_OR_RETURN(ir::Module module, ir::parse(text, "test"));
  CompileOptions options;
  options.plugins = {counters()};
  options.target = target;
  options.specs = std::move(specs);
  options.verify_ir = true;
  return compile(std::move(module), options, report);
}

std::string said(const Expected<Bytes>& program) { return program.ok() ? "compiles" : program.error().text(); }

SimOptions without_streams() {
  SimOptions options;
  options.streams = false;
  return options;
}

// A program that is loaded, with the counters' device.
class Loaded {
 public:
  explicit Loaded(const Bytes& bytes) : loader_(Span<const uint8_t>(bytes.data(), bytes.size())) {
    device_memory = nullptr;
    registry_.register_allocator(static_cast<DeviceType>(kCounterType), &memory_);
    LoadOptions options;
    options.registry = &registry_;
    options.backends = devices_.backends();
    options.report = &report_;
    program_.emplace(Program::load(loader_, portable::kernels(), options));
    if (!program_->ok()) return;
    arenas_ = std::make_unique<Result<HostArenas>>(HostArenas::make(**program_));
    EXPECT_TRUE(arenas_->ok());
  }
  ~Loaded() { device_memory = nullptr; }

  Error load(const char* name) {
    if (!program_->ok()) return program_->error();
    HostOptions host;
    host.report = &report_;
    host.arenas = &**arenas_;
    auto method = HostMethod::load(**program_, name, host);
    if (!method.ok()) return method.error();
    methods_[name] = std::make_unique<HostMethod>(std::move(*method));
    for (size_t i = 0; i < methods_[name]->method().meta().num_memory_planned_buffers(); ++i) {
      const auto device = methods_[name]->method().meta().memory_planned_buffer_device(i);
      if (device.ok() && !device->is_cpu()) device_memory = &memory_;
    }
    return Error::kOk;
  }

  Floats run(const char* name, const Floats& x) {
    Method& method = methods_[name]->method();
    const auto info = method.meta().input_tensor_meta(0);
    EXPECT_EQ(method.set_input(0, x.data(), info->sizes, info->dtype), Error::kOk);
    EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
    const Tensor& result = method.get_output(0).tensor();
    return {result.data<float>(), result.data<float>() + result.numel()};
  }

  std::string said() const { return std::string(report_.place) + ": " + report_.message; }

 private:
  const Plugin* const list_[1] = {counters()};
  SimAllocator memory_{without_streams()};
  PluginDevices devices_{list_};
  DeviceAllocatorRegistry registry_;
  Report report_;
  BufferLoader loader_;
  std::optional<Result<Program>> program_;
  std::unique_ptr<Result<HostArenas>> arenas_;
  std::map<std::string, std::unique_ptr<HostMethod>> methods_;
};

// What kTwo gives in each of three runs, by plain sums.
void expect_sums(const Bytes& program, float first, const char* which) {
  Loaded loaded(program);
  ASSERT_EQ(loaded.load("forward"), Error::kOk) << which << ": " << loaded.said();
  const Floats x = {1, -2, 0.5f, 4};
  Floats a(4, first);
  Floats b(4, first);
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t i = 0; i < 4; ++i) {
      a[i] += std::max(0.0f, x[i]);
      b[i] += std::max(0.0f, x[i] + a[i]);
    }
    EXPECT_EQ(loaded.run("forward", x), b) << which << ", run " << turn;
  }
}

format::ProgramView view_of(const Bytes& program) {
  format::ProgramView view;
  EXPECT_EQ(format::ProgramView::open(Span<const uint8_t>(program.data(), program.size()), &view, nullptr), Error::kOk);
  return view;
}

// The state of each call, in order: its arena and offset. That it is state, and nothing else lies on it.
std::vector<std::pair<uint32_t, uint64_t>> states_of(const Bytes& program) {
  std::vector<std::pair<uint32_t, uint64_t>> places;
  const format::ProgramView view = view_of(program);
  for (size_t m = 0; m < view.method_count(); ++m) {
    const fb::ExecutionPlan& plan = view.method(m);
    for (const auto* instruction : *plan.chains()->Get(0)->instructions()) {
      const auto* call = instruction->instr_args_as_DelegateCall();
      if (call == nullptr) continue;
      const fb::Tensor& state = *format::tensor_at(plan, call->args()->Get(1));
      EXPECT_EQ(format::storage_of(state), format::Storage::kState);
      const uint64_t at = format::planned_offset(*state.allocation_info());
      EXPECT_EQ(at % 64, 0u) << "the alignment of its target";
      places.emplace_back(state.allocation_info()->memory_id(), at);
    }
  }
  return places;
}

Bytes replanned(const Bytes& program) {
  const auto smaller = replan::replan(Span<const uint8_t>(program.data(), program.size()));
  EXPECT_TRUE(smaller.ok()) << smaller.error().text();
  Bytes bytes = smaller.ok() ? smaller->program.head : Bytes();
  if (smaller.ok()) bytes.insert(bytes.end(), smaller->program.segments.begin(), smaller->program.segments.end());
  return bytes;
}

Expected<Bytes> compiled_again(const Bytes& program, const CompileOptions& options = {}) {
  const std::string path = ::testing::TempDir() + "/berth_kept_state.pte";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(program.data(), 1, program.size(), file);
  std::fclose(file);
  auto module = load_model(path, {});
  std::remove(path.c_str());
  if (!module.ok()) return module.error();
  return compile(std::move(*module), options);
}

TEST(KeptState, AddsUpFromRunToRunOnTheHostAndOnADevice) {
  for (const char* target : {"count", "counter:0"}) {
    CompileReport report;
    const auto program = compiled(kTwo, target, {}, &report);
    ASSERT_TRUE(program.ok()) << program.error().text();
    ASSERT_EQ(report.delegates.size(), 2u);
    EXPECT_EQ(report.delegates[0].state_bytes, 16);
    const auto states = states_of(*program);
    ASSERT_EQ(states.size(), 2u);
    EXPECT_NE(states[0], states[1]) << "each delegate has its own";
    expect_sums(*program, 0, target);
  }
}

TEST(KeptState, BeginsWithWhatTheTargetSays) {
  for (const char* target : {"count", "counter:0"}) {
    const auto program = compiled(kTwo, target, {target + std::string(":first=100")});
    ASSERT_TRUE(program.ok()) << program.error().text();
    expect_sums(*program, 100, target);
  }
}

TEST(KeptState, StaysWithEveryPlannerAfterReplanAndAfterCompilingAgain) {
  for (const char* target : {"count", "counter:0"}) {
    for (const Planner planner : {Planner::kNaive, Planner::kGreedy, Planner::kBest}) {
      auto module = ir::parse(kTwo, "test");
      ASSERT_TRUE(module.ok());
      CompileOptions options;
      options.plugins = {counters()};
      options.target = target;
      options.specs = {std::string(target) + ":first=100"};
      options.planner = planner;
      const auto program = compile(std::move(*module), options);
      ASSERT_TRUE(program.ok()) << program.error().text();
      expect_sums(*program, 100, "compiled");
      const Bytes moved = replanned(*program);
      EXPECT_EQ(states_of(moved).size(), 2u);
      expect_sums(moved, 100, "replanned");
      const auto again = compiled_again(*program);
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(states_of(*again).size(), 2u);
      expect_sums(*again, 100, "compiled again");
      const auto third = compiled_again(*again);
      ASSERT_TRUE(third.ok()) << third.error().text();
      EXPECT_EQ(*again, *third) << "nothing is added that is there";
    }
  }
}

TEST(KeptState, MethodsShareItByName) {
  constexpr const char* kMethods = R"(
    method prefill(%x: f32[4]) {
      %n: f32[4] = aten::neg(%x)
      %a: f32[4] = aten::relu(%n)
      return %a
    }
    method decode(%x: f32[4]) {
      %a: f32[4] = aten::relu(%x)
      %e: f32[4] = aten::neg(%a)
      return %e
    })";
  for (const char* target : {"count", "counter:0"}) {
    for (const bool shared : {true, false}) {
      const auto program = compiled(kMethods, target, {target + std::string(shared ? ":state=shared" : ":state=own")});
      ASSERT_TRUE(program.ok()) << program.error().text();
      const auto states = states_of(*program);
      ASSERT_EQ(states.size(), 2u);
      EXPECT_EQ(states[0] == states[1], shared);
      Loaded loaded(*program);
      ASSERT_EQ(loaded.load("prefill"), Error::kOk) << loaded.said();
      ASSERT_EQ(loaded.load("decode"), Error::kOk) << loaded.said();
      EXPECT_EQ(loaded.run("prefill", {-1, -2, -3, -4}), (Floats{1, 2, 3, 4}));
      const Floats second = loaded.run("decode", {10, 10, 10, 10});
      EXPECT_EQ(second, (shared ? Floats{-11, -12, -13, -14} : Floats{-10, -10, -10, -10}));
      const Floats third = loaded.run("prefill", {-1, -1, -1, -1});
      EXPECT_EQ(third, (shared ? Floats{12, 13, 14, 15} : Floats{2, 3, 4, 5}));
    }
  }
}

TEST(KeptState, IsKeptInLoops) {
  constexpr const char* kLoop = R"(
    method forward(%x: f32[16]) {
      %r: f32[16], %y: f32[3,16] = berth::scan(3, [%x], []) { (%c: f32[16])
        %n: f32[16] = aten::neg(%c)
        %a: f32[16] = aten::relu(%n)
        yield %a, %a
      }
      return %y
    })";
  for (const char* target : {"count", "counter:0"}) {
    const auto program = compiled(kLoop, target);
    ASSERT_TRUE(program.ok()) << program.error().text();
    Loaded loaded(*program);
    ASSERT_EQ(loaded.load("forward"), Error::kOk) << loaded.said();
    float sum = 0;
    for (int run = 0; run < 2; ++run) {
      Floats expected;
      float carried = -2;
      for (int turn = 0; turn < 3; ++turn) {
        sum += std::max(0.0f, -carried);
        carried = sum;
        expected.insert(expected.end(), 16, sum);
      }
      EXPECT_EQ(loaded.run("forward", Floats(16, -2)), expected) << target << ", run " << run;
    }
  }
}

// It says that it is pure; but a call that changes state is not to be dropped.
TEST(KeptState, ACallWithUnusedResultsStays) {
  const auto once = compiled(kTwo, "count");
  ASSERT_TRUE(once.ok());
  const auto unread = compiled(R"(
    delegate @d "acme.counter" {berth.state = "16", berth.pure = "1", berth.scratch = "16"} = hex"00"
    method forward(%x: f32[4]) {
      %a: f32[4] = berth::delegate([%x]) @d
      return %x
    })",
                               "portable");
  ASSERT_TRUE(unread.ok()) << unread.error().text();
  EXPECT_EQ(states_of(*unread).size(), 1u);
}

TEST(KeptState, WhatAPluginAsksForThatCannotBeIsASentence) {
  const auto with = [](const char* spec) {
    return said(compiled(kTwo, "count", {std::string("count:state=") + spec}));
  };
  EXPECT_NE(with("empty").find("asks for 0 bytes of state"), std::string::npos) << with("empty");
  EXPECT_NE(with("huge").find("asks for 2147483648 bytes of state; expected 1 or more"), std::string::npos);
  EXPECT_NE(with("twice").find("the plug-in gives a delegate state twice"), std::string::npos);
  constexpr const char* kSizes = R"(
    method a(%x: f32[4]) {
      %a: f32[4] = aten::relu(%x)
      return %a
    }
    method b(%x: f32[5]) {
      %a: f32[5] = aten::relu(%x)
      return %a
    })";
  const std::string differ = said(compiled(kSizes, "count", {"count:state=shared"}));
  EXPECT_NE(differ.find("state \"sum\": is there already with another size or other first contents"), std::string::npos)
      << differ;
  EXPECT_EQ(said(compiled(kSizes, "count")), "compiles");
}

// A program of another compiler: a call of input, output and scratch, and specs that speak of state.
format::ProgramDesc foreign(std::vector<std::pair<std::string, std::string>> specs) {
  format::MethodDesc m;
  m.name = "forward";
  m.values = {format::testing::tensor({4}, 0), format::testing::tensor({4}, 16)};
  m.inputs = {0};
  m.outputs = {1};
  format::DelegateDesc delegate;
  delegate.id = "acme.counter";
  for (const auto& [key, value] : specs) delegate.compile_specs.push_back({key, {value.begin(), value.end()}});
  m.delegates = {delegate};
  m.instructions = {format::DelegateCallDesc{0, {0, 1}}};
  m.arenas = {{32, Device()}};
  format::ProgramDesc program;
  program.methods = {m};
  program.payloads = {format::Bytes::of({'c'})};
  Floats first(4, 7);
  const auto* bytes = reinterpret_cast<const uint8_t*>(first.data());
  format::NamedDataDesc data;
  data.key = "first";
  data.bytes = format::Bytes::of({bytes, bytes + 16});
  program.named_data = {data};
  return program;
}

TEST(KeptState, AProgramOfAnotherCompilerGetsIt) {
  for (const bool initial : {true, false}) {
    std::vector<std::pair<std::string, std::string>> specs = {{kStateSpec, "16"}, {kScratchSpec, "16"}};
    if (initial) specs.emplace_back(kStateInitSpec, "first");
    const Bytes given = format::testing::bytes_of(foreign(specs));
    Loaded early(given);
    EXPECT_EQ(early.load("forward"), Error::kInvalidProgram);
    EXPECT_NE(
        early.said().find("delegate 0 of acme.counter keeps 16 bytes of state, which its call is not given; berth "
                          "compile plans it"),
        std::string::npos)
        << early.said();
    const Status checked = check_program(Span<const uint8_t>(given.data(), given.size()));
    ASSERT_FALSE(checked.ok());
    EXPECT_NE(checked.error().text().find("which its call is not given"), std::string::npos);

    const auto program = compiled_again(given);
    ASSERT_TRUE(program.ok()) << program.error().text();
    Loaded loaded(*program);
    ASSERT_EQ(loaded.load("forward"), Error::kOk) << loaded.said();
    const float first = initial ? 7 : 0;
    EXPECT_EQ(loaded.run("forward", {1, -1, 2, 3}), (Floats{first + 1, first, first + 2, first + 3}));
    EXPECT_EQ(loaded.run("forward", {1, -1, 2, 3}), (Floats{first + 2, first, first + 4, first + 6}));
    // Its specs are as its maker wrote them.
    const auto& kept = *view_of(*program).method(0).delegates()->Get(0)->compile_specs();
    ASSERT_EQ(kept.size(), specs.size());
    for (uint32_t i = 0; i < kept.size(); ++i) EXPECT_EQ(format::text(kept.Get(i)->key()), specs[i].first);
  }
}

TEST(KeptState, SpecsThatCannotBeAreSentences) {
  const auto refused = [](std::vector<std::pair<std::string, std::string>> specs) {
    return said(compiled_again(format::testing::bytes_of(foreign(std::move(specs)))));
  };
  for (const char* wrong : {"-16", "0", "", "99999999999999999999", "2147483648", "16 ", "many"}) {
    EXPECT_NE(refused({{kStateSpec, wrong}}).find("berth.state is not a number of bytes from 1 to 2147483647"),
              std::string::npos)
        << wrong;
  }
  EXPECT_NE(refused({{kStateSpec, "16"}, {kStateSpec, "32"}}).find("berth.state stands twice"), std::string::npos);
  EXPECT_NE(refused({{kStateInitSpec, "first"}}).find("berth.state_init stands without"), std::string::npos);
  EXPECT_NE(refused({{kStateSpec, "16"}, {kStateInitSpec, "second"}})
                .find("begins as the named data \"second\", which are not there"),
            std::string::npos);
  EXPECT_NE(refused({{kStateSpec, "12"}, {kStateInitSpec, "first"}})
                .find("its state of 12 bytes begins as the named data \"first\", which are 16"),
            std::string::npos);
  // Two gigabytes of zeros are state like any other.
  EXPECT_EQ(refused({{kStateSpec, "1048576"}}), "compiles");
}

// Whatever else would write there is found before anything runs.
TEST(KeptState, WhatIsPlannedOnItIsRefused) {
  format::ProgramDesc program = foreign({{kStateSpec, "16"}});
  format::MethodDesc& m = program.methods[0];
  format::TensorDesc state = format::testing::tensor({16}, 64, DType::kU8);
  state.data_buffer_idx = 1;
  program.initial_values = {format::Bytes::of(std::vector<uint8_t>(16, 0))};
  m.values.push_back(state);
  m.instructions = {format::DelegateCallDesc{0, {0, 2, 1}}};
  m.arenas = {{96, Device()}};
  EXPECT_TRUE(check_program(Span<const uint8_t>(format::testing::bytes_of(program))).ok());
  const auto at = [&](int64_t offset) {
    std::get<format::TensorDesc>(m.values[1]).planned->offset = static_cast<uint64_t>(offset);
    const Bytes bytes = format::testing::bytes_of(program);
    const Status status = check_program(Span<const uint8_t>(bytes.data(), bytes.size()));
    return status.ok() ? std::string() : status.error().text();
  };
  EXPECT_EQ(at(16), "");
  EXPECT_EQ(at(80), "");
  for (const int64_t offset : {64, 68, 76, 52}) EXPECT_NE(at(offset), "") << offset;
}

// In text anything can be said; the delegate would write into what is not its state.
TEST(KeptState, AnotherInputIsNotTakenForIt) {
  const auto program = compiled(R"(
    delegate @d "acme.counter" {berth.state = "16"} = hex"00"
    state @k: u8[16]
    method forward(%x: f32[4]) {
      %k: u8[16] = berth::state_read() @k
      %a: f32[4] = berth::delegate([%k, %k]) @d
      return %a
    })",
                                "portable");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.error().text().find("the delegate keeps 16 bytes of state, and its last input is not state of that "
                                        "size"),
            std::string::npos)
      << program.error().text();
}

}  // namespace
}  // namespace berth

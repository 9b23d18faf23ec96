// Copies between devices that are still reading when the run goes on (runtime/pending_reads.h), on simulated devices,
// which find a write to what is being read; and copies to the host that have not arrived when it does
// (runtime/arrivals.h): there they arrive when they are waited for, and what stands there before is NaN. The fears: a
// backend that does not say what it reads and overwrites it, a caller that ends a run midway and writes a state that a
// copy of it reads, and bytes on the host that are used before they have arrived: by a kernel, a branch, a copy on, a
// caller between steps, an observer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backends/sim/sim_allocator.h"
#include "backends/sim/sim_backend.h"
#include "base/splitmix64.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/device_explanation.h"
#include "runtime/host/host_method.h"
#include "runtime/observer.h"

namespace berth {
namespace {

/// Nodes whose source begins with a digit are of that simulated device, others of the host.
std::optional<Device> device_of(const ir::Method&, const ir::Node& node) {
  const char first = node.source.empty() ? 'h' : node.source[0];
  if (first == 'h') return Device();
  return Device{DeviceType::kSim, static_cast<DeviceIndex>(first - '0')};
}

std::vector<uint8_t> compiled_for(const std::string& text) {
  auto module = ir::parse(text);
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  CompileOptions options;
  options.target = "sim:0,sim:1";
  options.node_device = device_of;
  auto bytes = compile(std::move(*module), options);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  return bytes.ok() ? std::move(*bytes) : std::vector<uint8_t>();
}

/// A backend that does not say which arguments it only reads.
class Silent final : public Backend {
 public:
  explicit Silent(Backend* backend) : backend_(*backend) {}
  const char* name() const override { return backend_.name(); }
  bool serves(DeviceType type) const override { return backend_.serves(type); }
  Error memory_needed(const DelegateSource& source, Span<uint8_t> memory, int threads, DelegateMemory* needed,
                      format::Report* report) const override {
    const Error error = backend_.memory_needed(source, memory, threads, needed, report);
    needed->read_arguments = SIZE_MAX;
    return error;
  }
  Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad& load,
                               format::Report* report) override {
    return backend_.load(source, load, report);
  }
  Error execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) override {
    return backend_.execute(handle, context, args);
  }
  void unload(DelegateHandle* handle) override { backend_.unload(handle); }

 private:
  Backend& backend_;
};

/// A program on simulated devices, loaded.
class LoadedCopies {
 public:
  LoadedCopies(std::vector<uint8_t> bytes, bool silent, bool late_copies = true)
      : sim_(options(late_copies)), backend_(&sim_), silent_(&backend_), bytes_(std::move(bytes)), loader_{bytes_} {
    registry_.register_allocator(&sim_);
    backends_[0] = silent ? static_cast<Backend*>(&silent_) : &backend_;
    LoadOptions load;
    load.registry = &registry_;
    load.backends = backends_;
    program_.emplace(Program::load(loader_, portable::kernels(), load));
    EXPECT_TRUE(program_->ok());
    host_.emplace(HostMethod::load(**program_, "forward"));
    EXPECT_TRUE(host_->ok());
  }
  Method& method() { return (*host_)->method(); }
  SimAllocator& sim() { return sim_; }

 private:
  static SimOptions options(bool late_copies) {
    SimOptions options;
    options.late_copies = late_copies;
    return options;
  }

  SimAllocator sim_;
  SimBackend backend_;
  Silent silent_;
  DeviceAllocatorRegistry registry_;
  Backend* backends_[1] = {};
  const std::vector<uint8_t> bytes_;
  BufferLoader loader_;
  std::optional<Result<Program>> program_;
  std::optional<Result<HostMethod>> host_;
};

// What sim:1 copies from sim:0 is overwritten there by what follows, in so many rounds with the host between.
std::string chain(int rounds) {
  std::string text = R"(const @w0: f32[64,64] = splat<0.013>
const @w1: f32[64,64] = splat<0.014>
method forward(%x: f32[64,64]) {
  %w0: f32[64,64] = const @w0
  %w1: f32[64,64] = const @w1
  %y0: f32[64,64] = aten::mm(%x, %w0) "0"
  %z: f32[64,64] = aten::mm(%y0, %w1) "1"
)";
  for (int i = 0; i < rounds; ++i) {
    const std::string n = std::to_string(i);
    text += "  %r" + n + ": f32[1,64] = aten::slice_copy.Tensor(%y" + n + ", 0, 0, 1, 1) \"host\"\n";
    text += "  %h" + n + ": f32[1,64] = aten::relu(%r" + n + ") \"host\"\n";
    text += "  %m" + n + ": f32[64,64] = aten::mm(%y" + n + ", %w0) \"0\"\n";
    text += "  %y" + std::to_string(i + 1) + ": f32[64,64] = aten::add.Tensor(%m" + n + ", %h" + n + ", 1) \"0\"\n";
  }
  return text + "  return %y" + std::to_string(rounds) + ", %z\n}\n";
}

TEST(CopiesUnderWay, ABackendThatSaysNothingMayWriteAllItsArguments) {
  const std::vector<uint8_t> bytes = compiled_for(chain(4));
  const std::vector<float> values(64 * 64, 0.5F);
  for (const bool silent : {false, true}) {
    SCOPED_TRACE(silent);
    LoadedCopies loaded(bytes, silent);
    Method& method = loaded.method();
    ASSERT_EQ(method.set_input(0, values.data(), method.get_input(0).tensor().sizes(), DType::kF32), Error::kOk);
    EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().place << ": " << method.last_report().message;
  }
}

// The state is on sim:0, and sim:1 copies what is written to it there.
constexpr char kState[] = R"(
state @s: f32[64,64] = splat<1.0>
const @w: f32[64,64] = splat<0.01>
method forward(%x: f32[64,64]) {
  %w: f32[64,64] = const @w
  %s: f32[64,64] = berth::state_read() @s
  %q: f32[64,64] = aten::tanh(%s) "0"
  %r: f32[64,64] = aten::relu(%q) "host"
  %h: f32[64,64] = aten::add.Tensor(%r, %x, 1) "host"
  %n: f32[64,64] = aten::mm(%h, %w) "0"
  %a: f32[64,64] = aten::mm(%n, %w) "1"
  berth::state_write(%n) @s
  return %a
})";

TEST(CopiesUnderWay, ARunThatIsEndedMidwayLeavesItsStatesFree) {
  LoadedCopies loaded(compiled_for(kState), false);
  Method& method = loaded.method();
  const auto state = method.state_tensor_meta(0);
  ASSERT_TRUE(state.ok());
  ASSERT_EQ(state->device.type, DeviceType::kSim);
  const std::vector<float> values(64 * 64, 0.5F);
  for (size_t stop = 1; stop < method.num_instructions(); ++stop) {
    SCOPED_TRACE(stop);
    ASSERT_EQ(method.set_input(0, values.data(), method.get_input(0).tensor().sizes(), DType::kF32), Error::kOk);
    for (size_t i = 0; i < stop; ++i) ASSERT_EQ(method.step(), Error::kOk);
    method.reset_execution();
    EXPECT_EQ(method.set_state(0, values.data(), state->sizes, DType::kF32), Error::kOk);
    EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  }
}

constexpr int32_t kSide = 16;

void set_input(Method& method, float seed) {
  std::vector<float> values(kSide * kSide);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 31) / 16 - seed;
  ASSERT_EQ(method.set_input(0, values.data(), method.get_input(0).tensor().sizes(), DType::kF32), Error::kOk);
}

std::vector<uint8_t> bytes_of(const Tensor& tensor) {
  const auto* const bytes = static_cast<const uint8_t*>(tensor.raw());
  return {bytes, bytes + tensor.nbytes()};
}

std::vector<std::vector<uint8_t>> outputs_of(const Method& method) {
  std::vector<std::vector<uint8_t>> outputs;
  for (size_t k = 0; k < method.outputs_size(); ++k) outputs.push_back(bytes_of(method.get_output(k).tensor()));
  return outputs;
}

std::vector<std::vector<uint8_t>> run(Method& method, float seed) {
  set_input(method, seed);
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().place << ": " << method.last_report().message;
  return outputs_of(method);
}

// Products on two devices, and on the host sums, views, parts and branches, each of some values before it.
std::string random_model(SplitMix64& dice) {
  std::string text =
      "const @w: f32[16,16] = splat<0.06>\nmethod forward(%v0: f32[16,16]) {\n  %w: f32[16,16] = const @w\n";
  const int nodes = 5 + static_cast<int>(dice.below(12));
  for (int i = 1; i <= nodes; ++i) {
    const auto earlier = [&] { return "%v" + std::to_string(i - 1 - static_cast<int>(dice.below(std::min(i, 4)))); };
    const std::string n = std::to_string(i);
    const std::string to = "  %v" + n + ": f32[16,16] = ";
    switch (dice.below(7)) {
      case 0: text += to + "aten::add.Tensor(" + earlier() + ", " + earlier() + ", 1) \"host\"\n"; break;
      case 1: text += to + "aten::relu(" + earlier() + ") \"host\"\n"; break;
      case 2:
        text += "  %f" + n + ": f32[256] = aten::view_copy(" + earlier() + ", [256]) \"host\"\n  %g" + n +
                ": f32[256] = aten::tanh(%f" + n + ") \"host\"\n" + to + "aten::view_copy(%g" + n +
                ", [16, 16]) \"host\"\n";
        break;
      case 3:
        text += "  %f" + n + ": f32[8,16] = aten::slice_copy.Tensor(" + earlier() + ", 0, 8, 16, 1) \"host\"\n  %g" +
                n + ": f32[8,16] = aten::slice_copy.Tensor(" + earlier() + ", 0, 0, 8, 1) \"host\"\n" + to +
                "aten::cat([%f" + n + ", %g" + n + "], 0) \"host\"\n";
        break;
      default: text += to + "aten::mm(" + earlier() + ", %w) \"" + std::to_string(dice.below(2)) + "\"\n"; break;
    }
  }
  return text + "  return %v" + std::to_string(nodes) + ", %v" + std::to_string(nodes - 1) + ", %v" +
         std::to_string(nodes / 2) + "\n}\n";
}

uint64_t seed_of_this_run() {
  const char* const given = std::getenv("BERTH_SEED");
  return given == nullptr ? 71 : std::strtoull(given, nullptr, 10);
}

TEST(CopiesUnderWay, WhatTheHostUsesHasArrived) {
  const uint64_t seed = seed_of_this_run();
  SplitMix64 dice(seed);
  for (int round = 0; round < 150 && !HasFailure(); ++round) {
    const std::string text = random_model(dice);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + "\n" + text);
    const std::vector<uint8_t> bytes = compiled_for(text);
    LoadedCopies late(bytes, false);
    LoadedCopies waiting(bytes, false, false);
    for (const float input : {0.9F, 0.3F}) EXPECT_EQ(run(late.method(), input), run(waiting.method(), input));
  }
}

constexpr char kTwo[] = R"(
const @w: f32[16,16] = splat<0.06>
const @v: f32[16,16] = splat<0.05>
method forward(%x: f32[16,16]) {
  %w: f32[16,16] = const @w
  %v: f32[16,16] = const @v
  %a: f32[16,16] = aten::mm(%x, %w) "0"
  %b: f32[16,16] = aten::mm(%x, %v) "1"
  %r: f32[16,16] = aten::relu(%x) "host"
  %c: f32[16,16] = aten::add.Tensor(%a, %r, 1) "host"
  %d: f32[16,16] = aten::add.Tensor(%c, %b, 1) "host"
  return %d
})";

TEST(CopiesUnderWay, BetweenStepsNothingIs) {
  const std::vector<uint8_t> bytes = compiled_for(kTwo);
  const std::vector<std::vector<uint8_t>> expected = run(LoadedCopies(bytes, false, false).method(), 0.5F);
  LoadedCopies loaded(bytes, false);
  Method& method = loaded.method();
  set_input(method, 0.5F);
  Error error = Error::kOk;
  uint64_t finished = 0;
  while (error == Error::kOk) {
    error = method.step();
    const uint64_t copies = loaded.sim().counts().device_to_host.count;
    EXPECT_EQ(loaded.sim().calls(SimCall::kFinishCopy), copies) << "each is waited for in its step";
    finished = copies;
  }
  EXPECT_EQ(error, Error::kEndOfMethod);
  EXPECT_EQ(finished, 2U);
  EXPECT_EQ(outputs_of(method), expected);
}

// What each instruction has made, by its number; of copies to the host alone.
class Copies final : public InstructionObserver {
 public:
  explicit Copies(bool sees) : sees_(sees) {}
  Error before(const InstructionEvent&) override { return Error::kOk; }
  void after(const InstructionEvent& event, Error) override {
    if (std::string(event.name).find("_d2h_copy") == std::string::npos) return;
    made.push_back(bytes_of(event.args[1]->tensor()));
  }
  bool sees_values() const override { return sees_; }
  std::vector<std::vector<uint8_t>> made;

 private:
  const bool sees_;
};

TEST(CopiesUnderWay, AnObserverSeesWhatArrived) {
  const std::vector<uint8_t> bytes = compiled_for(kTwo);
  std::vector<std::vector<uint8_t>> seen[3];
  for (const int turn : {0, 1, 2}) {
    LoadedCopies loaded(bytes, false, turn != 0);
    Copies copies(turn != 2);
    loaded.method().set_observer(&copies);
    run(loaded.method(), 0.5F);
    seen[turn] = copies.made;
  }
  ASSERT_EQ(seen[0].size(), 2U);
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_NE(seen[2], seen[0]) << "one that does not look does not make the host wait";
}

// A failure of any wait is an error of the run, and the next run is right.
TEST(CopiesUnderWay, ACopyThatFailsLateIsAnErrorOnce) {
  const std::vector<uint8_t> bytes = compiled_for(kTwo);
  const std::vector<std::vector<uint8_t>> expected = run(LoadedCopies(bytes, false, false).method(), 0.5F);
  LoadedCopies loaded(bytes, false);
  Method& method = loaded.method();
  for (uint64_t nth = 1; nth <= 2; ++nth) {
    set_input(method, 0.5F);
    loaded.sim().fail(SimCall::kFinishCopy, nth, Error::kInternal);
    EXPECT_EQ(method.execute(), Error::kInternal);
    EXPECT_STREQ(method.last_report().message, "a copy to the host, or the device's work before it, failed");
    EXPECT_EQ(run(method, 0.5F), expected);
  }
}

// Only the device knows what its work found wrong, and it says so when the host waits: before a kernel that uses the
// bytes, at the end of a step, and where the next run waits for what an ended one left.
TEST(CopiesUnderWay, AnErrorThatAWaitBringsIsTheDevicesOwnWords) {
  constexpr const char* kWhy = "aten::embedding: index 9 is outside the dimension of 6 that it selects from";
  const std::vector<uint8_t> bytes = compiled_for(kTwo);
  LoadedCopies loaded(bytes, false);
  Method& method = loaded.method();
  for (uint64_t nth = 1; nth <= 2; ++nth) {
    set_input(method, 0.5F);
    loaded.sim().fail(SimCall::kFinishCopy, nth, Error::kInvalidArgument, kWhy);
    EXPECT_EQ(method.execute(), Error::kInvalidArgument);
    EXPECT_STREQ(method.last_report().message, kWhy);
  }
  set_input(method, 0.5F);
  loaded.sim().fail(SimCall::kFinishCopy, 1, Error::kInvalidArgument, kWhy);
  Error error = Error::kOk;
  while (error == Error::kOk) error = method.step();
  EXPECT_EQ(error, Error::kInvalidArgument);
  EXPECT_STREQ(method.last_report().message, kWhy);
  // What an earlier call said is not told of an error that says nothing.
  explain_error(kWhy);
  loaded.sim().fail(SimCall::kFinishCopy, 1, Error::kInternal);
  set_input(method, 0.5F);
  EXPECT_EQ(method.execute(), Error::kInternal);
  EXPECT_STREQ(method.last_report().message, "a copy to the host, or the device's work before it, failed");
}

// Ends the run at an instruction, and does not look at what those before have made.
class End final : public InstructionObserver {
 public:
  explicit End(size_t at) : at_(at) {}
  Error before(const InstructionEvent& event) override { return event.index < at_ ? Error::kOk : Error::kInvalidState; }
  void after(const InstructionEvent&, Error) override {}
  bool sees_values() const override { return false; }

 private:
  const size_t at_;
};

TEST(CopiesUnderWay, ARunThatIsEndedMidwayLeavesNoCopyThatArrivesLater) {
  const std::vector<uint8_t> bytes = compiled_for(kTwo);
  const std::vector<std::vector<uint8_t>> expected = run(LoadedCopies(bytes, false, false).method(), 0.5F);
  LoadedCopies loaded(bytes, false);
  Method& method = loaded.method();
  for (size_t stop = 1; stop < method.num_instructions(); ++stop) {
    SCOPED_TRACE(stop);
    End end(stop);
    method.set_observer(&end);
    set_input(method, 0.7F);
    EXPECT_EQ(method.execute(), Error::kInvalidState);
    method.set_observer(nullptr);
    EXPECT_EQ(run(method, 0.5F), expected);
  }
}

}  // namespace
}  // namespace berth

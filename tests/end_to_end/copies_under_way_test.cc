// Copies between devices that are still reading when the run goes on (runtime/pending_reads.h), on simulated devices, which
// find a write to what is being read. The fears: a backend that does not say what it reads and overwrites it, and a caller
// that ends a run midway and writes a state that a copy of it reads.
#include <gtest/gtest.h>

#include "backends/sim/sim_allocator.h"
#include "backends/sim/sim_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

/// Nodes whose source begins with a digit are of that simulated device, others of the host.
std::optional<Device> device_of(const ir::Method&, const ir::Node& node) {
  const char first = node.source.empty() ? 'h' : node.source[0];
  if (first == 'h') return Device();
  return Device{DeviceType::kSim, static_cast<DeviceIndex>(first - '0')};
}

std::vector<uint8_t> compiled(const std::string& text) {
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
class Loaded {
 public:
  Loaded(const std::vector<uint8_t>& bytes, bool silent) : backend_(&sim_), silent_(&backend_), loader_{bytes} {
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

 private:
  SimAllocator sim_;
  SimBackend backend_;
  Silent silent_;
  DeviceAllocatorRegistry registry_;
  Backend* backends_[1] = {};
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
  const std::vector<uint8_t> bytes = compiled(chain(4));
  const std::vector<float> values(64 * 64, 0.5F);
  for (const bool silent : {false, true}) {
    SCOPED_TRACE(silent);
    Loaded loaded(bytes, silent);
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
  Loaded loaded(compiled(kState), false);
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

}  // namespace
}  // namespace berth

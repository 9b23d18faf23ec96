// All arenas of a method from the file, host and devices; and what happens to them when something fails.

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "runtime/device_programs_testing.h"
#include "runtime/host/host_method.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::TensorDesc;
using testing::delegated_add;
using testing::kA;
using testing::kB;
using testing::kCuda0;
using testing::kTwoByTwo;
using testing::on_device;
using testing::OnDevices;
using testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;

Result<HostMethod> load(const OnDevices& on, const HostArenas* arenas = nullptr, const char* name = "forward") {
  HostOptions options;
  options.arenas = arenas;
  return HostMethod::load(*on.program, name, options);
}

// Holds row 58.
TEST(HostArenas, ADeviceArenaIsTakenOnceAndFreedOnce) {
  OnDevices on(delegated_add());
  ASSERT_EQ(on.open(), Error::kOk);
  {
    Result<HostMethod> method = load(on);
    ASSERT_TRUE(method.ok());
    const auto taken = on.cuda.calls(Kind::kAllocate);
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].bytes, 48u);
    EXPECT_EQ(taken[0].index, 0);
    ASSERT_EQ(method->method().set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
    ASSERT_EQ(method->method().set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
    ASSERT_EQ(method->method().execute(), Error::kOk);
    EXPECT_EQ(testing::floats(method->method().get_output(0)), (std::vector<float>{11, 22, 33, 44}));
    const HostMethod moved = std::move(*method);
    EXPECT_EQ(on.cuda.count(Kind::kDeallocate), 0u);
  }
  EXPECT_EQ(on.cuda.count(Kind::kDeallocate), 1u);
  EXPECT_EQ(on.cuda.live(), 0u);
}

// Holds row 58: the error path.
TEST(HostArenas, ADeviceArenaIsFreedWhenTheBackendFails) {
  OnDevices on(delegated_add());
  on.cuda.has_streams = true;
  on.add.fail_load = 1;
  ASSERT_EQ(on.open(), Error::kOk);
  EXPECT_EQ(load(on).error(), Error::kOutOfResources);
  EXPECT_EQ(on.cuda.count(Kind::kAllocate), 1u);
  EXPECT_EQ(on.cuda.count(Kind::kDeallocate), 1u);
  EXPECT_EQ(on.cuda.live(), 0u);
}

TEST(HostArenas, ADeviceArenaIsNotTakenForAMissingBackend) {
  OnDevices on(delegated_add());
  on.options.backends = {};
  ASSERT_EQ(on.open(), Error::kOk);
  EXPECT_EQ(load(on).error(), Error::kNotFound);
  EXPECT_TRUE(on.cuda.calls().empty());
}

// Holds row 54.
TEST(HostArenas, AHostProgramTakesNothingFromADevice) {
  OnDevices on(format::testing::add_relu());
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.open(), Error::kOk);
  {
    Result<HostMethod> method = load(on);
    ASSERT_TRUE(method.ok());
    ASSERT_EQ(testing::set_floats(method->method(), 0, {0, 0, 4, 0}, {4}), Error::kOk);
    ASSERT_EQ(method->method().execute(), Error::kOk);
  }
  EXPECT_TRUE(on.cuda.calls().empty());
}

TEST(HostArenas, ADeviceArenaIsAlignedAsTheFileSays) {
  ProgramDesc desc = delegated_add();
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.arenas = {{2, 256, 48, fb::Proof::LOAD, 1, "", 0}};
  desc.named_data.push_back(format::meta_blob({"berth test", {meta}}));
  OnDevices on(desc);
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  ASSERT_TRUE(load(on).ok());
  EXPECT_EQ(on.cuda.calls(Kind::kAllocate).at(0).alignment, 256u);
}

TEST(HostArenas, OutputsOnADeviceGetMemoryThere) {
  ProgramDesc desc = testing::device_io_add();
  OnDevices on(desc);
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  {
    Result<HostMethod> method = load(on);
    ASSERT_TRUE(method.ok());
    const Tensor& out = method->method().get_output(0).tensor();
    EXPECT_EQ(out.device(), kCuda0);
    EXPECT_NE(out.raw(), nullptr);
    EXPECT_EQ(on.cuda.calls(Kind::kAllocate).at(0).bytes, 16u);
  }
  EXPECT_EQ(on.cuda.live(), 0u);
  on.cuda.fail_allocation = 2;
  EXPECT_EQ(load(on).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(on.add.live, 0);
}

// Two devices, state with and without an initial value, an output on a device: everything that can fail.
ProgramDesc everything() {
  ProgramDesc desc = delegated_add();
  MethodDesc& m = desc.methods[0];
  m.values.emplace_back(on_device({4}, 3, 0, Device(DeviceType::kCuda, 1)));    // 6
  m.values.emplace_back(on_device({90}, 3, 16, Device(DeviceType::kCuda, 1)));  // 7
  m.values.emplace_back(on_device({2, 2}, 2, -1, kCuda0));                      // 8
  std::get<TensorDesc>(m.values[6]).data_buffer_idx = 1;
  std::get<TensorDesc>(m.values[7]).name = "cache";
  m.outputs = {5, 6, 7, 8};
  m.delegates.push_back(m.delegates[0]);
  m.instructions.insert(m.instructions.begin() + 3, format::DelegateCallDesc{1, {2, 3, 8}});
  m.arenas.push_back({400, Device(DeviceType::kCuda, 1)});
  desc.initial_values = {format::Bytes::of(std::vector<uint8_t>(16, 1))};
  return desc;
}

// Loads and runs; whether it went well.
bool attempt(OnDevices& on) {
  if (on.open() != Error::kOk) return false;
  Result<HostMethod> method = load(on);
  if (!method.ok()) return false;
  EXPECT_EQ(method->method().set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  EXPECT_EQ(method->method().set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  return method->method().execute() == Error::kOk;
}

// Limits 1.13.
TEST(HostArenas, NothingLeaksWhicheverStepFails) {
  struct Failures {
    const char* what;
    void (*arm)(OnDevices& on, size_t n);
    size_t expected;
  };
  const Failures all[] = {
      {"allocation", [](OnDevices& on, size_t n) { on.cuda.fail_allocation = n; }, 3},
      // Initial value; 256 zeros and 104 more; two up, one down.
      {"copy", [](OnDevices& on, size_t n) { on.cuda.fail_copy = n; }, 6},
      {"stream", [](OnDevices& on, size_t n) { on.cuda.fail_stream = n; }, 2},
      // Two devices, at the ends of the load and of the run.
      {"synchronize", [](OnDevices& on, size_t n) { on.cuda.fail_synchronize = n; }, 4},
      {"load", [](OnDevices& on, size_t n) { on.add.fail_load = static_cast<int>(n); }, 2},
      {"run", [](OnDevices& on, size_t n) { on.add.fail_run = static_cast<int>(n); }, 2},
  };
  for (const Failures& failures : all) {
    size_t n = 1;
    for (;; ++n) {
      OnDevices on(everything());
      on.cuda.has_streams = true;
      failures.arm(on, n);
      const bool ok = attempt(on);
      EXPECT_EQ(on.cuda.live(), 0u) << failures.what << " " << n;
      EXPECT_EQ(on.add.live, 0) << failures.what << " " << n;
      if (ok) break;
      ASSERT_LT(n, 100u);
    }
    EXPECT_EQ(n - 1, failures.expected) << failures.what;
  }
}

// Three methods over one state: forward adds what it is given, look shows it, reset begins anew.
ProgramDesc three_methods(Device device) {
  ProgramDesc desc;
  desc.payloads = {format::Bytes::of({'a', 'd', 'd'})};
  desc.initial_values = {format::Bytes::of(std::vector<uint8_t>(16, 0))};
  desc.constants = {format::Bytes::of(std::vector<uint8_t>(16, 0))};
  const auto method = [&](const char* name) {
    MethodDesc m;
    m.name = name;
    TensorDesc state = on_device({2, 2}, 2, 0, device);
    state.data_buffer_idx = 1;
    m.values = {format::testing::tensor({2, 2}, 0), state, on_device({2, 2}, 3, 0, device),
                format::testing::tensor({2, 2}, 16), format::testing::constant({2, 2}, 1)};
    m.operators = {{"et_copy::_h2d_copy", "out"}, {"et_copy::_d2h_copy", "out"}};
    m.arenas = {{32, Device()}, {16, device}, {16, device}};
    return m;
  };
  MethodDesc forward = method("forward");
  forward.inputs = {0};
  forward.outputs = {3};
  forward.delegates = {testing::add_delegate(to_text(device).text)};
  // A delegate may read and write at the same place.
  forward.instructions = {KernelCallDesc{0, {0, 2, 2}}, format::DelegateCallDesc{0, {1, 2, 1}},
                          KernelCallDesc{1, {1, 3, 3}}};
  MethodDesc look = method("look");
  look.outputs = {3};
  look.instructions = {KernelCallDesc{1, {1, 3, 3}}};
  MethodDesc reset = method("reset");
  reset.outputs = {1};
  reset.instructions = {KernelCallDesc{0, {4, 1, 1}}};
  desc.methods = {forward, look, reset};
  return desc;
}

// Holds row 57, row 59, row 258.
TEST(HostArenas, SharedArenasCarryDeviceStateBetweenMethods) {
  OnDevices on(three_methods(kCuda0));
  on.cuda.has_streams = true;
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  {
    const Result<HostArenas> arenas = HostArenas::make(*on.program);
    ASSERT_TRUE(arenas.ok());
    EXPECT_EQ(on.cuda.count(Kind::kAllocate), 2u);
    Result<HostMethod> forward = load(on, &*arenas, "forward");
    Result<HostMethod> look = load(on, &*arenas, "look");
    Result<HostMethod> reset = load(on, &*arenas, "reset");
    ASSERT_TRUE(forward.ok() && look.ok() && reset.ok());
    EXPECT_EQ(on.cuda.count(Kind::kAllocate), 2u);
    const auto step = [&](float x) {
      EXPECT_EQ(testing::set_floats(forward->method(), 0, {x, 0, 0, 0}, {2, 2}), Error::kOk);
      EXPECT_EQ(forward->method().execute(), Error::kOk) << forward->method().last_report().message;
      return testing::floats(forward->method().get_output(0))[0];
    };
    const auto shown = [&] {
      EXPECT_EQ(look->method().execute(), Error::kOk);
      return testing::floats(look->method().get_output(0))[0];
    };
    EXPECT_EQ(step(3), 3);
    EXPECT_EQ(step(1), 4);
    EXPECT_EQ(shown(), 4);
    EXPECT_EQ(reset->method().execute(), Error::kOk);
    EXPECT_EQ(shown(), 0);
    EXPECT_EQ(step(3), 3);
  }
  EXPECT_EQ(on.cuda.live(), 0u);
}

// Two sessions of one program are two sets of arenas.
// Holds row 257.
TEST(HostArenas, TwoSetsOfArenasKeepSeparateState) {
  OnDevices on(three_methods(kCuda0));
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  const Result<HostArenas> first = HostArenas::make(*on.program);
  const Result<HostArenas> second = HostArenas::make(*on.program);
  ASSERT_TRUE(first.ok() && second.ok());
  Result<HostMethod> one = load(on, &*first);
  Result<HostMethod> two = load(on, &*second);
  ASSERT_TRUE(one.ok() && two.ok());
  const auto step = [](Result<HostMethod>& method, float x) {
    EXPECT_EQ(testing::set_floats(method->method(), 0, {x, 0, 0, 0}, {2, 2}), Error::kOk);
    EXPECT_EQ(method->method().execute(), Error::kOk) << method->method().last_report().message;
    return testing::floats(method->method().get_output(0))[0];
  };
  EXPECT_EQ(step(one, 3), 3);
  EXPECT_EQ(step(two, 10), 10) << "begins with its initial value, whatever the other has done";
  EXPECT_EQ(step(one, 1), 4);
  EXPECT_EQ(step(two, 1), 11);
  // What is loaded later into the first set shares its state, and no other's; a load sets it to its initial value.
  Result<HostMethod> look = load(on, &*first, "look");
  ASSERT_TRUE(look.ok());
  EXPECT_EQ(look->method().execute(), Error::kOk);
  EXPECT_EQ(testing::floats(look->method().get_output(0))[0], 0);
  EXPECT_EQ(step(two, 1), 12);
}

// Holds row 256.
TEST(HostArenas, SharedArenasOfAnotherMethodAreRefusedAtLoad) {
  OnDevices on(three_methods(kCuda0));
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  OnDevices small(delegated_add());
  ASSERT_EQ(small.open(), Error::kOk) << small.said();
  const Result<HostArenas> arenas = HostArenas::make(*small.program);
  ASSERT_TRUE(arenas.ok());
  Report report;
  HostOptions options;
  options.arenas = &*arenas;
  options.report = &report;
  EXPECT_EQ(HostMethod::load(*on.program, "forward", options).error(), Error::kMemoryAllocationFailed);
  EXPECT_STREQ(report.place, "methods[forward].arenas[2]");
  EXPECT_STREQ(report.message, "16 bytes are needed, 0 were given");
  EXPECT_EQ(HostMethod::load(*on.program, "missing", options).error(), Error::kInvalidArgument);
}

TEST(HostArenas, SharedArenasFitTheLargestMethodOnEachDevice) {
  ProgramDesc desc = delegated_add();
  MethodDesc other = desc.methods[0];
  other.name = "other";
  other.arenas = {{1000, Device()}, {500, kCuda0}};
  MethodDesc host = format::testing::add_relu().methods[0];
  host.name = "host";
  std::get<TensorDesc>(host.values[1]) = format::testing::tensor({4}, 48);
  host.inputs = {0, 1};
  std::get<TensorDesc>(host.values[3]).planned = format::ArenaOffset{2, 0};
  host.arenas = {{64, Device()}, {16, Device()}};
  desc.methods.push_back(other);
  desc.methods.push_back(host);
  OnDevices on(desc);
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  const Result<HostArenas> arenas = HostArenas::make(*on.program);
  ASSERT_TRUE(arenas.ok());
  ASSERT_EQ(on.cuda.count(Kind::kAllocate), 1u);
  EXPECT_EQ(on.cuda.calls()[0].bytes, 500u);
  const auto forward = arenas->view(on.program->method_meta("forward").value());
  const auto same = arenas->view(on.program->method_meta("other").value());
  const auto on_host = arenas->view(on.program->method_meta("host").value());
  EXPECT_EQ(forward.spans[0].data(), same.spans[0].data());
  EXPECT_EQ(forward.spans[0].size(), 1000u);
  EXPECT_EQ(forward.spans[1].data(), same.spans[1].data());
  EXPECT_EQ(forward.devices[1], kCuda0);
  EXPECT_EQ(on_host.devices[1], Device());
  EXPECT_NE(on_host.spans[1].data(), forward.spans[1].data());
  EXPECT_EQ(on_host.spans[1].size(), 16u);
  for (const char* name : {"forward", "other", "host"}) EXPECT_TRUE(load(on, &*arenas, name).ok()) << name;
}

TEST(HostArenas, SharedArenasOfAMissingDeviceTakeNothing) {
  OnDevices on(three_methods(Device(DeviceType::kCuda, 7)));
  ASSERT_EQ(on.open(), Error::kOk);
  Report report;
  EXPECT_EQ(HostArenas::make(*on.program, &report).error(), Error::kNotFound);
  EXPECT_STREQ(report.message, "arena 2 is on cuda:7, which this process does not have");
  EXPECT_EQ(HostArenas::make(*on.program, "look", &report).error(), Error::kNotFound);
  EXPECT_EQ(HostArenas::make(*on.program, "missing", &report).error(), Error::kInvalidArgument);
  EXPECT_TRUE(on.cuda.calls().empty());
}

}  // namespace
}  // namespace berth

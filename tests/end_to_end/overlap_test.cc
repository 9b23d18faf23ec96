// Devices that work at the same time: what `overlap` promises, and what simulated devices with declared times do when
// the program runs. The fears: an estimate that no device keeps to, an order that computes something else, memory that
// was not allowed, and devices that wait for each other where the plan has room.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/sim/sim_allocator.h"
#include "backends/sim/sim_backend.h"
#include "base/splitmix64.h"
#include "base/stopwatch.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "runtime/observer.h"

namespace berth {
namespace {

constexpr double kRoom = 1.05;
constexpr double kRounding = 1e-8;

/// Nodes whose source begins with a digit are of that simulated device, others of the host.
std::optional<Device> type_of_device(const ir::Method&, const ir::Node& node) {
  const char first = node.source.empty() ? 'h' : node.source[0];
  if (first == 'h') return Device();
  return Device{DeviceType::kSim, static_cast<DeviceIndex>(first - '0')};
}

/// What simulated devices take by the estimate, with a link that is so many times as slow.
placement::DeviceCosts costs_with(const std::string& target, double slower) {
  placement::DeviceCosts costs = *placement::costs_of(target, {});
  costs.to_device.bytes_per_second /= slower;
  costs.from_device.bytes_per_second /= slower;
  return costs;
}

struct Overlapped {
  std::vector<uint8_t> bytes;
  CompileReport report;
  placement::DeviceCosts costs;  // of all devices

  const RunReport& run() const { return report.runs.at(0); }
  int64_t arena_bytes() const {
    int64_t bytes = 0;
    for (const ArenaReport& arena : report.arenas) bytes += arena.bytes;
    return bytes;
  }
};

Overlapped compiled(const std::string& text, CompileOptions options) {
  Overlapped made;
  made.costs = options.costs.empty() ? costs_with("sim:0", 1) : options.costs[0];
  auto module = ir::parse(text);
  EXPECT_TRUE(module.ok()) << module.error().text() << "\n" << text;
  if (!module.ok()) return made;
  auto bytes = compile(std::move(*module), options, &made.report);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text() << "\n" << text;
  if (bytes.ok()) made.bytes = std::move(*bytes);
  return made;
}

CompileOptions placed(const std::string& overlap, int devices = 3) {
  CompileOptions options;
  for (int i = 0; i < devices; ++i) options.target += (i == 0 ? "sim:" : ",sim:") + std::to_string(i);
  options.target = options.target.substr(options.target.find("sim"));
  options.node_device = type_of_device;
  options.overlap = overlap;
  return options;
}

/// Tells the devices what the host's own nodes take: in their order, as the estimate has them.
class HostTime final : public InstructionObserver {
 public:
  HostTime(SimAllocator* sim, const RunReport& run) : sim_(*sim) {
    for (const TaskReport& task : run.tasks) {
      if (task.device.is_cpu()) tasks_.push_back(task);
    }
  }
  Error before(const InstructionEvent&) override { return Error::kOk; }
  void after(const InstructionEvent& event, Error) override {
    const std::string name = event.name;
    if (event.is_delegate || std::strcmp(event.method, "forward") != 0 || name.find("_copy") != std::string::npos)
      return;
    ASSERT_LT(next_, tasks_.size()) << name;
    EXPECT_EQ(name.substr(0, name.find('.')), tasks_[next_].name.substr(0, tasks_[next_].name.find('.')));
    sim_.host_works(tasks_[next_].end - tasks_[next_].begin);
    ++next_;
  }
  bool sees_values() const override { return false; }
  bool done() const { return next_ == tasks_.size(); }

 private:
  SimAllocator& sim_;
  std::vector<TaskReport> tasks_;
  size_t next_ = 0;
};

/// Runs the program on simulated devices that take as long as the compiler was told, and says how long that is and what
/// it gives. What its delegates and the host's nodes take is what the estimate says.
struct Measured {
  double seconds = 0;
  std::vector<std::vector<uint8_t>> outputs;
};

Measured measured(const Overlapped& program) {
  Measured result;
  const RunReport& run = program.run();
  const placement::DeviceCosts& costs = program.costs;
  std::vector<double> seconds;  // of delegates, in the order in which they are loaded
  for (const DelegateReport& delegate : program.report.delegates) {
    const auto calls = [&](const TaskReport& task) { return task.name == delegate.name; };
    const auto task = std::find_if(run.tasks.begin(), run.tasks.end(), calls);
    EXPECT_NE(task, run.tasks.end());
    if (task == run.tasks.end()) return result;
    seconds.resize(std::max<size_t>(seconds.size(), delegate.id + 1));
    seconds[delegate.id] = task->end - task->begin;
  }
  size_t next = 0;
  SimTimes times;
  times.to_device = {costs.to_device.seconds, costs.to_device.bytes_per_second};
  times.from_device = {costs.from_device.seconds, costs.from_device.bytes_per_second};
  times.between = times.to_device;
  times.delegate = [&](const DelegateSource&) { return seconds.at(next++); };
  SimAllocator sim({4, uint64_t{1} << 33, true, times});
  SimBackend backend(&sim);
  DeviceAllocatorRegistry registry;
  registry.register_allocator(&sim);
  Backend* const backends[] = {&backend};
  LoadOptions load;
  load.registry = &registry;
  load.backends = backends;
  BufferLoader loader{Span<const uint8_t>(program.bytes)};
  const auto loaded = Program::load(loader, portable::kernels(), load);
  EXPECT_TRUE(loaded.ok());
  auto host = HostMethod::load(*loaded, "forward");
  EXPECT_TRUE(host.ok());
  if (!host.ok()) return result;
  Method& method = host->method();
  const Tensor& input = method.get_input(0).tensor();
  std::vector<float> values(input.numel());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 31) / 16 - 0.9F;
  // The second run is the one that is measured.
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(method.set_input(0, values.data(), input.sizes(), DType::kF32), Error::kOk);
    sim.reset_clock();
    HostTime observer(&sim, run);
    method.set_observer(&observer);
    EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
    EXPECT_TRUE(observer.done());
    method.set_observer(nullptr);
  }
  result.seconds = sim.seconds();
  for (size_t k = 0; k < method.outputs_size(); ++k) {
    const Tensor& output = method.get_output(k).tensor();
    const uint8_t* bytes = static_cast<const uint8_t*>(output.raw());
    result.outputs.emplace_back(bytes, bytes + output.nbytes());
  }
  return result;
}

/// A weight for each of so many devices, as equal nodes would become one; `text` follows in the method.
std::string with_weights(int devices, const std::string& text) {
  std::string constants;
  std::string values;
  for (int device = 0; device < devices; ++device) {
    const std::string name = "w" + std::to_string(device) + ": f32[64,64] = ";
    constants += "const @" + name + "splat<0.01" + std::to_string(device + 3) + ">\n";
    values += "  %" + name + "const @w" + std::to_string(device) + "\n";
  }
  return constants + "method forward(%x: f32[64,64]) {\n" + values + text + "}\n";
}

/// `to` is the product of `from` and the weight of `device`, there or where `place` says.
std::string product_on(const std::string& to, const std::string& from, const std::string& device,
                       const std::string& place) {
  return "  %" + to + ": f32[64,64] = aten::mm(%" + from + ", %w" + device + ") \"" + place + " product\"\n";
}

/// Branches of `depth` products each on a device of its own, whose results the host adds.
std::string branches(int devices, int depth) {
  std::string text;
  std::string last;
  for (int device = 0; device < devices; ++device) {
    const std::string d = std::to_string(device);
    std::string from = "x";
    for (int i = 0; i < depth + device; ++i) {
      const std::string to = "p" + d + "_" + std::to_string(i);
      text += product_on(to, from, d, d);
      from = to;
    }
    text += "  %h" + d + ": f32[64,64] = aten::relu(%" + from + ") \"host\"\n";
    if (device > 0) text += "  %s" + d + ": f32[64,64] = aten::add.Tensor(%" + last + ", %h" + d + ", 1) \"host\"\n";
    last = (device > 0 ? "s" : "h") + d;
  }
  return with_weights(devices, text + "  return %" + last + "\n");
}

/// Layers whose two halves are on two devices, joined on the first.
std::string encoder(int layers) {
  std::string text;
  std::string x = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    for (const std::string d : {"0", "1"}) {
      text += product_on("a" + d + n, x, d, d);
      text += "  %b" + d + n + ": f32[64,64] = aten::tanh(%a" + d + n + ") \"" + d + " tanh\"\n";
      text += product_on("c" + d + n, "b" + d + n, d, d);
    }
    text += "  %s" + n + ": f32[64,64] = aten::add.Tensor(%c0" + n + ", %c1" + n + ", 1) \"0 join\"\n";
    text += "  %x" + n + ": f32[64,64] = aten::add.Tensor(%s" + n + ", %" + x + ", 1) \"0 join\"\n";
    x = "x" + n;
  }
  return with_weights(2, text + "  return %" + x + "\n");
}

// What the encoder of a U-Net makes at each size is added where the decoder comes back to it.
constexpr char kUnet[] = R"(
const @first: f32[8,4,3,3] = splat<0.03>
const @down: f32[8,8,3,3] = splat<0.02>
const @up: f32[8,8,2,2] = splat<0.1>
method forward(%x: f32[1,4,32,32]) {
  %first: f32[8,4,3,3] = const @first
  %down: f32[8,8,3,3] = const @down
  %up: f32[8,8,2,2] = const @up
  %e1: f32[1,8,32,32] = aten::convolution(%x, %first, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %e2: f32[1,8,16,16] = aten::convolution(%e1, %down, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)
  %e3: f32[1,8,8,8] = aten::convolution(%e2, %down, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)
  %m: f32[1,8,8,8] = aten::relu(%e3)
  %u2: f32[1,8,16,16] = aten::convolution(%m, %up, none, [2, 2], [0, 0], [1, 1], true, [0, 0], 1)
  %d2: f32[1,8,16,16] = aten::add.Tensor(%u2, %e2, 1)
  %c2: f32[1,8,16,16] = aten::convolution(%d2, %down, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %u1: f32[1,8,32,32] = aten::convolution(%c2, %up, none, [2, 2], [0, 0], [1, 1], true, [0, 0], 1)
  %d1: f32[1,8,32,32] = aten::add.Tensor(%u1, %e1, 1)
  return %d1
})";

void expect_near_the_critical_path(const std::string& text, const CompileOptions& options) {
  const Overlapped program = compiled(text, options);
  ASSERT_EQ(program.report.runs.size(), 1U);
  const RunReport& run = program.run();
  const Measured seen = measured(program);
  EXPECT_NEAR(seen.seconds, run.seconds, kRounding) << "the estimate is what happens";
  EXPECT_LE(seen.seconds, kRoom * run.critical_path_seconds);
  EXPECT_GE(seen.seconds, run.at_least_seconds - kRounding);
  CompileOptions unmoved = options;
  unmoved.overlap = "0";
  EXPECT_EQ(measured(compiled(text, unmoved)).outputs, seen.outputs);
}

TEST(Overlap, BranchesOnSeveralDevicesTakeAsLongAsTheLongest) {
  for (int devices : {2, 3}) {
    SCOPED_TRACE(devices);
    expect_near_the_critical_path(branches(devices, 8), placed("500%"));
  }
}

TEST(Overlap, HalvesOfAnEncodersLayersTakeAsLongAsOne) { expect_near_the_critical_path(encoder(4), placed("500%")); }

TEST(Overlap, AUnetThatIsCutInTwoWaitsForNothingButItsChain) {
  CompileOptions options;
  options.target = "sim:0,sim:1";
  options.split = true;
  for (const double slower : {1, 10, 20}) {
    SCOPED_TRACE(slower);
    options.costs = {costs_with("sim:0", slower), costs_with("sim:1", slower)};
    options.overlap = "100%";
    expect_near_the_critical_path(kUnet, options);
    const double cut = measured(compiled(kUnet, options)).seconds;
    options.overlap = "0";
    const double whole = measured(compiled(kUnet, options)).seconds;
    // Over a slow link copies of what the encoder made take place while it goes on; over a fast one the calls count,
    // and nothing is cut.
    EXPECT_LT(cut, (slower == 20 ? 0.92 : slower == 10 ? 0.98 : 1.0) * whole + kRounding);
  }
}

// Over a slow link what two devices copy to the host arrives at the same time; what is copied to them does not.
TEST(Overlap, TwoDevicesCopyToTheHostAtTheSameTime) {
  CompileOptions options = placed("500%", 2);
  for (const char* device : {"sim:0", "sim:1"}) options.costs.push_back(costs_with(device, 4000));
  const Overlapped program = compiled(branches(2, 4), options);
  const double copy = seconds_of(program.costs.from_device, 64 * 64 * sizeof(float));
  const Measured seen = measured(program);
  EXPECT_NEAR(seen.seconds, program.run().seconds, kRounding);
  EXPECT_LT(seen.seconds, 3.2 * copy) << "two to the devices, and two from them at the same time";
  EXPECT_GT(seen.seconds, 3 * copy);
}

// A chain of the host's that the model has first, and one of a device's.
std::string host_and_device(int depth) {
  std::string text;
  for (const std::string d : {"0", "1"}) {
    std::string from = "x";
    for (int i = 0; i < depth; ++i) {
      const std::string to = "p" + d + "_" + std::to_string(i);
      text += product_on(to, from, d, d == "0" ? "host" : "1");
      from = to;
    }
  }
  const std::string last = "_" + std::to_string(depth - 1);
  text += "  %y: f32[64,64] = aten::add.Tensor(%p0" + last + ", %p1" + last + ", 1) \"host\"\n";
  return with_weights(2, text + "  return %y\n");
}

TEST(Overlap, TheHostHandsOutWhatADeviceComputesBeforeItComputesItself) {
  expect_near_the_critical_path(host_and_device(8), placed("500%"));
}

// Two chains on two devices, the second of which reads in its middle what the first has made in its own.
std::string exchange(int depth) {
  std::string text;
  for (const std::string d : {"0", "1"}) {
    std::string from = "x";
    for (int i = 0; i < depth; ++i) {
      if (d == "1" && i == depth / 2) {
        text +=
            "  %met: f32[64,64] = aten::add.Tensor(%" + from + ", %p0_" + std::to_string(i - 1) + ", 1) \"1 met\"\n";
        from = "met";
      }
      const std::string to = "p" + d + "_" + std::to_string(i);
      text += product_on(to, from, d, d);
      from = to;
    }
  }
  const std::string last = std::to_string(depth - 1);
  return with_weights(2, text + "  return %p0_" + last + ", %p1_" + last + "\n");
}

TEST(Overlap, DelegatesAreCutWhereDevicesMeet) {
  expect_near_the_critical_path(exchange(8), placed("500%"));
  const Overlapped whole = compiled(exchange(8), placed("0"));
  const Overlapped cut = compiled(exchange(8), placed("500%"));
  EXPECT_EQ(whole.report.delegates.size(), 2U);
  EXPECT_EQ(cut.report.delegates.size(), 4U);
  EXPECT_GT(measured(whole).seconds, 1.9 * measured(cut).seconds);
  CompileOptions dear = placed("500%");
  dear.costs = {*placement::costs_of("sim:0", {}), *placement::costs_of("sim:1", {}),
                *placement::costs_of("sim:2", {})};
  for (placement::DeviceCosts& costs : dear.costs) costs.call_seconds = 1e-3;
  EXPECT_EQ(compiled(exchange(8), dear).report.delegates.size(), 2U) << "no part is worth four calls";
}

// A chain on one device, from which two others take what they read in their middle, one earlier and one later.
std::string giver(int depth) {
  std::string text;
  std::string outputs;
  for (const std::string d : {"0", "1", "2"}) {
    std::string from = "x";
    for (int i = 0; i < depth; ++i) {
      const int taken = d == "1" ? depth / 3 : 2 * depth / 3;
      if (d != "0" && i == taken) {
        text += "  %met" + d + ": f32[64,64] = aten::add.Tensor(%" + from + ", %p0_" + std::to_string(i - 1) +
                ", 1) \"" + d + " met\"\n";
        from = "met" + d;
      }
      const std::string to = "p" + d + "_" + std::to_string(i);
      text += product_on(to, from, d, d);
      from = to;
    }
    outputs += (outputs.empty() ? "%" : ", %") + from;
  }
  return with_weights(3, text + "  return " + outputs + "\n");
}

TEST(Overlap, WhatASlowCopyReadsIsKeptSoThatItsDeviceDoesNotWait) {
  CompileOptions options = placed("500%");
  for (const char* device : {"sim:0", "sim:1", "sim:2"}) options.costs.push_back(costs_with(device, 400));
  const Overlapped program = compiled(giver(12), options);
  EXPECT_NEAR(measured(program).seconds, program.run().seconds, kRounding);
  EXPECT_GT(program.run().bytes, 0);
  // With no byte more the device waits, at most as long as is estimated, or nothing is cut.
  options.overlap = "1";
  const Overlapped tight = compiled(giver(12), options);
  EXPECT_LE(tight.run().bytes, 1);
  EXPECT_LE(measured(tight).seconds, tight.run().seconds + kRounding);
}

// A graph of products on devices and sums on the host, each reading some of the values before it.
std::string random_graph(SplitMix64& dice) {
  std::string text =
      "const @w: f32[16,16] = splat<0.06>\nmethod forward(%v0: f32[16,16]) {\n  %w: f32[16,16] = const @w\n";
  const int nodes = 6 + static_cast<int>(dice.below(14));
  for (int i = 1; i <= nodes; ++i) {
    const auto earlier = [&] { return "%v" + std::to_string(i - 1 - static_cast<int>(dice.below(std::min(i, 5)))); };
    const bool on_host = dice.below(4) == 0;
    text += "  %v" + std::to_string(i) + ": f32[16,16] = ";
    if (on_host) {
      text += "aten::add.Tensor(" + earlier() + ", " + earlier() + ", 1) \"host\"\n";
    } else {
      text += "aten::mm(" + earlier() + ", %w) \"" + std::to_string(dice.below(3)) + " product\"\n";
    }
  }
  text += "  return ";
  for (int i = std::max(1, nodes - 2); i <= nodes; ++i)
    text += (i == std::max(1, nodes - 2) ? "%v" : ", %v") + std::to_string(i);
  return text + "\n}\n";
}

TEST(Overlap, WhatIsEstimatedOfARandomGraphIsWhatHappensAndComputesTheSame) {
  const char* const given = std::getenv("BERTH_SEED");
  const uint64_t seed = given == nullptr ? 187 : std::strtoull(given, nullptr, 10);
  const char* const wanted = std::getenv("BERTH_SECONDS");
  const double limit = wanted == nullptr ? 0 : std::atof(wanted);
  const Stopwatch watch;
  SplitMix64 dice(seed);
  int faster = 0;
  int exact = 0;
  int round = 0;
  for (; (round < 40 || watch.seconds() < limit) && !HasFailure(); ++round) {
    const std::string text = random_graph(dice);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + "\n" + text);
    const Overlapped least = compiled(text, placed(""));
    std::vector<std::vector<uint8_t>> expected;
    for (const int percent : {0, 10, 500}) {
      const Overlapped program = compiled(text, placed(std::to_string(percent) + "%"));
      if (program.report.runs.empty()) return;
      const RunReport& run = program.run();
      const Measured seen = measured(program);
      // Where memory does not allow to keep what copies read, the estimate has devices wait that may not have to.
      EXPECT_LE(seen.seconds, run.seconds + kRounding);
      exact += run.seconds - seen.seconds < kRounding ? 1 : 0;
      EXPECT_LE(run.seconds, run.least_memory_seconds);
      EXPECT_GE(run.seconds, run.at_least_seconds - kRounding);
      if (percent == 0) {
        EXPECT_LE(program.arena_bytes(), least.arena_bytes());
      }
      EXPECT_LE(run.bytes, (program.arena_bytes() - run.bytes) * percent / 100);
      faster += run.seconds < 0.9 * run.least_memory_seconds ? 1 : 0;
      if (percent == 0) expected = seen.outputs;
      EXPECT_EQ(seen.outputs, expected);
    }
  }
  EXPECT_GT(faster, round / 8);
  EXPECT_GT(exact, 2 * round) << "of three programs a round";
}

// Two chains of products on two devices that read each other now and then.
std::string random_chains(SplitMix64& dice) {
  std::string text;
  const int depth = 4 + static_cast<int>(dice.below(12));
  std::string last[2] = {"x", "x"};
  for (int i = 0; i < depth; ++i) {
    for (int d = 0; d < 2; ++d) {
      const std::string to = "p" + std::to_string(d) + "_" + std::to_string(i);
      std::string from = last[d];
      if (dice.below(5) == 0 && last[1 - d] != from) {
        text += "  %m" + to + ": f32[64,64] = aten::add.Tensor(%" + from + ", %" + last[1 - d] + ", 1) \"" +
                std::to_string(d) + " met\"\n";
        from = "m" + to;
      }
      text += product_on(to, from, std::to_string(d), std::to_string(d));
      last[d] = to;
    }
  }
  return with_weights(2, text + "  return %" + last[0] + ", %" + last[1] + "\n");
}

// A chain on one device and, from its end on, one on another, which reads what the first has made on its way.
std::string random_relay(SplitMix64& dice) {
  std::string text;
  const int depth = 6 + static_cast<int>(dice.below(8));
  std::string last = "x";
  for (int i = 0; i < 2 * depth; ++i) {
    const std::string d = i < depth ? "0" : "1";
    std::string from = last;
    if (i > depth && dice.below(2) == 0) {
      from = "m" + std::to_string(i);
      text += "  %" + from + ": f32[64,64] = aten::add.Tensor(%" + last + ", %p" +
              std::to_string(dice.below(static_cast<uint64_t>(depth) - 1)) + ", 1) \"1 met\"\n";
    }
    last = "p" + std::to_string(i);
    text += product_on(last, from, d, d);
  }
  return with_weights(2, text + "  return %" + last + "\n");
}

TEST(Overlap, DelegatesAreCutOnlyWhereThatTakesLessTime) {
  const char* const given = std::getenv("BERTH_SEED");
  const uint64_t seed = given == nullptr ? 18 : std::strtoull(given, nullptr, 10);
  SplitMix64 dice(seed);
  int cut = 0;
  int whole = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const std::string text = round % 2 == 0 ? random_chains(dice) : random_relay(dice);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + "\n" + text);
    CompileOptions options = placed("0", 2);
    for (const char* device : {"sim:0", "sim:1"}) options.costs.push_back(costs_with(device, 1));
    for (placement::DeviceCosts& costs : options.costs) costs.call_seconds *= static_cast<double>(1 + dice.below(20));
    options.why = {"overlap"};
    const Overlapped uncut = compiled(text, options);
    for (const char* budget : {"1", "25%", "500%"}) {
      SCOPED_TRACE(budget);
      options.overlap = budget;
      const Overlapped program = compiled(text, options);
      ASSERT_EQ(program.report.runs.size(), 1U);
      EXPECT_LE(program.run().seconds, uncut.run().seconds + kRounding);
      EXPECT_LE(measured(program).seconds, program.run().seconds + kRounding);
      const auto says = [&](const char* words) {
        const auto& lines = program.report.why;
        const auto has = [&](const std::string& line) { return line.find(words) != std::string::npos; };
        return std::count_if(lines.begin(), lines.end(), has);
      };
      const bool is_cut = program.report.delegates.size() > uncut.report.delegates.size();
      EXPECT_EQ(says("delegates are cut where devices meet: a run takes"), is_cut ? 1 : 0);
      cut += is_cut ? 1 : 0;
      whole += says("delegates are whole: a run takes") > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(cut, 5);
  EXPECT_GT(whole, 5);
}

TEST(Overlap, WithoutItProgramsAreTheSameBytes) {
  CompileOptions costly = placed("");
  costly.costs = {*placement::costs_of("sim:0", {})};
  EXPECT_EQ(compiled(branches(2, 3), costly).bytes, compiled(branches(2, 3), placed("")).bytes);
}

TEST(Overlap, WhatItCannotBeTogetherWithIsSaid) {
  const auto refused = [](const std::string& overlap, void (*change)(CompileOptions*), const char* words) {
    CompileOptions options = placed(overlap);
    change(&options);
    auto module = ir::parse(branches(2, 2));
    ASSERT_TRUE(module.ok());
    const auto made = compile(std::move(*module), options);
    ASSERT_FALSE(made.ok()) << words;
    EXPECT_NE(made.error().text().find(words), std::string::npos) << made.error().text();
  };
  const auto nothing = [](CompileOptions*) {};
  for (const char* text : {"-1", "1.5K", "501%", "%", "x", "5 %", "99999999999G", "1T"})
    refused(text, nothing, "expected how much");
  refused(
      "0", [](CompileOptions* o) { o->reorder = false; }, "--no-reorder");
  refused(
      "0", [](CompileOptions* o) { o->planner = Planner::kGreedy; }, "best planner");
  refused(
      "0", [](CompileOptions* o) { o->banks = {"sram=64K"}; }, "banks");
}

}  // namespace
}  // namespace berth

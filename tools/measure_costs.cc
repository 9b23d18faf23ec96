#include "tools/measure_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/stopwatch.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "compiler/targets/target.h"
#include "runtime/device_memory_buffer.h"
#include "tools/load_method.h"
#include "tools/method_inputs.h"
#include "tools/plugins.h"
#include "tools/tune_programs.h"

namespace berth::tool {
namespace {

using placement::CopyCosts;
using placement::DeviceCosts;
using placement::RateAt;
using placement::WorkKind;

constexpr int kShort = 1;
constexpr int kLong = 9;
constexpr int kLaunches = 33;
// A size whose long chain would take more seconds is left out where a smaller one is known.
constexpr double kMostSeconds = 0.5;
// Of a chain: as many runs as come into so many seconds, within bounds.
constexpr double kSecondsOfRuns = 0.2;
constexpr int kLeastRuns = 5;
constexpr int kMostRuns = 200;
// An operator whose work takes less of its time than this is all launch: more is not measured.
constexpr double kLeastPart = 0.1;
constexpr size_t kSmallCopy = size_t{4} << 10;
constexpr size_t kLargeCopy = size_t{16} << 20;

// The least of several turns, as whatever else runs only adds time.
template <typename Turn>
Expected<double> least_seconds(Turn&& turn) {
  double least = 0;
  double sum = 0;
  BERTH_TRY(turn());  // the first one makes ready
  for (int i = 0; i < kMostRuns && (i < kLeastRuns || sum < kSecondsOfRuns); ++i) {
    const Stopwatch watch;
    BERTH_TRY(turn());
    const double seconds = watch.seconds();
    least = i == 0 ? seconds : std::min(least, seconds);
    sum += seconds;
  }
  return least;
}

class Measurement {
 public:
  Measurement(const MeasureRequest& request, targets::Target target, std::vector<const Plugin*> plugins)
      : request_(request), target_(std::move(target)), plugins_(std::move(plugins)) {}

  Expected<TunedDevice> run() {
    TunedDevice tuned;
    DeviceCosts& costs = tuned.costs;
    costs.target = target_.name;
    costs.measured = true;
    BERTH_ASSIGN_OR_RETURN(const double one, seconds_of_chain(launched_operator(), kShort));
    BERTH_ASSIGN_OR_RETURN(const double many, seconds_of_chain(launched_operator(), kLaunches));
    costs.operator_seconds = std::max(0.0, many - one) / (kLaunches - kShort);
    for (const TunedOperator& op : tuned_operators()) BERTH_TRY(add_rate(op, &costs));
    if (target_.device.is_cpu()) {
      // Nothing is copied within the host.
      costs.to_device = costs.from_device = {0, costs.rates[WorkKind::kElementwise].back().second};
    } else {
      BERTH_TRY(measure_copies(&costs));
    }
    costs.call_seconds =
        std::max(0.0, one - costs.operator_seconds - costs.to_device.seconds - costs.from_device.seconds);
    tuned.note =
        fmt::format("berth {} of the host", request_.threads == 1 ? std::string("with 1 thread")
                                                                  : fmt::format("with {} threads", request_.threads));
    return tuned;
  }

 private:
  struct Loaded {
    std::vector<uint8_t> program;
    LoadRequest request;
    std::unique_ptr<LoadedMethod> method;
    std::vector<Array> inputs;
  };

  Expected<std::unique_ptr<Loaded>> load(const TunedOperator& op, int length) const {
    auto made = std::make_unique<Loaded>();
    CompileOptions options;
    options.target = target_.name;
    options.plugins = plugins_;
    options.fusion = op.fusion;
    options.planner = Planner::kGreedy;
    CompileReport report;
    BERTH_ASSIGN_OR_RETURN(ir::Module module, ir::parse(chain_of(op, length), "tune"));
    BERTH_ASSIGN_OR_RETURN(made->program, compile(std::move(module), options, &report));
    if (!target_.is_portable() && (report.delegates.size() != 1 || report.instructions != 1 + copies())) {
      return Failure{Error::kNotSupported, target_.name,
                     fmt::format("does not take {} as the programs that measure it have it; an entry for it in a file "
                                 "of costs may be written by hand (docs/devices.md)",
                                 op.operator_text.substr(0, op.operator_text.find('(')))};
    }
    made->request.program = "a program that measures " + target_.name;
    made->request.bytes = made->program;
    made->request.threads = request_.threads;
    made->request.plugins = request_.plugins;
    BERTH_ASSIGN_OR_RETURN(made->method, load_method(made->request));
    BERTH_ASSIGN_OR_RETURN(made->inputs, gather_inputs(made->request, made->method->method->method()));
    BERTH_TRY(set_inputs(*made->method, made->inputs));
    return made;
  }

  int copies() const { return target_.device.is_cpu() ? 0 : 2; }

  Expected<double> seconds_of_chain(const TunedOperator& op, int length) const {
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Loaded> loaded, load(op, length));
    Method& method = loaded->method->method->method();
    return least_seconds([&]() -> Status {
      if (method.execute() != Error::kOk) return failure_of(loaded->request, method);
      return Done{};
    });
  }

  Status add_rate(const TunedOperator& op, DeviceCosts* costs) const {
    std::vector<RateAt>& rates = costs->rates[op.kind];
    if (!rates.empty() && kLong * op.work / rates.back().second > kMostSeconds) return Done{};
    BERTH_ASSIGN_OR_RETURN(const double short_chain, seconds_of_chain(op, kShort));
    BERTH_ASSIGN_OR_RETURN(const double long_chain, seconds_of_chain(op, kLong));
    const double one = std::max(1e-9, (long_chain - short_chain) / (kLong - kShort));
    const double work = std::max(one - costs->operator_seconds, kLeastPart * one);
    rates.push_back({op.work, op.work / work});
    return Done{};
  }

  Status measure_copies(DeviceCosts* costs) const {
    Machine machine;
    BERTH_TRY(machine.add_plugins(plugins_));
    DeviceAllocator* const allocator = machine.registry().get_allocator(target_.device.type);
    auto made =
        DeviceMemoryBuffer::create(kLargeCopy, target_.device, DeviceAllocator::kDefaultAlignment, machine.registry());
    if (!made.ok()) return Failure{made.error(), target_.name, "its memory cannot be allocated"};
    const DeviceMemoryBuffer there = std::move(made).value();
    std::vector<uint8_t> here(kLargeCopy, 1);
    const DeviceIndex index = target_.device.index;
    BERTH_ASSIGN_OR_RETURN(costs->to_device, measure_copy([&](size_t bytes) {
                             return allocator->copy_host_to_device(there.data(), here.data(), bytes, index);
                           }));
    BERTH_ASSIGN_OR_RETURN(costs->from_device, measure_copy([&](size_t bytes) {
                             return allocator->copy_device_to_host(here.data(), there.data(), bytes, index);
                           }));
    return Done{};
  }

  template <typename Copy>
  Expected<CopyCosts> measure_copy(Copy&& copy) const {
    const auto seconds_of = [&](size_t bytes) {
      return least_seconds([&]() -> Status {
        const Error error = copy(bytes);
        if (error != Error::kOk) return Failure{error, target_.name, "a copy failed"};
        return Done{};
      });
    };
    BERTH_ASSIGN_OR_RETURN(const double small, seconds_of(kSmallCopy));
    BERTH_ASSIGN_OR_RETURN(const double large, seconds_of(kLargeCopy));
    const double more = std::max(1e-9, large - small);
    const double rate = static_cast<double>(kLargeCopy - kSmallCopy) / more;
    return CopyCosts{std::max(0.0, small - static_cast<double>(kSmallCopy) / rate), rate};
  }

  const MeasureRequest& request_;
  targets::Target target_;
  std::vector<const Plugin*> plugins_;
};

}  // namespace

Expected<TunedDevice> measure_costs(const MeasureRequest& request) {
  BERTH_ASSIGN_OR_RETURN(std::vector<const Plugin*> plugins, open_plugins(request.plugins));
  BERTH_ASSIGN_OR_RETURN(std::vector<targets::Target> targets, targets::parse_targets(request.target, plugins));
  if (targets.size() != 1) {
    return Failure{Error::kInvalidArgument, request.target, "is more than one device: name them one after the other"};
  }
  return Measurement(request, std::move(targets[0]), std::move(plugins)).run();
}

}  // namespace berth::tool

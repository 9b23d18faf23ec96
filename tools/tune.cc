// berth tune: measures what work takes on devices, for placement by cost.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "runtime/host/thread_pool.h"
#include "tools/auto_targets.h"
#include "tools/costs_file.h"
#include "tools/measure_costs.h"
#include "tools/plugins.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct TuneCommand {
  std::vector<std::string> targets;
  std::string output;
  MeasureRequest request;
  bool json = false;
};

std::string giga(double per_second) { return fmt::format("{:.3g}", per_second / 1e9); }

std::string text_of(const placement::DeviceCosts& costs) {
  std::string text = fmt::format("{}: a call {}, an operator {}\n", costs.target, duration_text(costs.call_seconds),
                                 duration_text(costs.operator_seconds));
  if (costs.to_device.seconds > 0 || costs.from_device.seconds > 0) {
    text += fmt::format("  copies there {} and {} GB/s, back {} and {} GB/s\n", duration_text(costs.to_device.seconds),
                        giga(costs.to_device.bytes_per_second), duration_text(costs.from_device.seconds),
                        giga(costs.from_device.bytes_per_second));
  }
  for (const placement::WorkKind kind : placement::work_kinds()) {
    const bool bytes = kind == placement::WorkKind::kElementwise || kind == placement::WorkKind::kReduction;
    std::string rates;
    for (const placement::RateAt& rate : costs.rates[kind]) {
      rates += fmt::format("{}{} at {:.3g} M", rates.empty() ? "" : ", ", giga(rate.second), rate.work / 1e6);
    }
    text += fmt::format("  {:<11} {}\n", to_string(kind), rates + (bytes ? " bytes (GB/s)" : " operations (GFLOP/s)"));
  }
  return text;
}

Expected<std::string> run_tune(TuneCommand& command) {
  const std::string file = command.output.empty() ? default_costs_file() : command.output;
  if (file.empty()) {
    return Failure{Error::kInvalidArgument, "--output",
                   "there is no default place for costs without HOME: say where the file is to be"};
  }
  std::vector<TunedDevice> devices;
  std::error_code unknown;
  if (std::filesystem::exists(file, unknown)) {
    BERTH_ASSIGN_OR_RETURN(devices, read_costs(file));
  }
  if (command.targets.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto plugins, open_plugins(command.request.plugins));
    BERTH_ASSIGN_OR_RETURN(const std::string all, targets_of_machine(plugins, devices));
    command.targets = CLI::detail::split(all, ',');
  }
  std::vector<TunedDevice> measured;
  std::string text;
  for (const std::string& target : command.targets) {
    command.request.target = target;
    BERTH_ASSIGN_OR_RETURN(TunedDevice device, measure_costs(command.request));
    text += text_of(device.costs);
    measured.push_back(device);
    // At once, so that what is measured stays when another target cannot be.
    replace_costs({std::move(device)}, &devices);
    BERTH_TRY(write_costs(devices, file));
  }
  const Json json = costs_json(measured);
  return command.json ? json.text() + "\n" : text + fmt::format("written to {}\n", file);
}

}  // namespace

void add_tune(CLI::App& app, Session& session) {
  auto command = std::make_shared<TuneCommand>();
  CLI::App* sub = app.add_subcommand("tune", "Measure what work takes on devices, for compile --by-cost");
  sub->add_option("TARGET", command->targets,
                  "the targets to measure, vulkan:0 cpu; default: what --target auto is on this machine");
  sub->add_option("-o,--output", command->output,
                  "the file of costs, which keeps what it has of other targets; default: $BERTH_COSTS, or "
                  "berth/costs.json in $XDG_CONFIG_HOME or ~/.config");
  sub->add_option("--threads", command->request.threads, "the number of threads of the host, as programs will run with")
      ->check(CLI::Range(1, HostThreadPool::kMaxThreads));
  add_plugins(*sub, command->request.plugins);
  sub->add_flag("--json", command->json, "one JSON object, as the file has it, instead of text");
  sub->footer("example: berth tune vulkan:0 cpu --threads 2");
  sub->callback([command, &session] { session.finish(run_tune(*command)); });
}

}  // namespace berth::tool

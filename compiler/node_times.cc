#include "compiler/node_times.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/placement/estimate_text.h"
#include "compiler/placement/estimated_costs.h"
#include "compiler/placement/operator_work.h"

namespace berth {
namespace {

constexpr double kNanosecond = 1e-9;

int64_t nanoseconds_of(double seconds) {
  const double count = std::round(seconds / kNanosecond);
  return count < static_cast<double>(scheduling::kMostNanoseconds) ? static_cast<int64_t>(count)
                                                                   : scheduling::kMostNanoseconds;
}

double seconds_of(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * kNanosecond; }

Device device_of(const ir::Method& method, const ir::Argument& argument) {
  const ir::ValueId* value = std::get_if<ir::ValueId>(&argument);
  const ir::TensorType* type = value == nullptr ? nullptr : method.value(*value).tensor();
  return type == nullptr ? Device() : type->device;
}

}  // namespace

Expected<NodeTimes> NodeTimes::make(const ir::Module& module, const std::vector<placement::DeviceCosts>& costs,
                                    placement::DelegateSeconds delegates) {
  NodeTimes times(module);
  times.delegates_ = std::move(delegates);
  BERTH_ASSIGN_OR_RETURN(placement::DeviceCosts host, placement::costs_of("portable", costs));
  times.workers_.push_back({Device(), std::move(host)});
  for (const ir::Method& method : module.methods) BERTH_TRY(times.add(costs, method));
  return times;
}

Status NodeTimes::add(const std::vector<placement::DeviceCosts>& costs, const ir::Method& method) {
  for (const ir::Node& node : method.nodes) {
    if (!module_->delegates.contains(node.delegate)) continue;
    BERTH_ASSIGN_OR_RETURN(const Device device, ir::delegate_device(module_->delegates[node.delegate]));
    BERTH_TRY(add(costs, device));
  }
  for (const ir::Value& value : method.values) {
    if (value.tensor() != nullptr) BERTH_TRY(add(costs, value.tensor()->device));
  }
  return Done{};
}

Status NodeTimes::add(const std::vector<placement::DeviceCosts>& costs, Device device) {
  const auto is_its = [&](const Worker& worker) { return worker.device == device; };
  if (std::any_of(workers_.begin(), workers_.end(), is_its)) return Done{};
  BERTH_ASSIGN_OR_RETURN(placement::DeviceCosts own, placement::costs_of(to_text(device).text, costs));
  workers_.push_back({device, std::move(own)});
  return Done{};
}

int32_t NodeTimes::worker_of(Device device) const {
  const auto is_its = [&](const Worker& worker) { return worker.device == device; };
  return static_cast<int32_t>(std::find_if(workers_.begin(), workers_.end(), is_its) - workers_.begin());
}

double NodeTimes::delegate_seconds(const ir::Delegate& delegate, const Worker& worker) const {
  const auto known = delegates_.find(delegate.name);
  // Of one that was compiled elsewhere, what is in it is not known.
  return known == delegates_.end() ? worker.costs.call_seconds : known->second;
}

// What is in a branch or loop waits for each other.
double NodeTimes::host_seconds(const ir::Method& method, const ir::Node& node) const {
  if (node.regions.empty()) return placement::seconds_of_node(*module_, method, node, workers_[0].costs);
  double inside = 0;
  for (const ir::Graph& region : node.regions) {
    for (const ir::NodeId id : region.nodes) {
      inside += seconds_of((*this)(method, method.node(id)).nanoseconds);
    }
  }
  return inside * placement::turns_of(*module_, node);
}

scheduling::TaskTime NodeTimes::copy(const ir::Method& method, const ir::Node& node) const {
  const Device from = device_of(method, node.args[arg::device_copy::self]);
  const Device to = method.tensor(node.results[0]).device;
  const double bytes = placement::bytes_of(*module_, method, node.results[0]);
  const auto costs = [&](Device device) -> const placement::DeviceCosts& { return workers_[worker_of(device)].costs; };
  if (from == to) {
    const placement::Work work{placement::WorkKind::kElementwise, 0, 2 * bytes};
    return {nanoseconds_of(placement::seconds_of(work, costs(to))), worker_of(to)};
  }
  const double out = from.is_cpu() ? 0 : placement::seconds_of(costs(from).from_device, bytes);
  const double in = to.is_cpu() ? 0 : placement::seconds_of(costs(to).to_device, bytes);
  if (from.is_cpu()) return {nanoseconds_of(in), worker_of(to), -1, true};
  const std::string& target = costs(to.is_cpu() ? from : to).target;
  const std::string kind = target.substr(0, target.find(':'));
  if (to.is_cpu()) return {nanoseconds_of(out), worker_of(from), -1, !placement::begins_copies_to_host(kind)};
  if (placement::copies_through_host(kind)) {
    return {nanoseconds_of(out + in), worker_of(to), worker_of(from), true};
  }
  return {nanoseconds_of(std::max(out, in)), worker_of(to), worker_of(from)};
}

scheduling::TaskTime NodeTimes::operator()(const ir::Method& method, const ir::Node& node) const {
  if (node.op->is_device_copy()) return copy(method, node);
  if (node.is(ir::OpId::delegate)) {
    const ir::Delegate& delegate = module_->delegates[node.delegate];
    const auto device = ir::delegate_device(delegate);
    const int32_t worker = worker_of(device.ok() ? *device : Device());
    return {nanoseconds_of(delegate_seconds(delegate, workers_[worker])), worker};
  }
  return {nanoseconds_of(host_seconds(method, node))};
}

RunReport run_report(const ir::Module& module, const memory::MemoryPlan& plan, const NodeTimes& times) {
  const ir::Method& method = plan.plan.scheduled(module.methods[plan.method]);
  const memory::RunTime& run = *plan.plan.run_time;
  RunReport report;
  report.method = method.name;
  report.seconds = seconds_of(run.timeline.nanoseconds);
  report.least_memory_seconds = seconds_of(run.least_memory);
  report.critical_path_seconds = seconds_of(run.bounds.critical_path);
  report.at_least_seconds = seconds_of(run.bounds.least());
  report.bytes = run.bytes;
  for (size_t worker = 0; worker < run.bounds.busy.size(); ++worker) {
    report.busy.emplace_back(times.device(static_cast<int32_t>(worker)), seconds_of(run.bounds.busy[worker]));
  }
  for (size_t i = 0; i < run.times.size(); ++i) {
    if (run.times[i].nanoseconds == 0) continue;
    const ir::Node& node = method.node(method.body.nodes[i]);
    const bool calls = node.is(ir::OpId::delegate);
    report.tasks.push_back({calls ? module.delegates[node.delegate].name : node.op->functional_name,
                            times.device(run.times[i].worker), seconds_of(run.timeline.begin[i]),
                            seconds_of(run.timeline.end[i])});
  }
  return report;
}

void remark_run(const RunReport& run, std::vector<std::string>* lines) {
  for (const TaskReport& task : run.tasks) {
    lines->push_back("overlap: " + run.method + ": " + placement::time_text(task.begin) + " to " +
                     placement::time_text(task.end) + " on " + to_text(task.device).text + ": " + task.name);
  }
}

}  // namespace berth

// How long the nodes of methods take, and on which worker, for orders in which devices work at the same time
// (compiler/memory/plan_overlap.h): by the costs of placement (device_costs.h), and as a Method runs them.
//
//   a delegate's call    on its device, while the host goes on; on the host if that is its device
//   a copy from the host's memory   on the device, and the host waits for it
//   a copy to the host's memory     on the device, and the host waits for it where it reads that (estimated_costs.h
//                                   says on which kinds of devices; on others at once)
//   a copy between devices   on both, and the host goes on, unless it goes through its memory (estimated_costs.h)
//   all else             on the host
#pragma once

#include <vector>

#include "compiler/compile.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/placement/delegate_seconds.h"

namespace berth {

class NodeTimes {
 public:
  /// `module` outlives it. NotFound for a device on which something of it lies or runs, and that has no costs.
  /// REQUIRES: every value has its device (placement).
  static Expected<NodeTimes> make(const ir::Module& module, const std::vector<placement::DeviceCosts>& costs,
                                  placement::DelegateSeconds delegates);

  scheduling::TaskTime operator()(const ir::Method& method, const ir::Node& node) const;

  /// The device of a worker; the host for 0.
  Device device(int32_t worker) const { return workers_[worker].device; }

 private:
  struct Worker {
    Device device;
    placement::DeviceCosts costs;
  };

  explicit NodeTimes(const ir::Module& module) : module_(&module) {}

  Status add(const std::vector<placement::DeviceCosts>& costs, const ir::Method& method);
  Status add(const std::vector<placement::DeviceCosts>& costs, Device device);
  int32_t worker_of(Device device) const;
  double host_seconds(const ir::Method& method, const ir::Node& node) const;
  double delegate_seconds(const ir::Delegate& delegate, const Worker& worker) const;
  scheduling::TaskTime copy(const ir::Method& method, const ir::Node& node) const;

  const ir::Module* module_;
  std::vector<Worker> workers_;  // the first is the host
  placement::DelegateSeconds delegates_;
};

/// How long a run of a planned method takes. REQUIRES: it has a MethodPlan::run_time, made with these times.
RunReport run_report(const ir::Module& module, const memory::MemoryPlan& plan, const NodeTimes& times);

/// A line for each of its tasks.
void remark_run(const RunReport& run, std::vector<std::string>* lines);

}  // namespace berth

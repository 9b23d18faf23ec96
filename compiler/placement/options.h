// Options of the passes of this room: the targets, and what the user says about devices.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/device.h"
#include "base/failure.h"
#include "compiler/ir/module.h"
#include "compiler/placement/delegate_seconds.h"
#include "compiler/placement/device_costs.h"
#include "compiler/targets/target.h"

namespace berth::placement {

/// `layer[5-9]*=cuda:1`: nodes whose source, or one of whose results' names, is like `glob` run on `device`.
struct Rule {
  std::string glob;  // of fnmatch(3): * ? [a-z]
  Device device;
  std::string method = "";  // the method that it is for; empty: all
};

/// `x=cuda:0`: the method's input or output of this name lives there, in memory of the caller's.
struct DeviceIo {
  std::string name;  // of every method that has it; or "method.name"
  Device device;
  std::string method = "";  // the method that it is for; empty: all
};

/// Where a node shall run; nothing when the function does not mind.
using NodeDevice = std::function<std::optional<Device>(const ir::Method& method, const ir::Node& node)>;

/// What a method has otherwise than the rest.
struct MethodTargets {
  std::vector<targets::Target> targets;
  bool split = false;
  bool by_cost = false;
  bool direct_copies = true;
  bool cut_where_devices_meet = false;
};

struct Options {
  /// In order of preference. Empty, or "portable" alone: no delegates are made.
  std::vector<targets::Target> targets;
  /// Later rules win.
  std::vector<Rule> rules;
  /// Asked before the rules.
  NodeDevice node_device;
  /// Each target gets one of as many contiguous parts of each method, of about equal work.
  bool split = false;
  /// Each node runs on that of the targets which take it where it is estimated to take less time (by_cost.h).
  bool by_cost = false;
  /// By target; where a method is placed by cost, and where calls of delegates are estimated, of each of its targets.
  std::vector<DeviceCosts> costs;
  /// Not null: the estimated time of a call of each new delegate goes here.
  std::shared_ptr<DelegateSeconds> delegate_seconds;
  /// Whether delegates are cut where one device reads what another makes, so that they can work at the same time.
  /// REQUIRES: costs.
  bool cut_where_devices_meet = false;
  /// Methods, by name, whose delegates are not cut so all the same.
  std::set<std::string> whole;
  /// Not null: the names of methods whose delegates were cut so go here.
  std::shared_ptr<std::set<std::string>> cut_methods;
  std::vector<DeviceIo> device_io;
  /// Whether devices of one type copy directly from each other (berth::_d2d_copy), which takes Berth's runtime;
  /// otherwise through the host, as ExecuTorch's can.
  bool direct_copies = true;
  /// Methods, by name, with targets of their own.
  std::map<std::string, MethodTargets> methods;
};

/// The options of one method: its own targets in the place of the others.
Options options_of(const Options& options, const ir::Method& method);

/// The costs of a target of these options, by its index; null where Options::costs has none.
const DeviceCosts* costs_of(const Options& options, int32_t target);

/// The targets of all methods, each once.
std::vector<targets::Target> all_targets(const Options& options);

/// "GLOB=DEVICE"; the last '=' counts.
Expected<Rule> parse_rule(std::string_view text);
/// "NAME=DEVICE"; the last '=' counts.
Expected<DeviceIo> parse_device_io(std::string_view text);

}  // namespace berth::placement

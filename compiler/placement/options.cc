#include "compiler/placement/options.h"

#include <algorithm>

#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"

namespace berth::placement {
namespace {

struct Pair {
  std::string name;
  Device device;
};

Expected<Pair> parse_pair(std::string_view text, const std::string& what, const char* form) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Failure{Error::kInvalidArgument, what + " " + ir::quoted(text), std::string("expected ") + form};
  }
  BERTH_ASSIGN_OR_RETURN(const Device device, ir::parse_device(text.substr(equals + 1), what + " " + ir::quoted(text)));
  return Pair{std::string(text.substr(0, equals)), device};
}

}  // namespace

Options options_of(const Options& options, const ir::Method& method) {
  Options own = options;
  own.methods.clear();
  const auto found = options.methods.find(method.name);
  if (found == options.methods.end()) return own;
  own.targets = found->second.targets;
  own.split = found->second.split;
  own.by_cost = found->second.by_cost;
  own.direct_copies = found->second.direct_copies;
  own.cut_where_devices_meet = found->second.cut_where_devices_meet;
  return own;
}

const DeviceCosts* costs_of(const Options& options, int32_t target) {
  for (const DeviceCosts& costs : options.costs) {
    if (costs.target == options.targets[target].name) return &costs;
  }
  return nullptr;
}

std::vector<targets::Target> all_targets(const Options& options) {
  std::vector<targets::Target> all = options.targets;
  for (const auto& [name, method] : options.methods) {
    for (const targets::Target& target : method.targets) {
      const auto same = [&](const targets::Target& other) { return other.name == target.name; };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back(target);
    }
  }
  return all;
}

Expected<Rule> parse_rule(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(Pair pair, parse_pair(text, "place", "GLOB=DEVICE, such as layer[5-9]*=cuda:1"));
  return Rule{std::move(pair.name), pair.device, ""};
}

Expected<DeviceIo> parse_device_io(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(Pair pair, parse_pair(text, "device-io", "NAME=DEVICE, such as x=cuda:0"));
  return DeviceIo{std::move(pair.name), pair.device, ""};
}

}  // namespace berth::placement

#include "compiler/placement/carry_devices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/region_devices.h"
#include "compiler/placement/graph_walk.h"

namespace berth::placement {
namespace {

/// Half copies of some values: in each turn or run of a branch, and besides. The second decides where the first is
/// equal.
using Cost = std::pair<int, int>;

enum class Role : uint8_t {
  kBranch,  // a result of branches
  kLoop,    // a result of a loop that it carries
  kSlice,   // a slice of what a scan scans
  kStack,   // a result of a scan that it stacks
};

/// What crosses the border of a region: all of its names live where `result` does.
struct Carried {
  Role role = Role::kBranch;
  ValueId result;
  ValueId initial;              // what a loop begins with, or scans; without copies
  std::vector<ValueId> inputs;  // what the regions of a loop call it
  std::vector<ValueId> givers;  // what the regions give for it, without copies
};

struct Read {
  Device device;
  ValueId by;  // the result that a region gives it for; invalid elsewhere
};

class Carrier {
 public:
  Carrier(const Module& module, Method& method, const std::vector<Device>& outputs)
      : module_(module), method_(method), outputs_(outputs), carried_of_(method.values.size(), -1) {
    find(method.body);
    in_group_.assign(carried_.size(), false);
  }

  /// What moves may make it worth while for others to follow; nothing moves back, so there is an end. First each by
  /// itself, then together with what it is given as.
  bool run() {
    if (carried_.empty()) return false;
    const std::vector<std::vector<size_t>> together = groups();
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      find_reads();
      for (size_t i = 0; i < carried_.size(); ++i) changed = decide({i}) || changed;
      for (size_t g = 0; g < together.size() && !changed; ++g) changed = decide(together[g]);
      any = any || changed;
    }
    return any;
  }

 private:
  // What there is.

  // A value, or what it is a copy of: copies come and go as they are needed.
  ValueId root(ValueId id) const {
    while (method_.value(id).kind == ir::ValueKind::kNode && is_copy(method_.node(method_.value(id).node))) {
      id = std::get<ValueId>(method_.node(method_.value(id).node).args[arg::device_copy::self]);
    }
    return id;
  }

  void find(const Graph& graph) {
    for (const NodeId id : graph.nodes) {
      const Node& node = method_.node(id);
      if (node.regions.empty() || is_delegate(node)) continue;
      for (const Graph& region : node.regions) find(region);
      for (size_t k = 0; k < node.results.size(); ++k) {
        const bool stacked = node.is(OpId::scan) && k >= ir::carried_count(node);
        if (method_.value(node.results[k]).tensor() != nullptr && (!stacked || has_rows(node.results[k]))) add(node, k);
      }
      if (!node.is(OpId::scan)) continue;
      const ir::ValueList& scanned = std::get<ir::ValueList>(node.args[arg::scan::scanned]);
      for (size_t j = 0; j < scanned.size(); ++j) {
        if (has_rows(scanned[j])) add_slice(root(scanned[j]), node.regions[0].inputs[ir::carried_count(node) + j]);
      }
    }
  }

  /// Whether each slice of dimension 0 has bytes of its own, one after the other, and as many whatever the sizes are.
  bool has_rows(ValueId value) const {
    const ir::TensorType& type = method_.tensor(value);
    const auto constant = [](ir::Dim dim) { return dim.is_constant(); };
    return type.is_contiguous() && std::all_of(type.shape.begin() + 1, type.shape.end(), constant);
  }

  void add(const Node& node, size_t k) {
    Carried one;
    one.result = node.results[k];
    if (k < ir::carried_count(node)) {
      one.role = Role::kLoop;
      one.initial = root(std::get<ir::ValueList>(node.args[node.is(OpId::scan) ? 1 : 0])[k]);
      for (const Graph& region : node.regions) one.inputs.push_back(region.inputs[k]);
    } else if (node.is(OpId::scan)) {
      one.role = Role::kStack;
    }
    for (size_t r = node.is(OpId::while_) ? 1 : 0; r < node.regions.size(); ++r) {
      one.givers.push_back(root(std::get<ValueId>(node.regions[r].outputs[k])));
    }
    add(std::move(one));
  }

  void add_slice(ValueId scanned, ValueId slice) {
    Carried one;
    one.role = Role::kSlice;
    one.result = slice;
    one.initial = scanned;
    add(std::move(one));
  }

  void add(Carried one) {
    const auto index = static_cast<int32_t>(carried_.size());
    carried_of_[one.result] = index;
    for (const ValueId input : one.inputs) carried_of_[input] = index;
    carried_.push_back(std::move(one));
  }

  /// Those that are given as each other, by the first of them; of more than one.
  std::vector<std::vector<size_t>> groups() const {
    std::vector<size_t> first(carried_.size());
    for (size_t i = 0; i < first.size(); ++i) first[i] = i;
    const auto find_first = [&](size_t i) {
      while (first[i] != i) i = first[i] = first[first[i]];
      return i;
    };
    for (size_t i = 0; i < carried_.size(); ++i) {
      for (const ValueId giver : carried_[i].givers) {
        const int32_t other = carried_of_[giver];
        if (other >= 0) first[find_first(i)] = find_first(other);
      }
    }
    std::map<size_t, std::vector<size_t>> by_first;
    for (size_t i = 0; i < first.size(); ++i) by_first[find_first(i)].push_back(i);
    std::vector<std::vector<size_t>> groups;
    for (auto& [index, group] : by_first) {
      if (group.size() > 1) groups.push_back(std::move(group));
    }
    return groups;
  }

  void find_reads() {
    reads_.assign(method_.values.size(), {});
    find_reads(method_.body);
    for (size_t k = 0; k < method_.body.outputs.size(); ++k) add_reads(method_.body.outputs[k], outputs_[k], ValueId());
  }

  void add_reads(const Argument& argument, Device device, ValueId by) {
    ir::for_each_value(argument, [&](const ValueId& id) { reads_[root(id)].push_back({device, by}); });
  }

  void find_reads(const Graph& graph) {
    for (const NodeId id : graph.nodes) {
      const Node& node = method_.node(id);
      if (is_copy(node)) continue;
      for (size_t a = 0; a < node.args.size(); ++a) {
        size_t i = 0;
        ir::for_each_value(node.args[a], [&](const ValueId& value) {
          reads_[root(value)].push_back({reads_on(node, a, i++), ValueId()});
        });
      }
      if (is_delegate(node)) continue;
      for (size_t r = 0; r < node.regions.size(); ++r) {
        find_reads(node.regions[r]);
        for (size_t k = 0; k < node.regions[r].outputs.size(); ++k) {
          const bool condition = node.is(OpId::while_) && r == 0;
          add_reads(node.regions[r].outputs[k], ir::region_output_device(method_, node, r, k),
                    condition ? ValueId() : node.results[k]);
        }
      }
    }
  }

  Device reads_on(const Node& node, size_t a, size_t i) const {
    if (is_delegate(node)) {
      return ir::delegate_device(module_.delegates[node.delegate]).value();
    }
    if (node.is(OpId::state_write)) return module_.states[node.state].type.device;
    return node.regions.empty() ? Device() : ir::argument_device(method_, node, a, i);
  }

  // What to do with it.

  Device home(ValueId id) const { return method_.tensor(id).device; }

  /// Whether the group moved. Its members are on the host, or it stays.
  bool decide(const std::vector<size_t>& group) {
    for (const size_t i : group) {
      if (!home(carried_[i].result).is_cpu()) return false;
    }
    for (const size_t i : group) in_group_[i] = true;
    Device best;
    Cost least = cost(group, best);
    for (const Device device : candidates(group)) {
      const Cost found = cost(group, device);
      if (found < least) least = found, best = device;
    }
    for (const size_t i : group) in_group_[i] = false;
    if (best.is_cpu()) return false;
    for (const size_t i : group) {
      method_.value(carried_[i].result).tensor()->device = best;
      for (const ValueId input : carried_[i].inputs) method_.value(input).tensor()->device = best;
    }
    return true;
  }

  std::vector<Device> candidates(const std::vector<size_t>& group) const {
    std::vector<Device> devices;
    const auto add = [&](Device device) {
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
    };
    for (const size_t i : group) {
      for (const ValueId giver : carried_[i].givers) add(home(giver));
      for (const Read& read : reads_[carried_[i].result]) add(read.device);
      for (const ValueId input : carried_[i].inputs) {
        for (const Read& read : reads_[input]) add(read.device);
      }
    }
    return devices;
  }

  /// Of all of the group on `device`; what its members give each other stays there.
  Cost cost(const std::vector<size_t>& group, Device device) const {
    Cost sum;
    for (const size_t i : group) {
      const Carried& one = carried_[i];
      int given = 0;
      for (const ValueId giver : one.givers) given += is_in_group(giver) || home(giver) == device ? 0 : 1;
      for (const ValueId input : one.inputs) given += readers_elsewhere(input, device);
      const int read = readers_elsewhere(one.result, device);
      const int begun = one.initial.valid() && home(one.initial) != device ? 1 : 0;
      switch (one.role) {
        case Role::kBranch:  // one of the two runs
          sum.first += given + 2 * read;
          sum.second += given;
          break;
        case Role::kSlice:
          sum.first += 2 * read;
          sum.second += 2 * begun;
          break;
        case Role::kLoop:
        case Role::kStack:
          sum.first += 2 * given;
          sum.second += 2 * (read + begun);
          break;
      }
    }
    return sum;
  }

  bool is_in_group(ValueId value) const {
    const int32_t index = carried_of_[value];
    return index >= 0 && in_group_[index];
  }

  /// How many devices other than `device` read the value outside of the group.
  int readers_elsewhere(ValueId value, Device device) const {
    std::vector<Device> others;
    for (const Read& read : reads_[value]) {
      if (read.device == device || (read.by.valid() && is_in_group(read.by))) continue;
      if (std::find(others.begin(), others.end(), read.device) == others.end()) others.push_back(read.device);
    }
    return static_cast<int>(others.size());
  }

  const Module& module_;
  Method& method_;
  const std::vector<Device>& outputs_;
  std::vector<Carried> carried_;
  IdVector<ValueId, int32_t> carried_of_;       // of each value: the one that it is a name of, or -1
  std::vector<bool> in_group_;                  // of each of carried_: whether the group that is looked at has it
  IdVector<ValueId, std::vector<Read>> reads_;  // of each value that is not a copy
};

}  // namespace

bool carry_on_devices(ir::Method* method, const ir::Module& module, const std::vector<Device>& outputs) {
  return Carrier(module, *method, outputs).run();
}

}  // namespace berth::placement

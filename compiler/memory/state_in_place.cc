#include "compiler/memory/state_in_place.h"

#include <algorithm>
#include <map>

#include "compiler/ir/arguments.h"
#include "compiler/memory/delegate_state.h"
#include "compiler/memory/in_place.h"

namespace berth::memory {
namespace {

using ir::Method;
using ir::Node;
using ir::ValueId;

bool lies_in(const Aliases& aliases, ValueId value, BufferId buffer) { return aliases.homes[value].is(buffer); }

class StateFinder {
 public:
  StateFinder(const ir::Module& module, const Method& method, const MemoryOptions& options, const Liveness& live)
      : module_(module),
        method_(method),
        options_(options),
        live_(live),
        aliases_(live.aliases),
        is_state_(live.buffers.are_states()),
        in_body_(method.nodes.size(), false) {
    for (const ir::NodeId id : method.body.nodes) in_body_[id] = true;
  }

  StateInPlace run() {
    std::vector<WriteBack> kept;
    for (const WriteBack& write : live_.copies.write_backs) {
      if (!compute_in_place(write)) kept.push_back(write);
    }
    return {std::move(aliases_.homes), std::move(updates_), std::move(kept)};
  }

 private:
  bool compute_in_place(const WriteBack& write) {
    const ValueHome home = aliases_.homes[write.value];
    if (home.home != Home::kBuffer || is_state_[home.buffer]) return false;
    const ValueId first = live_.buffers.first_value[home.buffer];
    if (!first.valid() || method_.value(first).kind != ir::ValueKind::kNode) return false;
    const ir::NodeId id = method_.value(first).node;
    const Node& node = method_.node(id);
    const bool delegate = node.is(ir::OpId::delegate);
    if (!in_body_[id] || (!node.regions.empty() && !delegate)) return false;
    const BufferId state = live_.buffers.states[write.state];
    const packing::Buffer& from = live_.buffers.all[home.buffer];
    const packing::Buffer& to = live_.buffers.all[state];
    if (from.size != to.size) return false;

    const int64_t last_read = last_read_of(state);
    const int64_t step = live_.steps.nodes[id];
    if (last_read > step) return false;
    ValueId base;
    if (last_read == step) {
      const bool may = delegate ? delegate_may_read(id, first, state, &base)
                                : node.results[0] == first && kernel_may_read(node, state, &base);
      if (!may) return false;
    }
    for (ValueHome& its : aliases_.homes) {
      if (its.is(home.buffer)) its.buffer = state;
    }
    updates_.push_back({write.state, first, base});
    return true;
  }

  /// The last step that reads `buffer` under any name; -1: none does.
  int64_t last_read_of(BufferId buffer) const {
    int64_t last = -1;
    for (const ValueId v : method_.values.ids()) {
      if (lies_in(aliases_, v, buffer)) last = std::max(last, live_.steps.last_reads[v]);
    }
    return last;
  }

  /// Whether `node` may read the old contents in `buffer` while it writes the new ones. `base` becomes what it reads.
  bool kernel_may_read(const Node& node, BufferId buffer, ValueId* base) const {
    bool allowed = true;
    for (size_t k = 0; k < node.args.size(); ++k) {
      ir::for_each_value(node.args[k], [&](const ValueId& v) {
        if (!lies_in(aliases_, v, buffer)) return;
        allowed = allowed && kernel_allows(module_, method_, node, static_cast<int32_t>(k), v, options_.in_place_set,
                                           aliases_) == ReuseReason::kReuse;
        *base = v;
      });
    }
    return allowed;
  }

  /// The same of the delegate that node `id` calls, of which `result` is made.
  bool delegate_may_read(ir::NodeId id, ValueId result, BufferId buffer, ValueId* base) {
    const auto found = ports_.find(id.index);
    const std::vector<StatePort>& ports =
        found != ports_.end()
            ? found->second
            : ports_.emplace(id.index, find_state_ports(module_, method_, id, options_)).first->second;
    const Node& node = method_.node(id);
    const auto& inputs = std::get<ir::ValueList>(node.args[arg::delegate::inputs]);
    int reads = 0;
    for (const ValueId input : inputs) reads += lies_in(aliases_, input, buffer) ? 1 : 0;
    for (const StatePort& port : ports) {
      const size_t input = port.input;
      const size_t at = port.result;
      if (input >= inputs.size() || at >= node.results.size() || node.results[at] != result) continue;
      *base = inputs[input];
      return reads == 1 && lies_in(aliases_, *base, buffer);
    }
    return false;
  }

  const ir::Module& module_;
  const Method& method_;
  const MemoryOptions& options_;
  const Liveness& live_;
  Aliases aliases_;  // with the values that have moved so far
  const IdVector<BufferId, bool> is_state_;
  IdVector<ir::NodeId, bool> in_body_;
  std::vector<StateUpdate> updates_;
  std::map<int32_t, std::vector<StatePort>> ports_;  // by the index of a node that calls a delegate
};

}  // namespace

StateInPlace compute_state_in_place(const ir::Module& module, const Method& method, const MemoryOptions& options,
                                    const Liveness& live) {
  return StateFinder(module, method, options, live).run();
}

void drop_unused_buffers(Liveness* live) {
  Buffers& buffers = live->buffers;
  IdVector<BufferId, BufferId> moved(buffers.all.size());
  // Calls `visit` with each place that numbers a buffer.
  const auto for_each_use = [&](const auto& visit) {
    for (ValueHome& home : live->aliases.homes) {
      if (home.home == Home::kBuffer) visit(&home.buffer);
    }
    for (BufferId& buffer : buffers.states) visit(&buffer);
    for (BufferId& buffer : buffers.scratch) visit(&buffer);
    for (Save& save : live->copies.saves) visit(&save.buffer);
    for (auto& [node, lists] : live->copies.transfers) {
      for (std::vector<Transfer>& list : lists) {
        for (Transfer& transfer : list) visit(&transfer.saved);
      }
    }
  };
  for_each_use([&](const BufferId* buffer) {
    if (buffer->valid()) moved[*buffer] = BufferId{0};
  });
  buffers.made_twice.resize(buffers.all.size(), false);

  Buffers kept;
  for (const BufferId id : moved.ids()) {
    if (!moved[id].valid()) continue;
    moved[id] = kept.all.push_back(buffers.all[id]);
    kept.first_value.push_back(buffers.first_value[id]);
    kept.made_twice.push_back(buffers.made_twice[id]);
  }
  buffers.all = std::move(kept.all);
  buffers.first_value = std::move(kept.first_value);
  buffers.made_twice = std::move(kept.made_twice);
  for_each_use([&](BufferId* buffer) {
    if (buffer->valid()) *buffer = moved[*buffer];
  });
}

}  // namespace berth::memory

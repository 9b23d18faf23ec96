#include "compiler/emit/state_in_place.h"

#include <algorithm>

#include "compiler/emit/lifetimes.h"

namespace berth::emit {
namespace {

using ir::Method;
using ir::Node;
using ir::ValueId;

size_t at(ValueId id) { return static_cast<size_t>(id.index); }

bool lies_in(const Lifetimes& lifetimes, ValueId value, int32_t storage) {
  const Place& place = lifetimes.places[at(value)];
  return place.home == Home::kStorage && place.index == storage;
}

/// Whether `node` may read the old contents in `storage` while it writes the new ones. `base` becomes what it reads.
bool kernel_may_read(const ir::Module& module, const Method& method, const Node& node, int32_t storage,
                     const Lifetimes& lifetimes, ValueId* base) {
  bool allowed = true;
  for (size_t k = 0; k < node.args.size(); ++k) {
    ir::for_each_value(node.args[k], [&](const ValueId& v) {
      if (!lies_in(lifetimes, v, storage)) return;
      allowed =
          allowed && kernel_allows(module, method, node, static_cast<int32_t>(k), v, lifetimes) == ReuseReason::kReuse;
      *base = v;
    });
  }
  return allowed;
}

class StateInPlace {
 public:
  StateInPlace(const ir::Module& module, const Method& method, Lifetimes* lifetimes)
      : module_(module), method_(method), out_(*lifetimes), in_body_(method.nodes.size(), false) {
    for (const ir::NodeId id : method.body.nodes) in_body_[static_cast<size_t>(id.index)] = true;
  }

  void run() {
    std::vector<WriteBack> kept;
    for (const WriteBack& write : out_.write_backs) {
      if (!compute_in_place(write)) kept.push_back(write);
    }
    out_.write_backs = std::move(kept);
  }

 private:
  bool is_state(int32_t storage) const {
    return std::find(out_.states.begin(), out_.states.end(), storage) != out_.states.end();
  }

  bool compute_in_place(const WriteBack& write) {
    const Place place = out_.places[at(write.value)];
    if (place.home != Home::kStorage || is_state(place.index)) return false;
    const ValueId first = out_.first_value[static_cast<size_t>(place.index)];
    if (!first.valid() || method_.value(first).kind != ir::ValueKind::kNode) return false;
    const ir::NodeId id = method_.value(first).node;
    const Node& node = method_.node(id);
    if (!in_body_[static_cast<size_t>(id.index)] || !node.regions.empty()) return false;
    const int32_t state = out_.states[static_cast<size_t>(write.state)];
    const plan::Storage& from = out_.problem.storages[static_cast<size_t>(place.index)];
    const plan::Storage& to = out_.problem.storages[static_cast<size_t>(state)];
    if (from.size != to.size) return false;

    const int64_t step = out_.steps[static_cast<size_t>(id.index)];
    ValueId base;
    bool read_by_node = false;
    for (size_t v = 0; v < method_.values.size(); ++v) {
      if (!lies_in(out_, ValueId{static_cast<int32_t>(v)}, state)) continue;
      if (out_.last_reads[v] > step) return false;
      read_by_node = read_by_node || out_.last_reads[v] == step;
    }
    const bool first_result = node.results[0] == first;
    if (read_by_node && !(first_result && kernel_may_read(module_, method_, node, state, out_, &base))) return false;
    for (Place& its : out_.places) {
      if (its.home == Home::kStorage && its.index == place.index) its.index = state;
    }
    out_.successors.push_back({write.state, first, base});
    return true;
  }

  const ir::Module& module_;
  const Method& method_;
  Lifetimes& out_;
  std::vector<bool> in_body_;  // by node
};

}  // namespace

void compute_state_in_place(const ir::Module& module, const Method& method, Lifetimes* lifetimes) {
  StateInPlace(module, method, lifetimes).run();
}

void drop_empty_storages(Lifetimes* lifetimes) {
  Lifetimes& out = *lifetimes;
  std::vector<int32_t> moved(out.problem.storages.size(), -1);
  const auto keep = [&](int32_t storage) {
    if (storage >= 0) moved[static_cast<size_t>(storage)] = 0;
  };
  for (const Place& place : out.places) keep(place.home == Home::kStorage ? place.index : -1);
  for (const int32_t storage : out.states) keep(storage);
  for (const int32_t storage : out.scratch) keep(storage);
  for (const Save& save : out.saves) keep(save.storage);
  for (const auto& [node, lists] : out.transfers) {
    for (const std::vector<Transfer>& list : lists) {
      for (const Transfer& transfer : list) keep(transfer.saved);
    }
  }
  out.made_twice.resize(out.problem.storages.size(), false);

  size_t count = 0;
  for (size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] < 0) continue;
    out.problem.storages[count] = out.problem.storages[i];
    out.first_value[count] = out.first_value[i];
    out.made_twice[count] = out.made_twice[i];
    moved[i] = static_cast<int32_t>(count++);
  }
  out.problem.storages.resize(count);
  out.first_value.resize(count);
  out.made_twice.resize(count);
  const auto move = [&](int32_t* storage) {
    if (*storage >= 0) *storage = moved[static_cast<size_t>(*storage)];
  };
  for (Place& place : out.places) {
    if (place.home == Home::kStorage) move(&place.index);
  }
  for (int32_t& storage : out.states) move(&storage);
  for (int32_t& storage : out.scratch) move(&storage);
  for (Save& save : out.saves) move(&save.storage);
  for (auto& [node, lists] : out.transfers) {
    for (std::vector<Transfer>& list : lists) {
      for (Transfer& transfer : list) move(&transfer.saved);
    }
  }
}

}  // namespace berth::emit

#include "compiler/memory/spill_method.h"

#include <algorithm>

#include "compiler/ir/arguments.h"
#include "compiler/ir/type.h"
#include "compiler/memory/copy_node.h"

namespace berth::memory {
namespace {

using ir::NodeId;
using ir::ValueId;

/// What the names of copies end in.
constexpr char kFar[] = ".far";
constexpr char kNear[] = ".near";

/// Replaces a value in all that a node reads, in its regions too.
void replace(ir::Method* method, NodeId id, ValueId old, ValueId by) {
  ir::Node& node = method->node(id);
  const auto change = [&](ValueId& value) {
    if (value == old) value = by;
  };
  for (ir::Argument& argument : node.args) ir::for_each_value(argument, change);
  if (node.is(ir::OpId::delegate)) return;
  for (size_t r = 0; r < node.regions.size(); ++r) {
    const std::vector<NodeId> inner = method->node(id).regions[r].nodes;
    for (const NodeId inside : inner) replace(method, inside, old, by);
    for (ir::Argument& output : method->node(id).regions[r].outputs) ir::for_each_value(output, change);
  }
}

}  // namespace

MethodSpiller::MethodSpiller(ir::Method* method, const MemoryModel& model, MemoryOptions* options,
                             FarCopies* far_copies)
    : method_(*method),
      model_(model),
      options_(*options),
      far_copies_(*far_copies),
      values_of_(model.buffers.all.size()),
      inside_(model.buffers.all.size(), true),
      mentions_(method->values.size()) {
  find_mentions();
}

void MethodSpiller::find_mentions() {
  std::vector<size_t> in_buffer(values_of_.size(), 0);
  for (const ValueId value : method_.values.ids()) {
    const ValueHome& home = model_.aliases.homes[value];
    if (home.home == Home::kBuffer && home.buffer.valid()) ++in_buffer[home.buffer.index];
  }
  const auto of_body = [&](ValueId value) {
    const ValueHome& home = model_.aliases.homes[value];
    if (home.home == Home::kBuffer && home.buffer.valid()) values_of_[home.buffer.index].push_back(value);
  };
  for (const ValueId input : method_.body.inputs) of_body(input);
  for (size_t i = 0; i < method_.body.nodes.size(); ++i) {
    const ir::Node& node = method_.node(method_.body.nodes[i]);
    const int64_t at = static_cast<int64_t>(i);
    const auto mention = [&](const ValueId& value) {
      if (mentions_[value].empty() || mentions_[value].back() != at) mentions_[value].push_back(at);
    };
    ir::for_each_mention(method_, node, mention);
    for (const ValueId result : node.results) {
      mention(result);
      of_body(result);
    }
  }
  for (size_t b = 0; b < values_of_.size(); ++b) inside_[b] = in_buffer[b] != values_of_[b].size();
}

/// The node of the body that runs in the step, those of its regions included; -1: before the first.
int64_t MethodSpiller::node_at(int64_t step) const {
  if (step >= model_.steps.save) return static_cast<int64_t>(method_.body.nodes.size());
  int64_t found = -1;
  for (size_t i = 0; i < method_.body.nodes.size(); ++i) {
    if (model_.steps.nodes[method_.body.nodes[i]] <= step) found = static_cast<int64_t>(i);
  }
  return found;
}

bool MethodSpiller::is_output(ValueId value) const {
  bool found = false;
  for (const ir::Argument& output : method_.body.outputs) {
    ir::for_each_value(output, [&](const ValueId& id) { found = found || id == value; });
  }
  return found;
}

bool MethodSpiller::can_be_copied(const ir::Value& value) const {
  const ir::TensorType* type = value.tensor();
  if (type == nullptr || value.kind == ir::ValueKind::kConstant) return false;
  return !type->device.is_cpu() || type->is_contiguous();
}

/// How the buffer waits around the node; nothing when it cannot be spilled there.
std::optional<MethodSpiller::Wait> MethodSpiller::wait_of(BufferId buffer, int64_t at) const {
  const std::vector<ValueId>& values = values_of_[buffer.index];
  if (values.empty() || inside_[buffer.index] || options_.spilled.count(values.front()) > 0) return std::nullopt;
  const int64_t end = static_cast<int64_t>(method_.body.nodes.size());
  Wait wait;
  wait.buffer = buffer;
  wait.bytes = model_.buffers.all[buffer].size;
  wait.after = end;
  int later = 0;
  for (const ValueId value : values) {
    bool read_later = is_output(value);
    for (const int64_t mention : mentions_[value]) {
      if (mention == at) return std::nullopt;
      if (mention < at) wait.before = std::max(wait.before, mention);
      if (mention > at) wait.after = std::min(wait.after, mention);
      read_later = read_later || mention > at;
    }
    if (!read_later) continue;
    wait.value = value;
    ++later;
  }
  if (later != 1 || !can_be_copied(method_.value(wait.value))) return std::nullopt;
  // Bytes that wait before anything is made of them are an input's, and all of them.
  if (wait.before < 0 && (values.size() != 1 || is_output(wait.value))) return std::nullopt;
  if (wait.after == end && !is_output(wait.value)) return std::nullopt;
  return wait;
}

/// A far bank of the value's device that has room for it beside all that it meets there; -1: none.
int32_t MethodSpiller::bank_for(const Wait& wait) const {
  const Device device = method_.tensor(wait.value).device;
  const auto known = far_copies_.find(wait.value);
  if (known != far_copies_.end()) return options_.spilled.at(known->second);
  const auto step_of = [&](int64_t node) {
    if (node < 0) return int64_t{0};
    return node < static_cast<int64_t>(method_.body.nodes.size()) ? model_.steps.nodes[method_.body.nodes[node]]
                                                                  : model_.steps.read;
  };
  for (size_t k = 0; k < options_.banks.size(); ++k) {
    const MemoryBank& bank = options_.banks[k];
    if (!bank.far || bank.device != device) continue;
    int64_t held = 0;
    for (const auto& [value, own] : options_.spilled) {
      const ValueHome& home = model_.aliases.homes[value];
      if (own != static_cast<int32_t>(k) || home.home != Home::kBuffer) continue;
      const packing::Buffer& other = model_.buffers.all[home.buffer];
      if (other.lower <= step_of(wait.after) && step_of(wait.before) <= other.upper) held += other.size;
    }
    if (bank.capacity == packing::kUnlimited || wait.bytes <= bank.capacity - held) return static_cast<int32_t>(k);
  }
  return -1;
}

NodeId MethodSpiller::copy(ValueId from, const std::string& name, const std::string& bank, ValueId* made) {
  return make_copy_node(&method_, from, name, method_.value(from).name + " " + bank + ": no-room", made);
}

/// In all nodes of the body from `first` on.
void MethodSpiller::replace_from(int64_t first, ValueId old, ValueId by) {
  for (size_t i = first; i < method_.body.nodes.size(); ++i) {
    replace(&method_, method_.body.nodes[i], old, by);
  }
}

/// The caller knows an output by its name.
void MethodSpiller::replace_output(ValueId old, ValueId by) {
  for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
    if (method_.body.outputs[k] != ir::Argument(old)) continue;
    if (method_.output_names.size() <= k) method_.output_names.resize(k + 1);
    if (method_.output_names[k].empty()) method_.output_names[k] = method_.value(old).name;
    method_.body.outputs[k] = by;
  }
}

void MethodSpiller::spill(const Wait& wait, int32_t bank) {
  std::string name = method_.value(wait.value).name;
  const std::string& bank_name = options_.banks[bank].name;
  std::vector<NodeId>& nodes = method_.body.nodes;
  const bool read_again = wait.after < static_cast<int64_t>(nodes.size());
  int64_t after = wait.after;
  ValueId far = wait.value;
  const auto known = far_copies_.find(wait.value);
  if (known != far_copies_.end()) {
    far = known->second;
    name.resize(std::min(name.size(), name.rfind(kNear)));
  } else if (wait.before >= 0) {
    const NodeId store = copy(wait.value, name + kFar, "to bank " + bank_name, &far);
    nodes.insert(nodes.begin() + wait.before + 1, store);
    ++after;
  }
  options_.spilled.emplace(far, bank);
  replace_output(wait.value, far);
  if (!read_again) return;
  ValueId near;
  const NodeId load = copy(far, name + kNear, "from bank " + bank_name, &near);
  nodes.insert(nodes.begin() + after, load);
  replace_from(after + 1, wait.value, near);
  far_copies_.emplace(near, far);
}

bool MethodSpiller::spill_one(int32_t space, int64_t step) {
  const int64_t at = node_at(step);
  std::optional<Wait> best;
  int32_t bank = -1;
  for (const BufferId buffer : model_.buffers.all.ids()) {
    const packing::Buffer& own = model_.buffers.all[buffer];
    if (own.space != space || own.size == 0 || step < own.lower || step >= own.upper) continue;
    const std::optional<Wait> wait = wait_of(buffer, at);
    if (!wait.has_value()) continue;
    const auto rank = [](const Wait& w) { return std::make_pair(w.length(), w.bytes); };
    if (best.has_value() && rank(*wait) <= rank(*best)) continue;
    const int32_t found = bank_for(*wait);
    if (found < 0) continue;
    best = wait;
    bank = found;
  }
  if (!best.has_value()) return false;
  spill(*best, bank);
  return true;
}

}  // namespace berth::memory

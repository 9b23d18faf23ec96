#include "compiler/memory/in_place.h"

#include <algorithm>

#include "compiler/memory/narrowed_input.h"

namespace berth::memory {
namespace {

using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::TensorType;
using ir::ValueId;

bool same_order(const TensorType& a, const TensorType& b) {
  return a.dim_order == b.dim_order || (a.is_contiguous() && b.is_contiguous());
}

/// Elements that lie at the same places, one to one.
ReuseReason compare(const TensorType& input, const TensorType& result) {
  if (input.device != result.device) return ReuseReason::kOtherDevice;
  if (element_size(input.dtype) != element_size(result.dtype)) return ReuseReason::kElementDiffers;
  if (input.shape != result.shape) return ReuseReason::kSizeDiffers;
  return same_order(input, result) ? ReuseReason::kReuse : ReuseReason::kOrderDiffers;
}

/// Of views with symbols the upper ends may differ though the sizes never do: how many bytes each view reads is unknown
/// until run time. So all names that a value has its bytes from are to be equally large.
bool is_as_large_as_its_bases(const ir::Module& module, const Method& method, ValueId value, const Aliases& aliases) {
  const int64_t bytes = ir::max_bytes(method.tensor(value), module.symbols);
  for (ValueId name = aliases.bases[value]; name.valid(); name = aliases.bases[name]) {
    if (ir::max_bytes(method.tensor(name), module.symbols) != bytes) return false;
  }
  return true;
}

class AliasFinder {
 public:
  AliasFinder(const ir::Module& module, const Method& method, const MemoryOptions& options, const Liveness& live)
      : module_(module),
        method_(method),
        options_(options),
        live_(live),
        returned_(method.values.size(), false),
        is_state_(live.buffers.are_states()) {
    for (const ir::Argument& output : method.body.outputs) {
      ir::for_each_value(output, [&](const ValueId& v) { returned_[v] = true; });
    }
  }

  AliasCandidates run() {
    for (NodeId id : method_.nodes.ids()) {
      if (live_.steps.nodes[id] >= 0) visit(id);
    }
    return std::move(found_);
  }

 private:
  void remark(NodeId node, int32_t argument, ReuseReason reason, CandidateId candidate = {}, ValueId value = {}) {
    found_.remarks.push_back({node, argument, reason, candidate, value});
  }

  void visit(NodeId id) {
    const Node& node = method_.node(id);
    if (node.results.empty() || is_view(live_.aliases.reasons[id]) || node.is(ir::OpId::state_read)) return;
    if (node.op->joins_or_cuts()) return;
    const ValueId narrowed = narrowed_input(module_, method_, node);
    if (narrowed.valid()) return offer_front(id, narrowed);
    if (!options_.in_place_set.may_allow_any(*node.op)) return remark(id, -1, ReuseReason::kNever);
    if (!options_.allows_in_place() || !options_.in_place_set.allows_any(*node.op))
      return remark(id, -1, ReuseReason::kOff);
    const ValueHome& place = live_.aliases.homes[node.results[0]];
    const bool in_arena = place.home == Home::kBuffer && !is_state_[place.buffer];
    if (!in_arena) return remark(id, -1, ReuseReason::kNotInArena);
    // On the path through another branch the input may still be read.
    const int64_t born = live_.buffers.all[place.buffer].lower;
    if (born < live_.steps.nodes[id]) return remark(id, -1, ReuseReason::kMadeBefore);
    std::vector<BufferId> offered;  // x + x is one candidate
    for (size_t k = 0; k < node.args.size(); ++k) {
      if (!options_.in_place_set.may_allow(*node.op, k)) continue;
      bool any = false;
      ir::for_each_value(node.args[k], [&](const ValueId& value) {
        offer(id, static_cast<int32_t>(k), value, place.buffer, &offered);
        any = true;
      });
      if (!any) remark(id, static_cast<int32_t>(k), ReuseReason::kNoTensor);
    }
  }

  // `base` is argument k, or in the list that it is.
  void offer(NodeId id, int32_t k, ValueId base, BufferId result, std::vector<BufferId>* offered) {
    const Node& node = method_.node(id);
    ReuseReason reason = kernel_allows(module_, method_, node, k, base, options_.in_place_set, live_.aliases);
    if (reason == ReuseReason::kReuse) reason = dead(id, base);
    if (reason != ReuseReason::kReuse) return remark(id, k, reason, {}, base);
    const BufferId buffer = live_.aliases.homes[base].buffer;
    if (std::find(offered->begin(), offered->end(), buffer) != offered->end()) return;
    offered->push_back(buffer);
    remark(id, k, ReuseReason::kReuse, found_.all.next_id(), base);
    packing::Candidate buffers;
    buffers.from = result.index;
    buffers.to = buffer.index;
    found_.all.push_back({id, node.results[0], base, buffers});
  }

  // The only result of a call that narrows in the first bytes of its only input.
  void offer_front(NodeId id, ValueId input) {
    const ValueHome& from = live_.aliases.homes[input];
    const ValueHome& to = live_.aliases.homes[method_.node(id).results[0]];
    const ir::Operator& narrows = ir::operator_of(ir::OpId::fused_elementwise_out);
    if (!options_.allows_in_place() || !options_.in_place_set.allows_any(narrows)) {
      return remark(id, 0, ReuseReason::kOff, {}, input);
    }
    if (from.home != Home::kBuffer) {
      const bool constant = from.home == Home::kConstant;
      return remark(id, 0, constant ? ReuseReason::kConstant : ReuseReason::kCallersMemory, {}, input);
    }
    if (to.home != Home::kBuffer || is_state_[to.buffer]) return remark(id, 0, ReuseReason::kNotInArena, {}, input);
    const bool made_before = live_.buffers.all[to.buffer].lower < live_.steps.nodes[id];
    const ReuseReason reason = made_before ? ReuseReason::kMadeBefore : dead(id, input);
    if (reason != ReuseReason::kReuse) return remark(id, 0, reason, {}, input);
    remark(id, 0, ReuseReason::kReuse, found_.all.next_id(), input);
    packing::Candidate buffers;
    buffers.from = to.buffer.index;
    buffers.to = from.buffer.index;
    found_.all.push_back({id, method_.node(id).results[0], input, buffers});
  }

  int32_t space_of(ValueId value) const { return live_.buffers.all[live_.aliases.homes[value].buffer].space; }

  /// Not where another name of its bytes may be larger.
  bool fills_its_buffer(ValueId value) const {
    const packing::Buffer& buffer = live_.buffers.all[live_.aliases.homes[value].buffer];
    return buffer.size == ir::max_bytes(method_.tensor(value), module_.symbols);
  }

  /// Whether nothing reads the input's bytes after the node.
  ReuseReason dead(NodeId id, ValueId input) const {
    const BufferId buffer = live_.aliases.homes[input].buffer;
    const int64_t step = live_.steps.nodes[id];
    if (is_state_[buffer]) return ReuseReason::kState;
    if (!fills_its_buffer(input) || !fills_its_buffer(method_.node(id).results[0])) return ReuseReason::kSizeDiffers;
    if (space_of(input) != space_of(method_.node(id).results[0])) return ReuseReason::kState;
    if (returned_[input]) return ReuseReason::kGraphOutput;
    if (live_.steps.last_reads[input] > step) return ReuseReason::kStillRead;
    return live_.buffers.all[buffer].upper > step + 1 ? ReuseReason::kViewAlive : ReuseReason::kReuse;
  }

  const ir::Module& module_;
  const Method& method_;
  const MemoryOptions& options_;
  const Liveness& live_;
  IdVector<ValueId, bool> returned_;
  const IdVector<BufferId, bool> is_state_;
  AliasCandidates found_;
};

}  // namespace

ReuseReason kernel_allows(const ir::Module& module, const Method& method, const Node& node, int32_t k, ValueId input,
                          const InPlaceSet& set, const Aliases& aliases) {
  if (!set.may_allow(*node.op, k)) return ReuseReason::kNever;
  if (!set.allows(*node.op, k)) return ReuseReason::kOff;
  if (!input.valid() || method.value(input).tensor() == nullptr) return ReuseReason::kNoTensor;
  const ValueHome& place = aliases.homes[input];
  if (place.home == Home::kConstant) return ReuseReason::kConstant;
  if (place.home == Home::kCaller) return ReuseReason::kCallersMemory;
  if (place.home != Home::kBuffer) return ReuseReason::kNotInArena;
  const TensorType& result = method.tensor(node.results[0]);
  const ReuseReason compared = compare(method.tensor(input), result);
  if (compared != ReuseReason::kReuse) return compared;
  if (!is_as_large_as_its_bases(module, method, input, aliases)) return ReuseReason::kSizeDiffers;
  // Other arguments may name the same bytes, as themselves or as views.
  for (size_t other = 0; other < node.args.size(); ++other) {
    bool elsewhere = false;
    ir::for_each_value(node.args[other], [&](const ValueId& value) {
      const ValueHome& its = aliases.homes[value];
      if (its.home != Home::kBuffer || its.buffer != place.buffer) return;
      elsewhere =
          elsewhere || !set.may_allow(*node.op, other) || compare(method.tensor(value), result) != ReuseReason::kReuse;
    });
    if (elsewhere) return ReuseReason::kReadElsewhere;
  }
  return ReuseReason::kReuse;
}

AliasCandidates find_in_place(const ir::Module& module, const Method& method, const MemoryOptions& options,
                              const Liveness& live) {
  return AliasFinder(module, method, options, live).run();
}

}  // namespace berth::memory

#include "compiler/emit/in_place.h"

#include <algorithm>

#include "compiler/emit/lifetimes.h"
#include "compiler/emit/slots.h"

namespace berth::emit {
namespace {

using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::TensorType;
using ir::ValueId;

size_t at(ValueId id) { return static_cast<size_t>(id.index); }

bool row_allows(const Node& node, size_t k) {
  return node.op->in_place != ir::InPlaceClass::kNever && k < 32 && (node.op->in_place_arguments >> k & 1u) != 0;
}

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

/// Of views with symbols the upper ends may differ though the sizes never do: who of them reads how many of the bytes
/// is known to nobody before the program runs. So all names that a value has its bytes from are to be equally large.
bool is_as_large_as_its_bases(const ir::Module& module, const Method& method, ValueId value,
                              const Lifetimes& lifetimes) {
  const int64_t bytes = ir::max_bytes(method.tensor(value), module.symbols);
  for (ValueId name = lifetimes.bases[at(value)]; name.valid(); name = lifetimes.bases[at(name)]) {
    if (ir::max_bytes(method.tensor(name), module.symbols) != bytes) return false;
  }
  return true;
}

class Offers {
 public:
  Offers(const ir::Module& module, const Method& method, bool enabled, Lifetimes* out)
      : module_(module), method_(method), enabled_(enabled), out_(*out), returned_(method.values.size(), false) {
    for (const int32_t storage : out->states) {
      if (storage < 0) continue;
      is_state_.resize(std::max(is_state_.size(), static_cast<size_t>(storage) + 1), false);
      is_state_[static_cast<size_t>(storage)] = true;
    }
    is_state_.resize(out->problem.storages.size(), false);
    for (const ir::Argument& output : method.body.outputs) {
      ir::for_each_value(output, [&](const ValueId& v) { returned_[at(v)] = true; });
    }
  }

  void run() {
    for (size_t n = 0; n < method_.nodes.size(); ++n) {
      if (out_.steps[n] >= 0) visit(NodeId{static_cast<int32_t>(n)});
    }
  }

 private:
  void answer(NodeId node, int32_t argument, ReuseReason reason, int32_t merge = -1, ValueId value = {}) {
    out_.reuses.push_back({node, argument, reason, merge, value});
  }

  void visit(NodeId id) {
    const Node& node = method_.node(id);
    const size_t n = static_cast<size_t>(id.index);
    if (node.results.empty() || is_view(out_.reasons[n]) || node.is(ir::OpId::state_read)) return;
    if (takes_slots(node)) return;
    if (node.op->in_place == ir::InPlaceClass::kNever) return answer(id, -1, ReuseReason::kNever);
    if (!enabled_ || !out_.in_place_set.allows_any(*node.op)) return answer(id, -1, ReuseReason::kOff);
    const Place& place = out_.places[at(node.results[0])];
    const bool in_arena = place.home == Home::kStorage && !is_state_[static_cast<size_t>(place.index)];
    if (!in_arena) return answer(id, -1, ReuseReason::kNotInArena);
    // On the way through another branch the input may still be wanted.
    const int64_t born = out_.problem.storages[static_cast<size_t>(place.index)].lower;
    if (born < out_.steps[n]) return answer(id, -1, ReuseReason::kMadeBefore);
    std::vector<int32_t> offered;  // storages: x + x is one offer
    for (size_t k = 0; k < node.args.size(); ++k) {
      if (!row_allows(node, k)) continue;
      bool any = false;
      ir::for_each_value(node.args[k], [&](const ValueId& value) {
        offer(id, static_cast<int32_t>(k), value, place.index, &offered);
        any = true;
      });
      if (!any) answer(id, static_cast<int32_t>(k), ReuseReason::kNoTensor);
    }
  }

  // `base` is argument k, or in the list that it is.
  void offer(NodeId id, int32_t k, ValueId base, int32_t result, std::vector<int32_t>* offered) {
    const Node& node = method_.node(id);
    ReuseReason reason = kernel_allows(module_, method_, node, k, base, out_);
    if (reason == ReuseReason::kReuse) reason = dead(id, base);
    if (reason != ReuseReason::kReuse) return answer(id, k, reason, -1, base);
    const int32_t storage = out_.places[at(base)].index;
    if (std::find(offered->begin(), offered->end(), storage) != offered->end()) return;
    offered->push_back(storage);
    answer(id, k, ReuseReason::kReuse, static_cast<int32_t>(out_.problem.merges.size()), base);
    plan::Merge merge;
    merge.from = result;
    merge.to = storage;
    out_.problem.merges.push_back(merge);
    out_.offers.push_back({id, node.results[0], base});
  }

  int32_t space_of(ValueId value) const {
    return out_.problem.storages[static_cast<size_t>(out_.places[at(value)].index)].space;
  }

  /// Not where another name of its bytes may be larger.
  bool fills_its_storage(ValueId value) const {
    const plan::Storage& storage = out_.problem.storages[static_cast<size_t>(out_.places[at(value)].index)];
    return storage.size == ir::max_bytes(method_.tensor(value), module_.symbols);
  }

  /// Whether nothing reads the input's bytes after the node.
  ReuseReason dead(NodeId id, ValueId input) const {
    const size_t storage = static_cast<size_t>(out_.places[at(input)].index);
    const int64_t step = out_.steps[static_cast<size_t>(id.index)];
    if (is_state_[storage]) return ReuseReason::kState;
    if (!fills_its_storage(input) || !fills_its_storage(method_.node(id).results[0])) return ReuseReason::kSizeDiffers;
    if (space_of(input) != space_of(method_.node(id).results[0])) return ReuseReason::kOtherPool;
    if (returned_[at(input)]) return ReuseReason::kGraphOutput;
    if (out_.last_reads[at(input)] > step) return ReuseReason::kStillRead;
    return out_.problem.storages[storage].upper > step + 1 ? ReuseReason::kViewAlive : ReuseReason::kReuse;
  }

  const ir::Module& module_;
  const Method& method_;
  const bool enabled_;
  Lifetimes& out_;
  std::vector<bool> returned_;  // by value
  std::vector<bool> is_state_;  // by storage
};

}  // namespace

const char* to_string(ReuseReason reason) {
  switch (reason) {
    case ReuseReason::kReuse: return "reuse";
    case ReuseReason::kNever: return "never";
    case ReuseReason::kOff: return "off";
    case ReuseReason::kNotInArena: return "not-in-arena";
    case ReuseReason::kNoTensor: return "no-tensor";
    case ReuseReason::kConstant: return "constant";
    case ReuseReason::kCallersMemory: return "callers-memory";
    case ReuseReason::kState: return "state";
    case ReuseReason::kOtherDevice: return "other-device";
    case ReuseReason::kOtherPool: return "other-pool";
    case ReuseReason::kElementDiffers: return "element-differs";
    case ReuseReason::kSizeDiffers: return "size-differs";
    case ReuseReason::kOrderDiffers: return "order-differs";
    case ReuseReason::kGraphOutput: return "graph-output";
    case ReuseReason::kStillRead: return "still-read";
    case ReuseReason::kViewAlive: return "view-alive";
    case ReuseReason::kReadElsewhere: return "read-elsewhere";
    case ReuseReason::kMadeBefore: return "made-before";
    case ReuseReason::kSymbolic: return "symbolic";
    case ReuseReason::kStrided: return "strided";
    case ReuseReason::kMisaligned: return "misaligned";
    case ReuseReason::kTwice: return "twice";
    case ReuseReason::kInOther: return "in-other";
  }
  return "unknown";
}

ReuseReason kernel_allows(const ir::Module& module, const Method& method, const Node& node, int32_t k, ValueId input,
                          const Lifetimes& lifetimes) {
  if (!row_allows(node, static_cast<size_t>(k))) return ReuseReason::kNever;
  if (!lifetimes.in_place_set.allows(*node.op, static_cast<size_t>(k))) return ReuseReason::kOff;
  if (!input.valid() || method.value(input).tensor() == nullptr) return ReuseReason::kNoTensor;
  const Place& place = lifetimes.places[at(input)];
  if (place.home == Home::kConstant) return ReuseReason::kConstant;
  if (place.home == Home::kCaller) return ReuseReason::kCallersMemory;
  if (place.home != Home::kStorage) return ReuseReason::kNotInArena;
  const TensorType& result = method.tensor(node.results[0]);
  const ReuseReason compared = compare(method.tensor(input), result);
  if (compared != ReuseReason::kReuse) return compared;
  if (!is_as_large_as_its_bases(module, method, input, lifetimes)) return ReuseReason::kSizeDiffers;
  // Other arguments may name the same bytes, as themselves or as views.
  for (size_t other = 0; other < node.args.size(); ++other) {
    bool elsewhere = false;
    ir::for_each_value(node.args[other], [&](const ValueId& value) {
      const Place& its = lifetimes.places[at(value)];
      if (its.home != Home::kStorage || its.index != place.index) return;
      elsewhere = elsewhere || !row_allows(node, other) || compare(method.tensor(value), result) != ReuseReason::kReuse;
    });
    if (elsewhere) return ReuseReason::kReadElsewhere;
  }
  return ReuseReason::kReuse;
}

void offer_in_place(const ir::Module& module, const Method& method, bool enabled, Lifetimes* lifetimes) {
  Offers(module, method, enabled, lifetimes).run();
}

}  // namespace berth::emit

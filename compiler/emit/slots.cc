#include "compiler/emit/slots.h"

#include <algorithm>
#include <optional>

#include "base/backend_facts.h"
#include "compiler/emit/lifetimes.h"

namespace berth::emit {
namespace {

using ir::Dim;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;

/// Where parts begin on devices, and on hosts whose kernels ask for more than an element.
constexpr int64_t kWideAlignment = 16;

size_t at(ValueId id) { return static_cast<size_t>(id.index); }

/// A part and where it begins in the whole, in bytes.
struct Slot {
  ValueId part;
  int64_t offset = 0;
};

/// The argument when it is a number that is known; `missing` for none.
std::optional<int64_t> number(const ir::Argument& argument, int64_t missing) {
  if (ir::is_none(argument)) return missing;
  const Dim* dim = std::get_if<Dim>(&argument);
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  return dim->value;
}

/// The dimension that the argument names; nothing when it is none of the tensor's.
std::optional<size_t> dimension(const ir::Argument& argument, const TensorType& type) {
  const std::optional<int64_t> dim = number(argument, 0);
  const int64_t rank = type.rank();
  if (!dim.has_value() || *dim < -rank || *dim >= rank) return std::nullopt;
  return static_cast<size_t>(*dim < 0 ? *dim + rank : *dim);
}

bool is_one_piece(const TensorType& whole, size_t dim) {
  for (size_t d = 0; d < dim; ++d) {
    if (whole.shape[d] != Dim(1)) return false;
  }
  return whole.is_contiguous();
}

class Slots {
 public:
  Slots(const ir::Module& module, const Method& method, bool enabled, Lifetimes* out)
      : module_(module), method_(method), enabled_(enabled), out_(*out) {
    const size_t storages = out->problem.storages.size();
    state_.resize(storages, false);
    joined_.resize(storages, false);
    part_.resize(storages, false);
    delegates_.resize(storages, false);
    for (const int32_t storage : out->states) {
      if (storage >= 0) state_[static_cast<size_t>(storage)] = true;
    }
    out->slots.assign(method.nodes.size(), -1);
    for (const Node& node : method.nodes) {
      if (!node.is(OpId::delegate)) continue;
      ir::for_each_value(node.args[0], [&](const ValueId& value) { mark_delegates(value); });
      for (const ValueId result : node.results) mark_delegates(result);
    }
  }

  /// Concatenations first: a slice of one that is not computed would be a piece of several values.
  void run() {
    for (const bool joins : {true, false}) {
      for (size_t n = 0; n < method_.nodes.size(); ++n) {
        const Node& node = method_.nodes[n];
        if (out_.steps[n] < 0 || !takes_slots(node) || node.is(OpId::cat_out) != joins) continue;
        const NodeId id{static_cast<int32_t>(n)};
        const ReuseReason reason = !enabled_ ? ReuseReason::kOff : joins ? join(id) : cut(id);
        if (reason != ReuseReason::kReuse) out_.reuses.push_back({id, -1, reason, -1, {}});
      }
    }
  }

 private:
  void mark_delegates(ValueId value) {
    if (out_.places[at(value)].home == Home::kStorage) delegates_[storage(value)] = true;
  }

  size_t storage(ValueId value) const { return static_cast<size_t>(out_.places[at(value)].index); }
  int64_t bytes(ValueId value) const { return ir::max_bytes(method_.tensor(value), module_.symbols); }

  /// Whether the value's bytes are those of a storage that may be put somewhere else.
  ReuseReason fills_storage(ValueId value) const {
    const Place& place = out_.places[at(value)];
    if (place.home == Home::kConstant) return ReuseReason::kConstant;
    if (place.home == Home::kCaller) return ReuseReason::kCallersMemory;
    if (place.home != Home::kStorage) return ReuseReason::kNotInArena;
    if (state_[storage(value)]) return ReuseReason::kState;
    // A branch or an iteration that makes it again would write into the bytes of the other, which is alive.
    if (out_.made_twice[storage(value)]) return ReuseReason::kMadeBefore;
    const TensorType& type = method_.tensor(value);
    if (!type.is_static()) return ReuseReason::kSymbolic;
    if (out_.problem.storages[storage(value)].size != bytes(value)) return ReuseReason::kSymbolic;
    return type.is_contiguous() ? ReuseReason::kReuse : ReuseReason::kOrderDiffers;
  }

  ReuseReason join(NodeId id) {
    const Node& node = method_.node(id);
    const ValueId whole = node.results[0];
    ReuseReason reason = fills_storage(whole);
    if (reason != ReuseReason::kReuse) return reason;
    const std::optional<size_t> dim = dimension(node.args[1], method_.tensor(whole));
    if (!dim.has_value() || !is_one_piece(method_.tensor(whole), *dim)) return ReuseReason::kStrided;
    std::vector<Slot> slots;
    int64_t offset = 0;
    for (const ValueId part : std::get<ir::ValueList>(node.args[0])) {
      slots.push_back({part, offset});
      offset += bytes(part);
    }
    for (const Slot& slot : slots) {
      reason = fills_storage(slot.part);
      if (reason != ReuseReason::kReuse) return reason;
      if (method_.tensor(slot.part).dtype != method_.tensor(whole).dtype) return ReuseReason::kElementDiffers;
    }
    reason = offer(id, whole, slots);
    if (reason != ReuseReason::kReuse) return reason;
    joined_[storage(whole)] = true;
    for (const Slot& slot : slots) part_[storage(slot.part)] = true;
    return ReuseReason::kReuse;
  }

  ReuseReason cut(NodeId id) {
    const Node& node = method_.node(id);
    const ValueId whole = std::get<ValueId>(node.args[0]);
    const ReuseReason reason = fills_storage(whole);
    if (reason != ReuseReason::kReuse) return reason;
    const bool split = node.is(OpId::split_copy_Tensor_out) || node.is(OpId::split_with_sizes_copy_out);
    const TensorType& type = method_.tensor(whole);
    const std::optional<size_t> dim = dimension(node.args[split ? 2 : 1], type);
    if (!dim.has_value() || !is_one_piece(type, *dim)) return ReuseReason::kStrided;
    const std::optional<int64_t> start = split ? 0 : first_row(node, type.shape[*dim].value);
    if (!start.has_value()) return ReuseReason::kStrided;
    int64_t row = int64_t(element_size(type.dtype));
    for (size_t d = *dim + 1; d < type.shape.size(); ++d) row *= type.shape[d].value;
    int64_t offset = *start * row;
    std::vector<Slot> slots;
    for (const ValueId part : node.results) {
      const ReuseReason fills = fills_storage(part);
      if (fills != ReuseReason::kReuse) return fills;
      slots.push_back({part, offset});
      offset += bytes(part);
    }
    if (joined_[storage(whole)]) return ReuseReason::kInOther;
    for (const Slot& slot : slots) {
      if (part_[storage(slot.part)]) return ReuseReason::kInOther;
    }
    return offer(id, whole, slots);
  }

  /// Of a slice or a selection along a dimension of `size`; nothing when it takes every other row, or is not known.
  static std::optional<int64_t> first_row(const Node& node, int64_t size) {
    const std::optional<int64_t> start = number(node.args[2], 0);
    const bool slice = node.is(OpId::slice_copy_Tensor_out);
    if (!start.has_value() || (slice && number(node.args[4], 1) != std::optional<int64_t>(1))) return std::nullopt;
    return std::clamp<int64_t>(*start < 0 ? *start + size : *start, 0, size);
  }

  ReuseReason offer(NodeId id, ValueId whole, const std::vector<Slot>& slots) {
    const plan::Storage& room = out_.problem.storages[storage(whole)];
    const int64_t element = int64_t(element_size(method_.tensor(whole).dtype));
    const int64_t least = room.alignment > kWideAlignment ? kWideAlignment : element;
    const auto alignment_of = [&](size_t part) { return std::max(least, delegates_[part] ? kDelegateAlignment : 1); };
    std::vector<size_t> taken;
    for (const Slot& slot : slots) {
      const size_t s = storage(slot.part);
      if (s == storage(whole) || std::find(taken.begin(), taken.end(), s) != taken.end()) return ReuseReason::kTwice;
      taken.push_back(s);
      if (slot.offset % alignment_of(s) != 0) return ReuseReason::kMisaligned;
      if (out_.problem.storages[s].space != room.space) {
        const bool device = method_.tensor(slot.part).device != method_.tensor(whole).device;
        return device ? ReuseReason::kOtherDevice : ReuseReason::kOtherPool;
      }
    }
    out_.slots[static_cast<size_t>(id.index)] = static_cast<int32_t>(out_.problem.merges.size());
    for (const Slot& slot : slots) {
      plan::Merge merge;
      merge.from = static_cast<int32_t>(storage(slot.part));
      merge.to = static_cast<int32_t>(storage(whole));
      merge.offset = slot.offset;
      merge.alignment = alignment_of(storage(slot.part));
      merge.all_or_none = slots.size() == 1 ? plan::kAlone : id.index;
      out_.problem.merges.push_back(merge);
      out_.offers.push_back({id, slot.part, whole, true});
    }
    return ReuseReason::kReuse;
  }

  const ir::Module& module_;
  const Method& method_;
  const bool enabled_;
  Lifetimes& out_;
  std::vector<bool> state_;      // by storage: it is state
  std::vector<bool> joined_;     // by storage: it may be made of its parts
  std::vector<bool> part_;       // by storage: it may be a part of such a one
  std::vector<bool> delegates_;  // by storage: a delegate reads or gives what is in it
};

}  // namespace

bool takes_slots(const Node& node) {
  return node.is(OpId::cat_out) || node.is(OpId::slice_copy_Tensor_out) || node.is(OpId::select_copy_int_out) ||
         node.is(OpId::split_copy_Tensor_out) || node.is(OpId::split_with_sizes_copy_out);
}

void offer_slots(const ir::Module& module, const Method& method, bool enabled, Lifetimes* lifetimes) {
  Slots(module, method, enabled, lifetimes).run();
}

}  // namespace berth::emit

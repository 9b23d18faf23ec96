#include "compiler/memory/sub_buffers.h"

#include <algorithm>
#include <optional>

#include "base/backend_facts.h"
#include "compiler/ir/arguments.h"

namespace berth::memory {
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

/// Of slices and selections.
constexpr size_t kFirstRow = arg::slice_copy_Tensor_out::start;
static_assert(kFirstRow == arg::select_copy_int_out::index);

bool is_concat(const Node& node) { return node.op->view == ir::ViewKind::kConcat; }

/// A part and where it begins in the whole, in bytes.
struct Part {
  ValueId value;
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
  return *dim < 0 ? *dim + rank : *dim;
}

bool is_one_piece(const TensorType& whole, size_t dim) {
  for (size_t d = 0; d < dim; ++d) {
    if (whole.shape[d] != Dim(1)) return false;
  }
  return whole.is_contiguous();
}

class SubBufferFinder {
 public:
  SubBufferFinder(const ir::Module& module, const Method& method, const MemoryOptions& options, const Liveness& live)
      : module_(module),
        method_(method),
        enabled_(options.allows_sub_buffers()),
        live_(live),
        state_(live.buffers.are_states()),
        joined_(state_.size(), false),
        part_(state_.size(), false),
        delegates_(state_.size(), false) {
    found_.sub_buffers.resize(method.nodes.size());
    for (const Node& node : method.nodes) {
      if (!node.is(OpId::delegate)) continue;
      ir::for_each_value(node.args[arg::delegate::inputs], [&](const ValueId& value) { mark_delegates(value); });
      for (const ValueId result : node.results) mark_delegates(result);
    }
  }

  /// Concatenations first: a slice of one that is not computed would be a piece of several values.
  AliasCandidates run() {
    for (const bool joins : {true, false}) {
      for (const NodeId id : method_.nodes.ids()) {
        const Node& node = method_.nodes[id];
        if (live_.steps.nodes[id] < 0 || !node.op->joins_or_cuts() || is_concat(node) != joins) continue;
        const ReuseReason reason = !enabled_ ? ReuseReason::kOff : joins ? join(id) : cut(id);
        if (reason != ReuseReason::kReuse) found_.remarks.push_back({id, -1, reason, {}, {}});
      }
    }
    return std::move(found_);
  }

 private:
  void mark_delegates(ValueId value) {
    if (live_.aliases.homes[value].home == Home::kBuffer) delegates_[buffer_of(value)] = true;
  }

  BufferId buffer_of(ValueId value) const { return live_.aliases.homes[value].buffer; }
  int64_t bytes(ValueId value) const { return ir::max_bytes(method_.tensor(value), module_.symbols); }

  /// Whether the value's bytes are those of a buffer that may be put somewhere else.
  ReuseReason fills_buffer_of(ValueId value) const {
    const ValueHome& place = live_.aliases.homes[value];
    if (place.home == Home::kConstant) return ReuseReason::kConstant;
    if (place.home == Home::kCaller) return ReuseReason::kCallersMemory;
    if (place.home != Home::kBuffer) return ReuseReason::kNotInArena;
    if (state_[buffer_of(value)]) return ReuseReason::kState;
    // A branch or an iteration that makes it again would write into the bytes of the other, which is alive.
    if (live_.buffers.made_twice[buffer_of(value)]) return ReuseReason::kMadeBefore;
    const TensorType& type = method_.tensor(value);
    if (!type.is_static()) return ReuseReason::kSymbolic;
    if (live_.buffers.all[buffer_of(value)].size != bytes(value)) return ReuseReason::kSymbolic;
    return type.is_contiguous() ? ReuseReason::kReuse : ReuseReason::kOrderDiffers;
  }

  ReuseReason join(NodeId id) {
    const Node& node = method_.node(id);
    const ValueId whole = node.results[0];
    ReuseReason reason = fills_buffer_of(whole);
    if (reason != ReuseReason::kReuse) return reason;
    const std::optional<size_t> dim = dimension(node.args[node.op->dim_argument], method_.tensor(whole));
    if (!dim.has_value() || !is_one_piece(method_.tensor(whole), *dim)) return ReuseReason::kStrided;
    std::vector<Part> parts;
    int64_t offset = 0;
    for (const ValueId part : std::get<ir::ValueList>(node.args[arg::concat::tensors])) {
      parts.push_back({part, offset});
      offset += bytes(part);
    }
    for (const Part& part : parts) {
      reason = fills_buffer_of(part.value);
      if (reason != ReuseReason::kReuse) return reason;
      if (method_.tensor(part.value).dtype != method_.tensor(whole).dtype) return ReuseReason::kElementDiffers;
    }
    reason = offer(id, whole, parts);
    if (reason != ReuseReason::kReuse) return reason;
    joined_[buffer_of(whole)] = true;
    for (const Part& part : parts) part_[buffer_of(part.value)] = true;
    return ReuseReason::kReuse;
  }

  ReuseReason cut(NodeId id) {
    const Node& node = method_.node(id);
    const ValueId whole = std::get<ValueId>(node.args[arg::part_of::self]);
    const ReuseReason reason = fills_buffer_of(whole);
    if (reason != ReuseReason::kReuse) return reason;
    const bool split = node.op->output_is_list;
    const TensorType& type = method_.tensor(whole);
    const std::optional<size_t> dim = dimension(node.args[node.op->dim_argument], type);
    if (!dim.has_value() || !is_one_piece(type, *dim)) return ReuseReason::kStrided;
    const std::optional<int64_t> start = split ? 0 : first_row(node, type.shape[*dim].value);
    if (!start.has_value()) return ReuseReason::kStrided;
    int64_t row = int64_t(element_size(type.dtype));
    for (size_t d = *dim + 1; d < type.shape.size(); ++d) row *= type.shape[d].value;
    int64_t offset = *start * row;
    std::vector<Part> parts;
    for (const ValueId part : node.results) {
      const ReuseReason fills = fills_buffer_of(part);
      if (fills != ReuseReason::kReuse) return fills;
      parts.push_back({part, offset});
      offset += bytes(part);
    }
    if (joined_[buffer_of(whole)]) return ReuseReason::kInOther;
    for (const Part& part : parts) {
      if (part_[buffer_of(part.value)]) return ReuseReason::kInOther;
    }
    return offer(id, whole, parts);
  }

  /// Of a slice or a selection along a dimension of `size`; nothing when it takes every other row, or is not known.
  static std::optional<int64_t> first_row(const Node& node, int64_t size) {
    const std::optional<int64_t> start = number(node.args[kFirstRow], 0);
    const bool slice = node.is(OpId::slice_copy_Tensor_out);
    if (!start.has_value() ||
        (slice && number(node.args[arg::slice_copy_Tensor_out::step], 1) != std::optional<int64_t>(1)))
      return std::nullopt;
    return std::clamp<int64_t>(*start < 0 ? *start + size : *start, 0, size);
  }

  ReuseReason offer(NodeId id, ValueId whole, const std::vector<Part>& parts) {
    const packing::Buffer& whole_buffer = live_.buffers.all[buffer_of(whole)];
    const int64_t element = int64_t(element_size(method_.tensor(whole).dtype));
    const int64_t least = whole_buffer.alignment > kWideAlignment ? kWideAlignment : element;
    const auto alignment_of = [&](BufferId part) { return std::max(least, delegates_[part] ? kDelegateAlignment : 1); };
    std::vector<BufferId> taken;
    for (const Part& part : parts) {
      const BufferId s = buffer_of(part.value);
      if (s == buffer_of(whole) || std::find(taken.begin(), taken.end(), s) != taken.end()) return ReuseReason::kTwice;
      taken.push_back(s);
      if (part.offset % alignment_of(s) != 0) return ReuseReason::kMisaligned;
      if (live_.buffers.all[s].space != whole_buffer.space) {
        const bool device = method_.tensor(part.value).device != method_.tensor(whole).device;
        return device ? ReuseReason::kOtherDevice : ReuseReason::kState;
      }
    }
    found_.sub_buffers[id] = found_.all.next_id();
    for (const Part& part : parts) {
      packing::Candidate buffers;
      buffers.from = buffer_of(part.value).index;
      buffers.to = buffer_of(whole).index;
      buffers.offset = part.offset;
      buffers.alignment = alignment_of(buffer_of(part.value));
      buffers.all_or_none = parts.size() == 1 ? packing::kAlone : id.index;
      found_.all.push_back({id, part.value, whole, buffers, AliasKind::kSubBuffer});
    }
    return ReuseReason::kReuse;
  }

  const ir::Module& module_;
  const Method& method_;
  const bool enabled_;
  const Liveness& live_;
  const IdVector<BufferId, bool> state_;  // it is state
  IdVector<BufferId, bool> joined_;       // it may be made of its parts
  IdVector<BufferId, bool> part_;         // it may be a part of such a one
  IdVector<BufferId, bool> delegates_;    // a delegate reads or gives what is in it
  AliasCandidates found_;
};

}  // namespace

AliasCandidates find_sub_buffers(const ir::Module& module, const Method& method, const MemoryOptions& options,
                                 const Liveness& live) {
  return SubBufferFinder(module, method, options, live).run();
}

}  // namespace berth::memory

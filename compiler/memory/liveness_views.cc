// Views: results that are another name for their input's bytes, and why others are not.
#include <algorithm>

#include "compiler/ir/arguments.h"
#include "compiler/memory/liveness_analysis.h"

namespace berth::memory::internal {
namespace {

using ir::Node;
using ir::TensorType;
using ir::ValueId;

// Dimensions of more than one place, from the outermost in memory, as `name_of` calls them.
template <typename F>
std::vector<int64_t> order_in_memory(const TensorType& type, F&& name_of) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const size_t d = type.dim_order.empty() ? i : type.dim_order[i];
    if (type.shape[d] != ir::Dim(1)) order.push_back(name_of(d));
  }
  return order;
}

}  // namespace

/// Whether a permutation, or a copy into another dimension order, leaves every element where it is in memory.
bool Analysis::reorders_nothing(const Node& node) const {
  if (node.op->view != ir::ViewKind::kReorder) return false;
  const bool permutes = node.is(ir::OpId::permute_copy_out);
  const TensorType& from = method_.tensor(std::get<ValueId>(node.args[arg::reorder::self]));
  const TensorType& to = method_.tensor(node.results[0]);
  if (from.dtype != to.dtype) return false;
  const auto same = [](size_t d) { return static_cast<int64_t>(d); };
  const auto source = [&](size_t d) {
    if (!permutes) return static_cast<int64_t>(d);
    const int64_t dim = std::get<ir::DimList>(node.args[arg::permute_copy_out::dims])[d].value;
    return dim < 0 ? dim + from.rank() : dim;
  };
  return order_in_memory(from, same) == order_in_memory(to, source);
}

ViewReason Analysis::view_reason(const Node& node) const {
  if (reorders_nothing(node)) {
    const ValueId base = std::get<ValueId>(node.args[arg::reorder::self]);
    const Home home = out_.aliases.homes[base].home;
    const bool kept = home == Home::kBuffer && !state_at(base).valid() && !is_input_buffer(base);
    const bool same_device = method_.tensor(base).device == method_.tensor(node.results[0]).device;
    if (!kept || !same_device || returned_[node.results[0]]) return ViewReason::kNotAView;
    return method_.tensor(base).is_static() ? ViewReason::kView : ViewReason::kSizesChange;
  }
  if (!node.op->is_reshape()) return ViewReason::kNotAView;
  const ValueId base = std::get<ValueId>(node.args[arg::view::self]);
  const ValueId result = node.results[0];
  const TensorType& from = method_.tensor(base);
  const TensorType& to = method_.tensor(result);
  if (from.device != to.device) return ViewReason::kOtherDevice;
  const bool same_layout = from.shape == to.shape && from.dim_order == to.dim_order;
  if (!same_layout && !(from.is_contiguous() && to.is_contiguous())) return ViewReason::kOrderDiffers;
  const Home home = out_.aliases.homes[base].home;
  if (returned_[result]) {
    if (is_callers(result)) return ViewReason::kCallersOutput;
    if (home == Home::kConstant) return ViewReason::kOutputOfConstant;
    if (state_at(base).valid()) return ViewReason::kOutputOfState;
    if (is_input_buffer(base)) return ViewReason::kOutputOfInput;
  }
  if (home == Home::kCaller && own_scratch_[result]) return ViewReason::kOutputOfInput;
  if (home == Home::kCaller) return ViewReason::kCallersMemory;
  if (lies_in_scratch_output(base) &&
      ir::max_bytes(to, module_.symbols) > out_.buffers.all[out_.aliases.homes[base].buffer].size)
    return ViewReason::kScratchOfSymbols;
  const ir::StateId state = state_at(base);
  if (state.valid() &&
      ir::max_bytes(to, module_.symbols) > ir::max_bytes(module_.states[state].type, module_.symbols)) {
    return ViewReason::kStateOfSymbols;
  }
  if (from.is_static() && to.is_static()) return ViewReason::kView;
  return home == Home::kConstant ? ViewReason::kConstantOfSymbols : ViewReason::kSizesChange;
}

void Analysis::make_view(ValueId base, ValueId result) {
  out_.aliases.homes[result] = out_.aliases.homes[base];
  out_.aliases.bases[result] = base;
  const ValueHome& place = out_.aliases.homes[base];
  if (place.home != Home::kBuffer) return;
  // With symbols, the upper ends of the two shapes may differ although their sizes never do.
  int64_t& size = out_.buffers.all[place.buffer].size;
  size = std::max(size, ir::max_bytes(method_.tensor(result), module_.symbols));
}

}  // namespace berth::memory::internal

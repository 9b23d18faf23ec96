#include "compiler/fuse/step_runs.h"

#include <algorithm>

#include "compiler/fuse/gates.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {

using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

std::optional<Run> dense_run(const Context& context, ValueId value) {
  if (!is_plain(context, value)) return std::nullopt;
  const Strided from = strided(context, value, false);
  if (!is_plain(context, from.base) || !from.offset.is_constant()) return std::nullopt;
  Dim stride = 1;
  const std::vector<Axis> axes = axes_of(from);
  for (size_t i = axes.size(); i-- > 0; stride = context.symbols().mul(stride, axes[i].size)) {
    if (axes[i].stride != stride) return std::nullopt;
  }
  return Run{from.base, from.offset.value};
}

ValueId joined_value(const Context& context, const Node& node) {
  const bool stacks = node.is(OpId::stack_out);
  if ((!stacks && !node.is(OpId::cat_out)) || !is_plain(context, node.results[0])) return {};
  static_assert(arg::stack_out::tensors == size_t{arg::cat_out::tensors} &&
                arg::stack_out::dim == size_t{arg::cat_out::dim});
  const auto& parts = std::get<ir::ValueList>(node.args[arg::cat_out::tensors]);
  const Dim* dim = std::get_if<Dim>(&node.args[arg::cat_out::dim]);
  const std::vector<Dim> shape = context.type(node.results[0]).shape;
  if (parts.empty() || dim == nullptr || !dim->is_constant()) return {};
  const int64_t axis = dim->value < 0 ? dim->value + static_cast<int64_t>(shape.size()) : dim->value;
  for (int64_t d = 0; d < axis; ++d) {
    if (shape[d] != Dim(1)) return {};
  }
  int64_t offset = 0;
  ValueId base;
  for (ValueId part : parts) {
    const auto run = dense_run(context, part);
    if (!run || run->offset != offset || (base.valid() && run->base != base)) return {};
    base = run->base;
    offset += ir::max_numel(context.type(part), {});
  }
  return ir::max_numel(context.type(base), {}) == offset ? base : ValueId{};
}

namespace {

StepRange turned_back(const Context& context, const StepRange& range) {
  const Node* flip = context.maker(range.base);
  if (flip == nullptr || !is_turned_round(*flip)) return range;
  const ValueId base = value_argument(*flip, arg::flip_out::self);
  if (!is_plain(context, base) || context.type(base).shape[0] != Dim(range.all)) return range;
  return {base, range.all, range.all - range.first - range.steps, range.steps, !range.reverse};
}

}  // namespace

StepRange steps_in_order(const Context& context, const std::vector<ValueId>& gates) {
  const auto elements = [&](ValueId value) { return ir::max_numel(context.type(value), {}); };
  const int64_t step = elements(gates[0]);
  const auto first = dense_run(context, gates[0]);
  if (!first || first->offset % step != 0 || elements(first->base) % step != 0) return {};
  StepRange range = {first->base, elements(first->base) / step, 0, 1};
  int64_t before = first->offset;
  for (size_t i = 1; i < gates.size(); ++i) {
    const auto run = dense_run(context, gates[i]);
    if (!run || run->base != first->base || elements(gates[i]) != step) break;
    const int64_t distance = run->offset - before;
    if (i == 1) range.reverse = distance < 0;
    if (distance != (range.reverse ? -step : step)) break;
    ++range.steps;
    before = run->offset;
  }
  range.first = std::min(first->offset, before) / step;
  return turned_back(context, range);
}

Expected<ValueId> gates_of_steps(Context& context, ir::Builder& build, ValueId base, const StepRange& range,
                                 const std::vector<Dim>& step, const std::string& source) {
  std::vector<Dim> shape = {Dim(range.all)};
  shape.insert(shape.end(), step.begin(), step.end());
  BERTH_ASSIGN_OR_RETURN(const ValueId all, with_shape(context, build, base, shape, source));
  if (range.steps == range.all) return all;
  const Dim first(range.first), end(range.first + range.steps);
  return build.one(OpId::slice_copy_Tensor_out, {all, Dim(0), first, end, Dim(1)}, source);
}

}  // namespace berth::fuse

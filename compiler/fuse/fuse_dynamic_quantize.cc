#include "compiler/fuse/fuse_dynamic_quantize.h"

#include <algorithm>
#include <map>
#include <memory>

#include "compiler/fuse/quantized_pairs.h"

namespace berth::fuse {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Reads formulas backwards; a step that does not fit leaves what it asks for invalid.
class DynamicFormula {
 public:
  explicit DynamicFormula(const Context& context) : context_(context) {}

  const Node* maker(ValueId value, OpId op) const {
    const Node* node = value.valid() ? context_.maker(value) : nullptr;
    return node != nullptr && node->is(op) ? node : nullptr;
  }
  // Argument 0 of `op`, which makes `value`.
  ValueId input(ValueId value, OpId op) const {
    const Node* node = maker(value, op);
    return node == nullptr ? ValueId{} : value_argument(*node, 0);
  }
  // What is limited to `low` and `high`; none where that is nothing.
  ValueId held(ValueId value, std::optional<double> low, std::optional<double> high) const {
    const Node* node = maker(value, OpId::clamp_out);
    if (node == nullptr) return {};
    const ir::Argument& min = node->args[arg::clamp_out::min];
    const ir::Argument& max = node->args[arg::clamp_out::max];
    const bool same = (low ? is(min, *low) : ir::is_none(min)) && (high ? is(max, *high) : ir::is_none(max));
    return same ? value_argument(*node, 0) : ValueId{};
  }
  // The tensor whose smallest (largest) element `value` is, over all dimensions.
  ValueId extreme(ValueId value, OpId op) const {
    const Node* node = maker(value, op);
    const bool all = node != nullptr && std::get<ir::DimList>(node->args[arg::amin_out::dim]).empty();
    return all && context_.type(value).rank() == 0 ? value_argument(*node, 0) : ValueId{};
  }
  bool is(const ir::Argument& argument, double number) const {
    const auto found = context_.number(argument);
    return found && *found == number;
  }

 private:
  const Context& context_;
};

struct Extremes {
  ValueId low, high, x;
};

// (high - low) / 255, or 1.
std::optional<Extremes> extremes_of(const Context& context, ValueId scale) {
  const DynamicFormula formula(context);
  const Node* filled = formula.maker(scale, OpId::masked_fill_Scalar_out);
  if (filled == nullptr || !formula.is(filled->args[arg::masked_fill_Scalar_out::value], 1)) return std::nullopt;
  const Node* steps = formula.maker(value_argument(*filled, 0), OpId::div_Scalar_out);
  const Node* empty = formula.maker(value_argument(*filled, 1), OpId::eq_Scalar_out);
  if (steps == nullptr || empty == nullptr) return std::nullopt;
  const ValueId range = value_argument(*steps, 0);
  const Node* difference = formula.maker(range, OpId::sub_out);
  if (!formula.is(steps->args[arg::div_Scalar_out::other], 255) ||
      value_argument(*empty, arg::eq_Scalar_out::self) != range ||
      !formula.is(empty->args[arg::eq_Scalar_out::other], 0) || difference == nullptr ||
      !formula.is(difference->args[arg::sub_out::alpha], 1)) {
    return std::nullopt;
  }
  Extremes found;
  found.high = value_argument(*difference, 0);
  found.low = value_argument(*difference, 1);
  found.x = formula.extreme(formula.held(found.low, std::nullopt, 0), OpId::amin_out);
  const ValueId other = formula.extreme(formula.held(found.high, 0, std::nullopt), OpId::amax_out);
  return found.x.valid() && found.x == other ? std::optional<Extremes>(found) : std::nullopt;
}

// The nodes of one quantisation; the tensor is read by the first of them.
struct DynamicNodes {
  NodeId scale, zero_point, integers;
};

std::optional<DynamicNodes> match_dynamic(const Context& context, NodeId id) {
  const auto pair = quantized(context, context.node(id));
  const bool whole = pair && pair->dtype == DType::kU8 && pair->low == 0 && pair->high == UINT8_MAX &&
                     pair->rounding == Quantized::Rounding::kDivide && pair->scale.axis == -1 &&
                     pair->zero_point.axis == -1 && pair->scale.value.valid() && pair->zero_point.value.valid();
  if (!whole) return std::nullopt;
  const ValueId scale = pair->scale.value;
  const auto range = extremes_of(context, scale);
  if (!range || range->x != pair->input) return std::nullopt;
  // Results of one element may have dimensions; these have none.
  const ValueId zero_point = cast_input(context, pair->zero_point.value, DType::kF32);
  if (!zero_point.valid() || context.type(zero_point).dtype != DType::kU8) return std::nullopt;
  if (context.type(zero_point).rank() != 0 || context.type(scale).rank() != 0) return std::nullopt;
  const DynamicFormula formula(context);
  const ValueId rounded = formula.input(cast_input(context, zero_point, DType::kU8), OpId::round_out);
  const ValueId start = formula.input(formula.held(rounded, 0, 255), OpId::neg_out);
  const Node* quotient = formula.maker(start, OpId::div_out);
  const bool same =
      quotient != nullptr && value_argument(*quotient, 0) == range->low && value_argument(*quotient, 1) == scale;
  if (!same) return std::nullopt;
  return DynamicNodes{context.method().value(scale).node, context.method().value(zero_point).node, id};
}

// The range is known where the scale is: there the operator stands. The other two results follow.
class DynamicFuser {
 public:
  Expected<passes::Action> visit(Context& context, ir::Builder& build, NodeId id) {
    if (!searched_) search(context);
    const auto begin = by_scale_.find(id);
    if (begin != by_scale_.end()) {
      const Node& node = context.node(id);
      context.remark(node, Reason::kFused, "berth::dynamic_quantize");
      const ValueId x = extremes_of(context, node.results[0])->x;
      const std::string source = node.source;
      BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made, build.create(OpId::dynamic_quantize_out, {x}, source));
      made_[begin->second.integers] = made[0];
      made_[begin->second.zero_point] = made[2];
      return context.replace(id, made[1]);
    }
    const auto made = made_.find(id);
    return made == made_.end() ? passes::Action::keep() : context.replace(id, made->second);
  }

 private:
  void search(const Context& context) {
    searched_ = true;
    for (const NodeId id : context.method().nodes.ids()) {
      const Node& node = context.node(id);
      if (node.results.size() != 1 || node.args.empty()) continue;
      if (const auto found = match_dynamic(context, id)) by_scale_.emplace(found->scale, *found);
    }
  }

  bool searched_ = false;
  std::map<NodeId, DynamicNodes> by_scale_;
  std::map<NodeId, ValueId> made_;
};

}  // namespace

Expected<passes::Changed> fuse_dynamic_quantize(ir::Module& module, const Targets& targets,
                                                const passes::Options& options) {
  return rewrite_regions(module, targets_of_bytes(targets), options, [] {
    const auto fuser = std::make_shared<DynamicFuser>();
    return Visit([fuser](Context& context, ir::Builder& build, NodeId id) { return fuser->visit(context, build, id); });
  });
}

}  // namespace berth::fuse

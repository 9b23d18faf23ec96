#include "compiler/fuse/move_quantization.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "compiler/fuse/quantized_pairs.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// A scale and a zero point of a whole tensor of bytes.
struct Grid {
  float scale = 1;
  float zero_point = 0;
  DType dtype = DType::kI8;

  bool operator==(const Grid& other) const {
    return scale == other.scale && zero_point == other.zero_point && dtype == other.dtype;
  }
  int64_t low() const { return dtype == DType::kI8 ? INT8_MIN : 0; }
  int64_t high() const { return dtype == DType::kI8 ? INT8_MAX : UINT8_MAX; }
};

std::optional<Grid> grid_of(const Parameter& scale, const Parameter& zero_point, DType dtype) {
  const auto s = scale.number();
  const auto z = zero_point.number();
  if (!s || !z || (dtype != DType::kI8 && dtype != DType::kU8)) return std::nullopt;
  const Grid grid = {static_cast<float>(*s), static_cast<float>(*z), dtype};
  const bool known = grid.scale >= 1e-30f && grid.scale <= 1e30f && *z >= -128 && *z <= 255 && *z == std::floor(*z);
  return known ? std::optional<Grid>(grid) : std::nullopt;
}

// Bytes, what they stand for, and the node that makes numbers of them.
struct Bytes {
  ValueId integers;
  Grid grid;
  const Node* maker = nullptr;
};

enum class Move : uint8_t {
  kNone,
  kWhole,  // the result has every element of the input, perhaps more than once, and no others
  kPart,   // perhaps not every element
  kPad,    // every element, and a number
  kMost,   // largest elements
};

Move move_of(const Node& node) {
  if (node.op->is_reshape()) return Move::kWhole;
  switch (node.op->id) {
    case OpId::permute_copy_out:
    case OpId::transpose_copy_int_out:
    case OpId::t_copy_out:
    case OpId::expand_copy_out:
    case OpId::repeat_out:
    case OpId::flip_out:
    case OpId::roll_out:
    case OpId::cat_out:
    case OpId::pixel_shuffle_out:
    case OpId::pixel_unshuffle_out:
    case OpId::reflection_pad1d_out:
    case OpId::reflection_pad2d_out:
    case OpId::reflection_pad3d_out:
    case OpId::replication_pad1d_out:
    case OpId::replication_pad2d_out:
    case OpId::replication_pad3d_out: return Move::kWhole;
    case OpId::upsample_nearest2d_vec_out:
    case OpId::slice_copy_Tensor_out:
    case OpId::narrow_copy_out:
    case OpId::select_copy_int_out:
    case OpId::index_select_out:
    case OpId::split_copy_Tensor_out:
    case OpId::split_with_sizes_copy_out:
    case OpId::unbind_copy_int_out: return Move::kPart;
    case OpId::constant_pad_nd_out: return Move::kPad;
    case OpId::max_pool2d_with_indices_out: return Move::kMost;
    default: return Move::kNone;
  }
}

// The tensors that a move moves; its other arguments say where to.
std::vector<ValueId> moved_values(const Node& node) {
  if (const auto* list = std::get_if<ir::ValueList>(&node.args[0])) return *list;
  const ValueId value = value_argument(node, 0);
  return value.valid() ? std::vector<ValueId>{value} : std::vector<ValueId>{};
}

std::vector<Argument> with_values(const Node& node, const std::vector<ValueId>& values) {
  std::vector<Argument> args = node.args;
  args[0] = std::holds_alternative<ir::ValueList>(args[0]) ? Argument(ir::ValueList(values)) : Argument(values[0]);
  return args;
}

class Mover {
 public:
  Mover(Context& context, ir::Builder& build, const std::set<ValueId>& outputs)
      : context_(context), build_(build), outputs_(outputs) {}

  Expected<passes::Action> visit(NodeId id) {
    const Node node = context_.node(id);
    if (node.results.empty() || node.args.empty()) return passes::Action::keep();
    const auto rounded = quantized(context_, node);
    return rounded ? up(id, node, *rounded) : down(node);
  }

 private:
  std::optional<Bytes> bytes_of(ValueId value) const {
    const ir::TensorType* type = context_.method().value(value).tensor();
    if (type == nullptr || type->dtype != DType::kF32) return std::nullopt;
    const Node* maker = context_.maker(value);
    const auto found = maker != nullptr ? dequantized(context_, value) : std::nullopt;
    if (!found || context_.constant(Argument(found->integers)) != nullptr) return std::nullopt;
    const ir::TensorType& integers = context_.type(found->integers);
    const auto grid = grid_of(found->scale, found->zero_point, integers.dtype);
    if (!grid || integers.shape != type->shape || integers.dim_order != type->dim_order) return std::nullopt;
    return Bytes{found->integers, *grid, maker};
  }

  // dequantise(q), then a move
  Expected<passes::Action> down(const Node& node) {
    const Move move = move_of(node);
    const std::vector<ValueId> values = move == Move::kNone ? std::vector<ValueId>{} : moved_values(node);
    std::vector<ValueId> integers;
    std::optional<Bytes> first;
    for (const ValueId value : values) {
      const auto bytes = bytes_of(value);
      if (!bytes || (first && !(bytes->grid == first->grid))) return passes::Action::keep();
      if (!first) first = bytes;
      integers.push_back(bytes->integers);
    }
    if (!first) return passes::Action::keep();
    std::vector<Argument> args = with_values(node, integers);
    if (move == Move::kPad) {
      const auto byte = byte_of(node, first->grid);
      if (!byte) return passes::Action::keep();
      args[arg::constant_pad_nd_out::value] = Dim(*byte);
    }
    const bool sees_all = move != Move::kMost || (context_.uses(node.results[1]) == 0 && windows_hold_elements(node));
    if (!sees_all) return passes::Action::keep();
    context_.remark(node, Reason::kFused, "a move of bytes");
    const Node maker = *first->maker;
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> moved, build_.create(*node.op, std::move(args), node.source));
    std::vector<ValueId> made(node.results.size());
    const size_t numbers = move == Move::kMost ? 1 : node.results.size();
    for (size_t i = 0; i < numbers; ++i) {
      BERTH_ASSIGN_OR_RETURN(made[i], dequantise(moved[i], maker, first->grid));
      context_.replaced(node.results[i], made[i]);
    }
    return passes::Action::replace(std::move(made));
  }

  // Whether no window of a pooling lies in the padding alone, whose largest is less than any byte stands for.
  bool windows_hold_elements(const Node& node) const {
    namespace pool = arg::max_pool2d_with_indices_out;
    const auto& kernel = std::get<DimList>(node.args[pool::kernel_size]);
    const auto& stride = std::get<DimList>(node.args[pool::stride]);
    const auto& padding = std::get<DimList>(node.args[pool::padding]);
    const auto& dilation = std::get<DimList>(node.args[pool::dilation]);
    const auto of_axis = [](const DimList& list, int k) { return list[list.size() == 1 ? 0 : k].value; };
    const ir::TensorType& in = context_.type(std::get<ValueId>(node.args[pool::self]));
    const ir::TensorType& out = context_.type(node.results[0]);
    for (int k = 0; k < 2; ++k) {
      const int64_t spread = of_axis(dilation, k), taps = of_axis(kernel, k), pad = of_axis(padding, k);
      if (spread == 1 || pad == 0) continue;
      const Dim size = in.shape[in.rank() - 2 + k], count = out.shape[out.rank() - 2 + k];
      if (!size.is_constant() || !count.is_constant()) return false;
      const int64_t step = stride.empty() ? taps : of_axis(stride, k);
      for (int64_t i = 0; i < count.value; ++i) {
        int64_t at = i * step - pad, tap = 0;
        for (; tap < taps && (at < 0 || at >= size.value); ++tap) at += spread;
        if (tap == taps) return false;
      }
    }
    return true;
  }

  // The byte that stands for what a padding writes.
  std::optional<int64_t> byte_of(const Node& node, const Grid& grid) const {
    const auto value = context_.number(node.args[arg::constant_pad_nd_out::value]);
    if (!value || std::isnan(*value)) return std::nullopt;
    const auto wanted = static_cast<float>(*value);
    const auto byte = std::nearbyint(static_cast<double>(wanted) / grid.scale) + grid.zero_point;
    if (!(byte >= static_cast<double>(grid.low()) && byte <= static_cast<double>(grid.high()))) return std::nullopt;
    const float stands_for = (static_cast<float>(byte) - grid.zero_point) * grid.scale;
    const bool same = stands_for == wanted && std::signbit(stands_for) == std::signbit(wanted);
    return same ? std::optional<int64_t>(static_cast<int64_t>(byte)) : std::nullopt;
  }

  Expected<ValueId> dequantise(ValueId integers, const Node& like, const Grid& grid) {
    if (like.is(OpId::dequantize_per_tensor_out) || like.is(OpId::dequantize_per_tensor_Tensor_out)) {
      return clone(like, integers);
    }
    BERTH_ASSIGN_OR_RETURN(ValueId y, cast(integers, DType::kF32, like.source));
    if (grid.zero_point != 0) {
      BERTH_ASSIGN_OR_RETURN(y, build_.one(OpId::sub_out, {y, number(grid.zero_point), Dim(1)}, like.source));
    }
    if (grid.scale != 1) {
      BERTH_ASSIGN_OR_RETURN(y, build_.one(OpId::mul_out, {y, number(grid.scale)}, like.source));
    }
    return y;
  }

  // A move, then quantise
  Expected<passes::Action> up(NodeId id, const Node& node, const Quantized& rounded) {
    const auto grid = grid_of(rounded.scale, rounded.zero_point, rounded.dtype);
    const bool whole = grid && rounded.low == grid->low() && rounded.high == grid->high();
    if (!whole || rounded.rounding == Quantized::Rounding::kFactor) return passes::Action::keep();
    if (context_.type(rounded.input).shape != context_.type(node.results[0]).shape) return passes::Action::keep();
    const auto bytes = bytes_of(rounded.input);
    const bool gone = bytes && bytes->grid == *grid;
    // The caller of a region has each of its results apart.
    if (gone && outputs_.count(node.results[0]) != 0) return passes::Action::keep();
    if (!gone && !goes_up(rounded.input)) return passes::Action::keep();
    context_.remark(node, Reason::kFused, gone ? "the bytes that it rounds to" : "a move of bytes");
    BERTH_ASSIGN_OR_RETURN(const ValueId made, lifted(rounded.input, node, rounded, *grid));
    return context_.replace(id, made);
  }

  bool goes_up(ValueId value) const {
    const Node* node = context_.maker(value);
    if (node == nullptr || context_.uses(value) != 1 || node->results.size() != 1) return false;
    const Move move = move_of(*node);
    if (move == Move::kPad) return context_.number(node->args[arg::constant_pad_nd_out::value]).has_value();
    if (move != Move::kWhole) return false;
    const std::vector<ValueId> values = moved_values(*node);
    return !values.empty() && std::all_of(values.begin(), values.end(), [&](ValueId moved) {
      return context_.type(moved).dtype == DType::kF32 && context_.constant(Argument(moved)) == nullptr;
    });
  }

  // The bytes of `value`, which `node` would round. Moves that follow one another are few: simplify joins them.
  Expected<ValueId> lifted(ValueId value, const Node& node, const Quantized& rounded, const Grid& grid, int depth = 0) {
    constexpr int kMostMoves = 16;
    const auto bytes = bytes_of(value);
    if (bytes && bytes->grid == grid) return bytes->integers;
    if (depth == kMostMoves || !goes_up(value)) return quantise(value, node, rounded, grid);
    const Node move = *context_.maker(value);
    std::vector<ValueId> integers;
    for (const ValueId moved : moved_values(move)) {
      BERTH_ASSIGN_OR_RETURN(integers.emplace_back(), lifted(moved, node, rounded, grid, depth + 1));
    }
    std::vector<Argument> args = with_values(move, integers);
    if (move_of(move) == Move::kPad) {
      const auto number = static_cast<float>(*context_.number(move.args[arg::constant_pad_nd_out::value]));
      args[arg::constant_pad_nd_out::value] = Dim(rounded_byte(number, rounded, grid));
    }
    return build_.one(move.op->id, std::move(args), move.source);
  }

  // As the operators compute it; NaN is what a cast makes of it, or the smallest number.
  static int64_t rounded_byte(float number, const Quantized& rounded, const Grid& grid) {
    const bool inverse = rounded.rounding == Quantized::Rounding::kInverse;
    const auto factor = static_cast<float>(1 / static_cast<double>(grid.scale));
    const float scaled = inverse ? number * factor : number / grid.scale;
    if (std::isnan(scaled)) return inverse ? grid.low() : 0;
    const float sum = std::nearbyint(scaled) + grid.zero_point;
    return static_cast<int64_t>(std::clamp(sum, static_cast<float>(grid.low()), static_cast<float>(grid.high())));
  }

  Expected<ValueId> quantise(ValueId x, const Node& like, const Quantized& rounded, const Grid& grid) {
    if (rounded.rounding == Quantized::Rounding::kInverse) return clone(like, x);
    ValueId y = x;
    if (grid.scale != 1) {
      BERTH_ASSIGN_OR_RETURN(y, build_.one(OpId::div_out, {x, number(grid.scale)}, like.source));
    }
    BERTH_ASSIGN_OR_RETURN(y, build_.one(OpId::round_out, {y}, like.source));
    if (grid.zero_point != 0) {
      BERTH_ASSIGN_OR_RETURN(y, build_.one(OpId::add_out, {y, number(grid.zero_point), Dim(1)}, like.source));
    }
    const auto low = static_cast<double>(grid.low());
    const auto high = static_cast<double>(grid.high());
    BERTH_ASSIGN_OR_RETURN(y, build_.one(OpId::clamp_out, {y, low, high}, like.source));
    return cast(y, grid.dtype, like.source);
  }

  Expected<ValueId> clone(const Node& like, ValueId x) {
    std::vector<Argument> args = like.args;
    args[0] = x;
    return build_.one(like.op->id, std::move(args), like.source);
  }

  Expected<ValueId> cast(ValueId x, DType to, const std::string& source) {
    const std::vector<Argument> args = {x, false, ir::None(), Dim(static_cast<int64_t>(to))};
    return build_.one(OpId::to_dim_order_copy_out, args, source);
  }

  ValueId number(float value) { return build_.splat(DType::kF32, {}, value); }

  Context& context_;
  ir::Builder& build_;
  const std::set<ValueId>& outputs_;
};

std::set<ValueId> outputs_of(const ir::Method& method) {
  std::set<ValueId> outputs;
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (const Argument& output : graph.outputs) {
      ir::for_each_value(output, [&](const ValueId& value) { outputs.insert(value); });
    }
  });
  return outputs;
}

}  // namespace

Expected<passes::Changed> move_quantization(ir::Module& module, const Targets& targets,
                                            const passes::Options& options) {
  return rewrite_regions(module, targets_of_byte_products(targets), options, [] {
    const auto outputs = std::make_shared<std::set<ValueId>>();
    return Visit([outputs](Context& context, ir::Builder& build, NodeId id) {
      if (outputs->empty()) *outputs = outputs_of(context.method());
      return Mover(context, build, *outputs).visit(id);
    });
  });
}

}  // namespace berth::fuse

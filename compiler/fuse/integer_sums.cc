#include "compiler/fuse/integer_sums.h"

#include <algorithm>

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// More than the importer makes.
constexpr size_t kMaxTerms = 80;

// One side of a product: a value, or a slice of it.
struct Side {
  ValueId base;
  int dim = -1;  // that is cut; -1: none
  int64_t begin = 0, end = 0;
  ValueId numbers;  // what the slice is made numbers as, where integers are cut
};

struct Part {
  NodeId product;
  Side input, weight;
};

bool read_slice(const Context& context, const Node& node, Side* side) {
  const Dim dim = std::get<Dim>(node.args[arg::slice_copy_Tensor_out::dim]);
  const auto begin = context.number(node.args[arg::slice_copy_Tensor_out::start]);
  const auto end = context.number(node.args[arg::slice_copy_Tensor_out::end]);
  if (side->dim >= 0 || !dim.is_constant() || !begin || !end) return false;
  if (context.number(node.args[arg::slice_copy_Tensor_out::step]) != 1.0) return false;
  side->base = value_argument(node, 0);
  side->dim = static_cast<int>(dim.value < 0 ? dim.value + context.type(side->base).rank() : dim.value);
  side->begin = static_cast<int64_t>(*begin);
  side->end = static_cast<int64_t>(*end);
  return true;
}

// Views, which keep the summed dimension last, are looked through where `views` says so.
std::optional<Side> side_of(const Context& context, ValueId value, bool views) {
  Side side;
  side.base = value;
  while (const Node* node = context.maker(side.base)) {
    const ValueId from = value_argument(*node, 0);
    if (node->is(OpId::slice_copy_Tensor_out)) {
      if (!read_slice(context, *node, &side)) return std::nullopt;
    } else if (cast_input(context, side.base, DType::kF64).valid()) {
      if (context.type(from).dtype != DType::kF32) return std::nullopt;
    } else {
      const bool view = views && node->op->is_reshape() && context.type(from).rank() > 0;
      if (!view || context.type(from).shape.back() != context.type(side.base).shape.back()) break;
    }
    side.base = from;
  }
  return side;
}

// A side whose integers may be cut before they are made numbers (pick_first, move_quantization) or after.
std::optional<Side> cut_side(const Context& context, ValueId value, bool views) {
  auto side = side_of(context, value, views);
  if (!side) return std::nullopt;
  const ValueId numbers = side->base;
  const auto pair = side->dim < 0 ? dequantized(context, numbers) : std::nullopt;
  const Node* cut = pair ? context.maker(pair->integers) : nullptr;
  if (cut == nullptr || !cut->is(OpId::slice_copy_Tensor_out)) return side;
  if (!read_slice(context, *cut, &*side)) return std::nullopt;
  side->numbers = numbers;
  return side;
}

std::optional<Part> part_of(const Context& context, ValueId value) {
  const Node* node = context.maker(value);
  while (node != nullptr && node->op->is_reshape() && context.uses(value) == 1) {
    value = value_argument(*node, 0);
    node = context.maker(value);
  }
  if (node == nullptr || context.uses(value) != 1) return std::nullopt;
  const bool convolution = node->is(OpId::convolution_out) && ir::is_none(node->args[arg::convolution_out::bias]);
  if (!convolution && !node->is(OpId::mm_out)) return std::nullopt;
  const auto input = cut_side(context, value_argument(*node, 0), !convolution);
  const auto weight = cut_side(context, value_argument(*node, 1), false);
  if (!input || !weight) return std::nullopt;
  return Part{context.method().value(value).node, *input, *weight};
}

// The i32 sum `value` as the terms that are added, in order; empty where there are too many.
std::vector<ValueId> terms_of(const Context& context, ValueId value) {
  std::vector<ValueId> terms;
  std::vector<ValueId> open = {value};
  while (!open.empty() && terms.size() + open.size() <= kMaxTerms) {
    const ValueId next = open.back();
    open.pop_back();
    const Node* node = context.maker(next);
    const bool sum = node != nullptr && node->is(OpId::add_out) && context.uses(next) == 1;
    if (!sum) {
      terms.push_back(next);
      continue;
    }
    const ValueId other = value_argument(*node, 1);
    if (!other.valid() || context.number(node->args[arg::add_out::alpha]) != 1.0) return {};
    open.push_back(other);
    open.push_back(value_argument(*node, 0));
  }
  return open.empty() ? terms : std::vector<ValueId>();
}

// Whether the sides cut the summed dimension of one value into neighbours, or one is all of it.
bool covers(const Context& context, const std::vector<Part>& parts, Side Part::*side, int dim) {
  const Side& first = parts[0].*side;
  const std::vector<Dim>& shape = context.type(first.base).shape;
  if (dim < 0) dim += static_cast<int>(shape.size());
  if (parts.size() == 1 && first.dim == -1) return true;
  int64_t at = 0;
  for (const Part& part : parts) {
    const Side& own = part.*side;
    if (own.base != first.base || own.dim != dim || own.begin != at || own.end <= at) return false;
    at = own.end;
  }
  return shape[dim].is_constant() && at >= shape[dim].value;
}

bool same_window(const Node& a, const Node& b) {
  return a.op == b.op && std::equal(a.args.begin() + 2, a.args.end(), b.args.begin() + 2);
}

bool same(const Parameter& a, const Parameter& b) {
  return a.known == b.known && a.value == b.value && a.axis == b.axis;
}

// What all parts make of the integers that they cut: with one zero point, and a scale of 1.
std::optional<Dequantized> same_numbers(const Context& context, const std::vector<Part>& parts, Side Part::*side) {
  std::optional<Dequantized> first;
  for (const Part& part : parts) {
    const Side& own = part.*side;
    auto pair = own.numbers.valid() ? dequantized(context, own.numbers) : std::nullopt;
    if (!pair || !pair->scale.is(1) || (first && !same(first->zero_point, pair->zero_point))) return std::nullopt;
    if (!first) first = std::move(pair);
  }
  first->integers = (parts[0].*side).base;
  return first;
}

std::optional<DequantizedConstant> whole_weight(const Context& context, const std::vector<Part>& parts) {
  const Side& side = parts[0].weight;
  if (!side.numbers.valid()) return dequantized_constant(context, side.base);
  const ir::Constant* constant = context.constant(Argument(side.base));
  const auto pair = same_numbers(context, parts, &Part::weight);
  if (!pair || constant == nullptr || !constant->type.is_contiguous()) return std::nullopt;
  return DequantizedConstant{constant->type, constant->blob.to_vector(), side.base, pair->scale, pair->zero_point};
}

std::optional<ProductInput> whole_input(const Context& context, const std::vector<Part>& parts) {
  const Side& side = parts[0].input;
  if (!side.numbers.valid()) return product_input(context, side.base);
  const auto pair = same_numbers(context, parts, &Part::input);
  return pair ? product_input(context, *pair) : std::nullopt;
}

std::optional<IntegerSums> joined(const Context& context, const std::vector<Part>& parts, ValueId bias) {
  if (parts.empty()) return std::nullopt;
  const Node& first = context.node(parts[0].product);
  for (const Part& part : parts) {
    if (!same_window(first, context.node(part.product))) return std::nullopt;
  }
  const bool convolution = first.is(OpId::convolution_out);
  if (!covers(context, parts, &Part::input, convolution ? 1 : -1)) return std::nullopt;
  if (!covers(context, parts, &Part::weight, convolution ? 1 : 0)) return std::nullopt;
  const auto weight = whole_weight(context, parts);
  const auto input = whole_input(context, parts);
  if (!weight || !weight->scale.is(1) || !input || !input->pair.scale.is(1)) return std::nullopt;
  return IntegerSums{*input, *weight, parts[0].product, bias};
}

}  // namespace

std::optional<IntegerSums> integer_sums(const Context& context, ValueId value) {
  const ir::TensorType* type = context.method().value(value).tensor();
  if (type == nullptr || type->dtype != DType::kF32) return std::nullopt;
  const ValueId whole = cast_input(context, value, DType::kF32);
  if (!whole.valid() || context.type(whole).dtype != DType::kI32) {
    const auto part = part_of(context, value);
    return part ? joined(context, {*part}, {}) : std::nullopt;
  }
  if (context.uses(value) != 1) return std::nullopt;
  ValueId bias;
  std::vector<Part> parts;
  for (const ValueId term : terms_of(context, whole)) {
    if (context.constant(Argument(term)) != nullptr) {
      if (bias.valid()) return std::nullopt;
      bias = term;
      continue;
    }
    const ValueId from = cast_input(context, term, DType::kI32);
    const auto part = from.valid() && context.uses(term) == 1 ? part_of(context, from) : std::nullopt;
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  return joined(context, parts, bias);
}

}  // namespace berth::fuse

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
};

struct Part {
  NodeId product;
  Side input, weight;
  ValueId turned;  // what the product takes as its weight
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
  Side side{value};
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

// A constant, or a slice of one, whose integers are cut before they are made numbers (pick_first) or after.
std::optional<Side> weight_side(const Context& context, ValueId value) {
  auto side = side_of(context, value, false);
  const auto pair = side && side->dim < 0 ? dequantized(context, side->base) : std::nullopt;
  const Node* cut = pair ? context.maker(pair->integers) : nullptr;
  if (cut != nullptr && cut->is(OpId::slice_copy_Tensor_out) && !read_slice(context, *cut, &*side)) return std::nullopt;
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
  const auto input = side_of(context, value_argument(*node, 0), !convolution);
  const auto weight = weight_side(context, value_argument(*node, 1));
  if (!input || !weight) return std::nullopt;
  return Part{context.method().value(value).node, *input, *weight, value_argument(*node, 1)};
}

// The i32 sum `value` as the terms that are added; false where there are too many.
bool add_terms(const Context& context, ValueId value, std::vector<ValueId>* terms) {
  const Node* node = context.maker(value);
  if (node == nullptr || !node->is(OpId::add_out) || context.uses(value) != 1) {
    terms->push_back(value);
    return terms->size() <= kMaxTerms;
  }
  if (context.number(node->args[arg::add_out::alpha]) != 1.0) return false;
  const ValueId other = value_argument(*node, 1);
  return other.valid() && terms->size() <= kMaxTerms && add_terms(context, value_argument(*node, 0), terms) &&
         add_terms(context, other, terms);
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

std::optional<DequantizedConstant> whole_weight(const Context& context, const std::vector<Part>& parts) {
  const ValueId base = parts[0].weight.base;
  const ir::Constant* constant = context.constant(Argument(base));
  if (constant == nullptr) return dequantized_constant(context, base);
  if (!constant->type.is_contiguous()) return std::nullopt;
  const auto first = dequantized(context, side_of(context, parts[0].turned, false)->base);
  for (const Part& part : parts) {
    const auto own = dequantized(context, side_of(context, part.turned, false)->base);
    if (!own || !own->scale.is(1) || own->zero_point.known.empty()) return std::nullopt;
    if (own->zero_point.known != first->zero_point.known || own->zero_point.axis != first->zero_point.axis) {
      return std::nullopt;
    }
  }
  return DequantizedConstant{constant->type, constant->blob.to_vector(), base, first->scale, first->zero_point};
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
  if (!weight || !weight->scale.is(1)) return std::nullopt;
  return IntegerSums{parts[0].input.base, *weight, parts[0].product, bias};
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
  std::vector<ValueId> terms;
  if (context.uses(value) != 1 || !add_terms(context, whole, &terms)) return std::nullopt;
  ValueId bias;
  std::vector<Part> parts;
  for (const ValueId term : terms) {
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

#include "compiler/fuse/integer_sums.h"

#include <algorithm>

#include "compiler/fuse/quantized_pairs.h"

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
};

// Views, which keep the summed dimension last, are looked through where `views` says so.
std::optional<Side> side_of(const Context& context, ValueId value, bool views) {
  Side side{value};
  while (const Node* node = context.maker(side.base)) {
    const ValueId from = value_argument(*node, 0);
    if (node->is(OpId::slice_copy_Tensor_out)) {
      const Dim dim = std::get<Dim>(node->args[arg::slice_copy_Tensor_out::dim]);
      const auto begin = context.number(node->args[arg::slice_copy_Tensor_out::start]);
      const auto end = context.number(node->args[arg::slice_copy_Tensor_out::end]);
      if (side.dim >= 0 || !dim.is_constant() || !begin || !end) return std::nullopt;
      if (context.number(node->args[arg::slice_copy_Tensor_out::step]) != 1.0) return std::nullopt;
      side.dim = static_cast<int>(dim.value < 0 ? dim.value + context.type(from).rank() : dim.value);
      side.begin = static_cast<int64_t>(*begin);
      side.end = static_cast<int64_t>(*end);
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
  const auto weight = side_of(context, value_argument(*node, 1), false);
  if (!input || !weight) return std::nullopt;
  return Part{context.method().value(value).node, *input, *weight};
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

std::optional<IntegerSums> joined(const Context& context, const std::vector<Part>& parts, ValueId bias) {
  if (parts.empty()) return std::nullopt;
  const Node& first = context.node(parts[0].product);
  for (const Part& part : parts) {
    if (!same_window(first, context.node(part.product))) return std::nullopt;
  }
  const bool convolution = first.is(OpId::convolution_out);
  if (!covers(context, parts, &Part::input, convolution ? 1 : -1)) return std::nullopt;
  if (!covers(context, parts, &Part::weight, convolution ? 1 : 0)) return std::nullopt;
  return IntegerSums{parts[0].input.base, parts[0].weight.base, parts[0].product, bias};
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

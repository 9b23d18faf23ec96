#include "compiler/fuse/strided.h"

#include <algorithm>

#include "compiler/fuse/formulas.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr int kMaxDepth = 32;
// Sizes of longer texts are not divided.
constexpr int kMostDividedTerms = 64;

Strided whole(const Context& context, ValueId value) {
  Strided result;
  result.base = value;
  result.sizes = context.type(value).shape;
  result.strides.resize(result.sizes.size());
  Dim stride = 1;
  for (size_t d = result.sizes.size(); d-- > 0;) {
    result.strides[d] = stride;
    stride = context.symbols().mul(stride, result.sizes[d]);
  }
  return result;
}

std::optional<size_t> dim_of(const ir::Argument& argument, size_t rank) {
  const ir::Dim* dim = std::get_if<ir::Dim>(&argument);
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  const int64_t d = dim->value < 0 ? dim->value + static_cast<int64_t>(rank) : dim->value;
  if (d < 0 || d >= static_cast<int64_t>(rank)) return std::nullopt;
  return d;
}

// Where a part of a dimension begins; none where that depends on what its size becomes.
std::optional<Dim> index_of(ir::Symbols& symbols, const ir::Argument& argument, Dim size) {
  const Dim* dim = std::get_if<Dim>(&argument);
  if (dim == nullptr) return Dim(0);
  if (!dim->is_constant()) return std::nullopt;
  if (size.is_constant()) {
    return Dim(std::clamp<int64_t>(dim->value < 0 ? dim->value + size.value : dim->value, 0, size.value));
  }
  if (dim->value < 0) {
    const Dim from_end = symbols.add(size, *dim);
    return symbols.lower(from_end) < 0 ? std::nullopt : std::optional<Dim>(from_end);
  }
  return dim->value > symbols.lower(size) ? std::nullopt : std::optional<Dim>(*dim);
}

Strided follow(const Context& context, ValueId value, bool scaled, int depth);

// `value`, which `node` makes by moving elements of `input`.
struct Movement {
  const Context& context;
  const Node& node;
  ValueId value, input;
  bool scaled;
  int depth;

  size_t rank() const { return context.type(input).shape.size(); }
  Strided from() const { return follow(context, input, scaled, depth); }
};

using Followed = std::optional<Strided>;

Followed follow_order(const Movement& move) {
  const std::vector<int64_t> order = passes::permutation(move.context.method(), move.node);
  if (order.size() != move.rank()) return std::nullopt;
  const Strided from = move.from();
  Strided out = from;
  for (size_t i = 0; i < order.size(); ++i) {
    out.sizes[i] = from.sizes[order[i]];
    out.strides[i] = from.strides[order[i]];
  }
  return out;
}

// Leading dimensions that are joined, kept in front while others change places, and split again: as if they had never
// been joined, which they cannot be where they are not regular. torch.onnx turns the keys of heads so.
Followed follow_joined(const Movement& move) {
  const Context& context = move.context;
  const Node* turn = context.maker(move.input);
  if (turn == nullptr) return std::nullopt;
  const std::vector<int64_t> order = passes::permutation(context.method(), *turn);
  if (order.size() < 2 || order[0] != 0) return std::nullopt;
  const ValueId joined = value_argument(*turn, 0);
  const Node* join = context.maker(joined);
  if (join == nullptr || !join->op->is_reshape()) return std::nullopt;
  const ValueId base = value_argument(*join, 0);
  if (!is_row_major(context, joined) || !base.valid() || !is_row_major(context, base)) return std::nullopt;
  const std::vector<Dim>& turned = context.type(move.input).shape;
  std::vector<Dim> sizes = context.type(move.value).shape;
  const size_t last = order.size() - 1;
  if (sizes.size() < order.size() || !std::equal(turned.begin() + 1, turned.end(), sizes.end() - last))
    return std::nullopt;
  const size_t leading = sizes.size() - last;
  std::copy_n(context.type(joined).shape.begin() + 1, last, sizes.begin() + leading);
  // The base is followed once more where this fails: a few times on the way, and not at each of many.
  Strided from = follow(context, base, move.scaled, move.depth + kMaxDepth / 4);
  if (!regroup(context.symbols(), sizes, &from)) return std::nullopt;
  Strided out = from;
  for (size_t i = 0; i < last; ++i) {
    out.sizes[leading + i] = from.sizes[leading + order[i + 1] - 1];
    out.strides[leading + i] = from.strides[leading + order[i + 1] - 1];
  }
  return out;
}

Followed follow_reshape(const Movement& move) {
  if (Followed out = follow_joined(move)) return out;
  Strided out = move.from();
  return regroup(move.context.symbols(), move.context.type(move.value).shape, &out) ? Followed(std::move(out))
                                                                                    : Followed();
}

// From an index of a dimension on.
bool begin_at(const Movement& move, const ir::Argument& index, size_t dim, Strided* out) {
  ir::Symbols& symbols = move.context.symbols();
  const auto begin = index_of(symbols, index, out->sizes[dim]);
  if (begin) out->offset = symbols.add(out->offset, symbols.mul(*begin, out->strides[dim]));
  return begin.has_value();
}

Followed follow_select(const Movement& move) {
  const auto d = dim_of(move.node.args[arg::select_copy_int_out::dim], move.rank());
  if (!d) return std::nullopt;
  Strided out = move.from();
  if (!begin_at(move, move.node.args[arg::select_copy_int_out::index], *d, &out)) return std::nullopt;
  out.sizes.erase(out.sizes.begin() + static_cast<ptrdiff_t>(*d));
  out.strides.erase(out.strides.begin() + static_cast<ptrdiff_t>(*d));
  return out;
}

Followed follow_slice(const Movement& move) {
  const auto d = dim_of(move.node.args[arg::slice_copy_Tensor_out::dim], move.rank());
  if (!d || move.node.args[arg::slice_copy_Tensor_out::step] != ir::Argument(ir::Dim(1))) return std::nullopt;
  Strided out = move.from();
  if (!begin_at(move, move.node.args[arg::slice_copy_Tensor_out::start], *d, &out)) return std::nullopt;
  out.sizes[*d] = move.context.type(move.value).shape[*d];
  return out;
}

Followed follow_split(const Movement& move) {
  const auto d = dim_of(move.node.args[arg::split_with_sizes_copy_out::dim], move.rank());
  if (!d) return std::nullopt;
  Strided out = move.from();
  ir::Symbols& symbols = move.context.symbols();
  const int part = move.context.method().value(move.value).result;
  for (int i = 0; i < part; ++i) {
    const Dim before = std::get<DimList>(move.node.args[arg::split_with_sizes_copy_out::split_sizes])[i];
    out.offset = symbols.add(out.offset, symbols.mul(before, out.strides[*d]));
  }
  out.sizes[*d] = move.context.type(move.value).shape[*d];
  return out;
}

// A product with a number, or a quotient by one.
Followed follow_product(const Context& context, const Node& node, ValueId value, int depth) {
  const bool divided = node.is(OpId::div_out) || node.is(OpId::div_Scalar_out);
  if (!divided && !node.is(OpId::mul_out) && !node.is(OpId::mul_Scalar_out)) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const auto number = context.number(node.args[k]);
    const ValueId* other = std::get_if<ValueId>(&node.args[1 - k]);
    if (!number || other == nullptr || !is_row_major(context, *other) || (divided && k == 0)) continue;
    if (context.type(*other).shape != context.type(value).shape) continue;
    Strided out = follow(context, *other, true, depth);
    out.scale *= divided ? 1 / *number : *number;
    return out;
  }
  return std::nullopt;
}

// What `value`, which `node` makes, is of the base of what the node reads; nothing when it is not a movement.
Followed follow_movement(const Context& context, const Node& node, ValueId value, bool scaled, int depth) {
  if (scaled) {
    if (Followed out = follow_product(context, node, value, depth)) return out;
  }
  const ValueId* input = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args.front());
  if (input == nullptr || !is_row_major(context, *input)) return std::nullopt;
  const Movement one = {context, node, value, *input, scaled, depth};
  if (node.op->is_reshape()) return follow_reshape(one);
  if (!passes::permutation(context.method(), node).empty()) return follow_order(one);
  if (node.is(OpId::select_copy_int_out)) return follow_select(one);
  if (node.is(OpId::slice_copy_Tensor_out)) return follow_slice(one);
  if (node.is(OpId::split_with_sizes_copy_out)) return follow_split(one);
  return std::nullopt;
}

Strided follow(const Context& context, ValueId value, bool scaled, int depth) {
  const Node* node = context.maker(value);
  if (node == nullptr || depth >= kMaxDepth) return whole(context, value);
  const Followed moved = follow_movement(context, *node, value, scaled, depth + 1);
  return moved ? *moved : whole(context, value);
}

}  // namespace

Strided strided(const Context& context, ValueId value, bool scaled) { return follow(context, value, scaled, 0); }

bool regroup(ir::Symbols& symbols, const std::vector<Dim>& sizes, Strided* from) {
  if (std::find(sizes.begin(), sizes.end(), Dim(0)) != sizes.end()) return false;
  const std::vector<Axis> axes = axes_of(*from);
  std::vector<Dim> strides(sizes.size(), 0);
  size_t axis = axes.size();
  Dim left = 1;  // elements of the axis that no dimension has taken yet
  Dim stride = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == Dim(1)) continue;
    if (left == Dim(1)) {
      if (axis == 0) return false;
      left = axes[--axis].size;
      stride = axes[axis].stride;
    }
    strides[d] = stride;
    Dim wanted = sizes[d];
    for (;;) {
      if (const auto rest = quotient(symbols, left, wanted)) {
        left = *rest;
        stride = symbols.mul(stride, wanted);
        break;
      }
      // The next axis must go on where this one ends.
      const auto rest = quotient(symbols, wanted, left);
      const Dim end = symbols.mul(stride, left);
      if (!rest || axis == 0 || axes[axis - 1].stride != end) return false;
      wanted = *rest;
      stride = end;
      left = axes[--axis].size;
    }
  }
  if (left != Dim(1) || axis != 0) return false;
  from->sizes = sizes;
  from->strides = std::move(strides);
  return true;
}

bool is_row_major(const Context& context, ValueId value) {
  const ir::TensorType* type = context.method().value(value).tensor();
  return type != nullptr && type->is_contiguous();
}

bool is_row_major_f32(const Context& context, ValueId value) {
  return value.valid() && is_row_major(context, value) && context.type(value).dtype == DType::kF32;
}

bool is_plain(const Context& context, ValueId value) {
  return is_row_major(context, value) && context.type(value).is_static();
}

std::optional<Dim> quotient(ir::Symbols& symbols, Dim a, Dim b) {
  if (a == b || b == Dim(1)) return b == Dim(1) ? a : Dim(1);
  if (a.is_constant()) {
    if (!b.is_constant() || b.value == 0 || a.value % b.value != 0) return std::nullopt;
    return Dim(a.value / b.value);
  }
  if (symbols.terms(a) > kMostDividedTerms || symbols.terms(b) > kMostDividedTerms) return std::nullopt;
  if (!b.is_constant()) {
    // One factor after the other.
    const ir::Symbol divisor = symbols[b.symbol];
    if (divisor.kind == ir::SymbolKind::kMul) {
      const auto first = quotient(symbols, a, divisor.a);
      return first ? quotient(symbols, *first, divisor.b) : std::nullopt;
    }
  }
  const ir::Symbol whole = symbols[a.symbol];
  if (whole.kind == ir::SymbolKind::kMul) {
    if (const auto left = quotient(symbols, whole.a, b)) return symbols.mul(*left, whole.b);
    if (const auto right = quotient(symbols, whole.b, b)) return symbols.mul(whole.a, *right);
  }
  if (whole.kind == ir::SymbolKind::kAdd) {
    const auto left = quotient(symbols, whole.a, b);
    const auto right = left ? quotient(symbols, whole.b, b) : std::nullopt;
    if (right) return symbols.add(*left, *right);
  }
  return std::nullopt;
}

std::vector<Axis> axes_of(const Strided& from) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < from.sizes.size(); ++d) {
    if (from.sizes[d] != Dim(1)) axes.push_back({from.sizes[d], from.strides[d]});
  }
  return axes;
}

}  // namespace berth::fuse

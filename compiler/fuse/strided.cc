#include "compiler/fuse/strided.h"

#include <algorithm>

#include "compiler/fuse/formulas.h"

namespace berth::fuse {
namespace {

using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr int kMaxDepth = 32;

std::vector<int64_t> numbers(const std::vector<ir::Dim>& dims) {
  std::vector<int64_t> result;
  for (ir::Dim dim : dims) result.push_back(dim.value);
  return result;
}

Strided whole(const Context& context, ValueId value) {
  Strided result;
  result.base = value;
  result.sizes = numbers(context.type(value).shape);
  result.strides.resize(result.sizes.size());
  int64_t stride = 1;
  for (size_t d = result.sizes.size(); d-- > 0;) {
    result.strides[d] = stride;
    stride *= result.sizes[d];
  }
  return result;
}

// The same elements in the same order under other sizes. False when their distances are not regular then, and of an
// empty tensor, whose sizes do not divide each other.
bool regroup(const std::vector<int64_t>& sizes, Strided* from) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  const std::vector<Axis> axes = axes_of(*from);
  std::vector<int64_t> strides(sizes.size(), 0);
  size_t axis = axes.size();
  int64_t left = 1;  // elements of the axis that no dimension has taken yet
  int64_t stride = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (left == 1) {
      if (axis == 0) return false;
      left = axes[--axis].size;
      stride = axes[axis].stride;
    }
    strides[d] = stride;
    int64_t wanted = sizes[d];
    for (;;) {
      if (left >= wanted) {
        if (left % wanted != 0) return false;
        left /= wanted;
        stride *= wanted;
        break;
      }
      // The next axis must go on where this one ends.
      if (wanted % left != 0 || axis == 0 || axes[axis - 1].stride != stride * left) return false;
      wanted /= left;
      stride *= left;
      left = axes[--axis].size;
    }
  }
  if (left != 1 || axis != 0) return false;
  from->sizes = sizes;
  from->strides = std::move(strides);
  return true;
}

std::optional<size_t> dim_of(const ir::Argument& argument, size_t rank) {
  const ir::Dim* dim = std::get_if<ir::Dim>(&argument);
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  const int64_t d = dim->value < 0 ? dim->value + static_cast<int64_t>(rank) : dim->value;
  if (d < 0 || d >= static_cast<int64_t>(rank)) return std::nullopt;
  return d;
}

int64_t index_of(const ir::Argument& argument, int64_t otherwise, int64_t size) {
  const ir::Dim* dim = std::get_if<ir::Dim>(&argument);
  const int64_t i = dim == nullptr ? otherwise : dim->value;
  return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
}

Strided follow(const Context& context, ValueId value, bool scaled, int depth);

// What `value`, which `node` makes, is of the base of what the node reads. False when it is not a movement.
bool move(const Context& context, const Node& node, ValueId value, bool scaled, int depth, Strided* out) {
  if (scaled && (node.is(OpId::mul_out) || node.is(OpId::mul_Scalar_out) || node.is(OpId::div_out) ||
                 node.is(OpId::div_Scalar_out))) {
    for (size_t k = 0; k < 2; ++k) {
      const bool quotient = node.is(OpId::div_out) || node.is(OpId::div_Scalar_out);
      const auto number = context.number(node.args[k]);
      const ValueId* other = std::get_if<ValueId>(&node.args[1 - k]);
      if (!number || other == nullptr || !is_plain(context, *other) || (quotient && k == 0)) continue;
      if (context.type(*other).shape != context.type(value).shape) continue;
      *out = follow(context, *other, scaled, depth);
      out->scale *= quotient ? 1 / *number : *number;
      return true;
    }
    return false;
  }
  const ValueId* input = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args.front());
  if (input == nullptr || !is_plain(context, *input)) return false;
  const size_t rank = context.type(*input).shape.size();
  if (node.op->is_reshape()) {
    *out = follow(context, *input, scaled, depth);
    return regroup(numbers(context.type(value).shape), out);
  }
  if (node.is(OpId::permute_copy_out)) {
    const Strided from = follow(context, *input, scaled, depth);
    *out = from;
    for (size_t i = 0; i < rank; ++i) {
      const auto d = dim_of(std::get<DimList>(node.args[arg::permute_copy_out::dims])[i], rank);
      if (!d) return false;
      out->sizes[i] = from.sizes[*d];
      out->strides[i] = from.strides[*d];
    }
    return true;
  }
  if (node.is(OpId::transpose_copy_int_out)) {
    const auto a = dim_of(node.args[arg::transpose_copy_int_out::dim0], rank);
    const auto b = dim_of(node.args[arg::transpose_copy_int_out::dim1], rank);
    if (!a || !b) return false;
    *out = follow(context, *input, scaled, depth);
    std::swap(out->sizes[*a], out->sizes[*b]);
    std::swap(out->strides[*a], out->strides[*b]);
    return true;
  }
  const bool select = node.is(OpId::select_copy_int_out);
  const bool slice = node.is(OpId::slice_copy_Tensor_out);
  if (select || slice) {
    // A select's dim and index stand where a slice's dim and start do.
    static_assert(size_t{arg::select_copy_int_out::dim} == size_t{arg::slice_copy_Tensor_out::dim} &&
                  size_t{arg::select_copy_int_out::index} == size_t{arg::slice_copy_Tensor_out::start});
    const auto d = dim_of(node.args[arg::slice_copy_Tensor_out::dim], rank);
    if (!d || (slice && node.args[arg::slice_copy_Tensor_out::step] != ir::Argument(ir::Dim(1)))) return false;
    *out = follow(context, *input, scaled, depth);
    out->offset += index_of(node.args[arg::slice_copy_Tensor_out::start], 0, out->sizes[*d]) * out->strides[*d];
    if (slice) {
      out->sizes[*d] = context.type(value).shape[*d].value;
    } else {
      out->sizes.erase(out->sizes.begin() + static_cast<ptrdiff_t>(*d));
      out->strides.erase(out->strides.begin() + static_cast<ptrdiff_t>(*d));
    }
    return true;
  }
  if (node.is(OpId::split_with_sizes_copy_out)) {
    const auto d = dim_of(node.args[arg::split_with_sizes_copy_out::dim], rank);
    if (!d) return false;
    *out = follow(context, *input, scaled, depth);
    const int part = context.method().value(value).result;
    for (int i = 0; i < part; ++i) {
      out->offset +=
          std::get<DimList>(node.args[arg::split_with_sizes_copy_out::split_sizes])[i].value * out->strides[*d];
    }
    out->sizes[*d] = context.type(value).shape[*d].value;
    return true;
  }
  return false;
}

Strided follow(const Context& context, ValueId value, bool scaled, int depth) {
  const Node* node = context.maker(value);
  Strided result;
  if (node != nullptr && depth < kMaxDepth && move(context, *node, value, scaled, depth + 1, &result)) return result;
  return whole(context, value);
}

}  // namespace

Strided strided(const Context& context, ValueId value, bool scaled) { return follow(context, value, scaled, 0); }

bool is_plain(const Context& context, ValueId value) {
  const ir::TensorType* type = context.method().value(value).tensor();
  return type != nullptr && type->is_static() && type->is_contiguous();
}

std::vector<Axis> axes_of(const Strided& from) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < from.sizes.size(); ++d) {
    if (from.sizes[d] != 1) axes.push_back({from.sizes[d], from.strides[d]});
  }
  return axes;
}

}  // namespace berth::fuse

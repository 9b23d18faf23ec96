// Operators that read images at places of their own: AffineGrid, DeformConv, MaxUnpool, RoiAlign; and Det.
//
// Source: the pages of ONNX on these operators.
#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"
#include "compiler/ir/same_product.h"

namespace berth::onnx {
namespace {

using lowering::add;
using lowering::mul;

constexpr int64_t kMaxImage = 1 << 24;
const Dim kIndexType = lowering::number_of(DType::kI64);

/// `count` places from -1 to 1: pixels' centres, the outermost at the ends or half a pixel from them.
std::vector<double> places(int64_t count, bool align_corners) {
  std::vector<double> all;
  for (int64_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i);
    const double size = static_cast<double>(count);
    all.push_back(align_corners ? (count == 1 ? -1 : -1 + 2 * at / (size - 1)) : -1 + (2 * at + 1) / size);
  }
  return all;
}

// Coordinates of every pixel, and 1, times the matrices: x before y before z.
void import_affine_grid(NodeContext& n) {
  const ValueId theta = n.input(0);
  std::vector<int64_t> size = n.known_integers(1, "the size");
  if (n.ok() && (size.size() < 4 || size.size() > 5)) return n.invalid("expected [N, C, H, W] or [N, C, D, H, W]");
  if (!n.ok()) return;
  size.erase(size.begin(), size.begin() + 2);
  const int rank = static_cast<int>(size.size());
  int64_t area = 1;
  for (int64_t s : size) {
    if (s < 1 || s > kMaxImage / area) return n.invalid("the size of the grid must be from 1 to 2^24");
    area *= s;
    if (!n.state().literals.reserve(s * sizeof(double))) return n.fail(Error::kOutOfResources, "too large a grid");
  }
  if (n.rank(theta) != 3 || n.dim(theta, 1) != Dim(rank) || n.dim(theta, 2) != Dim(rank + 1)) {
    return n.invalid("matrices " + n.type_text(theta) + " do not fit a grid of " + std::to_string(rank) +
                     " dimensions");
  }
  const DType type = n.dtype(theta);
  std::vector<Dim> grid;
  for (int64_t s : size) grid.emplace_back(s);
  ValueList columns;
  for (int i = rank; i-- > 0;) {
    const ValueId along = n.Lowering::numbers(type, places(size[i], n.integer("align_corners", 0) != 0), rank, i);
    columns.push_back(n.expand(along, grid));
  }
  columns.push_back(n.op(OpId::full_out, {grid, 1.0, lowering::number_of(type)}));
  const ValueId points = n.view(n.op(OpId::stack_out, {columns, Dim(rank)}), {Dim(area), Dim(rank + 1)});
  std::vector<Dim> shape = {n.dim(theta, 0)};
  shape.insert(shape.end(), grid.begin(), grid.end());
  shape.emplace_back(rank);
  n.output(0, n.view(lowering::matmul(n, points, n.permute(theta, {0, 2, 1})), shape));
}

void import_roi_align(NodeContext& n) {
  const std::string mode = n.text("mode", "avg");
  const std::string places =
      n.text("coordinate_transformation_mode", n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "avg" && mode != "max") return n.invalid("attribute 'mode' is \"" + mode + "\"");
  if (places != "half_pixel" && places != "output_half_pixel") {
    return n.invalid("attribute 'coordinate_transformation_mode' is \"" + places + "\"");
  }
  const int64_t sizes[] = {n.integer("output_height", 1), n.integer("output_width", 1), n.integer("sampling_ratio", 0)};
  if (sizes[0] < 1 || sizes[1] < 1 || sizes[2] < 0 || std::max({sizes[0], sizes[1], sizes[2]}) > 4096) {
    return n.invalid("the numbers of bins and samples must be from 1 to 4096");
  }
  n.output(0, n.op(OpId::roi_align_out,
                   {n.input(0), n.cast(n.input(1), n.dtype(n.input(0))), n.input(2), Dim(sizes[0]), Dim(sizes[1]),
                    Dim(sizes[2]), n.number("spatial_scale", 1), mode == "max", places == "half_pixel"}));
}

/// One number for each of `count`, within 0 to 2^20.
std::vector<int64_t> for_each(NodeContext& n, const char* name, size_t count, int64_t fallback) {
  std::vector<int64_t> numbers = n.integers(name, std::vector<int64_t>(count, fallback));
  const bool bad = std::any_of(numbers.begin(), numbers.end(), [](int64_t v) { return v < 0 || v > 1 << 20; });
  if (n.ok() && (numbers.size() != count || bad)) {
    n.invalid("attribute '" + std::string(name) + "' needs " + std::to_string(count) + " numbers from 0 to 2^20");
  }
  if (!n.ok()) numbers.assign(count, fallback);
  return numbers;
}

// Whether `indices` are those of a MaxPool over as many elements as `shape` has.
bool counts_through(NodeContext& n, ValueId indices, const DimList& shape) {
  constexpr int kMostNodes = 8;  // between the pool and the indices that ONNX wants
  const ir::Method& method = n.method();
  for (int i = 0; i < kMostNodes && method.value(indices).kind == ir::ValueKind::kNode; ++i) {
    const ir::Node& maker = method.node(method.value(indices).node);
    const auto* before = maker.args.empty() ? nullptr : std::get_if<ValueId>(&maker.args[0]);
    if (before == nullptr) return false;
    if (maker.is(OpId::max_pool2d_with_indices_out)) {
      return ir::same_product(n.symbols(), method.tensor(*before).shape, shape);
    }
    indices = *before;
  }
  return false;
}

// Each number goes where its index says, which counts through all of X's images in the size without 'output_shape'; the
// indices of a MaxPool over images of that shape, whose sizes need not be multiples of the stride, count through these.
void import_max_unpool(NodeContext& n) {
  const ValueId x = n.input(0);
  const int rank = n.rank(x);
  if (n.ok() && (rank < 3 || n.shape(n.input(1)) != n.shape(x))) {
    return n.invalid("expected numbers [N, C, …] and as many indices, found " + n.type_text(x) + " and " +
                     n.type_text(n.input(1)));
  }
  const size_t count = n.ok() ? rank - 2 : 1;
  const std::vector<int64_t> kernel = for_each(n, "kernel_shape", count, 1);
  const std::vector<int64_t> strides = for_each(n, "strides", count, 1);
  const std::vector<int64_t> pads = for_each(n, "pads", 2 * count, 0);
  if (!n.ok()) return;
  ir::Symbols& s = n.symbols();
  std::vector<Dim> shape = {n.dim(x, 0), n.dim(x, 1)};
  for (size_t i = 0; i < count; ++i) {
    const Dim steps = s.mul(s.add(n.dim(x, static_cast<int>(i) + 2), Dim(-1)), Dim(strides[i]));
    shape.push_back(s.add(steps, Dim(kernel[i] - pads[i] - pads[count + i])));
  }
  DimList wanted;
  if (n.has_input(2)) {
    wanted = n.known_dims(2, "the output's shape");
    if (n.ok() && static_cast<int>(wanted.size()) != rank) return n.invalid("the output's shape has another rank");
    if (n.ok() && counts_through(n, n.input(1), wanted)) shape = wanted;
  }
  const Dim all = n.product(shape, 0, rank);
  const ValueId nothing = n.op(OpId::full_out, {DimList{all}, 0.0, lowering::number_of(n.dtype(x))});
  const Dim numbers = n.product(n.shape(x), 0, rank);
  const ValueList where = {n.view(n.cast(n.input(1), DType::kI64), {numbers})};
  ValueId y = n.view(n.op(OpId::index_put_out, {nothing, where, n.view(x, {numbers}), false}), shape);
  for (int i = 0; i < rank && n.ok() && !wanted.empty(); ++i) {
    const int64_t more = n.fixed(s.sub(wanted[i], shape[i]), "a size of the output");
    if (more < 0) y = n.slice(y, i, 0, wanted[i]);
    if (more <= 0) continue;
    DimList pad(2 * (rank - i), Dim(0));
    pad[pad.size() - 1] = Dim(more);
    y = n.op(OpId::constant_pad_nd_out, {y, pad, 0.0});
  }
  n.output(0, y);
}

/// A deformable convolution of images [N, C, H, W].
struct Deformed {
  std::vector<int64_t> kernel, strides, dilations, pads;
  int64_t groups = 1, offset_groups = 1;
  int64_t height = 0, width = 0;  // of the image
  Dim rows, columns;              // of the result
};

/// [1, rows, columns]: where the kernel's element `k` lies along one axis, without what deforms it.
ValueId regular(NodeContext& n, const Deformed& d, size_t axis, int64_t k, DType type) {
  const Dim count = axis == 0 ? d.rows : d.columns;
  const ValueId steps = n.cast(n.op(OpId::arange_start_out, {Dim(0), count, Dim(1), kIndexType}), type);
  const double start = static_cast<double>(k * d.dilations[axis] - d.pads[axis]);
  const ValueId at =
      n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {steps, static_cast<double>(d.strides[axis])}), start});
  return n.view(at, axis == 0 ? std::vector<Dim>{Dim(1), count, Dim(1)} : std::vector<Dim>{Dim(1), Dim(1), count});
}

/// Pixels as the places from -1 to 1 that a sampler takes, whose ends are the outermost pixels' outer edges.
ValueId as_places(NodeContext& n, ValueId pixels, int64_t size) {
  const double each = 2 / static_cast<double>(size);
  return n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {pixels, each}), each / 2 - 1});
}

/// What element `k` of the kernel reads: [N, C, rows, columns].
ValueId sampled(NodeContext& n, const Deformed& d, ValueId x, int64_t k) {
  const DType type = n.dtype(x);
  const int64_t area = d.kernel[0] * d.kernel[1];
  const Dim batch = n.dim(x, 0);
  const Dim part(n.fixed(n.dim(x, 1), "the number of channels") / d.offset_groups);
  const ValueId offsets = n.input(2);
  ValueList parts;
  for (int64_t g = 0; g < d.offset_groups && n.ok(); ++g) {
    const auto moved = [&](size_t axis) {
      const int64_t channel = (g * area + k) * 2 + static_cast<int64_t>(axis);
      const ValueId by = n.op(OpId::select_copy_int_out, {offsets, Dim(1), Dim(channel)});
      const int64_t place = axis == 0 ? k / d.kernel[1] : k % d.kernel[1];
      return as_places(n, add(n, by, regular(n, d, axis, place, type)), axis == 0 ? d.height : d.width);
    };
    const ValueId grid = n.op(OpId::stack_out, {ValueList{moved(1), moved(0)}, Dim(3)});
    const ValueId image = d.offset_groups == 1 ? x : n.slice(x, 1, Dim(g * part.value), Dim((g + 1) * part.value));
    ValueId y = n.op(OpId::grid_sampler_2d_out, {image, grid, Dim(0), Dim(0), false});
    if (n.has_input(4)) {
      const ValueId mask = n.op(OpId::select_copy_int_out, {n.input(4), Dim(1), Dim(g * area + k)});
      y = mul(n, y, n.view(mask, {batch, Dim(1), d.rows, d.columns}));
    }
    parts.push_back(y);
  }
  return parts.size() == 1 ? parts[0] : n.op(OpId::cat_out, {parts, Dim(1)});
}

// What each element of the kernel reads goes beside the channels; a convolution with kernels of one pixel adds it up.
void import_deform_conv(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId weight = n.input(1);
  if (n.ok() && (n.rank(x) != 4 || n.rank(weight) != 4 || n.rank(n.input(2)) != 4)) {
    return n.unsupported("only images of two dimensions, found " + n.type_text(x));
  }
  Deformed d;
  d.kernel = {n.fixed(n.dim(weight, 2), "the kernel's size"), n.fixed(n.dim(weight, 3), "the kernel's size")};
  d.strides = for_each(n, "strides", 2, 1);
  d.dilations = for_each(n, "dilations", 2, 1);
  d.pads = for_each(n, "pads", 4, 0);
  d.groups = n.integer("group", 1);
  d.offset_groups = n.integer("offset_group", 1);
  d.height = n.fixed(n.dim(x, 2), "the image's height");
  d.width = n.fixed(n.dim(x, 3), "the image's width");
  d.rows = n.dim(n.input(2), 2);
  d.columns = n.dim(n.input(2), 3);
  const int64_t channels = n.fixed(n.dim(x, 1), "the number of channels");
  const int64_t area = n.ok() ? d.kernel[0] * d.kernel[1] : 1;
  if (n.ok() && (d.groups < 1 || d.offset_groups < 1 || channels % d.groups != 0 || channels % d.offset_groups != 0 ||
                 area < 1 || n.dim(n.input(2), 1) != Dim(2 * area * d.offset_groups))) {
    return n.invalid("the groups, the kernel or the offsets " + n.type_text(n.input(2)) + " do not fit the input " +
                     n.type_text(x));
  }
  ValueList read;
  for (int64_t k = 0; k < area && n.ok(); ++k) read.push_back(sampled(n, d, x, k));
  if (!n.ok()) return;
  const ValueId beside = n.op(OpId::stack_out, {read, Dim(2)});  // [N, C, area, rows, columns]
  const ValueId columns = n.view(beside, {n.dim(x, 0), Dim(channels * area), d.rows, d.columns});
  const ValueId flat = n.view(weight, {n.dim(weight, 0), n.symbols().mul(n.dim(weight, 1), Dim(area)), Dim(1), Dim(1)});
  const Argument bias = n.has_input(3) ? Argument(n.input(3)) : Argument(None());
  const DimList one{Dim(1), Dim(1)};
  const DimList none{Dim(0), Dim(0)};
  n.output(0, n.op(OpId::convolution_out, {columns, flat, bias, one, none, one, false, none, Dim(d.groups)}));
}

constexpr int64_t kMaxSquareMatrix = 64;

// Gauss's elimination, a column at a time, with the largest element of the column as its pivot.
void import_det(NodeContext& n) {
  ValueId x = n.input(0);
  const int rank = n.rank(x);
  if (n.ok() && (rank < 2 || n.dim(x, rank - 1) != n.dim(x, rank - 2))) {
    return n.invalid("expected square matrices, found " + n.type_text(x));
  }
  const int64_t size = n.fixed(n.dim(x, rank - 1), "the size of a matrix");
  if (n.ok() && (size < 1 || size > kMaxSquareMatrix))
    return n.unsupported("matrices larger than 64 × 64, or empty ones");
  if (!n.ok()) return;
  const std::vector<Dim> shape = n.shape(x);
  const Dim count = n.product(shape, 0, rank - 2);
  const DType type = n.dtype(x);
  x = n.view(x, {count, Dim(size), Dim(size)});
  ValueId product;
  for (int64_t left = size; left > 0 && n.ok(); --left) {
    const ValueId column = n.op(OpId::select_copy_int_out, {x, Dim(2), Dim(0)});
    const ValueId at = n.op(OpId::argmax_out, {n.op(OpId::abs_out, {column}), Dim(1), true});  // [count, 1]
    const ValueId pivot = n.op(OpId::gather_out, {column, Dim(1), at});
    const ValueId moved = n.cast(n.op(OpId::ne_Scalar_out, {at, Dim(0)}), type);
    const ValueId sign = n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {moved, -2.0}), 1.0});
    const ValueId factor = mul(n, pivot, sign);
    product = product.valid() ? mul(n, product, factor) : factor;
    if (left == 1) break;
    const ValueId row_at = n.expand(n.view(at, {count, Dim(1), Dim(1)}), {count, Dim(1), Dim(left)});
    const ValueId pivot_row = n.op(OpId::gather_out, {x, Dim(1), row_at});
    // The first row takes the place of the pivot's.
    const ValueId numbers =
        n.view(n.op(OpId::arange_start_out, {Dim(0), Dim(left), Dim(1), kIndexType}), {Dim(left), Dim(1)});
    const ValueId is_pivot = n.op(OpId::eq_Tensor_out, {numbers, n.view(at, {count, Dim(1), Dim(1)})});
    x = n.op(OpId::where_self_out, {is_pivot, n.slice(x, 1, 0, 1), x});
    const ValueId below = n.slice(x, 1, 1, Dim(left));
    const ValueId zero = n.op(OpId::eq_Scalar_out, {pivot, 0.0});
    const ValueId divisor = n.op(OpId::masked_fill_Scalar_out, {pivot, zero, 1.0});
    const ValueId share = n.op(OpId::div_out, {n.slice(below, 2, 0, 1), n.view(divisor, {count, Dim(1), Dim(1)})});
    x = n.op(OpId::sub_out, {n.slice(below, 2, 1, Dim(left)), mul(n, share, n.slice(pivot_row, 2, 1, Dim(left)))});
  }
  n.output(0, n.view(product, std::vector<Dim>(shape.begin(), shape.end() - 2)));
}

constexpr OperatorRow kRegionRows[] = {
    {"AffineGrid", 2, 2, import_affine_grid}, {"DeformConv", 3, 5, import_deform_conv}, {"Det", 1, 1, import_det},
    {"MaxUnpool", 2, 3, import_max_unpool},   {"RoiAlign", 3, 3, import_roi_align},
};

}  // namespace

OperatorTable region_operators() { return kRegionRows; }

}  // namespace berth::onnx

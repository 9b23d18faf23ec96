// Source: the pages of ONNX on AffineGrid and DeformConv.
#include "compiler/import/lowering/regions.h"

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"

namespace berth::lowering {
namespace {

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

struct Sizes {
  std::vector<int64_t> kernel;
  int64_t height = 0, width = 0;  // of the image
  int64_t channels = 0;
  Dim rows, columns;  // of the result
  int64_t area() const { return kernel[0] * kernel[1]; }
};

/// [1, rows, columns]: where the kernel's element `k` lies along one axis, without what deforms it.
ValueId regular(Lowering& n, const DeformedConvolution& c, const Sizes& s, size_t axis, int64_t k) {
  const Dim count = axis == 0 ? s.rows : s.columns;
  const ValueId steps =
      n.cast(n.op(OpId::arange_start_out, {Dim(0), count, Dim(1), number_of(DType::kI64)}), n.dtype(c.x));
  const double start = static_cast<double>(k * c.dilations[axis] - c.begins[axis]);
  const ValueId at =
      n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {steps, static_cast<double>(c.strides[axis])}), start});
  return n.view(at, axis == 0 ? std::vector<Dim>{Dim(1), count, Dim(1)} : std::vector<Dim>{Dim(1), Dim(1), count});
}

/// Pixels as the places from -1 to 1 that a sampler takes, whose ends are the outermost pixels' outer edges.
ValueId as_places(Lowering& n, ValueId pixels, int64_t size) {
  const double each = 2 / static_cast<double>(size);
  return n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {pixels, each}), each / 2 - 1});
}

/// What element `k` of the kernel reads: [N, C, rows, columns].
ValueId read_by(Lowering& n, const DeformedConvolution& c, const Sizes& s, int64_t k) {
  const int64_t part = s.channels / c.offset_groups;
  ValueList parts;
  for (int64_t g = 0; g < c.offset_groups && n.ok(); ++g) {
    const auto moved = [&](size_t axis) {
      const int64_t channel = (g * s.area() + k) * 2 + static_cast<int64_t>(axis);
      const ValueId by = n.op(OpId::select_copy_int_out, {c.offsets, Dim(1), Dim(channel)});
      const int64_t place = axis == 0 ? k / s.kernel[1] : k % s.kernel[1];
      return as_places(n, add(n, by, regular(n, c, s, axis, place)), axis == 0 ? s.height : s.width);
    };
    const ValueId grid = n.op(OpId::stack_out, {ValueList{moved(1), moved(0)}, Dim(3)});
    const ValueId image = c.offset_groups == 1 ? c.x : n.slice(c.x, 1, Dim(g * part), Dim((g + 1) * part));
    ValueId y = n.op(OpId::grid_sampler_2d_out, {image, grid, Dim(0), Dim(0), false});
    if (c.mask.valid()) {
      const ValueId mask = n.op(OpId::select_copy_int_out, {c.mask, Dim(1), Dim(g * s.area() + k)});
      y = mul(n, y, n.view(mask, {n.dim(c.x, 0), Dim(1), s.rows, s.columns}));
    }
    parts.push_back(y);
  }
  return parts.size() == 1 ? parts[0] : n.op(OpId::cat_out, {parts, Dim(1)});
}

}  // namespace

// Coordinates of every pixel, and 1, times the matrices.
ValueId affine_grid(Lowering& n, ValueId theta, const std::vector<int64_t>& size, bool align_corners) {
  const int rank = static_cast<int>(size.size());
  int64_t area = 1;
  for (int64_t s : size) {
    if (n.ok() && (s < 1 || s > kMaxGrid / area)) n.invalid("the size of the grid must be from 1 to 2^24");
    if (n.ok()) area *= s;
  }
  if (n.ok() && (n.rank(theta) != 3 || n.dim(theta, 1) != Dim(rank) || n.dim(theta, 2) != Dim(rank + 1))) {
    n.invalid("matrices " + n.type_text(theta) + " do not fit a grid of " + std::to_string(rank) + " dimensions");
  }
  if (!n.ok()) return {};
  const DType type = n.dtype(theta);
  std::vector<Dim> grid;
  for (int64_t s : size) grid.emplace_back(s);
  ValueList columns;
  for (int i = rank; i-- > 0;)
    columns.push_back(n.expand(n.numbers(type, places(size[i], align_corners), rank, i), grid));
  columns.push_back(n.op(OpId::full_out, {grid, 1.0, number_of(type)}));
  const ValueId points = n.view(n.op(OpId::stack_out, {columns, Dim(rank)}), {Dim(area), Dim(rank + 1)});
  std::vector<Dim> shape = {n.dim(theta, 0)};
  shape.insert(shape.end(), grid.begin(), grid.end());
  shape.emplace_back(rank);
  return n.view(matmul(n, points, n.permute(theta, {0, 2, 1})), shape);
}

// What each element of the kernel reads goes beside the channels; a convolution with kernels of one pixel adds it up.
ValueId deformed_convolution(Lowering& n, const DeformedConvolution& c) {
  if (n.ok() && (n.rank(c.x) != 4 || n.rank(c.weight) != 4 || n.rank(c.offsets) != 4)) {
    n.unsupported("only images of two dimensions, found " + n.type_text(c.x));
  }
  Sizes s;
  s.kernel = {n.fixed(n.dim(c.weight, 2), "the kernel's size"), n.fixed(n.dim(c.weight, 3), "the kernel's size")};
  s.height = n.fixed(n.dim(c.x, 2), "the image's height");
  s.width = n.fixed(n.dim(c.x, 3), "the image's width");
  s.channels = n.fixed(n.dim(c.x, 1), "the number of channels");
  s.rows = n.dim(c.offsets, 2);
  s.columns = n.dim(c.offsets, 3);
  if (n.ok() &&
      (c.groups < 1 || c.offset_groups < 1 || s.channels % c.groups != 0 || s.channels % c.offset_groups != 0 ||
       s.area() < 1 || n.dim(c.offsets, 1) != Dim(2 * s.area() * c.offset_groups))) {
    n.invalid("the groups, the kernel or the offsets " + n.type_text(c.offsets) + " do not fit the input " +
              n.type_text(c.x));
  }
  ValueList read;
  for (int64_t k = 0; n.ok() && k < s.area(); ++k) read.push_back(read_by(n, c, s, k));
  if (!n.ok()) return {};
  const ValueId beside = n.op(OpId::stack_out, {read, Dim(2)});  // [N, C, area, rows, columns]
  const ValueId columns = n.view(beside, {n.dim(c.x, 0), Dim(s.channels * s.area()), s.rows, s.columns});
  const ValueId flat =
      n.view(c.weight, {n.dim(c.weight, 0), n.symbols().mul(n.dim(c.weight, 1), Dim(s.area())), Dim(1), Dim(1)});
  const Argument bias = c.bias.valid() ? Argument(c.bias) : Argument(None());
  const DimList one{Dim(1), Dim(1)};
  const DimList none{Dim(0), Dim(0)};
  return n.op(OpId::convolution_out, {columns, flat, bias, one, none, one, false, none, Dim(c.groups)});
}

}  // namespace berth::lowering

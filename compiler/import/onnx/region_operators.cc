// Operators that read images at places of their own: AffineGrid, DeformConv, MaxUnpool, RoiAlign; and Det.
//
// Source: the pages of ONNX on these operators.
#include <algorithm>

#include "compiler/import/lowering/elimination.h"
#include "compiler/import/lowering/regions.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"
#include "compiler/ir/same_product.h"

namespace berth::onnx {
namespace {

void import_affine_grid(NodeContext& n) {
  std::vector<int64_t> size = n.known_integers(1, "the size");
  if (n.ok() && (size.size() < 4 || size.size() > 5)) return n.invalid("expected [N, C, H, W] or [N, C, D, H, W]");
  if (!n.ok()) return;
  size.erase(size.begin(), size.begin() + 2);
  for (int64_t s : size) {
    const bool fits = s < 1 || s > lowering::kMaxGrid || n.state().literals.reserve(s * sizeof(double));
    if (!fits) return n.fail(Error::kOutOfResources, "too large a grid");
  }
  n.output(0, lowering::affine_grid(n, n.input(0), size, n.integer("align_corners", 0) != 0));
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

void import_deform_conv(NodeContext& n) {
  lowering::DeformedConvolution c;
  c.x = n.input(0);
  c.weight = n.input(1);
  c.offsets = n.input(2);
  if (n.has_input(3)) c.bias = n.input(3);
  if (n.has_input(4)) c.mask = n.input(4);
  c.strides = for_each(n, "strides", 2, 1);
  c.dilations = for_each(n, "dilations", 2, 1);
  c.begins = for_each(n, "pads", 4, 0);
  c.groups = n.integer("group", 1);
  c.offset_groups = n.integer("offset_group", 1);
  n.output(0, lowering::deformed_convolution(n, c));
}

void import_det(NodeContext& n) {
  const ValueId x = n.input(0);
  const int rank = n.rank(x);
  if (n.ok() && (rank < 2 || n.dim(x, rank - 1) != n.dim(x, rank - 2))) {
    return n.invalid("expected square matrices, found " + n.type_text(x));
  }
  if (!n.ok()) return;
  const std::vector<Dim> shape = n.shape(x);
  const ValueId matrices = n.view(x, {n.product(shape, 0, rank - 2), shape[rank - 2], shape[rank - 1]});
  n.output(0, n.view(lowering::determinant(n, matrices), std::vector<Dim>(shape.begin(), shape.end() - 2)));
}

constexpr OperatorRow kRegionRows[] = {
    {"AffineGrid", 2, 2, import_affine_grid}, {"DeformConv", 3, 5, import_deform_conv}, {"Det", 1, 1, import_det},
    {"MaxUnpool", 2, 3, import_max_unpool},   {"RoiAlign", 3, 3, import_roi_align},
};

}  // namespace

OperatorTable region_operators() { return kRegionRows; }

}  // namespace berth::onnx

// torchvision's operators, the grids of spatial transformers, and what the data alone tell the number of.
#include <algorithm>

#include "compiler/import/lowering/regions.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

// rois [K, 5]: the image of each, then its corners. No ratio of samples, -1, is as many as the bins' size asks for.
void import_roi_align(NodeContext& n) {
  const ValueId x = n.tensor("input");
  const ValueId rois = n.cast(n.tensor("rois"), n.dtype(x));
  const ValueId images = n.cast(n.op(OpId::select_copy_int_out, {rois, Dim(1), Dim(0)}), DType::kI64);
  const int64_t height = n.integer("pooled_height", 1), width = n.integer("pooled_width", 1);
  const int64_t samples = std::max<int64_t>(n.integer("sampling_ratio", -1), 0);
  if (height < 1 || width < 1 || std::max({height, width, samples}) > 4096) {
    return n.invalid("the numbers of bins and samples must be from 1 to 4096");
  }
  n.output(
      n.op(OpId::roi_align_out, {x, n.slice(rois, 1, Dim(1), Dim(5)), images, Dim(height), Dim(width), Dim(samples),
                                 n.number("spatial_scale", 1), /*largest=*/false, n.truth("aligned", false)}));
}

// Places of the boxes that stay, those of the largest scores first: the last column of [kept, (image, class, box)].
void import_nms(NodeContext& n) {
  const ValueId boxes = n.tensor("dets");
  const ValueId scores = n.tensor("scores");
  const Dim count = n.dim(boxes, 0);
  const int64_t most = n.symbols().upper(count);
  const ValueId rows =
      n.op(OpId::non_max_suppression_out,
           {n.view(boxes, {Dim(1), count, Dim(4)}), n.view(scores, {Dim(1), Dim(1), count}),
            Dim(std::min<int64_t>(most, INT32_MAX)), n.number("iou_threshold", 0), None(), /*centred=*/false});
  n.output(n.op(OpId::select_copy_int_out, {rows, Dim(1), Dim(2)}));
}

/// [count, 1] → [count, 2]: a NaN is another one in each place.
ValueId with_places_of_nan(NodeContext& n, ValueId x, Dim count) {
  const ValueId wide = n.cast(x, DType::kF64);
  const ValueId known = n.op(OpId::logical_not_out, {n.op(OpId::isnan_out, {x})});
  const ValueId places = n.op(OpId::arange_out, {count, number_of(DType::kF64)});
  const ValueId marks = n.op(OpId::masked_fill_Scalar_out, {n.view(places, {count, Dim(1)}), known, 0.0});
  return n.op(OpId::cat_out, {ValueList{wide, marks}, Dim(1)});
}

// Values in ascending order, whether asked for or not; where each element's value stands; how many have it.
void import_unique(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const std::vector<Dim> shape = n.shape(x);
  const Dim count = n.product(shape, 0, n.rank(x));
  ValueId rows = n.view(x, {count, Dim(1)});
  if (is_floating(n.dtype(x))) rows = with_places_of_nan(n, rows, count);
  const std::vector<ValueId> results = n.ops(OpId::unique_out, {rows, true});
  if (!n.ok()) return;
  const ValueId values = n.op(OpId::select_copy_int_out, {results[0], Dim(1), Dim(0)});
  n.outputs({n.cast(values, n.dtype(x)), n.view(results[2], shape), results[3]});
}

/// [count]: whether a row of `x` [count, …] is another one than the row before it; the first is.
ValueId starts_of_runs(NodeContext& n, ValueId x, Dim count) {
  const std::vector<Dim> shape = n.shape(x);
  const Dim last = n.symbols().add(count, Dim(-1));
  ValueId unlike = n.op(OpId::ne_Tensor_out, {n.slice(x, 0, Dim(1), count), n.slice(x, 0, Dim(0), last)});
  if (shape.size() > 1) {
    const Dim width = n.product(shape, 1, static_cast<int>(shape.size()));
    unlike = n.op(OpId::any_out, {n.view(unlike, {last, width}), Dim(1), false});
  }
  return n.op(OpId::cat_out, {ValueList{n.splat(DType::kBool, {Dim(1)}, 1), unlike}, Dim(0)});
}

// The first of each run of equal elements, or rows; the number of each one's run; how many are in a run.
void import_unique_consecutive(NodeContext& n) {
  ValueId x = n.tensor("self");
  const std::vector<Dim> shape = n.shape(x);
  const bool flat = !n.has("dim");
  const int axis = flat ? 0 : n.axis(n.integer("dim", 0), n.rank(x));
  if (flat) x = n.view(x, {n.product(shape, 0, n.rank(x))});
  const Dim count = n.dim(x, axis);
  if (n.ok() && count == Dim(0)) return n.unsupported("runs of no elements");
  std::vector<int64_t> order;
  for (int i = 0; i < n.rank(x); ++i) order.push_back(i == 0 ? axis : i <= axis ? i - 1 : i);
  const ValueId starts = starts_of_runs(n, axis == 0 ? x : n.permute(x, order), count);
  const ValueId places = n.op(OpId::select_copy_int_out, {n.op(OpId::nonzero_out, {starts}), Dim(1), Dim(0)});
  const ValueId values = n.op(OpId::index_select_out, {x, Dim(axis), places});
  const ValueId ordinal = n.op(OpId::cumsum_out, {n.cast(starts, DType::kI64), Dim(0), number_of(DType::kI64)});
  const ValueId runs = n.op(OpId::add_Scalar_out, {ordinal, Dim(-1)});
  const Dim found = n.dim(places, 0);
  const ValueId end = n.view(n.as_tensor(count, places), {Dim(1)});
  const ValueId ends =
      n.slice(n.op(OpId::cat_out, {ValueList{places, end}, Dim(0)}), 0, Dim(1), n.symbols().add(found, Dim(1)));
  n.outputs({values, flat ? n.view(runs, shape) : runs, n.op(OpId::sub_out, {ends, places})});
}

/// Two numbers from `low` up, for rows and columns.
std::vector<int64_t> each_way(NodeContext& n, const std::string& name, int64_t low) {
  constexpr int64_t kMost = 1 << 20;
  std::vector<int64_t> numbers = {n.integer(name + "_h", low), n.integer(name + "_w", low)};
  for (int64_t number : numbers) {
    if (number < low || number > kMost)
      n.invalid("argument '" + name + "' must be from " + std::to_string(low) + " to 2^20");
  }
  return numbers;
}

// Without a mask or a bias their arguments are there all the same: a mask is none unless `use_mask`, a bias is zeros.
void import_deform_conv(NodeContext& n) {
  lowering::DeformedConvolution c;
  c.x = n.tensor("input");
  c.weight = n.tensor("weight");
  c.offsets = n.tensor("offset");
  c.bias = n.tensor("bias");
  if (n.truth("use_mask", true)) c.mask = n.tensor("mask");
  c.strides = each_way(n, "stride", 1);
  c.dilations = each_way(n, "dilation", 1);
  c.begins = each_way(n, "pad", 0);
  c.groups = n.integer("groups", 1);
  c.offset_groups = n.integer("offset_groups", 1);
  n.output(lowering::deformed_convolution(n, c));
}

void import_affine_grid(NodeContext& n) {
  std::vector<int64_t> size;
  for (Dim d : n.dims("size")) size.push_back(n.fixed(d, "the size of the grid"));
  if (n.ok() && (size.size() < 4 || size.size() > 5)) return n.invalid("expected [N, C, H, W] or [N, C, D, H, W]");
  if (!n.ok()) return;
  size.erase(size.begin(), size.begin() + 2);
  n.output(lowering::affine_grid(n, n.tensor("theta"), size, n.truth("align_corners", false)));
}

constexpr OperatorRow kVisionRows[] = {
    {"_unique2", import_unique},
    {"affine_grid_generator", import_affine_grid},
    {"unique_consecutive", import_unique_consecutive},
    {"torchvision::deform_conv2d", import_deform_conv},
    {"torchvision::nms", import_nms},
    {"torchvision::roi_align", import_roi_align},
};

}  // namespace

OperatorTable vision_operators() { return kVisionRows; }

}  // namespace berth::pt2

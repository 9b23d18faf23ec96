// torchvision's operators on boxes, and what the data alone tell the number of.
#include <algorithm>

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

constexpr OperatorRow kVisionRows[] = {
    {"_unique2", import_unique},
    {"torchvision::nms", import_nms},
    {"torchvision::roi_align", import_roi_align},
};

}  // namespace

OperatorTable vision_operators() { return kVisionRows; }

}  // namespace berth::pt2

#include "compiler/import/lowering/convolution.h"

namespace berth::lowering {
namespace {

// More slices of a 3-d kernel than any model has; each becomes a convolution of its own.
constexpr int64_t kMaxDepth = 256;

ValueId forward_convolution(Lowering& n, const Convolution& in, ValueId x, ValueId weight, const Argument& bias,
                            const Window& window, const DimList& padding) {
  return n.op(OpId::convolution_out, {x, weight, bias, ir::dims(window.strides), padding, ir::dims(window.dilations),
                                      false, DimList(window.rank(), Dim(0)), Dim(in.groups)});
}

/// One or two spatial dimensions.
ValueId plain_convolution(Lowering& n, const Convolution& in, ValueId x, ValueId weight, const Argument& bias,
                          const Window& window) {
  const bool inside = window.symmetric();
  const ValueId padded = inside ? x : pad_spatial(n, x, window, 0);
  const DimList padding = inside ? window.begins : DimList(window.rank(), Dim(0));
  return forward_convolution(n, in, padded, weight, bias, window, padding);
}

// [N, C, D, H, W]: for each slice k of the kernel's depth, the planes that it meets are one batch [N * D', C, H, W];
// the results are added up.
ValueId deep_convolution(Lowering& n, const Convolution& in, const Window& window) {
  const int64_t depth = window.kernel[0];
  if (depth > kMaxDepth) n.unsupported("a kernel deeper than " + std::to_string(kMaxDepth) + " is not supported");
  Window outer = window;
  Window plane{{window.kernel[1], window.kernel[2]},       {window.strides[1], window.strides[2]},
               {window.dilations[1], window.dilations[2]}, {window.begins[1], window.begins[2]},
               {window.ends[1], window.ends[2]},           false};
  for (size_t i = 1; i < 3; ++i) outer.begins[i] = outer.ends[i] = Dim(0);
  const ValueId x = n.permute(pad_spatial(n, in.x, outer, 0), {0, 2, 1, 3, 4});
  ir::Symbols& s = n.symbols();
  const int64_t stride = window.strides[0];
  const Dim room = s.add(n.dim(x, 1), Dim(-((depth - 1) * window.dilations[0] + 1)));
  const Dim places = s.add(s.floor_div(room, Dim(stride)), Dim(1));
  const Dim batch = s.mul(n.dim(x, 0), places);
  ValueId total;
  for (int64_t k = 0; k < depth && n.ok(); ++k) {
    const Dim start(k * window.dilations[0]);
    const Dim end = s.add(start, s.add(s.mul(s.add(places, Dim(-1)), Dim(stride)), Dim(1)));
    const ValueId planes = n.op(OpId::slice_copy_Tensor_out, {x, Dim(1), start, end, Dim(stride)});
    const ValueId images = n.view(planes, {batch, n.dim(x, 2), n.dim(x, 3), n.dim(x, 4)});
    const ValueId weight = n.op(OpId::select_copy_int_out, {in.weight, Dim(2), Dim(k)});
    const ValueId part = plain_convolution(n, in, images, weight, k == 0 ? in.bias : Argument(None()), plane);
    total = k == 0 ? part : n.op(OpId::add_out, {total, part});
  }
  const ValueId apart = n.view(total, {n.dim(x, 0), places, n.dim(total, 1), n.dim(total, 2), n.dim(total, 3)});
  return n.permute(apart, {0, 2, 1, 3, 4});
}

}  // namespace

ValueId convolution(Lowering& n, const Convolution& in, const Window& window) {
  if (window.rank() == 3) return deep_convolution(n, in, window);
  if (window.rank() > 3) n.unsupported("more than three spatial dimensions are not supported");
  return plain_convolution(n, in, in.x, in.weight, in.bias, window);
}

}  // namespace berth::lowering

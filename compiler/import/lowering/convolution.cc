#include "compiler/import/lowering/convolution.h"

#include <algorithm>

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

// Whether the kernel is one place of each plane, so that planes need not be apart from each other: [k, 1, 1].
bool is_along_depth(const Window& window) {
  for (size_t i = 1; i < 3; ++i) {
    const bool moves = window.begins[i] != Dim(0) || window.ends[i] != Dim(0);
    if (window.kernel[i] != 1 || window.strides[i] != 1 || moves) return false;
  }
  return true;
}

// Such a kernel over images of D rows, [N, C, D, H * W].
ValueId convolution_along_depth(Lowering& n, const Convolution& in, const Window& window) {
  const Window column{{window.kernel[0], 1},      {window.strides[0], 1},   {window.dilations[0], 1},
                      {window.begins[0], Dim(0)}, {window.ends[0], Dim(0)}, false};
  const std::vector<Dim> x = n.shape(in.x), weight = n.shape(in.weight);
  if (!n.ok()) return {};
  const ValueId image = n.view(in.x, {x[0], x[1], x[2], n.symbols().mul(x[3], x[4])});
  const ValueId y =
      plain_convolution(n, in, image, n.view(in.weight, {weight[0], weight[1], weight[2], Dim(1)}), in.bias, column);
  return n.view(y, {x[0], n.dim(y, 1), n.dim(y, 2), x[3], x[4]});
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

// A transposed convolution over three axes, as those of planes of the second and the third.
struct DeepTransposed {
  Convolution in;
  std::vector<int64_t> strides, dilations;
  DimList padding, extra;  // of planes
  ValueId planes;          // [N * D, C, H, W]
  std::vector<Dim> shape;  // of the input
  int64_t depth = 1;       // of the kernel
};

// What each slice of the kernel makes of each plane, [N, D, depth, out, H, W]: channels of one convolution of planes.
ValueId transposed_slices(Lowering& n, const DeepTransposed& of) {
  const ValueId weight = of.in.weight;
  const std::vector<Dim> k = n.shape(weight);
  ir::Symbols& s = n.symbols();
  const ValueId joined = n.view(n.permute(weight, {0, 2, 1, 3, 4}), {k[0], s.mul(k[1], k[2]), k[3], k[4]});
  ValueId y = n.op(OpId::convolution_out,
                   {of.planes, joined, None(), DimList{Dim(of.strides[1]), Dim(of.strides[2])}, of.padding,
                    DimList{Dim(of.dilations[1]), Dim(of.dilations[2])}, true, of.extra, Dim(of.in.groups)});
  const std::vector<Dim> plane = n.shape(y);
  if (plane.size() != 4) return {};
  const Dim groups(of.in.groups);
  if (of.in.groups > 1) {
    y = n.permute(n.view(y, {plane[0], groups, k[2], k[1], plane[2], plane[3]}), {0, 2, 1, 3, 4, 5});
  }
  return n.view(y, {of.shape[0], of.shape[2], k[2], s.mul(groups, k[1]), plane[2], plane[3]});
}

// Slices next to each other of which the first lies `place` planes behind that of the kernel.
struct Slices {
  int64_t first, count, place;
};

// Those that lie side by side, between two planes of the input: `stride` of them, or one where they are dilated.
std::vector<Slices> slices_side_by_side(const DeepTransposed& of) {
  const int64_t dilation = of.dilations[0], most = dilation == 1 ? of.strides[0] : 1;
  std::vector<Slices> all;
  for (int64_t k = 0; k < of.depth; k += most) all.push_back({k, std::min(most, of.depth - k), k * dilation});
  return all;
}

// All planes of the result, [N, planes, out, H, W]: of each group of slices its planes with zeros between them, where
// they lie, added up.
ValueId transposed_frames(Lowering& n, const DeepTransposed& of) {
  const int64_t stride = of.strides[0], depth = (of.depth - 1) * of.dilations[0] + 1;
  const ValueId slices = transposed_slices(n, of);
  if (!n.ok()) return {};
  const std::vector<Dim> sizes = n.shape(slices);
  ir::Symbols& s = n.symbols();
  const std::vector<Slices> groups = slices_side_by_side(of);
  const int64_t steps = (depth + stride - 1) / stride;
  ValueId sum;
  for (const Slices& group : groups) {
    ValueId part = groups.size() == 1 ? slices : n.slice(slices, 2, Dim(group.first), Dim(group.first + group.count));
    const int64_t step = group.place / stride, front = group.place % stride, back = stride - front - group.count;
    if (front + back > 0) {
      const DimList zeros{Dim(0), Dim(0), Dim(0), Dim(0), Dim(0), Dim(0), Dim(front), Dim(back)};
      part = n.op(OpId::constant_pad_nd_out, {part, zeros, 0.0});
    }
    part = n.view(part, {sizes[0], s.mul(sizes[1], Dim(stride)), sizes[3], sizes[4], sizes[5]});
    const Dim before(step * stride), after((steps - 1 - step) * stride);
    const DimList around{Dim(0), Dim(0), Dim(0), Dim(0), Dim(0), Dim(0), before, after};
    if (steps > 1) part = n.op(OpId::constant_pad_nd_out, {part, around, 0.0});
    if (!n.ok()) return {};
    sum = sum.valid() ? n.op(OpId::add_out, {sum, part}) : part;
  }
  return steps * stride == depth ? sum : n.slice(sum, 1, 0, Dim(depth - steps * stride));
}

ValueId trimmed(Lowering& n, ValueId y, int axis, const Trim& trim) {
  const int64_t end = trim.extra - trim.end;
  if (end > 0) {
    DimList pad(2 * (n.rank(y) - axis), Dim(0));
    pad.back() = Dim(end);
    y = n.op(OpId::constant_pad_nd_out, {y, pad, 0.0});
  }
  const Dim size = n.dim(y, axis);
  if (trim.begin == 0 && end >= 0) return y;
  return n.slice(y, axis, Dim(trim.begin), end < 0 ? n.symbols().add(size, Dim(end)) : size);
}

}  // namespace

ValueId deep_transposed(Lowering& n, const Convolution& in, const std::vector<int64_t>& strides,
                        const std::vector<int64_t>& dilations, std::vector<Trim> trims) {
  DeepTransposed of;
  of.in = in;
  of.strides = strides;
  of.dilations = dilations;
  of.depth = n.fixed(n.dim(in.weight, 2), "the kernel's size");
  if (n.ok() && of.depth < 1) n.unsupported("a kernel of no depth");
  if (of.depth > kMaxDepth) n.unsupported("a kernel deeper than " + std::to_string(kMaxDepth) + " is not supported");
  of.shape = n.shape(in.x);
  if (!n.ok()) return {};
  of.planes = n.view(n.permute(in.x, {0, 2, 1, 3, 4}),
                     {n.symbols().mul(of.shape[0], of.shape[2]), of.shape[1], of.shape[3], of.shape[4]});
  // ATen trims both ends of a plane alike and adds less than a stride at the end.
  for (size_t i = 1; i < 3; ++i) {
    const int64_t more = trims[i].extra + trims[i].begin - trims[i].end;
    const bool direct = trims[i].begin >= 0 && more >= 0 && more < std::max(strides[i], dilations[i]);
    of.padding.emplace_back(direct ? trims[i].begin : 0);
    of.extra.emplace_back(direct ? more : 0);
    if (direct) trims[i] = {};
  }
  ValueId y = n.permute(transposed_frames(n, of), {0, 2, 1, 3, 4});
  for (size_t i = 0; i < trims.size() && n.ok(); ++i) y = trimmed(n, y, static_cast<int>(i) + 2, trims[i]);
  if (const ValueId* value = std::get_if<ValueId>(&in.bias)) {
    y = n.op(OpId::add_out, {y, n.view(*value, {n.dim(*value, 0), Dim(1), Dim(1), Dim(1)})});
  }
  return y;
}

ValueId convolution(Lowering& n, const Convolution& in, const Window& window) {
  if (window.rank() == 3 && is_along_depth(window)) return convolution_along_depth(n, in, window);
  if (window.rank() == 3) return deep_convolution(n, in, window);
  if (window.rank() > 3) n.unsupported("more than three spatial dimensions are not supported");
  return plain_convolution(n, in, in.x, in.weight, in.bias, window);
}

}  // namespace berth::lowering

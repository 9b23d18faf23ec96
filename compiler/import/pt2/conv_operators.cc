// Convolutions before decomposition, those of three dimensions, and those of an open number of groups.
#include <algorithm>
#include <numeric>

#include "compiler/import/lowering/convolution.h"
#include "compiler/import/lowering/loop.h"
#include "compiler/import/pt2/operators.h"
#include "compiler/import/pt2/spatial.h"

namespace berth::pt2 {
namespace {

using lowering::Convolution;
using lowering::Window;

struct Inputs {
  Convolution conv;
  Dim groups;  // where they are open, conv.groups is 1
  bool batched = true;
  size_t rank = 0;
};

/// Input, weight and bias; an input without a batch dimension gets one.
Inputs read_inputs(NodeContext& n) {
  Inputs in;
  in.conv.x = n.tensor("input");
  in.conv.weight = n.tensor("weight");
  in.conv.bias = n.optional_tensor("bias");
  in.groups = n.dim("groups", Dim(1));
  in.conv.groups = in.groups.is_constant() ? in.groups.value : 1;
  if (n.symbols().lower(in.groups) < 1) n.invalid("'groups' must be at least 1");
  in.rank = std::max(n.rank(in.conv.weight) - 2, 0);
  if (n.ok() && n.rank(in.conv.x) == n.rank(in.conv.weight) - 1) {
    in.batched = false;
    in.conv.x = n.pad_rank(in.conv.x, n.rank(in.conv.weight));
  }
  if (n.ok() && (n.rank(in.conv.x) != n.rank(in.conv.weight) || in.rank < 1)) {
    n.invalid("input " + n.type_text(in.conv.x) + " and weight " + n.type_text(in.conv.weight) + " do not fit");
  }
  return in;
}

// padding="same": as much as keeps the size, the odd one at the end.
void same_padding(Window& window) {
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t total = window.dilations[i] * (window.kernel[i] - 1);
    window.begins.emplace_back(total / 2);
    window.ends.emplace_back(total - total / 2);
  }
}

Window read_window(NodeContext& n, const Inputs& in) {
  Window window;
  for (size_t i = 0; i < in.rank; ++i) {
    window.kernel.push_back(n.fixed(n.dim(in.conv.weight, static_cast<int>(i) + 2), "the kernel's size"));
    if (n.ok() && (window.kernel[i] < 1 || window.kernel[i] > kMaxSpatial)) n.invalid("the kernel has no window");
  }
  window.strides = spatial(n, "stride", in.rank, {1}, 1);
  window.dilations = spatial(n, "dilation", in.rank, {1}, 1);
  const Argument* padding = n.argument("padding");
  if (padding != nullptr && padding->kind == ArgumentKind::kString) {
    if (padding->text == "same") {
      same_padding(window);
    } else {
      window.begins.assign(in.rank, Dim(0));
      window.ends.assign(in.rank, Dim(0));
    }
    return window;
  }
  for (int64_t pad : spatial(n, "padding", in.rank, {0}, 0)) {
    window.begins.emplace_back(pad);
    window.ends.emplace_back(pad);
  }
  return window;
}

ValueId transposed(NodeContext& n, const Inputs& in) {
  const std::vector<int64_t> stride = spatial(n, "stride", in.rank, {1}, 1);
  const std::vector<int64_t> padding = spatial(n, "padding", in.rank, {0}, 0);
  const std::vector<int64_t> dilation = spatial(n, "dilation", in.rank, {1}, 1);
  const std::vector<int64_t> extra = spatial(n, "output_padding", in.rank, {0}, 0);
  if (n.ok() && in.rank > 3) n.unsupported("more than three spatial dimensions are not supported");
  if (!n.ok()) return {};
  if (in.rank == 3) {
    std::vector<lowering::Trim> trims;
    for (size_t i = 0; i < 3; ++i) trims.push_back({padding[i], padding[i], extra[i]});
    return lowering::deep_transposed(n, in.conv, stride, dilation, trims);
  }
  return n.op(OpId::convolution_out, {in.conv.x, in.conv.weight, in.conv.bias, ir::dims(stride), ir::dims(padding),
                                      ir::dims(dilation), true, ir::dims(extra), Dim(in.conv.groups)});
}

ValueId convolved(NodeContext& n, const Inputs& in, bool is_transposed) {
  if (is_transposed) return transposed(n, in);
  const Window window = read_window(n, in);
  return n.ok() ? lowering::convolution(n, in.conv, window) : ValueId();
}

// The first two dimensions change places; that of size 1 needs no copy for it.
ValueId swapped(NodeContext& n, ValueId x) {
  std::vector<Dim> shape = n.shape(x);
  if (!n.ok()) return {};
  std::swap(shape[0], shape[1]);
  if (shape[0] == Dim(1) || shape[1] == Dim(1)) return n.view(x, shape);
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return n.permute(x, order);
}

// `axis` as two: the groups, and what is in each.
ValueId by_group(NodeContext& n, ValueId x, int axis, Dim groups) {
  std::vector<Dim> shape = n.shape(x);
  if (!n.ok()) return {};
  shape[axis] = n.symbols().floor_div(shape[axis], groups);
  shape.insert(shape.begin() + axis, groups);
  return n.view(x, shape);
}

// As many groups as there are images, each with a weight of its own (StyleGAN2's): one after the other.
ValueId group_by_group(NodeContext& n, const Inputs& in, bool is_transposed) {
  ValueList sliced = {swapped(n, by_group(n, in.conv.x, 1, in.groups)), by_group(n, in.conv.weight, 0, in.groups)};
  if (const ValueId* bias = std::get_if<ValueId>(&in.conv.bias)) sliced.push_back(by_group(n, *bias, 0, in.groups));
  const auto one_group = [&](const ValueList& slices, ValueList&) {
    Inputs one = in;
    one.conv.x = slices[0];
    one.conv.weight = slices[1];
    if (slices.size() > 2) one.conv.bias = slices[2];
    return convolved(n, one, is_transposed);
  };
  // [N, groups, channels / groups, …]
  const ValueId y = swapped(n, lowering::loop_over(n, in.groups, sliced, {}, one_group).stacked);
  std::vector<Dim> shape = n.shape(y);
  if (!n.ok()) return {};
  shape[2] = n.symbols().mul(shape[1], shape[2]);
  shape.erase(shape.begin() + 1);
  return n.view(y, shape);
}

void import_any(NodeContext& n, bool is_transposed) {
  const Inputs in = read_inputs(n);
  if (!n.ok()) return;
  ValueId y = in.groups.is_constant() ? convolved(n, in, is_transposed) : group_by_group(n, in, is_transposed);
  if (!in.batched && n.ok()) {
    const std::vector<Dim> shape = n.shape(y);
    y = n.view(y, std::vector<Dim>(shape.begin() + 1, shape.end()));
  }
  n.output(y);
}

void import_conv(NodeContext& n) { import_any(n, n.truth("transposed", false)); }
void import_conv_transpose(NodeContext& n) { import_any(n, true); }

constexpr OperatorRow kConvRows[] = {
    {"_convolution", import_conv},
    {"conv1d", import_conv},
    {"conv2d", import_conv},
    {"conv3d", import_conv},
    {"conv_transpose1d", import_conv_transpose},
    {"conv_transpose2d", import_conv_transpose},
    {"conv_transpose3d", import_conv_transpose},
    {"convolution", import_conv},
};

}  // namespace

OperatorTable conv_operators() { return kConvRows; }

}  // namespace berth::pt2

// Poolings.
#include "compiler/import/lowering/pooling.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/window.h"

namespace berth::onnx {
namespace {

// ATen counts places within one plane, ONNX in the whole tensor, and on request down the columns of each plane.
ValueId whole_tensor_indices(NodeContext& n, ValueId indices, ValueId x, bool down_columns) {
  const Dim planes = n.product(n.shape(x), 0, 2);
  const Dim size = n.product(n.shape(x), 2, n.rank(x));
  const Dim i64(static_cast<int64_t>(DType::kI64));
  if (down_columns && n.rank(x) == 4) {
    const Dim width = n.dim(x, 3);
    const ValueId row = n.op(OpId::div_Scalar_mode_out, {indices, width, std::string("floor")});
    const ValueId column = n.op(OpId::remainder_Scalar_out, {indices, width});
    indices = n.op(OpId::add_out, {n.op(OpId::mul_Scalar_out, {column, n.dim(x, 2)}), row});
  }
  const ValueId plane = n.op(OpId::arange_start_out, {Dim(0), planes, Dim(1), i64});
  const ValueId starts = n.op(OpId::mul_Scalar_out, {plane, size});
  std::vector<Dim> shape(n.rank(x), Dim(1));
  shape[0] = n.dim(x, 0);
  shape[1] = n.dim(x, 1);
  return n.op(OpId::add_out, {indices, n.view(starts, shape)});
}

void import_max_pool(NodeContext& n) {
  const ValueId x = n.input(0);
  const Window window = read_window(n, x, {});
  if (!n.ok()) return;
  const lowering::MaxPool pool = lowering::max_pool(n, x, window);
  if (!n.ok()) return;
  n.output(0, pool.values);
  if (!n.wants_output(1)) return;
  if (!pool.indices.valid()) {
    return n.unsupported(
        "indices are supported only in one or two dimensions with equal padding of at most half the kernel");
  }
  n.output(1, whole_tensor_indices(n, pool.indices, x, n.integer("storage_order", 0) != 0));
}

void import_average_pool(NodeContext& n) {
  const ValueId x = n.input(0);
  const Window window = read_window(n, x, {});
  if (n.ok()) n.output(0, lowering::average_pool(n, x, window, n.integer("count_include_pad", 0) != 0));
}

void import_lp_pool(NodeContext& n) {
  const ValueId x = n.input(0);
  const Window window = lowering::resolve_ceil(n, x, read_window(n, x, {}));
  const int64_t p = n.integer("p", 2);
  if (p < 1) return n.invalid("attribute 'p' must be at least 1");
  if (n.ok() && window.rank() > 3) return n.unsupported("more than three spatial dimensions are not supported");
  const ValueId size = n.op(OpId::abs_out, {x});
  const ValueId powers = p == 1 ? size : n.op(OpId::pow_Tensor_Scalar_out, {size, Dim(p)});
  const ValueId sums = lowering::sum_pool(n, powers, window);
  n.output(0, p == 1 ? sums : n.op(OpId::pow_Tensor_Scalar_out, {sums, 1.0 / static_cast<double>(p)}));
}

DimList spatial_axes(NodeContext& n, ValueId x) {
  DimList axes;
  for (int i = 2; i < n.rank(x); ++i) axes.emplace_back(i);
  if (n.ok() && axes.empty()) n.invalid("needs an input [N, C, spatial…], found " + n.type_text(x));
  return axes;
}

void import_global_average_pool(NodeContext& n) {
  const ValueId x = n.input(0);
  n.output(0, n.op(OpId::mean_out, {x, spatial_axes(n, x), true}));
}

void import_global_max_pool(NodeContext& n) {
  const ValueId x = n.input(0);
  n.output(0, n.op(OpId::amax_out, {x, spatial_axes(n, x), true}));
}

constexpr OperatorRow kPoolRows[] = {
    {"AveragePool", 1, 1, import_average_pool},
    {"GlobalAveragePool", 1, 1, import_global_average_pool},
    {"GlobalMaxPool", 1, 1, import_global_max_pool},
    {"LpPool", 1, 1, import_lp_pool},
    {"MaxPool", 1, 1, import_max_pool},
};

}  // namespace

OperatorTable pool_operators() { return kPoolRows; }

}  // namespace berth::onnx

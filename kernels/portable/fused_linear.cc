// berth::linear: activation(input @ weight + bias + residual). berth::lstm_cell: one step of an LSTM. Dense weights.
#include "kernels/portable/fused_linear.h"

#include "kernels/portable/fused_lstm.h"
#include "kernels/portable/fused_narrow.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr const char* kSizes = "the sizes of a fused product's tensors do not fit";
constexpr const char* kLayouts = "fused products take f32 in row-major order";
constexpr const char* kPacked = "this product's weight is packed; portable kernels take dense ones";

bool takes(const Tensor& tensor) { return tensor.dtype() == DType::kF32 && tensor.is_contiguous(); }

Product rows_product(const Tensor& input, const Tensor& weight, const void* start, void* c) {
  const int64_t k = weight.size(0);
  const int64_t n = weight.size(1);
  const int64_t m = k == 0 ? 0 : input.numel() / k;
  Product p = matrix_product(m, n, k, input.raw(), k, 1, weight.raw(), weight.stride(0), weight.stride(1), c, n, 1);
  p.start = start;
  p.start_row = n;
  p.start_column = 1;
  return p;
}

size_t rows_scratch_bytes(const Tensor& input, const Tensor& weight, int threads) {
  if (weight.rank() != 2 || input.rank() < 1) return 0;
  if (input.dynamism() != ShapeDynamism::kStatic) return max_product_scratch_bytes(threads) + kTempPadding;
  return product_scratch_bytes(rows_product(input, weight, nullptr, nullptr), threads) + kTempPadding;
}

// bias may be null.
void finish_row(const float* bias, const Activation& activation, float* y, int64_t n) {
  if (bias != nullptr) {
    for (int64_t i = 0; i < n; ++i) y[i] += bias[i];
  }
  activate(activation, y, n);
}

}  // namespace

Error prepare_linear(KernelContext& context, const arguments::fused_linear_out& args, Activation* activation) {
  if (args.packing.size != 0) return context.fail(Error::kNotSupported, kPacked);
  BERTH_RETURN_IF_ERROR(read_activation(context, args, activation));
  const Tensor& input = args.input;
  const Tensor& weight = args.weight;
  const Tensor* bias = args.bias;
  const Tensor* residual = args.residual;
  Tensor& out = args.out;
  const bool takes_weight = weight.dtype() == DType::kF32 || is_narrow_weight(weight);
  if (!takes(input) || !takes_weight || !takes(out) || (bias != nullptr && !takes(*bias)) ||
      (residual != nullptr && !takes(*residual))) {
    return context.fail(Error::kInvalidArgument, kLayouts);
  }
  if (input.rank() < 1 || weight.rank() != 2 || input.size(input.rank() - 1) != weight.size(0)) {
    return context.fail(Error::kInvalidArgument, kSizes);
  }
  Sizes sizes = sizes_of(input);
  sizes.data[sizes.rank - 1] = static_cast<int32_t>(weight.size(1));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  if (bias != nullptr && (bias->rank() != 1 || bias->size(0) != weight.size(1))) {
    return context.fail(Error::kInvalidArgument, kSizes);
  }
  if (residual != nullptr && !same_sizes(*residual, out)) return context.fail(Error::kInvalidArgument, kSizes);
  BERTH_RETURN_IF_ERROR(check_memory(context, input, weight));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  if (bias != nullptr) BERTH_RETURN_IF_ERROR(check_memory(context, *bias));
  return residual == nullptr ? Error::kOk : check_memory(context, *residual);
}

Product linear_product(const arguments::fused_linear_out& args) {
  Product p =
      rows_product(args.input, args.weight, args.residual == nullptr ? nullptr : args.residual->raw(), args.out.raw());
  const int64_t n = args.weight.size(1);
  p.rows = n == 0 ? 0 : args.out.numel() / n;
  return p;
}

static Error resize_narrow_result(KernelContext& context, const arguments::fused_linear_out& args) {
  if (args.input.rank() < 1 || args.weight.rank() != 2) return context.fail(Error::kInvalidArgument, kSizes);
  Sizes sizes = sizes_of(args.input);
  sizes.data[sizes.rank - 1] = static_cast<int32_t>(args.weight.size(1));
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, sizes.span()));
  return check_memory(context, args.out);
}

Error fused_linear_out(KernelContext& context, const arguments::fused_linear_out& args) {
  if (is_narrow_weight(args.weight)) {
    if (args.packing.size != 0) return context.fail(Error::kNotSupported, kPacked);
    const bool in_order = args.input.is_contiguous() && args.out.is_contiguous();
    if (!in_order || !fits_narrow_weight(args)) return context.fail(Error::kInvalidArgument, kLayouts);
    BERTH_RETURN_IF_ERROR(check_memory(context, args.input, args.weight));
    if (args.out.dtype() == DType::kBF16) BERTH_RETURN_IF_ERROR(resize_narrow_result(context, args));
    WideArguments<arguments::fused_linear_out> wide(args);
    BERTH_RETURN_IF_ERROR(wide.fill(context));
    BERTH_RETURN_IF_ERROR(fused_linear_out(context, wide.args()));
    if (wide.has_narrow_result()) wide.store_result(context);
    return Error::kOk;
  }
  Activation activation;
  BERTH_RETURN_IF_ERROR(prepare_linear(context, args, &activation));
  if (args.out.numel() == 0) return Error::kOk;
  const int64_t n = args.weight.size(1);
  float* y = args.out.data<float>();
  const Product p = linear_product(args);
  BERTH_RETURN_IF_ERROR(run_product(context, p));
  context.parallel_for(p.rows, grain_of(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      finish_row(args.bias == nullptr ? nullptr : args.bias->data<float>(), activation, y + row * n, n);
    }
  });
  return Error::kOk;
}

size_t fused_linear_temp_bytes(const arguments::fused_linear_out& args, int threads) {
  if (args.packing.size != 0) return 0;
  return wide_temp_bytes(args.input, args.weight, args.out) + rows_scratch_bytes(args.input, args.weight, threads);
}

Error prepare_lstm_cell(KernelContext& context, const arguments::fused_lstm_cell_out& args) {
  if (args.packing.size != 0) return context.fail(Error::kNotSupported, kPacked);
  const Tensor& gates = args.gates;
  const Tensor& hidden = args.hidden;
  const Tensor& cell = args.cell;
  const Tensor& weight = args.weight;
  Tensor& out_hidden = args.out_hidden;
  Tensor& out_cell = args.out_cell;
  for (const Tensor* tensor : {&gates, &hidden, &cell, &weight, static_cast<const Tensor*>(&out_hidden),
                               static_cast<const Tensor*>(&out_cell)}) {
    if (!takes(*tensor)) return context.fail(Error::kInvalidArgument, kLayouts);
    if (tensor->rank() != 2) return context.fail(Error::kInvalidArgument, kSizes);
  }
  const int64_t rows = hidden.size(0);
  const int64_t size = hidden.size(1);
  if (!same_sizes(hidden, cell) || gates.size(0) != rows || gates.size(1) != 4 * size || weight.size(0) != size ||
      weight.size(1) != 4 * size) {
    return context.fail(Error::kInvalidArgument, kSizes);
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out_hidden, hidden.sizes()));
  BERTH_RETURN_IF_ERROR(resize_out(context, out_cell, hidden.sizes()));
  for (const Tensor* tensor : {&gates, &hidden, &cell, &weight}) BERTH_RETURN_IF_ERROR(check_memory(context, *tensor));
  return check_memory(context, out_hidden, out_cell);
}

// The gates i, f, g and o lie one after another in a row of 4 H:
//   c' = sigmoid(f) * c + sigmoid(i) * tanh(g);  h' = sigmoid(o) * tanh(c')
Error fused_lstm_cell_out(KernelContext& context, const arguments::fused_lstm_cell_out& args) {
  BERTH_RETURN_IF_ERROR(prepare_lstm_cell(context, args));
  const Tensor& gates = args.gates;
  const Tensor& hidden = args.hidden;
  const Tensor& cell = args.cell;
  const int64_t rows = hidden.size(0);
  const int64_t size = hidden.size(1);
  auto* sums = static_cast<float*>(context.allocate_temp(gates.nbytes()));
  if (sums == nullptr) return Error::kMemoryAllocationFailed;
  if (hidden.numel() == 0) return Error::kOk;
  BERTH_RETURN_IF_ERROR(run_product(context, rows_product(hidden, args.weight, gates.raw(), sums)));
  for (int64_t row = 0; row < rows; ++row) {
    const float* gate = sums + row * 4 * size;
    const float* before = cell.data<float>() + row * size;
    float* h = args.out_hidden.data<float>() + row * size;
    float* c = args.out_cell.data<float>() + row * size;
    for (int64_t i = 0; i < size; ++i) {
      const float kept = math::sigmoid(gate[size + i]) * before[i];
      c[i] = kept + math::sigmoid(gate[i]) * math::tanh(gate[2 * size + i]);
      h[i] = math::sigmoid(gate[3 * size + i]) * math::tanh(c[i]);
    }
  }
  return Error::kOk;
}

size_t fused_lstm_cell_temp_bytes(const arguments::fused_lstm_cell_out& args, int threads) {
  if (args.packing.size != 0) return 0;
  return args.gates.nbytes() + kTempPadding + rows_scratch_bytes(args.hidden, args.weight, threads);
}

}  // namespace berth::portable

// berth::gru: a gated recurrent unit over all its steps.
//
//   gates       [steps, rows, 3 * size]: the input's part of the gates, each `size` columns: z r n, or r z n where
//               `reset_first`
//   hidden      [rows, size]: the state before the first step
//   weight      [blocks, size, 3, width], blocks * width >= size: what hidden unit k adds to gate q of unit
//               b * width + j is weight[b, k, q, j]; units beyond the last are never read
//   bias        [3 * size], or none: what is added to the state's part
//   linear_before_reset: n = tanh(gates + r * (bias + hidden * weight)), else
//   tanh(gates + bias + (r * hidden) * weight)
//   reverse     whether the last step comes first
//   out         [steps, rows, size]: the hidden state after each step, n + z * (hidden - n), in the order of `gates`
#include "kernels/portable/fused_gru.h"

#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

bool is_plain(const Tensor& tensor, int rank) {
  return tensor.dtype() == DType::kF32 && tensor.is_contiguous() && tensor.rank() == rank;
}

// What the state adds to gate q of a unit.
float state_part(const arguments::fused_gru_out& args, int64_t q, int64_t unit, const float* state) {
  const int64_t size = args.weight.size(1);
  const int64_t width = args.weight.size(3);
  const float* column = args.weight.data<float>() + (unit / width * size * 3 + q) * width + unit % width;
  float sum = args.bias == nullptr ? 0 : args.bias->data<float>()[q * size + unit];
  for (int64_t k = 0; k < size; ++k) sum += state[k] * column[k * 3 * width];
  return sum;
}

// One row, one step. `reset` takes `size` numbers.
void step_row(const arguments::fused_gru_out& args, const float* gates, const float* before, float* reset, float* out) {
  const int64_t size = args.weight.size(1);
  const int64_t r = args.reset_first ? 0 : 1;
  const auto gate = [&](int64_t q, int64_t unit) {
    return math::sigmoid(gates[q * size + unit] + state_part(args, q, unit, before));
  };
  if (!args.linear_before_reset) {
    for (int64_t unit = 0; unit < size; ++unit) reset[unit] = gate(r, unit) * before[unit];
  }
  for (int64_t unit = 0; unit < size; ++unit) {
    const float added =
        args.linear_before_reset ? gate(r, unit) * state_part(args, 2, unit, before) : state_part(args, 2, unit, reset);
    const float n = math::tanh(gates[2 * size + unit] + added);
    out[unit] = n + gate(1 - r, unit) * (before[unit] - n);
  }
}

}  // namespace

Error prepare_gru(KernelContext& context, const arguments::fused_gru_out& args) {
  constexpr const char* kLayouts = "gates, state, weight, bias and result must be f32 in row-major order";
  constexpr const char* kSizes = "sizes of gates, state, weight and bias do not go together";
  const Tensor& gates = args.gates;
  const Tensor& hidden = args.hidden;
  const Tensor& weight = args.weight;
  Tensor& out = args.out;
  const bool plain = is_plain(gates, 3) && is_plain(hidden, 2) && is_plain(weight, 4) && is_plain(out, 3) &&
                     (args.bias == nullptr || is_plain(*args.bias, 1));
  if (!plain) return context.fail(Error::kInvalidArgument, kLayouts);
  const int64_t size = hidden.size(1);
  const bool fits = gates.size(1) == hidden.size(0) && gates.size(2) == 3 * size && weight.size(1) == size &&
                    weight.size(2) == 3 && int64_t{weight.size(0)} * weight.size(3) >= size &&
                    (args.bias == nullptr || args.bias->size(0) == 3 * size);
  if (!fits) return context.fail(Error::kInvalidArgument, kSizes);
  const int32_t sizes[] = {gates.sizes()[0], hidden.sizes()[0], hidden.sizes()[1]};
  BERTH_RETURN_IF_ERROR(resize_out(context, out, Span<const int32_t>(sizes, 3)));
  for (const Tensor* tensor : {&gates, &hidden, &weight}) BERTH_RETURN_IF_ERROR(check_memory(context, *tensor));
  if (args.bias != nullptr) BERTH_RETURN_IF_ERROR(check_memory(context, *args.bias));
  return check_memory(context, out);
}

Error fused_gru_out(KernelContext& context, const arguments::fused_gru_out& args) {
  BERTH_RETURN_IF_ERROR(prepare_gru(context, args));
  const int64_t rows = args.hidden.size(0);
  const int64_t size = args.hidden.size(1);
  const int64_t steps = args.gates.size(0);
  if (args.out.numel() == 0) return Error::kOk;
  auto* reset = static_cast<float*>(context.allocate_temp(size * sizeof(float)));
  if (reset == nullptr) return Error::kMemoryAllocationFailed;
  float* out = args.out.data<float>();
  const float* before = args.hidden.data<float>();
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t at = args.reverse ? steps - 1 - t : t;
    for (int64_t row = 0; row < rows; ++row) {
      step_row(args, args.gates.data<float>() + (at * rows + row) * 3 * size, before + row * size, reset,
               out + (at * rows + row) * size);
    }
    before = out + at * rows * size;
  }
  return Error::kOk;
}

size_t fused_gru_temp_bytes(const arguments::fused_gru_out& args, int) {
  if (args.hidden.rank() != 2) return 0;
  return args.hidden.size(1) * sizeof(float) + kTempPadding;
}

}  // namespace berth::portable

// berth::lstm: a long short-term memory over all its steps.
//
//   gates       [steps, rows, 4 * size]: the input's part of the gates, i f g o each `size` columns; the bias included
//   hidden,     [rows, size]: the state before the first step
//   cell
//   weight      [blocks, size, 4, width], blocks * width >= size: what hidden unit k adds to gate q of unit
//               b * width + j is weight[b, k, q, j]; units beyond the last are never read
//   reverse     whether the last step comes first
//   out         [steps, rows, size]: the hidden state after each step, in the order of `gates`
//   out_cell    [rows, size]: the cell after the step that comes last
//
// berth::lstm_gates: what a step does behind its products.
//
//   gates       [rows, 4 * size]: the four gates, in quarters of a row
//   cell        [rows, size]: the state before
//   order       which quarter is i, f, g and o
//   out_hidden, [rows, size]: the state after
//   out_cell
#include "kernels/portable/fused_lstm.h"

#include <algorithm>

#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

bool is_plain(const Tensor& tensor, int rank) {
  return tensor.dtype() == DType::kF32 && tensor.is_contiguous() && tensor.rank() == rank;
}

// One unit: sums of i, f, g and o, and the cell before, which becomes the one after. Returns the hidden state.
float step_unit(const float (&sums)[4], float* cell) {
  *cell = math::sigmoid(sums[1]) * *cell + math::sigmoid(sums[0]) * math::tanh(sums[2]);
  return math::sigmoid(sums[3]) * math::tanh(*cell);
}

// One row, one step. `cell` is the state before and becomes the one after.
void step_row(const float* gates, const float* before, const Tensor& weight, float* cell, float* hidden) {
  const int64_t size = weight.size(1);
  const int64_t width = weight.size(3);
  for (int64_t unit = 0; unit < size; ++unit) {
    const float* column = weight.data<float>() + unit / width * size * 4 * width + unit % width;
    float sums[4];
    for (int64_t q = 0; q < 4; ++q) sums[q] = gates[q * size + unit];
    for (int64_t k = 0; k < size; ++k) {
      for (int64_t q = 0; q < 4; ++q) sums[q] += before[k] * column[(k * 4 + q) * width];
    }
    hidden[unit] = step_unit(sums, cell + unit);
  }
}

}  // namespace

Error prepare_lstm(KernelContext& context, const arguments::fused_lstm_out& args) {
  constexpr const char* kLayouts = "gates, states, weight and results must be f32 in row-major order";
  constexpr const char* kSizes = "sizes of gates, states and weight do not go together";
  const Tensor& gates = args.gates;
  const Tensor& hidden = args.hidden;
  const Tensor& cell = args.cell;
  const Tensor& weight = args.weight;
  Tensor& out = args.out;
  Tensor& out_cell = args.out_cell;
  const bool plain = is_plain(gates, 3) && is_plain(hidden, 2) && is_plain(cell, 2) && is_plain(weight, 4) &&
                     is_plain(out, 3) && is_plain(out_cell, 2);
  if (!plain) return context.fail(Error::kInvalidArgument, kLayouts);
  const int64_t size = hidden.size(1);
  const bool fits = cell.size(0) == hidden.size(0) && cell.size(1) == size && gates.size(1) == hidden.size(0) &&
                    gates.size(2) == 4 * size && weight.size(1) == size && weight.size(2) == 4 &&
                    int64_t{weight.size(0)} * weight.size(3) >= size;
  if (!fits) return context.fail(Error::kInvalidArgument, kSizes);
  const int32_t sizes[] = {gates.sizes()[0], hidden.sizes()[0], hidden.sizes()[1]};
  BERTH_RETURN_IF_ERROR(resize_out(context, out, Span<const int32_t>(sizes, 3)));
  BERTH_RETURN_IF_ERROR(resize_out(context, out_cell, hidden.sizes()));
  for (const Tensor* tensor : {&gates, &hidden, &cell, &weight}) BERTH_RETURN_IF_ERROR(check_memory(context, *tensor));
  return check_memory(context, out, out_cell);
}

Error fused_lstm_out(KernelContext& context, const arguments::fused_lstm_out& args) {
  BERTH_RETURN_IF_ERROR(prepare_lstm(context, args));
  const Tensor& gates = args.gates;
  const Tensor& hidden = args.hidden;
  const Tensor& weight = args.weight;
  const bool reverse = args.reverse;
  float* out = args.out.data<float>();
  float* cell = args.out_cell.data<float>();
  const int64_t rows = hidden.size(0);
  const int64_t size = hidden.size(1);
  const int64_t steps = gates.size(0);
  std::copy(args.cell.data<float>(), args.cell.data<float>() + rows * size, cell);
  const float* before = hidden.data<float>();
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t at = reverse ? steps - 1 - t : t;
    for (int64_t row = 0; row < rows; ++row) {
      step_row(gates.data<float>() + (at * rows + row) * 4 * size, before + row * size, weight, cell + row * size,
               out + (at * rows + row) * size);
    }
    before = out + at * rows * size;
  }
  return Error::kOk;
}

Error prepare_lstm_gates(KernelContext& context, const arguments::fused_lstm_gates_out& args) {
  const bool plain =
      is_plain(args.gates, 2) && is_plain(args.cell, 2) && is_plain(args.out_hidden, 2) && is_plain(args.out_cell, 2);
  if (!plain) {
    return context.fail(Error::kInvalidArgument, "gates, states and results must be f32 rows in row-major order");
  }
  bool seen[4] = {};
  for (const int64_t quarter : args.order) {
    if (quarter < 0 || quarter > 3) return context.fail(Error::kInvalidArgument, "no such quarter of the gates");
    seen[quarter] = true;
  }
  if (args.order.size() != 4 || !(seen[0] && seen[1] && seen[2] && seen[3])) {
    return context.fail(Error::kInvalidArgument, "the order is not that of four gates");
  }
  if (args.gates.size(0) != args.cell.size(0) || args.gates.size(1) != 4 * int64_t{args.cell.size(1)}) {
    return context.fail(Error::kInvalidArgument, "sizes of gates and states do not go together");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out_hidden, args.cell.sizes()));
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out_cell, args.cell.sizes()));
  BERTH_RETURN_IF_ERROR(check_memory(context, args.gates));
  BERTH_RETURN_IF_ERROR(check_memory(context, args.cell));
  return check_memory(context, args.out_hidden, args.out_cell);
}

Error fused_lstm_gates_out(KernelContext& context, const arguments::fused_lstm_gates_out& args) {
  BERTH_RETURN_IF_ERROR(prepare_lstm_gates(context, args));
  const int64_t size = args.cell.size(1);
  for (int64_t i = 0; i < args.cell.numel(); ++i) {
    const float* const gates = args.gates.data<float>() + i / size * 4 * size + i % size;
    float sums[4], cell = args.cell.data<float>()[i];
    for (size_t q = 0; q < 4; ++q) sums[q] = gates[args.order[q] * size];
    args.out_hidden.data<float>()[i] = step_unit(sums, &cell);
    args.out_cell.data<float>()[i] = cell;
  }
  return Error::kOk;
}

}  // namespace berth::portable

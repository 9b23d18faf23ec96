#include "kernels/cpu/lstm_sequence.h"

#include <algorithm>

#include "kernels/cpu/barrier_loop.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/lstm_step.h"
#include "kernels/portable/fused_lstm.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

bool fits(const arguments::fused_lstm_out& args) {
  return are_dense_f32(args.gates, args.hidden, args.cell, args.weight, args.out, args.out_cell) &&
         args.hidden.rank() == 2 && args.weight.rank() == 4;
}

}  // namespace

size_t lstm_temp_bytes(const arguments::fused_lstm_out& args, int threads) {
  if (!fits(args)) return 0;
  return BarrierLoop::temp_bytes(recurrent_parts(args.hidden, args.weight, threads));
}

Error lstm_out(KernelContext& context, const arguments::fused_lstm_out& args) {
  if (!fits(args)) return portable::fused_lstm_out(context, args);
  BERTH_RETURN_IF_ERROR(portable::prepare_lstm(context, args));
  const Tensor& gates = args.gates;
  const Tensor& hidden = args.hidden;
  const Tensor& weight = args.weight;
  Tensor& out = args.out;
  Tensor& out_cell = args.out_cell;
  const int64_t rows = hidden.size(0);
  const int64_t size = hidden.size(1);
  const int64_t steps = gates.size(0);
  const int64_t blocks = weight.size(0);
  const int64_t width = weight.size(3);
  const bool reverse = args.reverse;
  if (hidden.numel() == 0 || steps == 0) return portable::fused_lstm_out(context, args);
  float* cell = out_cell.data<float>();
  std::copy(args.cell.data<float>(), args.cell.data<float>() + rows * size, cell);
  const int64_t parts = recurrent_parts(hidden, weight, context.threads());
  const auto step = [&](int64_t part, int64_t t) {
    const int64_t at = reverse ? steps - 1 - t : t;
    float* now = out.data<float>() + at * rows * size;
    const float* before = t == 0 ? hidden.data<float>() : reverse ? now + rows * size : now - rows * size;
    for (int64_t row = 0; row < rows; row += kRecurrentRows) {
      const LstmStep work = {gates.data<float>() + (at * rows + row) * 4 * size,
                             before + row * size,
                             cell + row * size,
                             weight.data<float>(),
                             now + row * size,
                             cell + row * size,
                             std::min(kRecurrentRows, rows - row),
                             size,
                             width,
                             t % 2 != 0};
      run_unit_blocks(work, part * blocks / parts, (part + 1) * blocks / parts, run_lstm_units);
    }
  };
  return BarrierLoop::run(context, parts, steps, step);
}

}  // namespace berth::cpu

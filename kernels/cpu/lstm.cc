#include "kernels/cpu/lstm.h"

#include <algorithm>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/lstm_step.h"
#include "kernels/portable/fused_lstm.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

// Multiplications that are worth another thread.
constexpr int64_t kGrainWork = 1 << 18;
// The same of units whose sums are there.
constexpr int64_t kGrainUnits = 1 << 12;

bool is_matrix(const Tensor& tensor, int64_t rows, int64_t columns) {
  return are_dense_f32(tensor) && tensor.rank() == 2 && tensor.size(0) == rows && tensor.size(1) == columns;
}

}  // namespace

Error lstm_cell_out(KernelContext& context, const arguments::fused_lstm_cell_out& args) {
  const Tensor& gates = args.gates;
  const Tensor& hidden = args.hidden;
  const Tensor& cell = args.cell;
  const Tensor& weight = args.weight;
  Tensor& out_hidden = args.out_hidden;
  Tensor& out_cell = args.out_cell;
  if (hidden.rank() != 2 || args.packing.size != 0) return portable::fused_lstm_cell_out(context, args);
  const int64_t batch = hidden.size(0);
  const int64_t size = hidden.size(1);
  const bool fast = is_matrix(gates, batch, 4 * size) && is_matrix(hidden, batch, size) &&
                    is_matrix(cell, batch, size) && is_matrix(weight, size, 4 * size) && are_dense_f32(out_hidden) &&
                    are_dense_f32(out_cell) && hidden.numel() > 0;
  if (!fast) return portable::fused_lstm_cell_out(context, args);
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out_hidden, hidden.sizes()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out_cell, hidden.sizes()));
  for (const Tensor* tensor : {&gates, &hidden, &cell, &weight}) {
    BERTH_RETURN_IF_ERROR(portable::check_memory(context, *tensor));
  }
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, out_hidden, out_cell));
  const int64_t blocks = (size + kRecurrentUnits - 1) / kRecurrentUnits;
  const int64_t grain = std::max<int64_t>(1, kGrainWork / (4 * size * kRecurrentUnits));
  context.parallel_for(batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item / blocks;
      const LstmStep step = {gates.data<float>() + row * 4 * size,
                             hidden.data<float>() + row * size,
                             cell.data<float>() + row * size,
                             weight.data<float>(),
                             out_hidden.data<float>() + row * size,
                             out_cell.data<float>() + row * size,
                             1,
                             size,
                             size,
                             false};
      const int64_t unit = item % blocks * kRecurrentUnits;
      run_lstm_units(step, unit, std::min(unit + kRecurrentUnits, size));
    }
  });
  return Error::kOk;
}

Error lstm_gates_out(KernelContext& context, const arguments::fused_lstm_gates_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_lstm_gates(context, args));
  const int64_t size = args.cell.size(1);
  if (args.cell.numel() == 0) return Error::kOk;
  const int64_t grain = std::max<int64_t>(1, kGrainUnits / size);
  context.parallel_for(args.cell.size(0), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      LstmGates gates;
      for (size_t q = 0; q < 4; ++q) gates.gate[q] = args.gates.data<float>() + (4 * row + args.order[q]) * size;
      gates.cell = args.cell.data<float>() + row * size;
      gates.out_hidden = args.out_hidden.data<float>() + row * size;
      gates.out_cell = args.out_cell.data<float>() + row * size;
      run_lstm_gates(gates, size);
    }
  });
  return Error::kOk;
}

}  // namespace berth::cpu

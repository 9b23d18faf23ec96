// berth::lstm and berth::lstm_cell (kernels/portable/fused_lstm.cc). A sequence is one launch: a block a row, which
// keeps the state in shared memory from step to step. A single step, and what is too large for a block: a thread a
// unit.
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/ops.h"
#include "backends/cuda/kernels/place.h"
#include "base/result.h"
#include "kernels/portable/fused_lstm.h"

namespace berth::cuda {
namespace {

struct StepBody {
  const float* gates;   // [rows, 4 * size]
  const float* before;  // [rows, size]
  const float* cell;
  const float* weight;
  int64_t size;
  int64_t width;        // units of a block of the weight
  int64_t block, k, q;  // strides of the weight
  float* hidden;        // [rows, size]
  float* out_cell;      // may be `cell`

  BERTH_HD void operator()(int64_t i) const {
    const Division by_unit = divide(i, size);
    const Division by_width = divide(by_unit.rest, width);
    const float* column = weight + by_width.quotient * block + by_width.rest;
    const float* own = gates + by_unit.quotient * 4 * size + by_unit.rest;
    const float* state = before + by_unit.quotient * size;
    float sums[4] = {own[0], own[size], own[2 * size], own[3 * size]};
    for (int64_t j = 0; j < size; ++j) {
      for (int g = 0; g < 4; ++g) sums[g] += state[j] * column[j * k + g * q];
    }
    const float kept = ops::sigmoid_of(sums[1]) * cell[i];
    const float next = kept + ops::sigmoid_of(sums[0]) * ops::tanh_of(sums[2]);
    out_cell[i] = next;
    hidden[i] = ops::sigmoid_of(sums[3]) * ops::tanh_of(next);
  }
};

// A sequence, a step after the other.
struct Steps {
  const float* gates;  // [steps, rows, 4 * size]
  float* out;          // [steps, rows, size]
  int64_t steps, units;
  bool reverse;
  StepBody first;  // without its gates and hidden state

  StepBody step(int64_t t) const {
    const auto place = [&](int64_t number) { return reverse ? steps - 1 - number : number; };
    StepBody body = first;
    body.gates = gates + place(t) * 4 * units;
    body.hidden = out + place(t) * units;
    if (t == 0) return body;
    body.before = out + place(t - 1) * units;
    body.cell = body.out_cell;
    return body;
  }
};

// What a block of the device has room for.
constexpr int64_t kMostUnits = 2048;

#if defined(__CUDACC__)

constexpr int kMostThreads = 1024;
// Weights of its gate that a thread keeps in registers, where a thread has one gate. More of them would not fit.
constexpr int kHeld = 80;

struct Sequence {
  const float* gates;  // [steps, rows, 4 * size]
  const float* hidden;
  const float* cell;
  const float* weight;
  float* out;
  float* out_cell;
  int64_t steps, rows;
  int size, width;
  bool reverse;
};

// What a block keeps in shared memory: the hidden state, zeros behind it, the cell, and the sums of all gates.
constexpr int hidden_room(int size) { return (size > kHeld ? size + 3 : kHeld) / 4 * 4; }

// kRegisters is kHeld, and the block has a thread for each of at most 512 gates; or 0, and threads take gates in turns.
template <int kRegisters>
__global__ void __launch_bounds__(kRegisters > 0 ? 512 : kMostThreads)
    lstm_kernel(const __grid_constant__ Sequence s, int room_of_hidden) {
  extern __shared__ float4 aligned_room[];
  const int size = s.size;
  const int gate_count = 4 * size;
  float* hidden = reinterpret_cast<float*>(aligned_room);
  float* cell = hidden + room_of_hidden;
  float* sums = cell + size;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int64_t row = blockIdx.x;
  for (int i = thread; i < room_of_hidden; i += threads) hidden[i] = i < size ? s.hidden[row * size + i] : 0;
  for (int i = thread; i < size; i += threads) cell[i] = s.cell[row * size + i];
  const int step = 4 * s.width;
  const auto column = [&](int gate) {
    const int unit = gate % size;
    return s.weight + static_cast<int64_t>(unit / s.width) * size * step + gate / size * s.width + unit % s.width;
  };
  const bool has_gate = thread < gate_count;
  const float* own_column = column(has_gate ? thread : 0);
  float held[kRegisters > 0 ? kRegisters : 1];
  if constexpr (kRegisters > 0) {
#pragma unroll
    for (int k = 0; k < kRegisters; ++k) held[k] = has_gate && k < size ? __ldg(own_column + k * step) : 0;
  }
  const auto gates_at = [&](int64_t t) {
    return s.gates + ((s.reverse ? s.steps - 1 - t : t) * s.rows + row) * gate_count;
  };
  float next = has_gate ? __ldg(gates_at(0) + thread) : 0;
  __syncthreads();
  for (int64_t t = 0; t < s.steps; ++t) {
    if constexpr (kRegisters > 0) {
      float sum = next;
      // On its way while this step is computed.
      if (has_gate && t + 1 < s.steps) next = __ldg(gates_at(t + 1) + thread);
      float parts[4] = {};
#pragma unroll
      for (int k = 0; k < kRegisters; k += 4) {
        const float4 h = *reinterpret_cast<const float4*>(hidden + k);
        parts[0] += h.x * held[k];
        parts[1] += h.y * held[k + 1];
        parts[2] += h.z * held[k + 2];
        parts[3] += h.w * held[k + 3];
      }
#pragma unroll 16
      for (int k = kRegisters; k < size; ++k) sum += hidden[k] * __ldg(own_column + k * step);
      if (has_gate) sums[thread] = sum + ((parts[0] + parts[1]) + (parts[2] + parts[3]));
    } else {
      for (int gate = thread; gate < gate_count; gate += threads) {
        float sum = __ldg(gates_at(t) + gate);
        const float* weight = column(gate);
#pragma unroll 16
        for (int k = 0; k < size; ++k) sum += hidden[k] * __ldg(weight + k * step);
        sums[gate] = sum;
      }
    }
    __syncthreads();
    const int64_t at = s.reverse ? s.steps - 1 - t : t;
    for (int unit = thread; unit < size; unit += threads) {
      const float kept = ops::sigmoid_of(sums[size + unit]) * cell[unit];
      cell[unit] = kept + ops::sigmoid_of(sums[unit]) * ops::tanh_of(sums[2 * size + unit]);
      hidden[unit] = ops::sigmoid_of(sums[3 * size + unit]) * ops::tanh_of(cell[unit]);
      s.out[(at * s.rows + row) * size + unit] = hidden[unit];
    }
    __syncthreads();
  }
  for (int i = thread; i < size; i += threads) s.out_cell[row * size + i] = cell[i];
}

// False when a block would need more than every device has.
bool launch_sequence(KernelContext& context, const arguments::fused_lstm_out& args, const Steps&, Error* error) {
  const int64_t rows = args.hidden.size(0);
  const int64_t size = args.hidden.size(1);
  if (size > kMostUnits || rows > INT32_MAX) return false;
  const int room = hidden_room(static_cast<int>(size));
  const size_t bytes = sizeof(float) * (room + 5 * size);
  const Sequence s = {args.gates.data<float>(),
                      args.hidden.data<float>(),
                      args.cell.data<float>(),
                      args.weight.data<float>(),
                      args.out.data<float>(),
                      args.out_cell.data<float>(),
                      args.gates.size(0),
                      rows,
                      static_cast<int>(size),
                      static_cast<int>(args.weight.size(3)),
                      args.reverse};
  const auto blocks = static_cast<unsigned>(rows);
  const auto whole_warps = static_cast<unsigned>((4 * size + 31) / 32 * 32);
  *error = whole_warps <= 512 ? launch_kernel(context, lstm_kernel<kHeld>, blocks, whole_warps, bytes, s, room)
                              : launch_kernel(context, lstm_kernel<0>, blocks, kMostThreads, bytes, s, room);
  return true;
}

#else

bool launch_sequence(KernelContext& context, const arguments::fused_lstm_out& args, const Steps& steps, Error* error) {
  if (args.hidden.size(1) > kMostUnits) return false;
  *error = run_or_defer(context, [steps] {
    for (int64_t t = 0; t < steps.steps; ++t) {
      const StepBody body = steps.step(t);
      for (int64_t i = 0; i < steps.units; ++i) body(i);
    }
  });
  return true;
}

#endif

// The cell after no steps at all.
struct CopyBody {
  const float* from;
  float* to;
  BERTH_HD void operator()(int64_t i) const { to[i] = from[i]; }
};

}  // namespace

Error fused_lstm_cell_out(KernelContext& context, const arguments::fused_lstm_cell_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_lstm_cell(context, args));
  const int64_t size = args.hidden.size(1);
  const StepBody body = {args.gates.data<float>(),
                         args.hidden.data<float>(),
                         args.cell.data<float>(),
                         args.weight.data<float>(),
                         size,
                         size,
                         0,
                         4 * size,
                         size,
                         args.out_hidden.data<float>(),
                         args.out_cell.data<float>()};
  return for_each(context, args.hidden.numel(), body);
}

Error fused_lstm_out(KernelContext& context, const arguments::fused_lstm_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_lstm(context, args));
  const Tensor& weight = args.weight;
  const int64_t steps = args.gates.size(0);
  const int64_t size = args.hidden.size(1);
  const int64_t units = args.hidden.numel();
  const int64_t width = weight.size(3);
  if (units == 0) return Error::kOk;
  if (steps == 0) return for_each(context, units, CopyBody{args.cell.data<float>(), args.out_cell.data<float>()});
  const StepBody first = {nullptr,
                          args.hidden.data<float>(),
                          args.cell.data<float>(),
                          weight.data<float>(),
                          size,
                          width,
                          size * 4 * width,
                          4 * width,
                          width,
                          nullptr,
                          args.out_cell.data<float>()};
  const Steps all = {args.gates.data<float>(), args.out.data<float>(), steps, units, args.reverse, first};
  Error error = Error::kOk;
  if (launch_sequence(context, args, all, &error)) return error;
  for (int64_t t = 0; t < steps; ++t) BERTH_RETURN_IF_ERROR(for_each(context, units, all.step(t)));
  return Error::kOk;
}

}  // namespace berth::cuda

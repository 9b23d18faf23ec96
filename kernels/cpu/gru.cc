#include "kernels/cpu/gru.h"

#include <algorithm>

#include "kernels/cpu/barrier_loop.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/gru_step.h"
#include "kernels/portable/fused_gru.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::cpu {
namespace {

bool fits(const arguments::fused_gru_out& args) {
  return are_dense_f32(args.gates, args.hidden, args.weight, args.out) &&
         (args.bias == nullptr || are_dense_f32(*args.bias)) && args.hidden.rank() == 2 && args.weight.rank() == 4;
}

// The steps of one sequence, each of which one part computes for some units.
class Sequence {
 public:
  Sequence(const arguments::fused_gru_out& args, float* reset)
      : rows_(args.hidden.size(0)),
        size_(args.hidden.size(1)),
        steps_(args.gates.size(0)),
        width_(args.weight.size(3)),
        reverse_(args.reverse),
        reset_first_(args.reset_first),
        gates_(args.gates.data<float>()),
        hidden_(args.hidden.data<float>()),
        weight_(args.weight.data<float>()),
        bias_(args.bias == nullptr ? nullptr : args.bias->data<float>()),
        reset_(reset),
        out_(args.out.data<float>()) {}

  /// Step t, blocks [begin, end) of units, by one of the functions of gru_step.h.
  template <typename Run>
  void step(int64_t t, int64_t begin, int64_t end, const Run& run) const {
    const int64_t at = reverse_ ? steps_ - 1 - t : t;
    float* now = out_ + at * rows_ * size_;
    const float* before = t == 0 ? hidden_ : reverse_ ? now + rows_ * size_ : now - rows_ * size_;
    for (int64_t row = 0; row < rows_; row += kRecurrentRows) {
      GruStep work;
      work.gates = gates_ + (at * rows_ + row) * 3 * size_;
      work.hidden = before + row * size_;
      work.weight = weight_;
      work.bias = bias_;
      work.reset = reset_ == nullptr ? nullptr : reset_ + row * size_;
      work.out = now + row * size_;
      work.rows = std::min(kRecurrentRows, rows_ - row);
      work.size = size_;
      work.width = width_;
      work.reset_first = reset_first_;
      work.backwards = t % 2 != 0;
      run_unit_blocks(work, begin, end, run);
    }
  }

 private:
  int64_t rows_, size_, steps_, width_;
  bool reverse_, reset_first_;
  const float* gates_;
  const float* hidden_;
  const float* weight_;
  const float* bias_;
  float* reset_;
  float* out_;
};

}  // namespace

size_t gru_temp_bytes(const arguments::fused_gru_out& args, int threads) {
  if (!fits(args)) return portable::fused_gru_temp_bytes(args, threads);
  const size_t reset = args.linear_before_reset ? 0 : args.hidden.nbytes() + portable::kTempPadding;
  const size_t loop = BarrierLoop::temp_bytes(recurrent_parts(args.hidden, args.weight, threads));
  return std::max(portable::fused_gru_temp_bytes(args, threads), reset + loop + portable::kTempPadding);
}

Error gru_out(KernelContext& context, const arguments::fused_gru_out& args) {
  if (!fits(args)) return portable::fused_gru_out(context, args);
  BERTH_RETURN_IF_ERROR(portable::prepare_gru(context, args));
  const int64_t steps = args.gates.size(0);
  if (args.hidden.numel() == 0 || steps == 0) return Error::kOk;
  float* reset = nullptr;
  if (!args.linear_before_reset) {
    reset = static_cast<float*>(context.allocate_temp(args.hidden.nbytes()));
    if (reset == nullptr) return Error::kMemoryAllocationFailed;
  }
  const Sequence sequence(args, reset);
  const int64_t blocks = args.weight.size(0);
  const int64_t parts = recurrent_parts(args.hidden, args.weight, context.threads());
  if (args.linear_before_reset) {
    return BarrierLoop::run(context, parts, steps, [&](int64_t part, int64_t t) {
      sequence.step(t, part * blocks / parts, (part + 1) * blocks / parts, run_gru_units);
    });
  }
  // All parts of the reset state come before any candidate: two turns a step.
  return BarrierLoop::run(context, parts, 2 * steps, [&](int64_t part, int64_t turn) {
    const auto run = turn % 2 == 0 ? run_gru_gates : run_gru_candidate;
    sequence.step(turn / 2, part * blocks / parts, (part + 1) * blocks / parts, run);
  });
}

}  // namespace berth::cpu

#include "kernels/cpu/kernels.h"

#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::cpu {

// One line an operator; the signatures are the rows' of format/operators.def. What stands on Highway is between #ifdef
// BERTH_HIGHWAY and #endif.
// clang-format off
KernelTable kernels() {
  static constexpr KernelEntry kTable[] = {
      {"berth::conv.out", "Tensor input, Tensor weight, Tensor? bias, Tensor? residual, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, str activation, float alpha, float beta, str packing -> Tensor out", portable::fused_conv_out, portable::fused_conv_temp_bytes},
      {"berth::linear.out", "Tensor input, Tensor weight, Tensor? bias, Tensor? residual, str activation, float alpha, float beta, str packing -> Tensor out", portable::fused_linear_out, portable::fused_linear_temp_bytes},
  };
  return kTable;
}
// clang-format on

}  // namespace berth::cpu

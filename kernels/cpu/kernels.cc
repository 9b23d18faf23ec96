#include "kernels/cpu/kernels.h"

#include "kernels/cpu/conv.h"
#include "kernels/cpu/entry.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"
#ifdef BERTH_HIGHWAY
#include "kernels/cpu/attention.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/group_norm.h"
#include "kernels/cpu/lstm.h"
#include "kernels/cpu/lstm_sequence.h"
#include "kernels/cpu/mean.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/permute.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/resize.h"
#include "kernels/cpu/shuffle.h"
#endif

namespace berth::cpu {

// One line an operator; entry() takes the signature from the row in format/operators.def. What stands on Highway is
// between #ifdef BERTH_HIGHWAY and #endif.
// clang-format off
KernelTable kernels() {
  static constexpr KernelEntry kTable[] = {
      {"berth::conv.out", "Tensor input, Tensor weight, Tensor? bias, Tensor? residual, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, str activation, float alpha, float beta, str packing -> Tensor out", conv_out, conv_temp_bytes, -1, false, conv_prepare, conv_release},
      {"berth::linear.out", "Tensor input, Tensor weight, Tensor? bias, Tensor? residual, str activation, float alpha, float beta, str packing -> Tensor out", linear_out, linear_temp_bytes, -1, false, linear_prepare, conv_release},
#ifdef BERTH_HIGHWAY
      entry("aten::add.out", add_out),
      entry("aten::div.out", div_out),
      entry("aten::mul.out", mul_out),
      entry("aten::sub.out", sub_out),
      entry("aten::mean.out", mean_dim_out),
      entry("aten::_log_softmax.out", log_softmax_out),
      entry("aten::_softmax.out", softmax_out),
      entry("aten::native_group_norm.out", native_group_norm_out, native_group_norm_temp_bytes),
      entry("aten::native_layer_norm.out", native_layer_norm_out),
      entry("aten::_adaptive_avg_pool2d.out", adaptive_avg_pool2d_out),
      entry("aten::avg_pool2d.out", avg_pool2d_out, portable::avg_pool2d_temp_bytes),
      entry("aten::max_pool2d_with_indices.out", max_pool2d_out, portable::max_pool2d_temp_bytes),
      entry("aten::upsample_bilinear2d.vec_out", upsample_bilinear2d_out, upsample_bilinear2d_temp_bytes),
      entry("aten::upsample_nearest2d.vec_out", upsample_nearest2d_out, upsample_nearest2d_temp_bytes),
      entry("dim_order_ops::_clone_dim_order.out", clone_dim_order_out),
      entry("dim_order_ops::_to_dim_order_copy.out", to_dim_order_copy_out),
      entry("aten::permute_copy.out", permute_copy_out),
      entry("aten::transpose_copy.int_out", transpose_copy_out),
      entry("berth::attention.out", attention_out, attention_temp_bytes),
      entry("berth::elementwise.out", elementwise_out),
      entry("berth::lstm.out", lstm_out, lstm_temp_bytes),
      entry("berth::lstm_cell.out", lstm_cell_out, portable::fused_lstm_cell_temp_bytes),
      entry("berth::shuffle.out", shuffle_out),
#endif
  };
  return kTable;
}
// clang-format on

}  // namespace berth::cpu

#include "kernels/cpu/kernels.h"

#include "kernels/cpu/conv.h"
#include "kernels/cpu/entry.h"
#include "kernels/cpu/inverted_residual.h"
#include "kernels/cpu/quantized.h"
#include "kernels/cpu/weight_rows.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"
#ifdef BERTH_HIGHWAY
#include "kernels/cpu/attention.h"
#include "kernels/cpu/dynamic_quantize.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/grid_sampler.h"
#include "kernels/cpu/group_norm.h"
#include "kernels/cpu/grouped_attention.h"
#include "kernels/cpu/gru.h"
#include "kernels/cpu/lstm.h"
#include "kernels/cpu/lstm_sequence.h"
#include "kernels/cpu/mean.h"
#include "kernels/cpu/narrow_linear.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/permute.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/resize.h"
#include "kernels/cpu/shuffle.h"
#include "kernels/cpu/wide_products.h"
#endif

namespace berth::cpu {

// One line an operator; entry() takes the signature from the row in format/operators.def. What stands on Highway is
// between #ifdef BERTH_HIGHWAY and #endif.
// clang-format off
KernelTable kernels() {
  static constexpr KernelEntry kTable[] = {
      prepared_entry<conv_out, conv_temp_bytes, conv_prepare>(conv_release),
      prepared_entry<linear_out, linear_temp_bytes, linear_prepare>(conv_release),
      prepared_entry<quantized_conv_out, quantized_conv_temp_bytes, quantized_conv_prepare>(quantized_release),
      prepared_entry<quantized_linear_out, quantized_linear_temp_bytes, quantized_linear_prepare>(quantized_release),
      prepared_entry<inverted_residual_out, inverted_residual_temp_bytes, inverted_residual_prepare>(inverted_residual_release),
      prepared_entry<weight_rows_out, nullptr, weight_rows_prepare>(weight_rows_release),
#ifdef BERTH_HIGHWAY
      entry<add_out>(),
      entry<div_out>(),
      entry<mul_out>(),
      entry<sub_out>(),
      entry<mean_dim_out>(),
      entry<bmm_out, bmm_temp_bytes>(),
      entry<mm_out, mm_temp_bytes>(),
      entry<log_softmax_out, log_softmax_temp_bytes>(),
      entry<softmax_out, softmax_temp_bytes>(),
      entry<native_group_norm_out, native_group_norm_temp_bytes>(),
      entry<native_layer_norm_out, native_layer_norm_temp_bytes>(),
      entry<rms_norm_out>(),
      entry<adaptive_avg_pool2d_out>(),
      entry<avg_pool2d_out, portable::avg_pool2d_temp_bytes>(),
      entry<max_pool2d_out, portable::max_pool2d_temp_bytes>(),
      entry<upsample_bilinear2d_out, upsample_bilinear2d_temp_bytes>(),
      entry<upsample_nearest2d_out, upsample_nearest2d_temp_bytes>(),
      entry<grid_sampler_2d_out>(),
      entry<clone_dim_order_out>(),
      entry<to_dim_order_copy_out>(),
      entry<permute_copy_out>(),
      entry<transpose_copy_out>(),
      entry<attention_out, attention_temp_bytes>(),
      entry<attention_biased_out, attention_biased_temp_bytes>(),
      entry<grouped_attention_out, grouped_attention_temp_bytes>(),
      entry<grouped_attention_rows_out, grouped_attention_rows_temp_bytes>(),
      prepared_entry<elementwise_out, nullptr, elementwise_prepare>(elementwise_release),
      entry<dynamic_quantize_out>(),
      entry<gru_out, gru_temp_bytes>(),
      entry<lstm_out, lstm_temp_bytes>(),
      entry<lstm_cell_out, portable::fused_lstm_cell_temp_bytes>(),
      entry<lstm_gates_out>(),
      entry<shuffle_out>(),
      prepared_entry<narrow_linear_out, narrow_linear_temp_bytes, narrow_linear_prepare>(narrow_linear_release),
#endif
  };
  return kTable;
}
// clang-format on

}  // namespace berth::cpu

// Which portable kernels take temporary memory, and how much (see TempBytesFunction in runtime/kernel.h).
//
// A kernel that takes some adds one specialisation here; the function stands beside its kernel.
#pragma once

#include "kernels/portable/index_tensor.h"
#include "kernels/portable/portable.h"

namespace berth::portable {

template <auto kernel>
constexpr TempBytesFunction kTempBytes = nullptr;

size_t mm_temp_bytes(const arguments::mm_out& args, int threads);
size_t bmm_temp_bytes(const arguments::bmm_out& args, int threads);
size_t addmm_temp_bytes(const arguments::addmm_out& args, int threads);
size_t convolution_temp_bytes(const arguments::convolution_out& args, int threads);
size_t avg_pool2d_temp_bytes(const arguments::avg_pool2d_out& args, int threads);
size_t max_pool2d_temp_bytes(const arguments::max_pool2d_with_indices_out& args, int threads);
size_t upsample_bilinear2d_temp_bytes(const arguments::upsample_bilinear2d_vec_out& args, int threads);
size_t upsample_nearest2d_temp_bytes(const arguments::upsample_nearest2d_vec_out& args, int threads);
size_t non_max_suppression_temp_bytes(const arguments::non_max_suppression_out& args, int threads);

template <>
inline constexpr TempBytesFunction kTempBytes<&mm_out> = untyped<&mm_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&bmm_out> = untyped<&bmm_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&addmm_out> = untyped<&addmm_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&convolution_out> = untyped<&convolution_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&avg_pool2d_out> = untyped<&avg_pool2d_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&max_pool2d_with_indices_out> = untyped<&max_pool2d_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&upsample_bilinear2d_vec_out> = untyped<&upsample_bilinear2d_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&upsample_nearest2d_vec_out> = untyped<&upsample_nearest2d_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&non_max_suppression_out> = untyped<&non_max_suppression_temp_bytes>;

// index and index_put: the places of their masks.
template <typename Args>
size_t tensor_indices_temp_bytes(const Args& args, int) {
  return mask_temp_bytes(args.indices);
}
template <>
inline constexpr TempBytesFunction kTempBytes<&index_Tensor_out> =
    untyped<&tensor_indices_temp_bytes<arguments::index_Tensor_out>>;
template <>
inline constexpr TempBytesFunction kTempBytes<&index_put_out> =
    untyped<&tensor_indices_temp_bytes<arguments::index_put_out>>;
template <>
inline constexpr TempBytesFunction kTempBytes<&index_put_self> =
    untyped<&tensor_indices_temp_bytes<arguments::index_put_self>>;

// Fused operators.
size_t fused_conv_temp_bytes(const arguments::fused_conv_out& args, int threads);
size_t fused_linear_temp_bytes(const arguments::fused_linear_out& args, int threads);
size_t fused_attention_temp_bytes(const arguments::fused_attention_out& args, int threads);
size_t fused_attention_biased_temp_bytes(const arguments::fused_attention_biased_out& args, int threads);
size_t grouped_attention_temp_bytes(const arguments::grouped_attention_out& args, int threads);
size_t grouped_attention_rows_temp_bytes(const arguments::grouped_attention_rows_out& args, int threads);
size_t fused_gru_temp_bytes(const arguments::fused_gru_out& args, int threads);
size_t fused_lstm_cell_temp_bytes(const arguments::fused_lstm_cell_out& args, int threads);
size_t inverted_residual_temp_bytes(const arguments::inverted_residual_out& args, int threads);
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_conv_out> = untyped<&fused_conv_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_linear_out> = untyped<&fused_linear_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_attention_out> = untyped<&fused_attention_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_attention_biased_out> =
    untyped<&fused_attention_biased_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&grouped_attention_out> = untyped<&grouped_attention_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&grouped_attention_rows_out> =
    untyped<&grouped_attention_rows_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_gru_out> = untyped<&fused_gru_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_lstm_cell_out> = untyped<&fused_lstm_cell_temp_bytes>;
template <>
inline constexpr TempBytesFunction kTempBytes<&inverted_residual_out> = untyped<&inverted_residual_temp_bytes>;

}  // namespace berth::portable

// Which portable kernels take temporary memory, and how much (see TempBytesFunction in runtime/kernel.h).
//
// A kernel that takes some adds one specialisation here; the function stands beside its kernel.
#pragma once

#include "kernels/portable/portable.h"

namespace berth::portable {

template <KernelFunction kernel>
constexpr TempBytesFunction kTempBytes = nullptr;

size_t mm_temp_bytes(Span<EValue* const> args, int threads);
size_t bmm_temp_bytes(Span<EValue* const> args, int threads);
size_t addmm_temp_bytes(Span<EValue* const> args, int threads);
size_t convolution_temp_bytes(Span<EValue* const> args, int threads);
size_t avg_pool2d_temp_bytes(Span<EValue* const> args, int threads);
size_t max_pool2d_temp_bytes(Span<EValue* const> args, int threads);
size_t upsample_bilinear2d_temp_bytes(Span<EValue* const> args, int threads);
size_t upsample_nearest2d_temp_bytes(Span<EValue* const> args, int threads);

template <>
inline constexpr TempBytesFunction kTempBytes<&mm_out> = &mm_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&bmm_out> = &bmm_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&addmm_out> = &addmm_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&convolution_out> = &convolution_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&avg_pool2d_out> = &avg_pool2d_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&max_pool2d_with_indices_out> = &max_pool2d_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&upsample_bilinear2d_vec_out> = &upsample_bilinear2d_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&upsample_nearest2d_vec_out> = &upsample_nearest2d_temp_bytes;

// index and index_put: the places of their masks.
size_t tensor_indices_temp_bytes(Span<EValue* const> args, int threads);
template <>
inline constexpr TempBytesFunction kTempBytes<&index_Tensor_out> = &tensor_indices_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&index_put_out> = &tensor_indices_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&index_put_self> = &tensor_indices_temp_bytes;

// Fused operators.
size_t fused_conv_temp_bytes(Span<EValue* const> args, int threads);
size_t fused_linear_temp_bytes(Span<EValue* const> args, int threads);
size_t fused_attention_temp_bytes(Span<EValue* const> args, int threads);
size_t fused_lstm_cell_temp_bytes(Span<EValue* const> args, int threads);
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_conv_out> = &fused_conv_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_linear_out> = &fused_linear_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_attention_out> = &fused_attention_temp_bytes;
template <>
inline constexpr TempBytesFunction kTempBytes<&fused_lstm_cell_out> = &fused_lstm_cell_temp_bytes;

}  // namespace berth::portable

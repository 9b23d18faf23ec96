// Operators' arguments by name: the position of each in a call, generated from the schemas in format/operators.def by
// format/generate_arguments.py. Do not edit.
//
//   node.args[arg::convolution_out::groups]
//
// There is a namespace for each row of the table, named like its OpId and its portable kernel, with an enumerator for
// each argument. The positions are those of the functional form and of the out variant: an argument that only the
// functional form has is its last. Outputs are not counted: a node's are in Node::results.
#pragma once

#include <cstddef>

namespace berth::arg {
// clang-format off

namespace abs_out { enum : size_t { self }; }
namespace acos_out { enum : size_t { self }; }
namespace acosh_out { enum : size_t { self }; }
namespace asin_out { enum : size_t { self }; }
namespace asinh_out { enum : size_t { self }; }
namespace atan_out { enum : size_t { self }; }
namespace atanh_out { enum : size_t { self }; }
namespace bitwise_not_out { enum : size_t { self }; }
namespace ceil_out { enum : size_t { self }; }
namespace clamp_out { enum : size_t { self, min, max }; }
namespace clamp_Tensor_out { enum : size_t { self, min, max }; }
namespace cos_out { enum : size_t { self }; }
namespace cosh_out { enum : size_t { self }; }
namespace elu_out { enum : size_t { self, alpha, scale, input_scale }; }
namespace erf_out { enum : size_t { self }; }
namespace exp_out { enum : size_t { self }; }
namespace expm1_out { enum : size_t { self }; }
namespace floor_out { enum : size_t { self }; }
namespace gelu_out { enum : size_t { self, approximate }; }
namespace hardtanh_out { enum : size_t { self, min_val, max_val }; }
namespace isinf_out { enum : size_t { self }; }
namespace isnan_out { enum : size_t { self }; }
namespace leaky_relu_out { enum : size_t { self, negative_slope }; }
namespace log_out { enum : size_t { self }; }
namespace log10_out { enum : size_t { self }; }
namespace log1p_out { enum : size_t { self }; }
namespace log2_out { enum : size_t { self }; }
namespace logical_not_out { enum : size_t { self }; }
namespace logit_out { enum : size_t { self, eps }; }
namespace neg_out { enum : size_t { self }; }
namespace reciprocal_out { enum : size_t { self }; }
namespace relu_out { enum : size_t { self }; }
namespace round_out { enum : size_t { self }; }
namespace rsqrt_out { enum : size_t { self }; }
namespace sigmoid_out { enum : size_t { self }; }
namespace sign_out { enum : size_t { self }; }
namespace sin_out { enum : size_t { self }; }
namespace sinh_out { enum : size_t { self }; }
namespace sqrt_out { enum : size_t { self }; }
namespace tan_out { enum : size_t { self }; }
namespace tanh_out { enum : size_t { self }; }
namespace trunc_out { enum : size_t { self }; }
namespace conj_physical_out { enum : size_t { self }; }
namespace add_out { enum : size_t { self, other, alpha }; }
namespace add_Scalar_out { enum : size_t { self, other, alpha }; }
namespace atan2_out { enum : size_t { self, other }; }
namespace bitwise_and_Scalar_out { enum : size_t { self, other }; }
namespace bitwise_and_Tensor_out { enum : size_t { self, other }; }
namespace bitwise_or_Scalar_out { enum : size_t { self, other }; }
namespace bitwise_or_Tensor_out { enum : size_t { self, other }; }
namespace bitwise_xor_Scalar_out { enum : size_t { self, other }; }
namespace bitwise_xor_Tensor_out { enum : size_t { self, other }; }
namespace bitwise_left_shift_Tensor_out { enum : size_t { self, other }; }
namespace bitwise_left_shift_Tensor_Scalar_out { enum : size_t { self, other }; }
namespace bitwise_right_shift_Tensor_out { enum : size_t { self, other }; }
namespace bitwise_right_shift_Tensor_Scalar_out { enum : size_t { self, other }; }
namespace div_out { enum : size_t { self, other }; }
namespace div_Scalar_mode_out { enum : size_t { self, other, rounding_mode }; }
namespace div_Scalar_out { enum : size_t { self, other }; }
namespace div_out_mode { enum : size_t { self, other, rounding_mode }; }
namespace eq_Scalar_out { enum : size_t { self, other }; }
namespace eq_Tensor_out { enum : size_t { self, other }; }
namespace floor_divide_out { enum : size_t { self, other }; }
namespace fmod_Tensor_out { enum : size_t { self, other }; }
namespace fmod_Scalar_out { enum : size_t { self, other }; }
namespace ge_Scalar_out { enum : size_t { self, other }; }
namespace ge_Tensor_out { enum : size_t { self, other }; }
namespace gt_Scalar_out { enum : size_t { self, other }; }
namespace gt_Tensor_out { enum : size_t { self, other }; }
namespace le_Scalar_out { enum : size_t { self, other }; }
namespace le_Tensor_out { enum : size_t { self, other }; }
namespace logical_and_out { enum : size_t { self, other }; }
namespace logical_or_out { enum : size_t { self, other }; }
namespace logical_xor_out { enum : size_t { self, other }; }
namespace lt_Scalar_out { enum : size_t { self, other }; }
namespace lt_Tensor_out { enum : size_t { self, other }; }
namespace masked_fill_Scalar_out { enum : size_t { self, mask, value }; }
namespace maximum_out { enum : size_t { self, other }; }
namespace minimum_out { enum : size_t { self, other }; }
namespace mul_out { enum : size_t { self, other }; }
namespace mul_Scalar_out { enum : size_t { self, other }; }
namespace ne_Scalar_out { enum : size_t { self, other }; }
namespace ne_Tensor_out { enum : size_t { self, other }; }
namespace pow_Scalar_out { enum : size_t { self, exponent }; }
namespace pow_Tensor_Scalar_out { enum : size_t { self, exponent }; }
namespace pow_Tensor_Tensor_out { enum : size_t { self, exponent }; }
namespace remainder_Tensor_out { enum : size_t { self, other }; }
namespace remainder_Scalar_out { enum : size_t { self, other }; }
namespace rsub_Scalar_out { enum : size_t { self, other, alpha }; }
namespace sub_out { enum : size_t { self, other, alpha }; }
namespace sub_Scalar_out { enum : size_t { self, other, alpha }; }
namespace where_self_out { enum : size_t { condition, self, other }; }
namespace amax_out { enum : size_t { self, dim, keepdim }; }
namespace amin_out { enum : size_t { self, dim, keepdim }; }
namespace any_all_out { enum : size_t { self }; }
namespace any_dims_out { enum : size_t { self, dim, keepdim }; }
namespace any_out { enum : size_t { self, dim, keepdim }; }
namespace argmax_out { enum : size_t { self, dim, keepdim }; }
namespace argmin_out { enum : size_t { self, dim, keepdim }; }
namespace cumsum_out { enum : size_t { self, dim, dtype }; }
namespace max_dim_max { enum : size_t { self, dim, keepdim }; }
namespace max_unary_out { enum : size_t { self }; }
namespace mean_out { enum : size_t { self, dim, keepdim, dtype }; }
namespace mean_dtype_out { enum : size_t { self, dtype }; }
namespace min_dim_min { enum : size_t { self, dim, keepdim }; }
namespace min_unary_out { enum : size_t { self }; }
namespace prod_int_out { enum : size_t { self, dim, keepdim, dtype }; }
namespace prod_out { enum : size_t { self, dtype }; }
namespace sum_IntList_out { enum : size_t { self, dim, keepdim, dtype }; }
namespace topk_values { enum : size_t { self, k, dim, largest, sorted }; }
namespace var_correction_out { enum : size_t { self, dim, correction, keepdim }; }
namespace var_mean_correction_out { enum : size_t { self, dim, correction, keepdim }; }
namespace var_out { enum : size_t { self, dim, unbiased, keepdim }; }
namespace log_softmax_out { enum : size_t { self, dim, half_to_float }; }
namespace native_batch_norm_legit_no_training_out { enum : size_t { input, weight, bias, running_mean, running_var,
    momentum, eps }; }
namespace softmax_out { enum : size_t { self, dim, half_to_float }; }
namespace native_group_norm_out { enum : size_t { input, weight, bias, N, C, HxW, group, eps }; }
namespace native_layer_norm_out { enum : size_t { input, normalized_shape, weight, bias, eps }; }
namespace native_batch_norm_legit_out { enum : size_t { input, weight, bias, running_mean, running_var, training,
    momentum, eps }; }
namespace native_batch_norm_legit_no_stats_out { enum : size_t { input, weight, bias, training, momentum, eps }; }
namespace adaptive_avg_pool2d_out { enum : size_t { self, output_size }; }
namespace addmm_out { enum : size_t { self, mat1, mat2, beta, alpha }; }
namespace avg_pool2d_out { enum : size_t { self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override }; }
namespace bmm_out { enum : size_t { self, mat2 }; }
namespace convolution_out { enum : size_t { input, weight, bias, stride, padding, dilation, transposed, output_padding,
    groups }; }
namespace max_pool2d_with_indices_out { enum : size_t { self, kernel_size, stride, padding, dilation, ceil_mode }; }
namespace mm_out { enum : size_t { self, mat2 }; }
namespace pixel_shuffle_out { enum : size_t { self, upscale_factor }; }
namespace pixel_unshuffle_out { enum : size_t { self, downscale_factor }; }
namespace upsample_bilinear2d_vec_out { enum : size_t { input, output_size, align_corners, scale_factors }; }
namespace upsample_nearest2d_vec_out { enum : size_t { input, output_size, scale_factors }; }
namespace upsample_bilinear2d_aa_out { enum : size_t { self, output_size, align_corners, scales_h, scales_w }; }
namespace grid_sampler_2d_out { enum : size_t { input, grid, interpolation_mode, padding_mode, align_corners }; }
namespace grid_sampler_3d_out { enum : size_t { input, grid, interpolation_mode, padding_mode, align_corners }; }
namespace roi_align_out { enum : size_t { input, rois, images, height, width, samples, scale, largest, half_pixel }; }
namespace cdist_forward_out { enum : size_t { x1, x2, p, compute_mode }; }
namespace pdist_forward_out { enum : size_t { self, p }; }
namespace convolution_backward_out { enum : size_t { grad_output, input, weight, bias_sizes, stride, padding, dilation,
    transposed, output_padding, groups, output_mask }; }
namespace max_pool2d_with_indices_backward_grad_input { enum : size_t { grad_output, self, kernel_size, stride, padding,
    dilation, ceil_mode, indices }; }
namespace embedding_out { enum : size_t { weight, indices, padding_idx, scale_grad_by_freq, sparse }; }
namespace gather_out { enum : size_t { self, dim, index, sparse_grad }; }
namespace index_Tensor_out { enum : size_t { self, indices }; }
namespace index_put_out { enum : size_t { self, indices, values, accumulate }; }
namespace index_select_out { enum : size_t { self, dim, index }; }
namespace nonzero_out { enum : size_t { self }; }
namespace non_max_suppression_out { enum : size_t { boxes, scores, most, overlap, score, centred }; }
namespace unique_out { enum : size_t { self, sorted }; }
namespace scatter_src_out { enum : size_t { self, dim, index, src }; }
namespace scatter_value_out { enum : size_t { self, dim, index, value }; }
namespace scatter_add_out { enum : size_t { self, dim, index, src }; }
namespace scatter_reduce_two_out { enum : size_t { self, dim, index, src, reduce, include_self }; }
namespace select_scatter_out { enum : size_t { self, src, dim, index }; }
namespace slice_scatter_out { enum : size_t { self, src, dim, start, end, step }; }
namespace index_put_self { enum : size_t { self, indices, values, accumulate }; }
namespace masked_scatter_out { enum : size_t { self, mask, source }; }
namespace masked_select_out { enum : size_t { self, mask }; }
namespace repeat_interleave_Tensor_out { enum : size_t { repeats, output_size }; }
namespace arange_out { enum : size_t { end, dtype }; }
namespace arange_start_out { enum : size_t { start, end, step, dtype }; }
namespace fill_Scalar_out { enum : size_t { self, value }; }
namespace fill_Tensor_out { enum : size_t { self, value }; }
namespace full_out { enum : size_t { size, fill_value, dtype }; }
namespace full_like_out { enum : size_t { self, fill_value, memory_format, dtype }; }
namespace refuse_out { enum : size_t { size, why, dtype }; }
namespace ones_out { enum : size_t { size, dtype }; }
namespace scalar_tensor_out { enum : size_t { s, dtype }; }
namespace zeros_out { enum : size_t { size, dtype }; }
namespace empty_out { enum : size_t { size, memory_format, dtype }; }
namespace empty_dim_order_out { enum : size_t { size, dim_order, dtype }; }
namespace rand_out { enum : size_t { size, dtype }; }
namespace randn_out { enum : size_t { size, dtype }; }
namespace native_dropout_out { enum : size_t { input, p, train }; }
namespace alias_copy_out { enum : size_t { self }; }
namespace cat_out { enum : size_t { tensors, dim }; }
namespace clone_out { enum : size_t { self, memory_format }; }
namespace constant_pad_nd_out { enum : size_t { self, pad, value }; }
namespace copy_out { enum : size_t { self, src, non_blocking }; }
namespace copy_self { enum : size_t { self, src, non_blocking }; }
namespace detach_copy_out { enum : size_t { self }; }
namespace diagonal_copy_out { enum : size_t { self, offset, dim1, dim2 }; }
namespace expand_copy_out { enum : size_t { self, size, implicit }; }
namespace flip_out { enum : size_t { self, dims }; }
namespace glu_out { enum : size_t { self, dim }; }
namespace narrow_copy_out { enum : size_t { self, dim, start, length }; }
namespace permute_copy_out { enum : size_t { self, dims }; }
namespace repeat_out { enum : size_t { self, repeats }; }
namespace reflection_pad1d_out { enum : size_t { self, padding }; }
namespace reflection_pad2d_out { enum : size_t { self, padding }; }
namespace reflection_pad3d_out { enum : size_t { self, padding }; }
namespace replication_pad1d_out { enum : size_t { self, padding }; }
namespace replication_pad2d_out { enum : size_t { self, padding }; }
namespace replication_pad3d_out { enum : size_t { self, padding }; }
namespace roll_out { enum : size_t { self, shifts, dims }; }
namespace select_copy_int_out { enum : size_t { self, dim, index }; }
namespace slice_copy_Tensor_out { enum : size_t { self, dim, start, end, step }; }
namespace split_copy_Tensor_out { enum : size_t { self, split_size, dim }; }
namespace split_with_sizes_copy_out { enum : size_t { self, split_sizes, dim }; }
namespace squeeze_copy_dim_out { enum : size_t { self, dim }; }
namespace squeeze_copy_dims_out { enum : size_t { self, dim }; }
namespace stack_out { enum : size_t { tensors, dim }; }
namespace t_copy_out { enum : size_t { self }; }
namespace transpose_copy_int_out { enum : size_t { self, dim0, dim1 }; }
namespace tril_out { enum : size_t { self, diagonal }; }
namespace unbind_copy_int_out { enum : size_t { self, dim }; }
namespace unsqueeze_copy_out { enum : size_t { self, dim }; }
namespace view_copy_out { enum : size_t { self, size }; }
namespace to_dim_order_copy_out { enum : size_t { self, non_blocking, dim_order, dtype }; }
namespace clone_dim_order_out { enum : size_t { self, non_blocking, dim_order }; }
namespace to_copy_out { enum : size_t { self, non_blocking, memory_format, dtype }; }
namespace bit_cast_out { enum : size_t { self, dtype }; }
namespace lift_fresh_copy_out { enum : size_t { self }; }
namespace as_strided_copy_out { enum : size_t { self, size, stride, storage_offset }; }
namespace unfold_copy_out { enum : size_t { self, dimension, size, step }; }
namespace view_as_real_copy_out { enum : size_t { self }; }
namespace quantize_per_tensor_out { enum : size_t { input, scale, zero_point, quant_min, quant_max, dtype }; }
namespace quantize_per_tensor_Tensor_out { enum : size_t { input, scale, zero_point, quant_min, quant_max, dtype }; }
namespace quantize_per_channel_out { enum : size_t { input, scales, zero_points, axis, quant_min, quant_max, dtype }; }
namespace quantize_per_token_out { enum : size_t { input, scales, zero_points, quant_min, quant_max, dtype }; }
namespace dequantize_per_tensor_out { enum : size_t { input, scale, zero_point, quant_min, quant_max, dtype,
    out_dtype }; }
namespace dequantize_per_tensor_Tensor_out { enum : size_t { input, scale, zero_point, quant_min, quant_max, dtype,
    out_dtype }; }
namespace dequantize_per_channel_out { enum : size_t { input, scales, zero_points, axis, quant_min, quant_max, dtype,
    out_dtype }; }
namespace dequantize_per_token_out { enum : size_t { input, scales, zero_points, quant_min, quant_max, dtype,
    output_dtype }; }
namespace choose_qparams_Tensor_out { enum : size_t { input, quant_min, quant_max, eps, dtype }; }
namespace choose_qparams_per_token_asymmetric_out { enum : size_t { input, dtype }; }
namespace quantized_add_out { enum : size_t { a, a_scale, a_zero_point, a_quant_min, a_quant_max, b, b_scale,
    b_zero_point, b_quant_min, b_quant_max, out_scale, out_zero_point, out_quant_min, out_quant_max }; }
namespace embedding_byte_out { enum : size_t { weight, weight_scales, weight_zero_points, weight_quant_min,
    weight_quant_max, indices }; }
namespace embedding_byte_dtype_out { enum : size_t { weight, weight_scales, weight_zero_points, weight_quant_min,
    weight_quant_max, indices, dtype }; }
namespace embedding_2bit_out { enum : size_t { weight, weight_scales, weight_zero_points, weight_quant_min,
    weight_quant_max, indices }; }
namespace embedding_2bit_dtype_out { enum : size_t { weight, weight_scales, weight_zero_points, weight_quant_min,
    weight_quant_max, indices, dtype }; }
namespace embedding_4bit_out { enum : size_t { weight, weight_scales, weight_zero_points, weight_quant_min,
    weight_quant_max, indices }; }
namespace embedding_4bit_dtype_out { enum : size_t { weight, weight_scales, weight_zero_points, weight_quant_min,
    weight_quant_max, indices, dtype }; }
namespace mixed_mm_out { enum : size_t { input, weight, weight_scales, weight_zero_points }; }
namespace mixed_linear_out { enum : size_t { input, weight, weight_scales, weight_zero_points, dtype }; }
namespace h2d_copy_out { enum : size_t { self }; }
namespace d2h_copy_out { enum : size_t { self }; }
namespace d2d_copy_out { enum : size_t { self }; }
namespace fused_conv_out { enum : size_t { input, weight, bias, residual, stride, padding, dilation, transposed,
    output_padding, groups, activation, alpha, beta, packing, dtype }; }
namespace fused_linear_out { enum : size_t { input, weight, bias, residual, activation, alpha, beta, packing, dtype }; }
namespace fused_attention_out { enum : size_t { query, key, value, mask, heads, head_size, query_column, key_column,
    value_column, scale, causal }; }
namespace fused_attention_biased_out { enum : size_t { query, key, value, bias, mask, heads, head_size, query_column,
    key_column, value_column, scale }; }
namespace fused_elementwise_out { enum : size_t { inputs, code, constants }; }
namespace fused_lstm_cell_out { enum : size_t { gates, hidden, cell, weight, packing }; }
namespace fused_lstm_out { enum : size_t { gates, hidden, cell, weight, reverse }; }
namespace fused_lstm_gates_out { enum : size_t { gates, cell, order }; }
namespace fused_shuffle_out { enum : size_t { parts, groups, sizes }; }
namespace quantized_linear_out { enum : size_t { input, input_scale, input_zero_point, weight, weight_zero_point, scale,
    bias, residual, activation, alpha, beta, middle_scale, middle_zero_point, residual_scale, residual_zero_point,
    out_scale, out_zero_point, out_min, out_max, rounding, dtype, packing }; }
namespace quantized_conv_out { enum : size_t { input, input_scale, input_zero_point, weight, weight_zero_point, scale,
    bias, residual, stride, padding, dilation, groups, activation, alpha, beta, middle_scale, middle_zero_point,
    residual_scale, residual_zero_point, out_scale, out_zero_point, out_min, out_max, rounding, dtype, packing }; }
namespace fused_narrow_linear_out { enum : size_t { input, weight, scales, zero_points, bias, residual, bits, block,
    activation, alpha, beta, packing }; }
namespace dynamic_quantize_out { enum : size_t { input }; }
namespace grouped_attention_out { enum : size_t { query, key, value, mask, last, before, scale, guarded }; }
namespace grouped_attention_rows_out { enum : size_t { query, key, value, mask, last, before, scale, guarded }; }
namespace fused_gru_out { enum : size_t { gates, hidden, weight, bias, reset_first, linear_before_reset, reverse }; }
namespace inverted_residual_out { enum : size_t { input, expand_weight, expand_bias, expand_activation, expand_alpha,
    expand_beta, expand_packing, weight, bias, stride, padding, dilation, activation, alpha, beta, packing,
    project_weight, project_bias, residual, project_activation, project_alpha, project_beta, project_packing }; }
namespace weight_rows_out { enum : size_t { weight, indices, from_end, bits, form, packing }; }
namespace fused_rms_norm_out { enum : size_t { input, weight, eps }; }

// clang-format on
}  // namespace berth::arg

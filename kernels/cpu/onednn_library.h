// The functions of oneDNN that are used here, in a library that is opened when a call first needs a primitive: most
// processes never need one, and it takes 13 MB and some milliseconds.
//
// It is libdnnl.so of the headers' major version, as the system finds it for the program or library that has this code:
// CMake puts a build's folder of it, or an install's, into the RUNPATH of what links with this room. If it cannot be
// opened, or uses other threads than OpenMP's, that is logged once, and Berth's own, slower kernels are used. With
// BERTH_ONEDNN_LINKED (CMake) the functions are the linker's and nothing is opened.
#pragma once

#include <dnnl.h>

#include "base/shared_library.h"
#include "kernels/cpu/onednn.h"

#define BERTH_ONEDNN_FUNCTIONS(X) \
  X(version, dnnl_version) \
  X(get_effective_cpu_isa, dnnl_get_effective_cpu_isa) \
  X(set_max_cpu_isa, dnnl_set_max_cpu_isa) \
  X(engine_create, dnnl_engine_create) \
  X(stream_create, dnnl_stream_create) \
  X(stream_destroy, dnnl_stream_destroy) \
  X(memory_create, dnnl_memory_create) \
  X(memory_destroy, dnnl_memory_destroy) \
  X(memory_set_data_handle, dnnl_memory_set_data_handle) \
  X(memory_desc_create_with_strides, dnnl_memory_desc_create_with_strides) \
  X(memory_desc_create_with_tag, dnnl_memory_desc_create_with_tag) \
  X(memory_desc_destroy, dnnl_memory_desc_destroy) \
  X(memory_desc_get_size, dnnl_memory_desc_get_size) \
  X(memory_desc_query, dnnl_memory_desc_query) \
  X(post_ops_append_sum, dnnl_post_ops_append_sum) \
  X(post_ops_create, dnnl_post_ops_create) \
  X(post_ops_destroy, dnnl_post_ops_destroy) \
  X(primitive_attr_create, dnnl_primitive_attr_create) \
  X(primitive_attr_destroy, dnnl_primitive_attr_destroy) \
  X(primitive_attr_set_post_ops, dnnl_primitive_attr_set_post_ops) \
  X(primitive_attr_set_scratchpad_mode, dnnl_primitive_attr_set_scratchpad_mode) \
  X(primitive_create, dnnl_primitive_create) \
  X(primitive_desc_destroy, dnnl_primitive_desc_destroy) \
  X(primitive_desc_query, dnnl_primitive_desc_query) \
  X(primitive_desc_query_md, dnnl_primitive_desc_query_md) \
  X(primitive_destroy, dnnl_primitive_destroy) \
  X(primitive_execute, dnnl_primitive_execute) \
  X(convolution_forward_primitive_desc_create, dnnl_convolution_forward_primitive_desc_create) \
  X(deconvolution_forward_primitive_desc_create, dnnl_deconvolution_forward_primitive_desc_create) \
  X(inner_product_forward_primitive_desc_create, dnnl_inner_product_forward_primitive_desc_create)

namespace berth::cpu {

struct OneDnn {
  BERTH_ONEDNN_FUNCTIONS(BERTH_LIBRARY_MEMBER)
  OpenMp openmp;
};

/// oneDNN, opened by the first call and never closed; null if that fails. Thread-safe.
const OneDnn* onednn();

}  // namespace berth::cpu

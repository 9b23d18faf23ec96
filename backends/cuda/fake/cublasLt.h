// The part of cuBLASLt's interface that backends/cuda/device/ uses, declared for the library of this folder
// (fake_blas.cc). Names and meanings are those of the cuBLAS library's documentation; structs that are opaque there are
// open here.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#define CUBLAS_VER_MAJOR 13

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasLtEpilogue_t { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_BIAS = 4 };
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
};
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

using cublasLtHandle_t = struct FakeBlas*;
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transposed[2];
  cublasLtEpilogue_t epilogue;
  const void* bias;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch;
  int64_t batch_stride;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace;
  uint32_t alignment[4];  // of A, B, C and D
};
/// What it was chosen for; another problem may not be run with it.
struct cublasLtMatmulAlgo_t {
  uint64_t rows, columns, depth;
  int32_t batch;
  uint64_t workspace;
  uint32_t alignment[4];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
};

extern "C" {
#pragma GCC visibility push(default)
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDescOpaque_t* desc, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t* desc,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value, size_t size);
cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayoutOpaque_t* layout, size_t size, cudaDataType_t type,
                                                 uint64_t rows, uint64_t columns, int64_t leading);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayoutOpaque_t* layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t size);
cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreferenceOpaque_t* preference, size_t size);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t* preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t size);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDescOpaque_t* desc,
                                              cublasLtMatrixLayoutOpaque_t* a, cublasLtMatrixLayoutOpaque_t* b,
                                              cublasLtMatrixLayoutOpaque_t* c, cublasLtMatrixLayoutOpaque_t* d,
                                              cublasLtMatmulPreferenceOpaque_t* preference, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDescOpaque_t* desc, const void* alpha,
                              const void* a, cublasLtMatrixLayoutOpaque_t* a_layout, const void* b,
                              cublasLtMatrixLayoutOpaque_t* b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayoutOpaque_t* c_layout, void* d, cublasLtMatrixLayoutOpaque_t* d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream);
#pragma GCC visibility pop
}

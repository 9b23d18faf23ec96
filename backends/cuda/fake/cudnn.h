// The part of cuDNN's interface that backends/cuda/device/ uses, declared for the library of this folder (fake_dnn.cc).
// Names and meanings are those of the library's documentation; the numbers of algorithms and types too.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#define CUDNN_MAJOR 9

enum cudnnStatus_t {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_ALLOC_FAILED = 4002,
  CUDNN_STATUS_EXECUTION_FAILED = 5000,
};
enum cudnnDataType_t { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW = 0 };
enum cudnnConvolutionMode_t { CUDNN_CROSS_CORRELATION = 1 };
enum cudnnMathType_t {
  CUDNN_DEFAULT_MATH = 0,
  CUDNN_TENSOR_OP_MATH = 1,
  CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
  CUDNN_FMA_MATH = 3,
};
enum cudnnConvolutionFwdAlgo_t {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
  CUDNN_CONVOLUTION_FWD_ALGO_GEMM = 2,
  CUDNN_CONVOLUTION_FWD_ALGO_FFT = 4,
  CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD = 6,
};
enum cudnnConvolutionBwdDataAlgo_t {
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 = 0,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD = 4,
};

using cudnnHandle_t = struct FakeDnn*;
using cudnnTensorDescriptor_t = struct FakeDnnTensor*;
using cudnnFilterDescriptor_t = struct FakeDnnFilter*;
using cudnnConvolutionDescriptor_t = struct FakeDnnConvolution*;

struct cudnnConvolutionFwdAlgoPerf_t {
  cudnnConvolutionFwdAlgo_t algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  cudnnMathType_t mathType;
};
struct cudnnConvolutionBwdDataAlgoPerf_t {
  cudnnConvolutionBwdDataAlgo_t algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  cudnnMathType_t mathType;
};

extern "C" {
#pragma GCC visibility push(default)
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor);
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                         const int sizes[], const int strides[]);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter);
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter);
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int sizes[]);
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution);
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution);
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int axes, const int padding[],
                                              const int stride[], const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute);
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups);
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math);
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w,
                                                     cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t y, int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found);
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_layout,
                                      const void* x, cudnnFilterDescriptor_t w_layout, const void* w,
                                      cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_layout, void* y);
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t convolution,
                                                          cudnnTensorDescriptor_t dx, int most, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* found);
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w_layout,
                                           const void* w, cudnnTensorDescriptor_t dy_layout, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t workspace_bytes, const void* beta, cudnnTensorDescriptor_t dx_layout,
                                           void* dx);
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t a_layout, const void* a,
                             const void* beta, cudnnTensorDescriptor_t c_layout, void* c);
#pragma GCC visibility pop
}

// The part of the CUDA runtime's interface that backends/cuda/device/ uses, declared for the runtime of this folder,
// which stands in for it in tests on machines without a GPU or a toolkit. Names and meanings are those of the CUDA
// Runtime API reference; the numbers of errors too.
#pragma once

#include <cstddef>

#define CUDART_VERSION 13000

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaDeviceAttr { cudaDevAttrMemoryPoolsSupported = 115 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed = 2 };
enum : unsigned {
  cudaStreamNonBlocking = 1,
  cudaEventDisableTiming = 2,
  cudaHostAllocDefault = 0,
  cudaHostAllocMapped = 2,
};

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
};
struct cudaDeviceProp {
  char name[256];
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;

inline const cudaStream_t cudaStreamPerThread = reinterpret_cast<cudaStream_t>(2);

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocAsync(void** memory, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device, size_t bytes,
                                cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, struct CUgraphNode_st** nodes, size_t* count);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);

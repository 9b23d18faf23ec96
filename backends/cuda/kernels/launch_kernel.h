// How kernels are launched: with the error of the launch itself. A program has one "last error" for each of its
// threads, so that asking for that after a launch would also find what the application's own calls left there.
#pragma once

#include <cuda_runtime_api.h>

#include <type_traits>

#include "backends/cuda/queue.h"

namespace berth::cuda {

/// Queues `kernel` with `arguments`, which are copied. Internal, with the runtime's words, when it was not taken.
template <typename... Parameters>
Error launch_kernel(KernelContext& context, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                    const std::common_type_t<Parameters>&... arguments) {
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const Queue queue = queue_of(context);
  const auto stream = static_cast<cudaStream_t>(queue.stream);
  const cudaError_t error =
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, addresses, shared_bytes, stream);
  if (error == cudaSuccess) {
    count_launch(queue);
    return Error::kOk;
  }
  // The thread's last error is this one now.
  static_cast<void>(cudaGetLastError());
  return context.fail(Error::kInternal, cudaGetErrorString(error));
}

}  // namespace berth::cuda

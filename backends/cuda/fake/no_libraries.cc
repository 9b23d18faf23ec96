// cuBLASLt and cuDNN are not there: the room's own kernels compute.
#include "backends/cuda/device/cuda_blas.h"
#include "backends/cuda/device/cuda_dnn.h"

namespace berth::cuda {

std::unique_ptr<CudaBlas> CudaBlas::create(cudaStream_t, Workspace) { return nullptr; }
std::unique_ptr<CudaDnn> CudaDnn::create(cudaStream_t, Workspace) { return nullptr; }

}  // namespace berth::cuda

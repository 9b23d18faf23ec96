// The fake cuBLASLt is in the program itself, which must export its functions (ENABLE_EXPORTS). cuDNN is not there: the
// room's own kernels compute convolutions.
#include "backends/cuda/device/cuda_dnn.h"
#include "backends/cuda/device/cuda_library.h"
#include "backends/cuda/fake/fake_blas.h"

namespace berth::cuda {

SharedLibrary open_library(const char*, const char*, const char*) {
  // So that the linker keeps it.
  static_cast<void>(fake::blas_counts());
  return SharedLibrary(nullptr);
}

std::unique_ptr<CudaDnn> CudaDnn::create(Workspace) { return nullptr; }

}  // namespace berth::cuda

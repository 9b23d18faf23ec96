// The fake cuBLASLt and cuDNN are in the program itself, which must export their functions (ENABLE_EXPORTS).
#include "backends/cuda/device/cuda_library.h"
#include "backends/cuda/fake/fake_blas.h"
#include "backends/cuda/fake/fake_dnn.h"

namespace berth::cuda {

SharedLibrary open_library(const char*, const char*, const char*) {
  // So that the linker keeps them.
  static_cast<void>(fake::blas_counts());
  static_cast<void>(fake::dnn_counts());
  return SharedLibrary(nullptr);
}

}  // namespace berth::cuda

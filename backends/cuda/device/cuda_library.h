// Finds cuBLASLt and cuDNN. Private to this folder.
#pragma once

#include "base/shared_library.h"

namespace berth::cuda {

/// Opens the library `name`, such as "libcudnn.so.9": where the loader finds it, else in the first of these folders
/// that has it: those of the environment variable BERTH_CUDA_LIBRARY_PATH, separated by colons (PyPI's packages put the
/// libraries where no loader looks, .../site-packages/nvidia/cudnn/lib and .../nvidia/cu13/lib), and `folder`, which
/// the build found. When none has it, logs what will be slower, `consequence`, and where it looked.
SharedLibrary open_library(const char* name, const char* folder, const char* consequence);

}  // namespace berth::cuda

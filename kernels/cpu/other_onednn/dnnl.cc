// For onednn_library_test.cc: a library that says it is another major version of oneDNN.
#include <dnnl.h>

extern "C" __attribute__((visibility("default"))) const dnnl_version_t* dnnl_version() {
  static const dnnl_version_t old = {2, 7, 0, "", DNNL_RUNTIME_OMP, DNNL_RUNTIME_NONE};
  return &old;
}

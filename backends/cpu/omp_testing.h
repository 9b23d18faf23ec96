// For tests of thread pools: whether this thread is in a parallel region of oneDNN's OpenMP, if that is loaded. Not
// part of any library.
#pragma once

#include <dlfcn.h>

namespace berth::testing {

inline bool in_omp_region() {
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  auto* in_parallel = reinterpret_cast<int (*)()>(dlsym(library, "omp_in_parallel"));
  const bool in_region = in_parallel != nullptr && in_parallel() != 0;
  dlclose(library);
  return in_region;
}

}  // namespace berth::testing

# What the cpu backend stands on, each optional: oneDNN (BERTH_ONEDNN) and Highway (BERTH_HIGHWAY). Without one the
# kernels of our own take its place, slower. Both variables are ON or OFF after this.

option(BERTH_ONEDNN "Convolutions and products by oneDNN, where it is found (x86-64)" ON)
option(BERTH_HIGHWAY "Vectorised kernels by Highway, where it is found" ON)
# ./dev puts PyPI's onednn-devel-cpu-gomp there.
set(BERTH_ONEDNN_ROOT "${PROJECT_SOURCE_DIR}/build/onednn" CACHE PATH "Where oneDNN is installed, if nowhere usual")

if(BERTH_ONEDNN)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    find_package(dnnl 3.2 CONFIG QUIET HINTS ${BERTH_ONEDNN_ROOT})
  endif()
  if(NOT TARGET DNNL::dnnl OR NOT DNNL_CPU_RUNTIME STREQUAL "OMP")
    message(STATUS "No oneDNN of version 3.2 on OpenMP was found: the cpu target runs on kernels of its own, slower "
      "(./dev build brings it; or set BERTH_ONEDNN_ROOT)")
    set(BERTH_ONEDNN OFF)
  else()
    message(STATUS "oneDNN ${dnnl_VERSION}: ${dnnl_DIR}")
  endif()
endif()

if(BERTH_PLAIN)
  set(BERTH_HIGHWAY OFF)
endif()
if(BERTH_HIGHWAY)
  find_package(hwy CONFIG QUIET)
  if(NOT TARGET hwy::hwy)
    message(STATUS "No Highway was found (Debian's libhwy-dev): the cpu target has fewer vectorised kernels")
    set(BERTH_HIGHWAY OFF)
  endif()
endif()

set(BERTH_CPU_LIBRARIES "")
if(BERTH_HIGHWAY)
  list(APPEND BERTH_CPU_LIBRARIES hwy::hwy)
endif()
if(BERTH_ONEDNN)
  set(BERTH_ONEDNN_SONAME libdnnl.so.3)
  list(APPEND BERTH_CPU_LIBRARIES DNNL::dnnl gomp)
endif()

# What the cpu backend stands on, each optional: oneDNN (BERTH_ONEDNN) and Highway (BERTH_HIGHWAY). Without one the
# kernels of our own take its place, slower. Both variables are ON or OFF after this.
#
# Of Highway the headers are enough. oneDNN is opened when a call first wants it, so nothing links it: what links with
# the cpu backend gets its folder among those that the system searches (RUNPATH). With BERTH_ONEDNN_LINKED it is linked
# as any library: for a oneDNN that is an archive, for programs that must have everything when they start, and for
# sanitizers, whose dlopen searches their own library's RUNPATH.

option(BERTH_ONEDNN "Convolutions and products by oneDNN, where it is found (x86-64)" ON)
option(BERTH_HIGHWAY "Vectorised kernels by Highway, where it is found" ON)
option(BERTH_ONEDNN_LINKED "Link oneDNN; else it is opened when a call wants it" OFF)
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

# What an application links for the cpu backend.
set(BERTH_CPU_LIBRARIES "")
if(BERTH_ONEDNN)
  get_target_property(kind DNNL::dnnl TYPE)
  if(BERTH_SANITIZE OR kind STREQUAL STATIC_LIBRARY)
    set(BERTH_ONEDNN_LINKED ON)
  endif()
  set(BERTH_ONEDNN_INSTALLED libdnnl.so.3)
  if(kind STREQUAL STATIC_LIBRARY)
    set(BERTH_ONEDNN_INSTALLED libdnnl.a)
  endif()
  if(BERTH_ONEDNN_LINKED)
    set(BERTH_CPU_LIBRARIES DNNL::dnnl gomp)
  else()
    set(BERTH_CPU_LIBRARIES ${CMAKE_DL_LIBS})
    if(PROJECT_IS_TOP_LEVEL)
      # Of every program here; cmake --install puts the install's in its place.
      list(APPEND CMAKE_BUILD_RPATH $<TARGET_FILE_DIR:DNNL::dnnl>)
    endif()
  endif()
endif()

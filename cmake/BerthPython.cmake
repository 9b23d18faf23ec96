# The Python package (python/), where there are nanobind and the headers of a Python. BERTH_PYTHON is ON or OFF after
# this.

# ./dev puts an environment there, with NumPy for the tests.
set(BERTH_PYTHON_ROOT "${PROJECT_SOURCE_DIR}/build/python" CACHE PATH "An environment of Python with nanobind in it")

if(BERTH_PYTHON AND NOT BERTH_SANITIZE)
  if(NOT Python_EXECUTABLE AND EXISTS ${BERTH_PYTHON_ROOT}/bin/python)
    set(Python_EXECUTABLE ${BERTH_PYTHON_ROOT}/bin/python)
  endif()
  set(component "")
  if(SKBUILD_SABI_VERSION)
    set(component Development.SABIModule)
  endif()
  if(SKBUILD OR Python_EXECUTABLE)
    find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module ${component})
  endif()
  if(Python_Development.Module_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT ERROR_QUIET)
    find_package(nanobind CONFIG QUIET HINTS ${nanobind_ROOT} NO_DEFAULT_PATH)
  endif()
endif()
if(nanobind_FOUND)
  message(STATUS "The Python package: for ${Python_EXECUTABLE}, Python ${Python_VERSION}")
  add_subdirectory(python)
elseif(SKBUILD)
  message(FATAL_ERROR "nanobind and the headers of Python are needed (Debian's python3-dev)")
else()
  message(STATUS "No Python package: no nanobind in ${BERTH_PYTHON_ROOT} (./dev test puts it there)")
  set(BERTH_PYTHON OFF)
endif()

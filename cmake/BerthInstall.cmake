# cmake --install: the tool, libberth_runtime, libberth_cpu, libberth_cuda, libberth_compiler, public headers, and a
# package for find_package(berth COMPONENTS runtime cpu cuda compiler c).
#
# Each of these libraries is one archive made of the objects of its rooms, so that a user links one thing. libberth.so
# has the C API and all of it inside.

if(BERTH_INSTRUCTION_SETS STREQUAL this)
  install(CODE "message(FATAL_ERROR \"This build has kernels for the machine that it was made on alone: configure with \
-DBERTH_INSTRUCTION_SETS=all before an install.\")")
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All that is installed, but for the tool.
add_custom_target(install_libraries)

# berth_bundle(NAME ROOMS room… LINK library…)
function(berth_bundle name)
  cmake_parse_arguments(ARG "" "" "ROOMS;LINK" ${ARGN})
  set(objects "")
  foreach(room IN LISTS ARG_ROOMS)
    list(APPEND objects $<TARGET_OBJECTS:berth_${room}>)
  endforeach()
  add_library(berth_bundle_${name} STATIC ${objects})
  set_target_properties(berth_bundle_${name} PROPERTIES
    OUTPUT_NAME berth_${name} EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  target_compile_features(berth_bundle_${name} INTERFACE cxx_std_17)
  target_include_directories(berth_bundle_${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/berth>)
  target_link_libraries(berth_bundle_${name} INTERFACE ${ARG_LINK})
  add_dependencies(install_libraries berth_bundle_${name})
  install(TARGETS berth_bundle_${name} EXPORT berth_${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT berth_${name} NAMESPACE berth:: FILE berth_${name}.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
endfunction()

set(BERTH_RUNTIME_ROOMS base format plan_check runtime host portable nested)
foreach(room IN ITEMS sim plugin)
  if(TARGET berth_${room})
    list(APPEND BERTH_RUNTIME_ROOMS ${room})
  endif()
endforeach()
berth_bundle(runtime ROOMS ${BERTH_RUNTIME_ROOMS} LINK Threads::Threads ${CMAKE_DL_LIBS})
berth_bundle(cpu ROOMS cpu_kernels cpu LINK berth_bundle_runtime ${BERTH_CPU_LIBRARIES})
if(BERTH_ONEDNN)
  # Ours, beside whatever else the machine has: the packing of weights is that of one version.
  install(FILES $<TARGET_FILE:DNNL::dnnl> DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth RENAME
    ${BERTH_ONEDNN_INSTALLED})
endif()
if(TARGET berth_cuda)
  find_package(CUDAToolkit REQUIRED)
  berth_bundle(cuda ROOMS cuda_kernels cuda LINK berth_bundle_runtime CUDA::cudart_static ${CMAKE_DL_LIBS})
endif()
if(BERTH_COMPILER)
  berth_bundle(compiler ROOMS ${BERTH_COMPILER_ROOMS} LINK berth_bundle_cpu fmt::fmt minizip)
  install(TARGETS berth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_target_properties(berth PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/berth")
endif()

if(TARGET berth_c)
  add_dependencies(install_libraries berth_c)
  install(TARGETS berth_c EXPORT berth_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT berth_c NAMESPACE berth:: FILE berth_c.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
  install(FILES ${PROJECT_SOURCE_DIR}/c/berth.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth)
  # From the file, so that an install may be moved.
  file(RELATIVE_PATH BERTH_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/berth.pc.in ${PROJECT_BINARY_DIR}/berth.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt headers REGEX "^[a-z]")
foreach(header IN LISTS headers)
  if((header MATCHES "^compiler/" AND NOT BERTH_COMPILER) OR (header MATCHES "^backends/cuda/device/" AND NOT TARGET berth_cuda))
    continue()
  endif()
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth/${folder})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/base/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth/base)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/berth-config.cmake.in ${PROJECT_BINARY_DIR}/berth-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/berth-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/berth-config.cmake ${PROJECT_BINARY_DIR}/berth-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)

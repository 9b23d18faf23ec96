# Which instruction sets of x86-64 the kernels are compiled for, beside plain code, which runs everywhere
# (BERTH_INSTRUCTION_SETS):
#
#   all    each of them; a program uses the best that its machine has
#   this   the best of the machine that builds: for trying Berth here (./dev demo). On machines without it plain code
#          runs, which is slow, and correct. Such a build is not installed.
#
# After this BERTH_WITH_SSE4, BERTH_WITH_AVX2 and BERTH_WITH_AVX512 are 0 or 1, and BERTH_KERNELS_FOR is "all" or the
# name of the one.
set(BERTH_INSTRUCTION_SETS all CACHE STRING "Kernels for all instruction sets, or for those of this machine alone")
set_property(CACHE BERTH_INSTRUCTION_SETS PROPERTY STRINGS all this)
if(NOT BERTH_INSTRUCTION_SETS MATCHES "^(all|this)$")
  message(FATAL_ERROR "BERTH_INSTRUCTION_SETS is '${BERTH_INSTRUCTION_SETS}'; expected all or this")
endif()

# What each stands on, as the compiler names it; the best comes first. kernels/cpu/simd_targets.cc asks for the same.
set(needs_SSE4 SSSE3 SSE4_1 SSE4_2 PCLMUL AES)
set(needs_AVX2 ${needs_SSE4} AVX AVX2 BMI BMI2 FMA F16C)
set(needs_AVX512 ${needs_AVX2} AVX512F AVX512VL AVX512DQ AVX512BW)

# berth_best_instruction_set(RESULT): of this machine, such as AVX2; empty where none is known to be.
function(berth_best_instruction_set result)
  set(${result} "" PARENT_SCOPE)
  if(CMAKE_CROSSCOMPILING OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    return()
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros ERROR_QUIET)
  foreach(set IN ITEMS AVX512 AVX2 SSE4)
    set(all_there ON)
    foreach(need IN LISTS needs_${set})
      if(NOT macros MATCHES "#define __${need}__ 1")
        set(all_there OFF)
      endif()
    endforeach()
    if(all_there)
      set(${result} ${set} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(best "")
if(BERTH_INSTRUCTION_SETS STREQUAL this)
  berth_best_instruction_set(best)
endif()
foreach(set IN ITEMS SSE4 AVX2 AVX512)
  set(BERTH_WITH_${set} 1)
  if(best AND NOT set STREQUAL best)
    set(BERTH_WITH_${set} 0)
  endif()
endforeach()
set(BERTH_KERNELS_FOR all)
if(best)
  string(TOLOWER ${best} BERTH_KERNELS_FOR)
endif()

# A room of the house: one folder, one static library, its tests beside its sources.
#
#   berth_room(NAME [UNITY] [PRECOMPILED group] [COLD | SMALL] [FOLDERS folder…] [DEPENDS room…] [SYSTEM target…]
#              [EXCLUDE regex] [TESTS_SEE room…] [TESTS_ALONE stem…])
#
# makes the library berth_NAME from the folder's *.cc and, for each X_test.cc there, the test NAME.X. A room sees only
# the rooms that it names: a missing arrow of docs/house.md is a missing link line here. Files that match EXCLUDE are
# left out. FOLDERS are folders inside the room's that belong to it. TESTS_SEE: what the room's tests use beside what
# the room sees. TESTS_ALONE: ALONE of berth_tests(), below.
#
# UNITY: with BERTH_UNITY the sources are compiled sixteen at a time, as one. What includes much and is small compiles
# in half the time so. Such a room has each name once, in its anonymous namespaces too. Not for what runs on a device,
# which is linked object by object, nor for kernels, whose last bits are those of what the compiler sees at once.
#
# PRECOMPILED: with BERTH_UNITY the headers that the rooms of a group share are compiled once, for the group's first
# room: more than half of what small sources cost, and a tenth of what joined ones do. BERTH_HEADERS_group lists them;
# rooms of a group have the same options, as far as a compiler asks.
#
# COLD: a release build makes the room with -O1, in two thirds of the time. For what takes no time worth speaking of
# when a model is compiled or run; bench/two_builds.py tells. SMALL: with -Os, for much code of which each model needs
# little.

find_package(Threads REQUIRED)

add_library(berth_options INTERFACE)
target_compile_features(berth_options INTERFACE cxx_std_17)
target_include_directories(berth_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
# An index or a size that is known not to be negative needs no cast (docs/decisions/0007); clang's -Wconversion would
# ask for one, g++'s does not.
target_compile_options(berth_options INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror
  -fvisibility=hidden -fvisibility-inlines-hidden)
if(NOT BERTH_COMPILER)
  target_compile_options(berth_options INTERFACE -fno-exceptions -fno-rtti)
endif()
if(BERTH_PLAIN)
  target_compile_definitions(berth_options INTERFACE BERTH_PLAIN)
endif()
if(BERTH_SANITIZE)
  # With sanitizers g++ 12 sees reads past ends and unset members that are not there.
  target_compile_options(berth_options INTERFACE -fsanitize=${BERTH_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(berth_options INTERFACE -fsanitize=${BERTH_SANITIZE})
endif()

# Kernels are made faster than the rest; with sanitizers that takes minutes for each of them.
if(NOT BERTH_SANITIZE)
  set(BERTH_KERNEL_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O3>)
else()
  # Copies past the ends of arrays of one lane, which g++ sees there, are not there either.
  set(BERTH_KERNEL_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  if(BERTH_SANITIZE STREQUAL "thread")
    # A pass of g++ 12 fails on one of them at -O1.
    list(APPEND BERTH_KERNEL_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sra>)
  endif()
endif()

set(BERTH_COLD_OPTIONS $<$<CONFIG:Release>:-O1>)
set(BERTH_SMALL_OPTIONS $<$<CONFIG:Release>:-Os>)

if(BERTH_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # What tests include is compiled once with BERTH_UNITY: half a second of each and more.
  set(BERTH_TEST_HEADERS <gtest/gtest.h> <algorithm> <cmath> <cstring> <functional> <map> <numeric> <optional> <random>
    <string> <unordered_map> <variant> <vector>)
  # Of these rooms the tests are compiled together, so many at a time that a change costs at most 15 seconds.
  set(BERTH_JOINED_TESTS base compile cpu cpu_kernels emit end_to_end format format_write fuse host ir memory nested onnx
    packing passes placement plan_check portable pt2 pte quantize runtime scheduling sim targets tool)
  # ./dev sanitize quick builds a few tests of these alone.
  if(BERTH_SANITIZE)
    list(REMOVE_ITEM BERTH_JOINED_TESTS format host packing runtime)
  endif()
  set(BERTH_TESTS_AT_A_TIME 6)
  add_library(berth_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/test_main.cc)
  target_link_libraries(berth_test_main PUBLIC GTest::gtest berth_options)
endif()

# berth_test_options(TARGET [GROUP ROOM]): for a target of tests; of a room of a group of precompiled headers.
function(berth_test_options target)
  # What is tested is in the libraries: a test's own code compiles in half the time when it is not made fast.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-Og>)
  if(NOT BERTH_UNITY)
    return()
  endif()
  set(precompiled berth_test_precompiled)
  set(headers ${BERTH_TEST_HEADERS})
  set(room "")
  if(ARGC GREATER 2)
    set(precompiled berth_test_precompiled_${ARGV1})
    list(APPEND headers ${BERTH_TEST_HEADERS_${ARGV1}})
    set(room ${ARGV2})
  endif()
  if(NOT TARGET ${precompiled})
    file(WRITE ${PROJECT_BINARY_DIR}/generated/tests/precompiled.cc "")
    add_library(${precompiled} OBJECT ${PROJECT_BINARY_DIR}/generated/tests/precompiled.cc)
    target_link_libraries(${precompiled} PRIVATE ${room} GTest::gtest berth_options)
    target_compile_options(${precompiled} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-Og>)
    target_precompile_headers(${precompiled} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

# berth_test(NAME source… [DEPENDS target…] [LABELS label…] [PRECOMPILED group room]): a test that is a program,
# test_NAME.
function(berth_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LABELS;PRECOMPILED" ${ARGN})
  if(NOT BERTH_TESTS)
    return()
  endif()
  string(REPLACE "." "_" target "test_${name}")
  berth_test_program(${target} ${ARG_UNPARSED_ARGUMENTS} DEPENDS ${ARG_DEPENDS} PRECOMPILED ${ARG_PRECOMPILED})
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

# berth_tests(ROOM source… [ALONE stem…] [DEPENDS target…] [LABELS label…] [PRECOMPILED group room])
#
# A test ROOM.x for each x_test.cc. With BERTH_UNITY all of a room in BERTH_JOINED_TESTS are one program, tests_ROOM,
# compiled a few at a time; a test is a run of it with one file's tests (tests/test_main.cc), a process of its own. Such
# files have each name once in their room, in anonymous namespaces too. Otherwise each is a program, test_ROOM_x. ALONE:
# these always are, as what replaces malloc() has to be.
function(berth_tests room)
  cmake_parse_arguments(ARG "" "" "ALONE;DEPENDS;LABELS;PRECOMPILED" ${ARGN})
  if(NOT BERTH_TESTS)
    return()
  endif()
  set(options DEPENDS ${ARG_DEPENDS} PRECOMPILED ${ARG_PRECOMPILED})
  set(joined "")
  foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
    get_filename_component(file ${source} NAME)
    string(REGEX REPLACE "_test[.]cc$" "" stem ${file})
    if(BERTH_UNITY AND room IN_LIST BERTH_JOINED_TESTS AND NOT stem IN_LIST ARG_ALONE)
      set(target tests_${room})
      list(APPEND joined ${source})
    else()
      set(target test_${room}_${stem})
      berth_test_program(${target} ${source} ${options})
    endif()
    add_test(NAME ${room}.${stem} COMMAND ${target} --file ${file})
    set_tests_properties(${room}.${stem} PROPERTIES LABELS "${ARG_LABELS}")
  endforeach()
  if(joined)
    berth_test_program(tests_${room} ${joined} ${options})
    berth_unity(tests_${room} ${BERTH_TESTS_AT_A_TIME})
  endif()
endfunction()

# berth_test_program(TARGET source… DEPENDS target… PRECOMPILED [group room])
function(berth_test_program target)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRECOMPILED" ${ARGN})
  add_executable(${target} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} berth_test_main berth_options)
  target_compile_definitions(${target} PRIVATE BERTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  berth_test_options(${target} ${ARG_PRECOMPILED})
endfunction()

# Program files, for the runtime's rooms; kernels; the IR, for the compiler's.
set(BERTH_HEADERS_program <algorithm> <cmath> <cstring> <functional> <memory> <string> <vector>
  ${PROJECT_BINARY_DIR}/generated/format/program_generated.h ${PROJECT_BINARY_DIR}/generated/format/meta_generated.h)
set(BERTH_HEADERS_kernels <algorithm> <cmath> <cstring> <limits> <type_traits>
  ${PROJECT_SOURCE_DIR}/kernels/portable/portable.h ${PROJECT_SOURCE_DIR}/kernels/portable/dispatch.h)
set(BERTH_HEADERS_ir <algorithm> <cmath> <cstring> <functional> <limits> <map> <memory> <numeric> <optional> <set>
  <string> <unordered_map> <utility> <variant> <vector> <fmt/format.h> ${PROJECT_SOURCE_DIR}/compiler/ir/module.h
  ${PROJECT_SOURCE_DIR}/compiler/ir/arguments.h ${PROJECT_SOURCE_DIR}/compiler/ir/text.h)
set(BERTH_HEADERS_lowering ${BERTH_HEADERS_ir} ${PROJECT_SOURCE_DIR}/compiler/import/lowering/arithmetic.h)

# What tests of the compiler's rooms include beside: a tenth of what they cost.
set(BERTH_TEST_HEADERS_ir ${PROJECT_SOURCE_DIR}/compiler/ir/module.h ${PROJECT_SOURCE_DIR}/compiler/ir/parse.h
  ${PROJECT_SOURCE_DIR}/compiler/ir/print.h)
set(BERTH_TEST_HEADERS_lowering ${BERTH_TEST_HEADERS_ir})

# berth_precompile(TARGET GROUP)
function(berth_precompile target group)
  if(NOT BERTH_UNITY)
    return()
  endif()
  get_property(first GLOBAL PROPERTY BERTH_FIRST_${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${BERTH_HEADERS_${group}})
    set_property(GLOBAL PROPERTY BERTH_FIRST_${group} ${target})
  endif()
endfunction()

# berth_unity(TARGET [SOURCES]): see UNITY above; as many at a time, 16 unless it is said.
function(berth_unity target)
  set(sources 16)
  if(ARGC GREATER 1)
    set(sources ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${BERTH_UNITY} UNITY_BUILD_BATCH_SIZE ${sources})
endfunction()

function(berth_room name)
  cmake_parse_arguments(ARG "UNITY;COLD;SMALL" "EXCLUDE;PRECOMPILED" "DEPENDS;SYSTEM;FOLDERS;TESTS_SEE;TESTS_ALONE" ${ARGN})
  list(TRANSFORM ARG_FOLDERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM ARG_FOLDERS APPEND /*.cc OUTPUT_VARIABLE more_sources)
  list(TRANSFORM ARG_FOLDERS APPEND /*_test.cc OUTPUT_VARIABLE more_tests)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${more_sources})
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc ${more_tests})
  list(REMOVE_ITEM sources ${tests} "")
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ARG_EXCLUDE}")
    list(FILTER tests EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  add_library(berth_${name} STATIC ${sources})
  list(TRANSFORM ARG_DEPENDS PREPEND berth_)
  target_link_libraries(berth_${name} PUBLIC ${ARG_DEPENDS} ${ARG_SYSTEM} berth_options)
  set_target_properties(berth_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(ARG_UNITY)
    berth_unity(berth_${name})
  endif()
  if(ARG_PRECOMPILED)
    berth_precompile(berth_${name} ${ARG_PRECOMPILED})
  endif()
  if(ARG_COLD)
    target_compile_options(berth_${name} PRIVATE ${BERTH_COLD_OPTIONS})
  endif()
  if(ARG_SMALL)
    target_compile_options(berth_${name} PRIVATE ${BERTH_SMALL_OPTIONS})
  endif()
  set(precompiled "")
  if(DEFINED BERTH_TEST_HEADERS_${ARG_PRECOMPILED})
    set(precompiled ${ARG_PRECOMPILED} berth_${name})
  endif()
  list(TRANSFORM ARG_TESTS_SEE PREPEND berth_)
  berth_tests(${name} ${tests} ALONE ${ARG_TESTS_ALONE} DEPENDS berth_${name} ${ARG_TESTS_SEE} LABELS unit
    PRECOMPILED ${precompiled})
endfunction()

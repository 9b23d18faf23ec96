# A room of the house: one folder, one static library, its tests beside its sources.
#
#   berth_room(NAME [DEPENDS room…] [SYSTEM target…] [EXCLUDE regex])
#
# makes the library berth_NAME from the folder's *.cc and, for each X_test.cc there, the test NAME.X. A room sees only
# the rooms that it names: a missing arrow of docs/house.md is a missing link line here. Files that match EXCLUDE are
# left out.

find_package(Threads REQUIRED)

add_library(berth_options INTERFACE)
target_compile_features(berth_options INTERFACE cxx_std_17)
target_include_directories(berth_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(berth_options INTERFACE -Wall -Wextra -Wconversion -Werror -fvisibility=hidden
  -fvisibility-inlines-hidden)
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

if(BERTH_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# berth_test(NAME source… [DEPENDS target…] [LABELS label…])
function(berth_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LABELS" ${ARGN})
  if(NOT BERTH_TESTS)
    return()
  endif()
  string(REPLACE "." "_" target "test_${name}")
  add_executable(${target} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} GTest::gtest_main berth_options)
  target_compile_definitions(${target} PRIVATE BERTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # What is tested is in the libraries: a test's own code compiles in half the time when it is not made fast.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

function(berth_room name)
  cmake_parse_arguments(ARG "" "EXCLUDE" "DEPENDS;SYSTEM" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  list(REMOVE_ITEM sources ${tests} "")
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ARG_EXCLUDE}")
    list(FILTER tests EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  add_library(berth_${name} STATIC ${sources})
  list(TRANSFORM ARG_DEPENDS PREPEND berth_)
  target_link_libraries(berth_${name} PUBLIC ${ARG_DEPENDS} ${ARG_SYSTEM} berth_options)
  set_target_properties(berth_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  foreach(test IN LISTS tests)
    get_filename_component(stem ${test} NAME_WE)
    string(REGEX REPLACE "_test$" "" stem ${stem})
    berth_test(${name}.${stem} ${test} DEPENDS berth_${name} LABELS unit)
  endforeach()
endfunction()

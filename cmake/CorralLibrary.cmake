# corral_library(NAME [DEPENDS target...] [TEST_DEPENDS target...])
#
# Declares the library of the current folder and its tests. The folder is the library is the namespace:
#   *.cpp           the library corral::NAME
#   *_test.cpp      one program NAME_test, whose cases ctest runs one by one, linked with TEST_DEPENDS too
#   *_main.cpp      not compiled here (programs declare themselves)
# Sub-folders belong to the library of their parent.
function(corral_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_main|_bench|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  if(sources)
    add_library(corral_${name} STATIC ${sources})
    target_link_libraries(corral_${name} PUBLIC corral_flags ${ARG_DEPENDS})
  else()
    add_library(corral_${name} INTERFACE)
    target_link_libraries(corral_${name} INTERFACE corral_flags ${ARG_DEPENDS})
  endif()
  add_library(corral::${name} ALIAS corral_${name})

  if(CORRAL_TESTS AND tests)
    corral_test(${name}_test SOURCES ${tests} DEPENDS corral_${name} ${ARG_TEST_DEPENDS})
  endif()
endfunction()

# corral_test(NAME SOURCES file... [DEPENDS target...] [LABELS label...] [TIMEOUT seconds])
function(corral_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE corral_flags ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  include(GoogleTest)
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." PROPERTIES ${properties})
endfunction()

# corral_precompile(TARGET header...): headers that cost seconds each and never change, compiled once per target.
function(corral_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# Options and flags that every target of this project shares, gathered in the interface target corral_flags.

option(CORRAL_TESTS "Build the tests" ON)
set(CORRAL_ONLY_TESTS "" CACHE STRING "Test programs to build beside those with labels and simulations; empty: all; none: no tests at all")
option(CORRAL_BENCH "Build the benchmarks" ON)
set(CORRAL_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (address,undefined or thread)")
option(CORRAL_PACKAGE "For packages (script/package): without symbols, and without paths of this machine" OFF)
set(CORRAL_TEST_SHARDS 4 CACHE STRING "Processes for each test program, under a sanitizer")
set(CORRAL_LLAMA "pinned" CACHE STRING "Where llama.cpp comes from: pinned (built by script/bootstrap) or system (find_package)")
set_property(CACHE CORRAL_LLAMA PROPERTY STRINGS pinned system)

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/corral")  # CorralPrivate.cmake fills it
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1")  # for sanitizers: -O1 takes two and a half times as long to compile

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A precompiled header changes its time stamp, not its meaning: let the compiler cache look through it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

add_library(corral_flags INTERFACE)
target_compile_features(corral_flags INTERFACE cxx_std_23)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(corral_flags INTERFACE -Xclang -fno-pch-timestamp)
endif()
# __FILE__, which each expectation of a test holds, is the same in every clone: the compiler cache serves all of them.
target_compile_options(corral_flags INTERFACE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(PROJECT_IS_TOP_LEVEL)  # a program that takes the libraries has warnings of its own
  target_compile_options(corral_flags INTERFACE -Wall -Wextra)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # GCC finds others
    target_compile_options(corral_flags INTERFACE -Werror -Wnon-virtual-dtor -Woverloaded-virtual -Wshadow -Wimplicit-fallthrough
                           -Wthread-safety)  # src/base/mutex.h
  else()  # GCC warns of each coroutine that awaits something of an unnamed namespace, because a unity build includes its file.
    target_compile_options(corral_flags INTERFACE -Wno-subobject-linkage)
  endif()
endif()
target_compile_definitions(corral_flags INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_BEAST_SEPARATE_COMPILATION BOOST_BEAST_USE_STD_STRING_VIEW)
target_include_directories(corral_flags INTERFACE "${PROJECT_SOURCE_DIR}/src")
# Not mold: its version 1.10 begins the read-only part in a page that isn't mapped when .tbss falls between two pages, and the
# dynamic linker refuses such a program. Which programs it hits changes with their code.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(corral_flags INTERFACE -fuse-ld=lld)
endif()
if(CORRAL_PACKAGE)
  target_compile_options(corral_flags INTERFACE "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
  target_link_options(corral_flags INTERFACE LINKER:--strip-all)
endif()
if(CORRAL_SANITIZE)
  target_compile_options(corral_flags INTERFACE -fsanitize=${CORRAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(corral_flags INTERFACE -fsanitize=${CORRAL_SANITIZE})
endif()

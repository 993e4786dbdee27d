# Libraries from the distribution, and llama.cpp from the cache that script/bootstrap fills.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
# Into the program itself: every engine is that program too, needs nothing of it, and would find and bind it at each start (6 ms).
# Sanitizers know a library that they don't see into only where it is one of its own.
if(NOT CORRAL_SANITIZE)
  set(OPENSSL_USE_STATIC_LIBS TRUE)
endif()
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(simdjson REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)

# With OpenSSL. Of the distribution as it is: what trusts certificates must get its repairs.
find_package(CURL 7.87 REQUIRED)

# Its CMake files aren't in Debian's package.
find_path(CORRAL_RE2_INCLUDE re2/re2.h REQUIRED)
find_library(CORRAL_RE2_LIBRARY re2 REQUIRED)
add_library(corral_re2 INTERFACE)
add_library(corral::re2 ALIAS corral_re2)
target_include_directories(corral_re2 SYSTEM INTERFACE "${CORRAL_RE2_INCLUDE}")
target_link_libraries(corral_re2 INTERFACE "${CORRAL_RE2_LIBRARY}")

# Into the program itself, as OpenSSL is.
find_path(CORRAL_SQLITE_INCLUDE sqlite3.h REQUIRED)
if(CORRAL_SANITIZE)
  find_library(CORRAL_SQLITE_LIBRARY sqlite3 REQUIRED)
else()
  find_library(CORRAL_SQLITE_LIBRARY NAMES libsqlite3.a sqlite3 REQUIRED)
endif()
add_library(corral_sqlite INTERFACE)
add_library(corral::sqlite ALIAS corral_sqlite)
target_include_directories(corral_sqlite SYSTEM INTERFACE "${CORRAL_SQLITE_INCLUDE}")
target_link_libraries(corral_sqlite INTERFACE "${CORRAL_SQLITE_LIBRARY}" m ${CMAKE_DL_LIBS})

# Content encodings of request bodies. Into the program itself, as OpenSSL is.
find_path(CORRAL_ZLIB_INCLUDE zlib.h REQUIRED)
find_path(CORRAL_ZSTD_INCLUDE zstd.h REQUIRED)
if(CORRAL_SANITIZE)
  find_library(CORRAL_ZLIB_LIBRARY z REQUIRED)
  find_library(CORRAL_ZSTD_LIBRARY zstd REQUIRED)
else()
  find_library(CORRAL_ZLIB_LIBRARY NAMES libz.a z REQUIRED)
  find_library(CORRAL_ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)
endif()
add_library(corral_codings INTERFACE)
add_library(corral::codings ALIAS corral_codings)
target_include_directories(corral_codings SYSTEM INTERFACE "${CORRAL_ZLIB_INCLUDE}" "${CORRAL_ZSTD_INCLUDE}")
target_link_libraries(corral_codings INTERFACE "${CORRAL_ZLIB_LIBRARY}" "${CORRAL_ZSTD_LIBRARY}")

# Configurations of llama-swap. Into the program itself, as OpenSSL is.
find_path(CORRAL_YAML_INCLUDE yaml.h REQUIRED)
if(CORRAL_SANITIZE)
  find_library(CORRAL_YAML_LIBRARY yaml REQUIRED)
else()
  find_library(CORRAL_YAML_LIBRARY NAMES libyaml.a yaml REQUIRED)
endif()
add_library(corral_yaml INTERFACE)
add_library(corral::yaml ALIAS corral_yaml)
target_include_directories(corral_yaml SYSTEM INTERFACE "${CORRAL_YAML_INCLUDE}")
target_link_libraries(corral_yaml INTERFACE "${CORRAL_YAML_LIBRARY}")

# Not into the program itself: its licence (LGPL) wants it to be exchangeable.
find_path(CORRAL_LAME_INCLUDE lame/lame.h REQUIRED)
find_library(CORRAL_LAME_LIBRARY mp3lame REQUIRED)
add_library(corral_lame INTERFACE)
add_library(corral::lame ALIAS corral_lame)
target_include_directories(corral_lame SYSTEM INTERFACE "${CORRAL_LAME_INCLUDE}")
target_link_libraries(corral_lame INTERFACE "${CORRAL_LAME_LIBRARY}")

# Takes the place of malloc by being linked.
find_path(CORRAL_JEMALLOC_INCLUDE jemalloc/jemalloc.h REQUIRED)
find_library(CORRAL_JEMALLOC_LIBRARY jemalloc REQUIRED)

# Header only: nothing to link.
find_path(CORRAL_XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(corral_xxhash INTERFACE)
add_library(corral::xxhash ALIAS corral_xxhash)
target_include_directories(corral_xxhash SYSTEM INTERFACE "${CORRAL_XXHASH_INCLUDE}")

if(CORRAL_TESTS)
  find_package(GTest REQUIRED)
endif()

# Pictures. Not into the program itself: its decoder reads what clients send and must get the repairs of the distribution.
find_path(CORRAL_WEBP_INCLUDE webp/decode.h REQUIRED)
find_library(CORRAL_WEBP_LIBRARY webp REQUIRED)
add_library(corral_webp INTERFACE)
add_library(corral::webp ALIAS corral_webp)
target_include_directories(corral_webp SYSTEM INTERFACE "${CORRAL_WEBP_INCLUDE}")
target_link_libraries(corral_webp INTERFACE "${CORRAL_WEBP_LIBRARY}")

# Line editing in chats of the command line.
find_path(CORRAL_EDIT_INCLUDE histedit.h REQUIRED)
find_library(CORRAL_EDIT_LIBRARY edit REQUIRED)
add_library(corral_edit INTERFACE)
add_library(corral::edit ALIAS corral_edit)
target_include_directories(corral_edit SYSTEM INTERFACE "${CORRAL_EDIT_INCLUDE}")
target_link_libraries(corral_edit INTERFACE "${CORRAL_EDIT_LIBRARY}")

# llama.cpp: corral::llama (libllama and ggml), corral::llama_common (chat templates, grammars) and corral::mtmd (pictures and sound).
set(CORRAL_LLAMA_VERSION 0.5.0)
add_library(corral_llama INTERFACE)
add_library(corral::llama ALIAS corral_llama)
add_library(corral_llama_common INTERFACE)
add_library(corral::llama_common ALIAS corral_llama_common)
add_library(corral_mtmd INTERFACE)
add_library(corral::mtmd ALIAS corral_mtmd)

if(CORRAL_LLAMA STREQUAL "system")
  find_package(llama ${CORRAL_LLAMA_VERSION} REQUIRED)
  find_library(LLAMA_COMMON_LIBRARY llama-common REQUIRED HINTS "${llama_DIR}/../..")
  find_path(LLAMA_COMMON_INCLUDE chat.h REQUIRED HINTS "${LLAMA_INCLUDE_DIR}/llama-common" PATH_SUFFIXES llama-common)
  find_library(MTMD_LIBRARY mtmd REQUIRED HINTS "${llama_DIR}/../..")
  find_path(MTMD_INCLUDE mtmd.h REQUIRED HINTS "${LLAMA_INCLUDE_DIR}")
  target_link_libraries(corral_mtmd INTERFACE corral_llama ${MTMD_LIBRARY})
  target_include_directories(corral_mtmd SYSTEM INTERFACE "${MTMD_INCLUDE}")
  target_link_libraries(corral_llama INTERFACE llama)
  target_link_libraries(corral_llama_common INTERFACE corral_llama ${LLAMA_COMMON_LIBRARY})
  target_include_directories(corral_llama_common SYSTEM INTERFACE "${LLAMA_COMMON_INCLUDE}")
  set(CORRAL_LLAMA_BIN "" CACHE PATH "Folder with llama.cpp's own programs (for comparison tests)")
else()
  execute_process(COMMAND bash -c "source '${PROJECT_SOURCE_DIR}/script/lib/env.sh' && printf '%s' \"$llama_prefix;$whisper_prefix\""
                  OUTPUT_VARIABLE prefixes COMMAND_ERROR_IS_FATAL ANY)
  list(GET prefixes 1 CORRAL_WHISPER_PREFIX)
  if(NOT CORRAL_LLAMA_PREFIX)
    list(GET prefixes 0 CORRAL_LLAMA_PREFIX)
  endif()
  if(NOT EXISTS "${CORRAL_LLAMA_PREFIX}/.libs")
    message(FATAL_ERROR "llama.cpp ${CORRAL_LLAMA_VERSION} is not built yet (looked in ${CORRAL_LLAMA_PREFIX}). Run script/bootstrap, "
                        "or give -DCORRAL_LLAMA=system to use an installed one.")
  endif()
  set(CORRAL_LLAMA_BIN "${CORRAL_LLAMA_PREFIX}/bin")
  include(CorralPrivate)
  foreach(lib llama ggml ggml-base)
    target_link_libraries(corral_llama INTERFACE "${CORRAL_PRIVATE_${lib}}")
  endforeach()
  target_include_directories(corral_llama SYSTEM INTERFACE "${CORRAL_LLAMA_PREFIX}/include")
  target_compile_definitions(corral_llama INTERFACE CORRAL_PRIVATE_LLAMA)
  if(CORRAL_PACKAGE)
    target_compile_options(corral_llama INTERFACE "-ffile-prefix-map=${CORRAL_LLAMA_PREFIX}=llama.cpp")
  endif()
  if(NOT PROJECT_IS_TOP_LEVEL)  # a program elsewhere; our own have CMAKE_INSTALL_RPATH
    target_link_options(corral_llama INTERFACE "-Wl,-rpath,${CORRAL_PRIVATE_DIR}")
  endif()
  target_link_libraries(corral_llama_common INTERFACE corral_llama "${CORRAL_PRIVATE_llama-common}")
  target_link_libraries(corral_mtmd INTERFACE corral_llama "${CORRAL_PRIVATE_mtmd}")
  target_include_directories(corral_llama_common SYSTEM INTERFACE "${CORRAL_LLAMA_PREFIX}/include/llama-common")
endif()
target_compile_definitions(corral_llama INTERFACE CORRAL_LLAMA_VERSION="${CORRAL_LLAMA_VERSION}")

# lib/corral beside bin: llama.cpp's libraries, its compute backends and whisper-server, as hard links into the cache, or as copies.
# Programs find them relative to themselves (CMAKE_INSTALL_RPATH, engine/llama/backends.cpp), so bin and lib can be moved together.
# Each library has the one name that the loader looks for.
#   CORRAL_PRIVATE_DIR     the folder
#   CORRAL_PRIVATE_<lib>   path of a library to link to: llama, llama-common, mtmd, ggml, ggml-base

set(CORRAL_PRIVATE_DIR "${PROJECT_BINARY_DIR}/lib/corral")
file(MAKE_DIRECTORY "${CORRAL_PRIVATE_DIR}")

file(GLOB sources "${CORRAL_LLAMA_BIN}/libggml-*.so")
list(FILTER sources EXCLUDE REGEX "/libggml-base\\.so$")
foreach(lib llama llama-common mtmd ggml ggml-base)
  file(GLOB named "${CORRAL_LLAMA_BIN}/lib${lib}.so.*")
  list(FILTER named INCLUDE REGEX "\\.so\\.[0-9]+$")
  list(LENGTH named count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${CORRAL_LLAMA_BIN} has ${count} files lib${lib}.so.N, not one. Remove ${CORRAL_LLAMA_PREFIX} and run script/bootstrap.")
  endif()
  get_filename_component(name "${named}" NAME)
  set(CORRAL_PRIVATE_${lib} "${CORRAL_PRIVATE_DIR}/${name}")
  list(APPEND sources "${named}")
endforeach()
set(whisper_server "${CORRAL_WHISPER_PREFIX}/bin/whisper-server")
if(EXISTS "${whisper_server}")
  list(APPEND sources "${whisper_server}")
endif()

file(GLOB left RELATIVE "${CORRAL_PRIVATE_DIR}" "${CORRAL_PRIVATE_DIR}/*")
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME)
  file(REAL_PATH "${source}" file)
  file(CREATE_LINK "${file}" "${CORRAL_PRIVATE_DIR}/${name}" RESULT failed)
  if(failed)  # another file system
    file(COPY_FILE "${file}" "${CORRAL_PRIVATE_DIR}/${name}" ONLY_IF_DIFFERENT)
  endif()
  list(REMOVE_ITEM left "${name}")
endforeach()
foreach(name IN LISTS left)
  file(REMOVE "${CORRAL_PRIVATE_DIR}/${name}")
endforeach()
# script/lib/llama.sh touches it after each build, such as one with more compute backends.
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CORRAL_LLAMA_PREFIX}/.libs")

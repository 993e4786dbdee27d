# Read by llama.cpp's own build (CMAKE_PROJECT_TOP_LEVEL_INCLUDES), so that it makes only what is wanted of it.
#   CORRAL_CPU_VARIANT    the one CPU variant to build; empty: all
#   CORRAL_SLIM_COMMON    of llama-common only what corral uses
#   CORRAL_PACKAGE        without symbols and paths of this machine

if(CORRAL_PACKAGE)
  foreach(folder IN ITEMS "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}")
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${folder}=llama.cpp>")
  endforeach()
  add_link_options(LINKER:--strip-all)
endif()

# For Debian 12's Vulkan: its headers lack one structure, and its glslc cannot compile two shaders of Intel's GPUs, which then use the
# general ones.
function(corral_vulkan_of_debian)
  if(NOT TARGET ggml-vulkan)
    return()
  endif()
  target_compile_options(ggml-vulkan PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include \"${corral_cmake_folder}/vulkan_layer_settings.h\">")
  get_target_property(folder ggml-vulkan SOURCE_DIR)
  get_directory_property(has_matrices DIRECTORY "${folder}" DEFINITION GGML_VULKAN_COOPMAT_GLSLC_SUPPORT)
  if(has_matrices)
    return()
  endif()
  file(READ "${folder}/ggml-vulkan.cpp" text)
  string(REPLACE "bool xe_fa_supported_platform =" "bool xe_fa_supported_platform = false &&" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "ggml-vulkan.cpp has changed: see corral_vulkan_of_debian")
  endif()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/ggml-vulkan.cpp" CONTENT "${changed}" @ONLY)
  get_target_property(sources ggml-vulkan SOURCES)
  list(TRANSFORM sources REPLACE "^ggml-vulkan.cpp$" "${CMAKE_BINARY_DIR}/ggml-vulkan.cpp")
  set_target_properties(ggml-vulkan PROPERTIES SOURCES "${sources}")
  target_include_directories(ggml-vulkan PRIVATE "${folder}")
endfunction()
set(corral_cmake_folder "${CMAKE_CURRENT_LIST_DIR}")
if(GGML_VULKAN)
  set(Vulkan_GLSLC_EXECUTABLE "${CMAKE_CURRENT_LIST_DIR}/glslc" CACHE FILEPATH "" FORCE)
  cmake_language(DEFER CALL corral_vulkan_of_debian)
endif()

# libggml waits for every CPU variant, though it links to none: they are modules. It waits for the wanted one only.
if(CORRAL_CPU_VARIANT)
  function(add_dependencies target)
    if(target STREQUAL "ggml")
      list(FILTER ARGN EXCLUDE REGEX "^ggml-cpu-")
    endif()
    if(ARGN)
      _add_dependencies(${target} ${ARGN})
    endif()
  endfunction()
endif()

# Of llama-common, corral uses chat templates, tool parsers and schemas. What its command lines and downloads need is left out, and the
# rest is compiled in a few large pieces, as llama.cpp does with libllama.
function(corral_slim_llama_common)
  get_target_property(sources llama-common SOURCES)
  list(FILTER sources EXCLUDE REGEX "^(arg|console|debug|download|hf-cache|imatrix-loader|llguidance|preset|subproc)\\.")
  get_target_property(libraries llama-common LINK_LIBRARIES)
  list(REMOVE_ITEM libraries cpp-httplib)
  # Its template specialisations must come before their first use.
  get_target_property(folder llama-common SOURCE_DIR)
  set_source_files_properties("${folder}/json.cpp" TARGET_DIRECTORY llama-common PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(llama-common PROPERTIES SOURCES "${sources}" LINK_LIBRARIES "${libraries}" UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_link_options(llama-common PRIVATE -Wl,--no-undefined)
endfunction()
if(CORRAL_SLIM_COMMON)
  cmake_language(DEFER CALL corral_slim_llama_common)
endif()

# libllama compiles its models in large pieces. Its other 32 files fit together, too, and two pieces cost half of their headers.
function(corral_unity_libllama)
  get_target_property(sources llama SOURCES)
  list(FILTER sources INCLUDE REGEX "^(llama|unicode)[a-z0-9-]*\\.cpp$")
  get_target_property(folder llama SOURCE_DIR)
  list(TRANSFORM sources PREPEND "${folder}/")
  set_source_files_properties(${sources} TARGET_DIRECTORY llama PROPERTIES SKIP_UNITY_BUILD_INCLUSION OFF)
endfunction()
cmake_language(DEFER CALL corral_unity_libllama)

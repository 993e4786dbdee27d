# Read by llama.cpp's own build (CMAKE_PROJECT_TOP_LEVEL_INCLUDES), so that it makes only what is wanted of it.
#   CORRAL_CPU_VARIANT    the one CPU variant to build; empty: all
#   CORRAL_SLIM_COMMON    of llama-common only what corral uses

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

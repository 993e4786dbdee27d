# Read by llama.cpp's own build (CMAKE_PROJECT_TOP_LEVEL_INCLUDES) when only its libraries are wanted: of llama-common, corral uses chat
# templates, tool parsers and schemas. What its command lines and downloads need takes a minute to compile and is left out, and the
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
cmake_language(DEFER CALL corral_slim_llama_common)

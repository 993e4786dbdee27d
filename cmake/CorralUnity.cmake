# Unity builds: eight sources of a target are compiled as one, which shares the cost of their headers and templates.
#
# Two files of a target that have the same name in their anonymous namespaces can't be compiled together. Rename one where that says
# more; else its path goes into unity_alone.txt, and it is compiled by itself.

option(CORRAL_UNITY "Compile eight sources of a target as one" OFF)
if(CORRAL_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
endif()

# corral_folders(FOLDER OUT): the folder and all below it that have a CMakeLists.txt.
function(corral_folders folder out)
  set(all "${folder}")
  get_property(inner DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(one IN LISTS inner)
    corral_folders("${one}" found)
    list(APPEND all ${found})
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# corral_unity_alone(): takes the files of unity_alone.txt out. Called once all targets stand.
function(corral_unity_alone)
  set(list "${PROJECT_SOURCE_DIR}/cmake/unity_alone.txt")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(STRINGS "${list}" files)
  foreach(file IN LISTS files)
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${file}")
      message(FATAL_ERROR "${list} names ${file}, which doesn't exist")
    endif()
  endforeach()
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/")
  # What is set of a source holds for the targets of one folder, and a file may be in targets of several.
  corral_folders("${PROJECT_SOURCE_DIR}" folders)
  set_source_files_properties(${files} DIRECTORY ${folders} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# For cpack, which script/package calls with these variables in the environment:
#   name       corral or corral-cuda
#   version, contact
#   tree       folder with the files of the package
#   out        folder for the package
foreach(variable name version contact tree out)
  set(${variable} "$ENV{${variable}}")
endforeach()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME "${name}")
set(CPACK_PACKAGE_VERSION "${version}")
set(CPACK_PACKAGE_FILE_NAME "${name}-${version}")
set(CPACK_PACKAGE_CONTACT "${contact}")
set(CPACK_PACKAGE_DIRECTORY "${out}")
set(CPACK_INSTALLED_DIRECTORIES "${tree};/")
set(CPACK_INSTALL_CMAKE_PROJECTS "")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_STRIP_FILES OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${tree}/usr/lib/corral" "${tree}/../deb/usr/lib/corral")  # corral-cuda needs corral's
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
if(name STREQUAL "corral")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "one endpoint for many local models")
  set(CPACK_PACKAGE_DESCRIPTION
"A server of language models: it finds the GGUF models of this machine, loads
the model that a request names, each in its own process, and answers the APIs
of OpenAI, Anthropic, Ollama and llama-server. Several machines can be
combined into one endpoint. Computes on any CPU, and on GPUs with Vulkan.")
  # The alternatives without systemd are for images.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
      "passwd, systemd-standalone-sysusers | systemd (>= 250), systemd-standalone-tmpfiles | systemd (>= 250)")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, serf")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "espeak-ng, ffmpeg, mesa-vulkan-drivers")
  foreach(file postinst prerm postrm conffiles)
    list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/${file}")
  endforeach()
else()
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "CUDA compute backend of corral")
  set(CPACK_PACKAGE_DESCRIPTION "Lets corral compute on GPUs of NVIDIA with CUDA. The server loads it at its next start.")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "corral (= ${version})")
endif()

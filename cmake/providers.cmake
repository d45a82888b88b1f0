# Plug-in providers: separate libraries that use only the C interface, for any engine that has it. Each is built if the
# library that it uses is installed.
option(RETORT_PROVIDERS "build the plug-in providers whose libraries are found" ON)
if(NOT RETORT_PROVIDERS OR RETORT_SANITIZE MATCHES "thread" OR CMAKE_CROSSCOMPILING)  # their thread pools: see tools/sanitizers.py
  return()
endif()

set(providers ${CMAKE_SOURCE_DIR}/providers)
file(GLOB provider_common CONFIGURE_DEPENDS ${providers}/common/*.cc)

# retort_provider(NAME LIBRARIES...): libretort_<NAME>.so from providers/<NAME>.
function(retort_provider name)
  file(GLOB sources CONFIGURE_DEPENDS ${providers}/${name}/*.cc ${providers}/${name}/*/*.cc)
  add_library(retort_${name} MODULE ${sources} ${provider_common})
  target_include_directories(retort_${name} PRIVATE ${providers} ${CMAKE_SOURCE_DIR}/include/retort)
  target_link_libraries(retort_${name} PRIVATE ${ARGN})
  target_compile_options(retort_${name} PRIVATE $<$<CONFIG:Release>:-Os>)  # compiles in half of the time; the work is done elsewhere
  if(NOT RETORT_SANITIZE)
    target_link_options(retort_${name} PRIVATE -Wl,-z,defs)
  endif()
  # The C++ library inside exports nothing: the process may use another one.
  target_link_options(retort_${name} PRIVATE -Wl,--exclude-libs,ALL)
  # It stays loaded after it is unregistered: the libraries that it uses keep threads and memory for their next use.
  target_link_options(retort_${name} PRIVATE -Wl,-z,nodelete)
  retort_ship(retort_${name})
  set_target_properties(retort_${name} PROPERTIES INSTALL_RPATH "$ORIGIN")  # its library may lie beside it
  set_property(GLOBAL APPEND PROPERTY RETORT_PROVIDERS retort_${name})
  install(TARGETS retort_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/providers)
endfunction()

find_library(retort_dnnl dnnl)
find_path(retort_dnnl_include dnnl.hpp)
find_package(OpenMP QUIET)
if(retort_dnnl AND retort_dnnl_include AND OpenMP_CXX_FOUND)
  retort_provider(onednn ${retort_dnnl} OpenMP::OpenMP_CXX)
  retort_together(retort_onednn 13)
else()
  message(STATUS "no oneDNN (Debian: libdnnl-dev): its provider is not built")
endif()

find_library(retort_xnnpack XNNPACK)
find_library(retort_pthreadpool pthreadpool)
find_path(retort_xnnpack_include NAMES xnnpack.h)
find_path(retort_pthreadpool_include NAMES pthreadpool.h)
if(retort_xnnpack AND retort_pthreadpool AND retort_xnnpack_include AND retort_pthreadpool_include)
  retort_provider(xnnpack ${retort_xnnpack} ${retort_pthreadpool})
  retort_together(retort_xnnpack)
else()
  message(STATUS "no XNNPACK (Debian: libxnnpack-dev, libpthreadpool-dev): its provider is not built")
endif()

# CUDA needs nothing at build time: the driver and NVIDIA's libraries are opened when the provider is used.
retort_provider(cuda ${CMAKE_DL_LIBS})
if(RETORT_PCH)
  target_precompile_headers(retort_cuda PRIVATE <algorithm> <cmath> <functional> <map> <memory> <mutex> <numeric> <optional>
                            <set> <sstream> <stdexcept> <string> <vector>)
endif()
file(GLOB cuda_kernels CONFIGURE_DEPENDS ${providers}/cuda/kernels/*.cu ${providers}/cuda/kernels/*.cuh)
set(cuda_texts ${CMAKE_BINARY_DIR}/cuda_kernel_texts.cc)
add_custom_command(
  OUTPUT ${cuda_texts}
  COMMAND ${CMAKE_COMMAND} -DOUT=${cuda_texts} -DFOLDER=${providers}/cuda/kernels -P ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake
  DEPENDS ${cuda_kernels} ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake)
target_sources(retort_cuda PRIVATE ${cuda_texts})

# The CMake packages and the pkg-config files, written into FOLDER, for libraries that lie in CMAKE_INSTALL_LIBDIR of a
# prefix. Also a script, for a layout that this build was not configured for:
#   cmake -DFOLDER=out -DPROJECT_VERSION=1.2.3 -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu -P cmake/package_files.cmake
# RETORT_PREFIX: the prefix. By default, it is found from the location of the file, so that the installation may be
# moved. ONNXRUNTIME_LIBDIR, ONNXRUNTIME_INCLUDEDIR: the folders of libonnxruntime.so and of the folder `onnxruntime` of
# headers, if they are others; ONNXRUNTIME_CMAKEDIR, ONNXRUNTIME_PKGCONFIGDIR: those of the files for builds.
include(CMakePackageConfigHelpers)
if(CMAKE_SCRIPT_MODE_FILE)
  set(CMAKE_INSTALL_INCLUDEDIR include)
  set(CMAKE_INSTALL_PREFIX /usr)
  set(CMAKE_SIZEOF_VOID_P 8)
  set(CMAKE_DL_LIBS dl)
endif()

# prefix_above(VARIABLE FOLDER): how a pkg-config file in FOLDER of a prefix names the prefix.
function(prefix_above variable folder)
  set(prefix "${RETORT_PREFIX}")
  if(NOT prefix)
    file(RELATIVE_PATH up /${folder} /)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(prefix "\${pcfiledir}/${up}")
  endif()
  set(${variable} "${prefix}" PARENT_SCOPE)
endfunction()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/retort)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/retort-config.cmake.in ${FOLDER}/retort-config.cmake
                              INSTALL_DESTINATION ${package_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${FOLDER}/retort-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
set(chosen_prefix "${RETORT_PREFIX}")
prefix_above(RETORT_PREFIX ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(${CMAKE_CURRENT_LIST_DIR}/retort.pc.in ${FOLDER}/retort.pc @ONLY)
set(RETORT_PREFIX "${chosen_prefix}")

# The same for programs that look for ONNX Runtime, in the version whose C interface the library has.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../abi/macros.tsv minor REGEX "^ORT_API_VERSION\t")
string(REGEX REPLACE "^ORT_API_VERSION\t" "" minor "${minor}")
set(ONNXRUNTIME_VERSION 1.${minor}.0)
foreach(default IN ITEMS LIBDIR=${CMAKE_INSTALL_LIBDIR} INCLUDEDIR=${CMAKE_INSTALL_INCLUDEDIR})
  string(REGEX MATCH "^([^=]+)=(.*)$" default "${default}")
  if(NOT ONNXRUNTIME_${CMAKE_MATCH_1})
    set(ONNXRUNTIME_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  endif()
endforeach()
if(NOT ONNXRUNTIME_CMAKEDIR)
  set(ONNXRUNTIME_CMAKEDIR ${ONNXRUNTIME_LIBDIR}/cmake/onnxruntime)
endif()
if(NOT ONNXRUNTIME_PKGCONFIGDIR)
  set(ONNXRUNTIME_PKGCONFIGDIR ${ONNXRUNTIME_LIBDIR}/pkgconfig)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/onnxruntimeConfig.cmake.in ${FOLDER}/onnxruntimeConfig.cmake
                              INSTALL_DESTINATION ${ONNXRUNTIME_CMAKEDIR}
                              PATH_VARS ONNXRUNTIME_INCLUDEDIR ONNXRUNTIME_LIBDIR)
write_basic_package_version_file(${FOLDER}/onnxruntimeConfigVersion.cmake VERSION ${ONNXRUNTIME_VERSION} COMPATIBILITY SameMajorVersion)
prefix_above(ONNXRUNTIME_PREFIX ${ONNXRUNTIME_PKGCONFIGDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/libonnxruntime.pc.in ${FOLDER}/libonnxruntime.pc @ONLY)

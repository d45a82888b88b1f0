# The CMake package and the pkg-config file, written into FOLDER, for libraries that lie in CMAKE_INSTALL_LIBDIR of a
# prefix. Also a script, for a layout that this build was not configured for:
#   cmake -DFOLDER=out -DPROJECT_VERSION=1.2.3 -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu -P cmake/package_files.cmake
# RETORT_PREFIX: the prefix. By default, it is found from the location of the file, so that the installation may be
# moved.
include(CMakePackageConfigHelpers)
if(CMAKE_SCRIPT_MODE_FILE)
  set(CMAKE_INSTALL_INCLUDEDIR include)
  set(CMAKE_INSTALL_PREFIX /usr)
  set(CMAKE_SIZEOF_VOID_P 8)
  set(CMAKE_DL_LIBS dl)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/retort)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/retort-config.cmake.in ${FOLDER}/retort-config.cmake
                              INSTALL_DESTINATION ${package_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${FOLDER}/retort-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
if(NOT RETORT_PREFIX)
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(RETORT_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/retort.pc.in ${FOLDER}/retort.pc @ONLY)

# The libraries: two shared ones from the same objects, a merged archive, and the files that are installed with them.
# The drop-in must not need a second file, because clients copy or link it alone.
set(retort_rooms)
get_property(rooms GLOBAL PROPERTY RETORT_ROOMS)
list(REVERSE rooms)  # a room comes before the rooms that it uses
foreach(room IN LISTS rooms)
  get_target_property(type retort_${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND retort_rooms retort_${room})
  endif()
endforeach()

include(CheckLinkerFlag)
# Relocations of pointer tables (operators, slots) are stored as bitmaps, which saves a fifth of a megabyte that loading
# would read. glibc reads such bitmaps since 2.36.
check_linker_flag(CXX -Wl,-z,pack-relative-relocs RETORT_HAS_PACKED_RELOCATIONS)
set(packed ${RETORT_HAS_PACKED_RELOCATIONS})
if(RETORT_STUBS AND RETORT_GLIBC VERSION_LESS 2.36)
  set(packed OFF)
endif()

# retort_shared(TARGET OUTPUT_NAME): lib<OUTPUT_NAME>.so.1. It contains its own copy of the C++ library: the host
# program may have another one, or none.
function(retort_shared target output)
  add_library(${target} SHARED $<TARGET_OBJECTS:retort_abi>)
  target_link_libraries(${target} PRIVATE ${retort_rooms})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} SOVERSION 1 LINKER_LANGUAGE CXX
                        LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/abi/exports.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/abi/exports.map -Wl,-Bsymbolic
                      -Wl,-z,nodelete -Wl,--gc-sections -Wl,--exclude-libs,ALL
                      $<$<BOOL:${packed}>:-Wl,-z,pack-relative-relocs>)
  if(NOT RETORT_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs -static-libstdc++)
  endif()
  retort_ship(${target})
endfunction()
retort_shared(retort_shared retort)
retort_shared(retort_onnxruntime onnxruntime)

# The merged archive: all rooms in one file. The script names files without folders: it cannot quote a space, and "+"
# has a meaning of its own there.
set(retort_archive ${CMAKE_BINARY_DIR}/libretort.a)
set(script "CREATE libretort.a\n")
foreach(room IN LISTS retort_rooms)
  string(APPEND script "ADDLIB $<TARGET_FILE_NAME:${room}>\n")
endforeach()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/archive.mri CONTENT "${script}SAVE\nEND\n")
add_custom_command(OUTPUT ${retort_archive} COMMAND ${CMAKE_AR} -M < archive.mri WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
                   DEPENDS ${retort_rooms} ${CMAKE_BINARY_DIR}/archive.mri VERBATIM)
add_custom_target(retort_static ALL DEPENDS ${retort_archive})

# Component library: the files with which a program that links the shared library is built.
install(TARGETS retort_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)
install(TARGETS retort_onnxruntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${retort_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/retort DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(FOLDER ${CMAKE_BINARY_DIR})
include(${CMAKE_SOURCE_DIR}/cmake/package_files.cmake)
install(FILES ${CMAKE_BINARY_DIR}/retort-config.cmake ${CMAKE_BINARY_DIR}/retort-config-version.cmake DESTINATION ${package_dir} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/retort.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
include(${CMAKE_SOURCE_DIR}/cmake/onnxruntime_files.cmake)

if(RETORT_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)  # by its path: a target would be run by the emulator of a cross build
  add_test(NAME abi_headers COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/gen_abi.py check)
endif()

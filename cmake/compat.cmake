# Shipped files load on systems as old as RETORT_GLIBC. They are linked with stubs of that C library
# (tools/glibc_stubs.py), with compat/ for newer functions, and with a C++ library of their own.
# docs/adr/0023-older-systems.md gives the reasons.
set(RETORT_GLIBC 2.28 CACHE STRING "oldest glibc on which shipped files load; empty: that of the compiler")

# retort_old_systems(RESULT): "" if shipped files can be linked like this, otherwise the reason why not.
function(retort_old_systems result)
  set(reason "")
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libc.so.6 OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -Wl,--version OUTPUT_VARIABLE linker ERROR_QUIET)
  if(RETORT_GLIBC STREQUAL "")
    set(reason "RETORT_GLIBC is empty")
  elseif(RETORT_SANITIZE)
    set(reason "a build with sanitizers is not shipped")
  elseif(NOT IS_ABSOLUTE "${libc}")
    set(reason "the compiler's C library is not glibc")
  elseif(NOT linker MATCHES "GNU ld")
    set(reason "the linker is not GNU ld")
  endif()
  set(${result} "${reason}" PARENT_SCOPE)
endfunction()

retort_old_systems(reason)
if(NOT reason STREQUAL "")
  message(STATUS "Shipped files load where glibc is as new as that of this compiler: ${reason}")
  set(RETORT_STUBS "")
  function(retort_ship target)
  endfunction()
  return()
endif()

set(compat ${CMAKE_SOURCE_DIR}/compat)
add_library(retort_compat STATIC ${compat}/files.c ${compat}/numbers.c ${compat}/random.c ${compat}/single.c ${compat}/start.c ${compat}/threads.c)
set_target_properties(retort_compat PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/compat)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(RETORT_STUBS ${CMAKE_BINARY_DIR}/compat/stubs)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/glibc_stubs.py ${CMAKE_SOURCE_DIR}/tools/elf_tables.py)
execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/glibc_stubs.py --compiler "${CMAKE_C_COMPILER}" --readelf ${CMAKE_READELF}
                        --newest ${RETORT_GLIBC} --archive ${CMAKE_BINARY_DIR}/compat/libretort_compat.a ${RETORT_STUBS}
                RESULT_VARIABLE failed ERROR_VARIABLE words)
if(failed)
  message(FATAL_ERROR "no stubs of glibc ${RETORT_GLIBC}: ${words}-DRETORT_GLIBC= links with the C library of this machine")
endif()
message(STATUS "Shipped files load on glibc ${RETORT_GLIBC} and newer")

# retort_ship(TARGET): links a shared library, module or program as a file that is shipped.
function(retort_ship target)
  target_link_options(${target} PRIVATE -L${RETORT_STUBS} -static-libstdc++ -Wl,--gc-sections)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main)
  endif()
  add_dependencies(${target} retort_compat)  # the stub of libc.so names it
  file(GLOB stubs ${RETORT_STUBS}/*.so*)
  list(FILTER stubs EXCLUDE REGEX "\\.(s|map)$")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${stubs} $<TARGET_FILE:retort_compat>)
endfunction()

if(RETORT_TESTS)
  add_executable(compat_test ${compat}/compat_test.cc)
  target_include_directories(compat_test PRIVATE ${compat})
  target_link_libraries(compat_test PRIVATE GTest::gtest_main ${CMAKE_DL_LIBS})
  target_compile_options(compat_test PRIVATE $<$<CONFIG:Release>:-O0>)
  retort_ship(compat_test)
  add_test(NAME compat COMMAND compat_test --gtest_brief=1)
  add_test(NAME compat_symbols COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/check_symbols.py --glibc ${RETORT_GLIBC} $<TARGET_FILE:compat_test>)
endif()

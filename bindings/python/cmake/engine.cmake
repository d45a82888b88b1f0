# The engine that lies in the package: the library, and the command-line tool beside it, where it finds the library.
#   RETORT_PREFIX  an installation to take both from; if empty, they are built from this checkout
#   RETORT_STUBS   stubs of an old C library, which the extension is linked with (cmake/compat.cmake of the project);
#                  if empty, those of the build, if this compiler can make some
set(RETORT_PREFIX "" CACHE PATH "installation of the engine; empty: built from this checkout")
set(RETORT_STUBS "" CACHE PATH "stubs of the oldest C library; empty: those of the engine's build")
get_filename_component(checkout ${CMAKE_CURRENT_SOURCE_DIR}/../.. ABSOLUTE)
set(files libretort.so.1 retort)

if(RETORT_PREFIX)
  set(made ${RETORT_PREFIX}/lib/libretort.so.1 ${RETORT_PREFIX}/bin/retort)
else()
  # A build of all parts is used as it is; otherwise the library and the tool get a build of their own.
  set(build ${checkout}/build/release)
  if(NOT EXISTS ${build}/.whole)
    set(build ${checkout}/build/python/engine)
    if(NOT EXISTS ${build}/build.ninja)
      message(STATUS "Configuring the engine in ${build}")
      execute_process(COMMAND ${checkout}/tools/setup.sh engine COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${checkout} -B ${build} -DCMAKE_BUILD_TYPE=Release
                              -DRETORT_TESTS=OFF -DRETORT_PROVIDERS=OFF COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endif()
  set(made ${build}/libretort.so.1 ${build}/retort)
  add_custom_target(engine COMMAND ${CMAKE_COMMAND} --build ${build} --target retort_shared retort_cli
                           BYPRODUCTS ${made} USES_TERMINAL VERBATIM)
  if(NOT RETORT_STUBS AND EXISTS ${build}/compat/stubs)
    set(RETORT_STUBS ${build}/compat/stubs)
  endif()
endif()

set(stripped)
foreach(from to IN ZIP_LISTS made files)
  add_custom_command(OUTPUT engine/${to} DEPENDS ${from} VERBATIM
                     COMMAND ${CMAKE_STRIP} --strip-unneeded -o engine/${to} ${from})
  list(APPEND stripped ${CMAKE_CURRENT_BINARY_DIR}/engine/${to})
endforeach()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/engine)
add_custom_target(packed_engine ALL DEPENDS ${stripped})
if(TARGET engine)
  add_dependencies(packed_engine engine)
endif()
install(PROGRAMS ${stripped} DESTINATION retort)

# link_for_old_systems(TARGET): like retort_ship() of the project. The C++ library is inside in any case: the process may
# have an older one. Its symbols are not exported, so the linker leaves out what nothing calls.
function(link_for_old_systems target)
  target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--gc-sections -Wl,--exclude-libs,ALL)
  if(RETORT_STUBS)
    target_link_options(${target} PRIVATE -L${RETORT_STUBS})
    if(TARGET engine)
      add_dependencies(${target} engine)  # which makes the archive that the stub of libc.so names
    endif()
  endif()
endfunction()

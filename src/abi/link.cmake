add_dependencies(retort_abi retort_abi_sources)
target_include_directories(retort_abi PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/generated)
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE retort_commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT retort_commit)
  set(retort_commit unknown)
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/abi/api_base.cc PROPERTIES COMPILE_DEFINITIONS
  "RETORT_VERSION=\"${PROJECT_VERSION}\";RETORT_COMMIT=\"${retort_commit}\";RETORT_BUILD=\"$<CONFIG>\"")

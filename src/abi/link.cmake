add_dependencies(retort_abi retort_abi_sources)
target_include_directories(retort_abi PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/generated)
# The commit is determined at every build; api_base.cc is compiled again if it has changed.
add_custom_target(retort_commit BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/commit.h
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DHEADER=${CMAKE_BINARY_DIR}/generated/commit.h
          -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake
  COMMENT "Asking for the commit" VERBATIM)
add_dependencies(retort_abi retort_commit)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/abi/api_base.cc PROPERTIES COMPILE_DEFINITIONS
  "RETORT_VERSION=\"${PROJECT_VERSION}\";RETORT_BUILD=\"$<CONFIG>\"")

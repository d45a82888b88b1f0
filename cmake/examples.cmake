# Examples that the tests use, too. The others are built like a user's program, with the installed files.
if(RETORT_TESTS)
  add_subdirectory(${CMAKE_SOURCE_DIR}/examples/providers/loopback)
  retort_together(loopback)
endif()

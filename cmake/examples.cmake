# Examples that the tests use, too. The others are built like a user's program, against what is installed.
if(RETORT_TESTS)
  add_subdirectory(${CMAKE_SOURCE_DIR}/examples/providers/loopback)
endif()

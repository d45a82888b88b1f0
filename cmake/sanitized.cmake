# The preset `sanitized` builds the rooms up to session under the sanitizers, with their unit tests, in a few minutes.
# The code that takes longest to compile comes unchanged from build/release: the rooms that RETORT_READY names, kernels
# and ops, and the tests.

# The interface of a room that another build has compiled.
function(retort_ready_room name libraries)
  set(archive ${RETORT_READY_BUILD}/libretort_${name}.a)
  if(NOT EXISTS ${archive})
    message(FATAL_ERROR "${archive} does not exist, but RETORT_READY names the room ${name}; run make build")
  endif()
  add_library(retort_${name} STATIC IMPORTED)
  set_target_properties(retort_${name} PROPERTIES IMPORTED_LOCATION ${archive} INTERFACE_LINK_LIBRARIES "${libraries}"
                        INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR}/src)
endfunction()

# Tests that check whether they are sanitized are compiled apart from others.
function(retort_apart)
  foreach(test IN LISTS ARGN)
    if(NOT EXISTS ${test})  # the build makes it
      continue()
    endif()
    file(STRINGS ${test} asks REGEX "__SANITIZE_ADDRESS__|memory/access\\.h")
    if(asks)
      set_source_files_properties(${test} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# Test programs: sanitized rooms, and the objects of tests from the other build, except those that are compiled apart.
# An inline function that sanitized and ready objects share is linked from the object that comes first. So all objects
# of sanitized rooms come before those of tests, and before the archives, which would otherwise precede those of the
# rooms that they use.
function(retort_ready_test name)
  set(list ${RETORT_READY_BUILD}/${name}_test.objects)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} ready)
  list(TRANSFORM ready REPLACE "/\\./" "/")
  list(FILTER ready EXCLUDE REGEX "\\.gch$")  # precompiled headers count as objects
  retort_apart(${ARGN})
  set(compiled)
  foreach(test IN LISTS ARGN)
    get_source_file_property(apart ${test} SKIP_UNITY_BUILD_INCLUSION)
    if(apart)
      list(APPEND compiled ${test})
      cmake_path(RELATIVE_PATH test BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      list(REMOVE_ITEM ready ${RETORT_READY_BUILD}/CMakeFiles/${name}_test.dir/${test}${CMAKE_CXX_OUTPUT_EXTENSION})
    endif()
  endforeach()
  get_property(rooms GLOBAL PROPERTY RETORT_ROOMS)
  list(REMOVE_ITEM rooms ${RETORT_READY})
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:retort_\\1>" OUTPUT_VARIABLE objects)
  add_executable(${name}_test ${objects} ${compiled})
  set_target_properties(${name}_test PROPERTIES LINK_DEPENDS "${ready}" LINKER_LANGUAGE CXX)
  target_link_libraries(${name}_test PRIVATE ${ready} retort_${name} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
endfunction()

# Tests that the sanitizers of this build are at work: planted errors must be reported, and must end the program.
function(retort_planted_errors)
  add_executable(planted ${CMAKE_SOURCE_DIR}/tests/sanitizers/planted.cc)
  target_link_libraries(planted PRIVATE Threads::Threads)
  target_compile_options(planted PRIVATE -Wno-error)
  set(address beyond_the_end=heap-buffer-overflow after_its_end=heap-use-after-free leak=LeakSanitizer)
  set(undefined "too_large_a_sum=signed integer overflow")
  set(float-cast-overflow "too_large_a_float=is outside the range of representable values")
  set(thread "race=ThreadSanitizer: data race")
  string(REPLACE "," ";" sanitizers "${RETORT_SANITIZE}")
  foreach(sanitizer IN LISTS sanitizers)
    foreach(planted IN LISTS ${sanitizer})
      string(REGEX MATCH "^([a-z_]+)=(.*)$" all "${planted}")
      add_test(NAME planted_${CMAKE_MATCH_1} COMMAND sh -c "'$<TARGET_FILE:planted>' ${CMAKE_MATCH_1} 2>&1 || echo ended with $?")
      set_tests_properties(planted_${CMAKE_MATCH_1} PROPERTIES PASS_REGULAR_EXPRESSION "${CMAKE_MATCH_2}.*ended with [1-9]")
    endforeach()
  endforeach()
endfunction()

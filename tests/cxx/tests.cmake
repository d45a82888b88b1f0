# The C++ interface on this build's library.
add_executable(cxx_test ${CMAKE_SOURCE_DIR}/tests/cxx/cxx_test.cc)
target_include_directories(cxx_test PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(cxx_test PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(cxx_test retort_shared)
add_test(NAME cxx_test COMMAND cxx_test $<TARGET_FILE:retort_shared>)

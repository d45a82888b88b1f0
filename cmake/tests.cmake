# Test programs that use the engine through the C ABI only. Folders of tests/ may add their own in tests.cmake.
if(NOT RETORT_TESTS)
  return()
endif()

set(conformance ${CMAKE_SOURCE_DIR}/tests/conformance)
add_executable(run_cases ${conformance}/run_cases.cc ${conformance}/engine.cc ${conformance}/engine_provider.cc ${conformance}/compare.cc
               ${conformance}/value.cc ${conformance}/value_pb.cc)
target_include_directories(run_cases PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(run_cases PRIVATE ${CMAKE_DL_LIBS})
retort_together(run_cases)

add_executable(conformance_test ${conformance}/compare_test.cc ${conformance}/compare.cc ${conformance}/value.cc
               ${conformance}/value_pb.cc)
target_link_libraries(conformance_test PRIVATE GTest::gtest_main)
target_compile_options(conformance_test PRIVATE $<$<CONFIG:Release>:-O0>)
retort_together(conformance_test)
add_test(NAME conformance_compare COMMAND conformance_test --gtest_brief=1)

if(RETORT_SANITIZE)
  retort_planted_errors()
endif()

file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*/tests.cmake)
foreach(part IN LISTS parts)
  include(${part})
endforeach()

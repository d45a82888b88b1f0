# The rules come from the file names: rules/<name>.cc exports rules_<name>.
retort_table(rule_table "extern const Rules rules_@name@;" "&rules_@name@" ${dir}/rules/*.cc)

# The tests of rules register examples. Tests of passes, of sessions and of worked examples run these, so they share the
# compiled tests.
file(GLOB rule_tests CONFIGURE_DEPENDS ${dir}/rules/*_test.cc)
list(REMOVE_ITEM tests ${rule_tests})
set(shared_tests rule_tests)
if(RETORT_TESTS AND NOT RETORT_READY)
  add_library(rule_tests OBJECT ${rule_tests})
  target_link_libraries(rule_tests PRIVATE retort_passes GTest::gtest)
  retort_test_options(rule_tests FALSE)
  # Like the code of programs, with which they share precompiled headers.
  set_target_properties(rule_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(rule_tests PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
endif()

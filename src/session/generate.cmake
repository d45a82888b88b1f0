# The table of config keys, from the facts that docs/config.md shows.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(config_table ${CMAKE_BINARY_DIR}/generated/config_keys.cc)
add_custom_command(OUTPUT ${config_table}
  COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/config_page.py --table ${config_table}
  DEPENDS ${CMAKE_SOURCE_DIR}/abi/config_keys.tsv ${CMAKE_SOURCE_DIR}/tools/config_page.py VERBATIM)
list(APPEND sources ${config_table})

# Sessions run the examples of optimizer rules, too, which are in the tests of the rules.
set(shared_tests rule_tests)

# Tables, stubs and layout tests, generated from the ABI tables of abi/.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(abi_generated ${CMAKE_BINARY_DIR}/generated/abi)
file(GLOB abi_facts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/abi/*.tsv ${CMAKE_SOURCE_DIR}/tools/gen_abi*.py)
set(abi_outputs ${abi_generated}/slots.h ${abi_generated}/tables.cc ${abi_generated}/stubs.cc ${abi_generated}/layout_test.cc
                ${abi_generated}/slots_test.cc ${abi_generated}/null_calls.inc)
add_custom_command(OUTPUT ${abi_outputs}
  COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/gen_abi.py sources ${abi_generated}
  DEPENDS ${abi_facts} VERBATIM)
add_custom_target(retort_abi_sources DEPENDS ${abi_outputs})  # no dependencies: built before the room
list(APPEND sources ${abi_generated}/slots.h ${abi_generated}/tables.cc ${abi_generated}/stubs.cc)
list(APPEND tests ${abi_generated}/layout_test.cc ${abi_generated}/slots_test.cc)
# The tables are alone in their object, so that a test program may link others (tests/recipes).
set_source_files_properties(${abi_generated}/tables.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

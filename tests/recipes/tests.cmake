# The worked examples of docs/, compiled out of the pages: as a part of the engine that is linked here alone, with
# tables of operators, rules, slots and commands that have them. A table that a program defines itself is not taken from
# the archives.
if(RETORT_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()

function(retort_recipes)
  set(recipes ${CMAKE_BINARY_DIR}/generated/recipes)
  set(tool ${CMAKE_SOURCE_DIR}/tools/recipes.py)
  file(GLOB read CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md ${CMAKE_SOURCE_DIR}/abi/* ${CMAKE_SOURCE_DIR}/tools/gen_abi*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tool} ${read})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${tool} write ${recipes} OUTPUT_VARIABLE written COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${tool} filters OUTPUT_VARIABLE filters COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" files "${written}")
  string(REGEX MATCHALL "[^\n]+" filters "${filters}")

  set(name recipe_tables)  # beside the folder that the tool keeps clean
  set(sources ${files})
  list(FILTER sources INCLUDE REGEX "/src/.*\\.cc$")
  set(commands ${files})
  list(FILTER commands INCLUDE REGEX "/apps/.*\\.cc$")
  set(dir ${CMAKE_SOURCE_DIR}/src/ops)
  retort_table(op_table "extern const OpDef op_@name@;" "&ops::op_@name@" ${dir}/*/*.cc ${recipes}/src/ops/*/*.cc)
  set(dir ${CMAKE_SOURCE_DIR}/src/passes)
  retort_table(rule_table "extern const Rules rules_@name@;" "&rules_@name@" ${dir}/rules/*.cc ${recipes}/src/passes/rules/*.cc)

  # The tests that run what examples register, and the examples of all other rules: one test wants that each pass has
  # one. Their objects are linked alone, so they are compiled alone.
  set(generic $<TARGET_OBJECTS:rule_tests>)
  foreach(test IN ITEMS ops_test/src/ops/generic_test.cc ops_test/src/ops/op_test.cc passes_test/src/passes/rule_examples_test.cc
                        passes_test/src/passes/rule_order_test.cc session_test/src/session/engine_tests/optimizer_test.cc
                        session_test/src/session/engine_tests/optimizer_examples_test.cc)
    string(REGEX MATCH "^([a-z_]+)/(.*)\\.cc$" all ${test})
    list(APPEND generic "$<FILTER:$<TARGET_OBJECTS:${CMAKE_MATCH_1}>,INCLUDE,/${CMAKE_MATCH_2}\\.cc>")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_2}.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  add_executable(recipes_test ${CMAKE_SOURCE_DIR}/tests/recipes/main.cc ${sources} ${generic} ${recipes}/abi/tables.cc
                 ${recipes}/abi/layout_test.cc ${recipes}/abi/slots_test.cc)
  target_include_directories(recipes_test PRIVATE ${recipes}/include ${recipes} ${recipes}/src)
  target_compile_options(recipes_test PRIVATE $<$<CONFIG:Release>:-O0>)
  target_link_libraries(recipes_test PRIVATE retort_abi GTest::gtest)
  retort_together(recipes_test)
  if(RETORT_PCH)
    target_precompile_headers(recipes_test REUSE_FROM base_test)
  endif()
  foreach(filter IN LISTS filters)
    string(REGEX MATCH "^([a-z_]+) (.*)$" all ${filter})
    add_test(NAME recipes_${CMAKE_MATCH_1} COMMAND recipes_test --gtest_brief=1 --gtest_filter=${CMAKE_MATCH_2})
  endforeach()

  if(RETORT_CLI)  # the stage cli runs the tests of its commands
    set(sources ${commands})
    set(dir ${CMAKE_SOURCE_DIR}/apps/retort)
    retort_table(command_table "extern const Command command_@name@;" "&command_@name@" ${dir}/commands/*.cc
                 ${recipes}/apps/retort/commands/*.cc)
    add_executable(recipes_cli ${sources} "$<FILTER:$<TARGET_OBJECTS:retort_cli>,EXCLUDE,/command_table\\.cc>")
    target_include_directories(recipes_cli PRIVATE $<TARGET_PROPERTY:retort_cli,INCLUDE_DIRECTORIES>)
    target_compile_definitions(recipes_cli PRIVATE $<TARGET_PROPERTY:retort_cli,COMPILE_DEFINITIONS>)
    target_compile_options(recipes_cli PRIVATE $<$<CONFIG:Release>:-Os>)
    target_link_libraries(recipes_cli PRIVATE $<TARGET_PROPERTY:retort_cli,LINK_LIBRARIES>)
    if(RETORT_PCH)
      target_precompile_headers(recipes_cli REUSE_FROM retort_cli)
    endif()
  endif()
endfunction()
retort_recipes()

# The command-line tool uses the engine through the C interface only, and opens it at run time. Static libraries read
# the file formats, so the program needs no other file.
if(NOT RETORT_CLI)
  return()
endif()

find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
foreach(format IN ITEMS turbojpeg png16 minizip z)
  find_library(retort_${format} ${format} REQUIRED)
endforeach()
set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
file(GLOB_RECURSE retort_cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/retort/*.cc)
set(retort_cli_tests ${retort_cli_sources})
list(FILTER retort_cli_sources EXCLUDE REGEX "_test\\.cc$")
list(FILTER retort_cli_tests INCLUDE REGEX "_test\\.cc$")
# The commands come from the file names: commands/<name>.cc exports command_<name>.
set(name cli)
set(dir ${CMAKE_SOURCE_DIR}/apps/retort)
set(sources ${retort_cli_sources})
retort_table(command_table "extern const Command command_@name@;" "&command_@name@" ${dir}/commands/*.cc)
set(retort_cli_sources ${sources})
unset(name)
unset(dir)
unset(sources)
set(web ${CMAKE_SOURCE_DIR}/apps/retort/web)
set(web_files ${web}/page.html ${web}/style.css ${web}/elements.js ${web}/table.js ${web}/layout.js
              ${web}/layered.js ${web}/minimap.js ${web}/legend.js ${web}/scene.js ${web}/graph.js ${web}/timeline.js
              ${web}/page.js ${web}/suite.html ${web}/suite.css ${web}/chart.js ${web}/suite_tables.js ${web}/suite.js
              ${web}/vendor/dagre.min.js)
set(web_header ${CMAKE_BINARY_DIR}/generated/cli/web_files.h)
add_custom_command(OUTPUT ${web_header} DEPENDS ${web_files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM
  COMMAND ${CMAKE_COMMAND} "-DFILES=${web_files}" -DOUT=${web_header} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
add_executable(retort_cli ${retort_cli_sources} ${web_header})
set_target_properties(retort_cli PROPERTIES OUTPUT_NAME retort)
target_include_directories(retort_cli PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/apps/retort
                                              ${CMAKE_BINARY_DIR}/generated/cli)
target_link_libraries(retort_cli PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json ${retort_turbojpeg} ${retort_png16}
                                         ${retort_minizip} ${retort_z} ${CMAKE_DL_LIBS})
target_compile_definitions(retort_cli PRIVATE RETORT_VERSION="${PROJECT_VERSION}")
# Nearly all of its compile time goes into two header-only libraries and the templates that its files share. Its speed
# does not matter, except for the file that measures the processor, so it is compiled for size.
target_compile_options(retort_cli PRIVATE $<$<CONFIG:Release>:-Os>)
set_source_files_properties(${CMAKE_SOURCE_DIR}/apps/retort/measure/peak.cc PROPERTIES
                            COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
if(RETORT_PCH)
  target_precompile_headers(retort_cli PRIVATE <CLI/CLI.hpp> <nlohmann/json.hpp>)
endif()
retort_together(retort_cli 10)
retort_ship(retort_cli)
install(TARGETS retort_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The version that the program prints.
set(words ${CMAKE_BINARY_DIR}/generated/words)
file(MAKE_DIRECTORY ${words})
set(word_files ${words}/retort.1 ${words}/retort ${words}/_retort ${words}/retort.fish)
add_custom_command(OUTPUT ${word_files} DEPENDS retort_cli VERBATIM
  COMMAND retort_cli manual > ${words}/retort.1
  COMMAND retort_cli completion bash > ${words}/retort
  COMMAND retort_cli completion zsh > ${words}/_retort
  COMMAND retort_cli completion fish > ${words}/retort.fish)
add_custom_target(retort_words ALL DEPENDS ${word_files})
install(FILES ${words}/retort.1 DESTINATION ${CMAKE_INSTALL_DATADIR}/man/man1)
install(FILES ${words}/retort DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${words}/_retort DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${words}/retort.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

if(RETORT_TESTS)
  add_executable(cli_test ${retort_cli_tests} ${CMAKE_SOURCE_DIR}/apps/retort/diff/diff_search.cc
                          ${CMAKE_SOURCE_DIR}/apps/retort/measure/outside.cc)
  target_include_directories(cli_test PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/apps/retort)
  target_link_libraries(cli_test PRIVATE GTest::gtest_main)
  target_compile_options(cli_test PRIVATE $<$<CONFIG:Release>:-O0>)
  retort_together(cli_test)
  add_test(NAME cli COMMAND cli_test --gtest_brief=1)
endif()

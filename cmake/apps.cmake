# The command-line tool: sees the engine through the C interface only, and opens it at run time.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
file(GLOB retort_cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/retort/*.cc)
add_executable(retort_cli ${retort_cli_sources})
set_target_properties(retort_cli PROPERTIES OUTPUT_NAME retort)
target_include_directories(retort_cli PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(retort_cli PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
install(TARGETS retort_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

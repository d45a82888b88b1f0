# Uses plug-in libraries of other vendors on any engine: check_plugins.py.
add_executable(plugin_uses ${CMAKE_SOURCE_DIR}/tests/providers/plugin_uses.cc)
target_include_directories(plugin_uses PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(plugin_uses PRIVATE ${CMAKE_DL_LIBS})
add_library(other_processor MODULE ${CMAKE_SOURCE_DIR}/tests/providers/other_processor.cc)
target_include_directories(other_processor PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(other_processor PRIVATE ${CMAKE_DL_LIBS})

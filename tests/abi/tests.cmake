# The differential test: the same scenes on this build's library and on the official one.
file(GLOB_RECURSE abi_scenes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/abi/*.cc)
list(FILTER abi_scenes EXCLUDE REGEX "/tests/abi/plugins/")  # libraries of their own
add_executable(abi_differential ${abi_scenes})
target_include_directories(abi_differential PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests/abi
                           ${CMAKE_SOURCE_DIR}/examples/providers/loopback)
target_link_libraries(abi_differential PRIVATE GTest::gtest ${CMAKE_DL_LIBS})
target_compile_options(abi_differential PRIVATE $<$<CONFIG:Release>:-O0>)  # the compiler takes longer than the scenes
if(RETORT_PCH)
  target_precompile_headers(abi_differential PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h ${CMAKE_SOURCE_DIR}/tests/abi/scene.h)
endif()
target_compile_definitions(abi_differential PRIVATE RETORT_LIBRARY_PATH="$<TARGET_FILE:retort_onnxruntime>"
                           RETORT_OTHER_LIBRARY_PATH="$<TARGET_FILE:retort_shared>"
                           RETORT_ORT_MODEL="${CMAKE_SOURCE_DIR}/tests/abi/dense.ort"
                           RETORT_MODELS="${CMAKE_SOURCE_DIR}/tests/clients/data"
                           RETORT_OPERATOR_SCHEMAS="${CMAKE_SOURCE_DIR}/src/onnx/operator_schemas.tsv"
                           RETORT_DIFFERENCES="${CMAKE_SOURCE_DIR}/tests/abi/differences.tsv"
                           RETORT_COMPILING_PROVIDER="$<TARGET_FILE:abi_compiling_provider>"
                           RETORT_TELLING_PROVIDER="$<TARGET_FILE:abi_telling_provider>"
                           RETORT_LENDING_PROVIDER="$<TARGET_FILE:abi_lending_provider>"
                           RETORT_DESCRIBING_PROVIDER="$<TARGET_FILE:abi_describing_provider>"
                           RETORT_ALIASING_PROVIDER="$<TARGET_FILE:abi_aliasing_provider>"
                           RETORT_THROWING_PROVIDER="$<TARGET_FILE:abi_throwing_provider>"
                           RETORT_PACKING_PROVIDER="$<TARGET_FILE:abi_packing_provider>"
                           RETORT_WEIGHING_PROVIDER="$<TARGET_FILE:abi_weighing_provider>"
                           RETORT_CHOOSING_PROVIDER="$<TARGET_FILE:abi_choosing_provider>"
                           RETORT_LOOPBACK_PROVIDER="$<TARGET_FILE:loopback>")
target_include_directories(abi_differential PRIVATE ${CMAKE_BINARY_DIR}/generated/abi)
foreach(plugin aliasing choosing compiling describing lending packing telling throwing weighing)
  add_library(abi_${plugin}_provider MODULE ${CMAKE_SOURCE_DIR}/tests/abi/plugins/${plugin}.cc)
  target_include_directories(abi_${plugin}_provider PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/retort)
  add_dependencies(abi_differential abi_${plugin}_provider)
endforeach()
add_dependencies(abi_differential retort_onnxruntime retort_shared loopback)
add_test(NAME abi_differential COMMAND abi_differential --gtest_brief=1)

# The header is also C.
add_library(abi_header_c99 OBJECT ${CMAKE_SOURCE_DIR}/tests/abi/header.c)
target_include_directories(abi_header_c99 PRIVATE ${CMAKE_SOURCE_DIR}/include/retort)
set_target_properties(abi_header_c99 PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_compile_options(abi_header_c99 PRIVATE -pedantic)

# Compares the graphs that the official library and this one pass to a provider: src/abi/graphs/graph_view_test.cc.
add_library(abi_graph_provider MODULE ${CMAKE_SOURCE_DIR}/src/abi/graphs/graph_provider_testing.cc)
target_include_directories(abi_graph_provider PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                           ${CMAKE_SOURCE_DIR}/include/retort)
add_dependencies(abi_test abi_graph_provider)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/abi/graphs/graph_view_test.cc TARGET_DIRECTORY abi_test PROPERTIES
  COMPILE_DEFINITIONS "RETORT_GRAPH_PROVIDER=\"$<TARGET_FILE:abi_graph_provider>\";RETORT_MODELS=\"${CMAKE_SOURCE_DIR}/tests/clients/data\"")

# The libraries: two shared ones from the same objects (a drop-in that needed a second file would break where clients copy or
# link one), a merged archive, and what is installed.
include(CMakePackageConfigHelpers)

set(retort_rooms)
foreach(room IN ITEMS base tensor memory kernels ir ops onnx lift passes ep plan run session host abi)
  get_target_property(type retort_${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND retort_rooms retort_${room})
  endif()
endforeach()

# retort_shared(TARGET OUTPUT_NAME): lib<OUTPUT_NAME>.so.1
function(retort_shared target output)
  add_library(${target} SHARED $<TARGET_OBJECTS:retort_abi>)
  target_link_libraries(${target} PRIVATE ${retort_rooms})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} SOVERSION 1 LINKER_LANGUAGE CXX
                        LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/abi/exports.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/abi/exports.map -Wl,-Bsymbolic
                      -Wl,-z,nodelete -Wl,--gc-sections -Wl,--exclude-libs,ALL)
  if(NOT RETORT_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
retort_shared(retort_shared retort)
retort_shared(retort_onnxruntime onnxruntime)

if(RETORT_TESTS)
  add_test(NAME abi_headers COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/gen_abi.py check)
  add_subdirectory(${CMAKE_SOURCE_DIR}/tests/abi ${CMAKE_BINARY_DIR}/tests/abi)
endif()

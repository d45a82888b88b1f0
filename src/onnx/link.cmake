target_include_directories(retort_onnx PRIVATE ${CMAKE_BINARY_DIR}/generated)

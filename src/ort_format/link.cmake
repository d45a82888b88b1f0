target_include_directories(retort_ort_format SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated/ort_format)

# capi/libonnxruntime.so of the package onnxruntime (forward/onnxruntime.c).
set(interface 1.32.0)  # the file has the name that it has in the official wheel of this version
add_library(forward SHARED forward/onnxruntime.c)
target_link_libraries(forward PRIVATE ${CMAKE_DL_LIBS})
target_link_options(forward PRIVATE -Wl,-soname,libonnxruntime.so.1 -Wl,-z,noseparate-code -s)
set_target_properties(forward PROPERTIES OUTPUT_NAME onnxruntime SUFFIX .so.${interface} NO_SONAME ON
                      C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/onnxruntime)
link_for_old_systems(forward)

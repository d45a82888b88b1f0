# Example programs: they see the engine through include/retort only, and open it at run time.
set(digits ${CMAKE_SOURCE_DIR}/examples/digits)
add_executable(digits ${digits}/digits.cc ${digits}/classifier.cc ${digits}/images.cc ${digits}/allocations.cc)
target_include_directories(digits PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(digits PRIVATE RETORT_API_DLOPEN)
target_link_libraries(digits PRIVATE ${CMAKE_DL_LIBS})

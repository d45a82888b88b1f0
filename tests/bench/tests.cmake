# Measurements through the C interface, for make bench.
foreach(name IN ITEMS decode_growing idle_cpu)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/bench/${name}.cc)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endforeach()

# Measurements through the C interface, for make bench and make bench-frugal.
foreach(name IN ITEMS decode_growing idle_cpu)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/bench/${name}.cc)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endforeach()
add_executable(frugal ${CMAKE_SOURCE_DIR}/bench/frugal/frugal.cc)
target_include_directories(frugal PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(frugal PRIVATE ${CMAKE_DL_LIBS})

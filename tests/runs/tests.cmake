# Runs of whole models; started by the stage `runs` of tools/run_tests.py.
set(counter ${CMAKE_SOURCE_DIR}/examples/digits)
add_executable(steady_runs ${CMAKE_SOURCE_DIR}/tests/runs/steady_runs.cc ${counter}/allocations.cc
               ${conformance}/value.cc ${conformance}/value_pb.cc)
target_include_directories(steady_runs PRIVATE ${CMAKE_SOURCE_DIR}/include ${conformance} ${counter})
target_link_libraries(steady_runs PRIVATE ${CMAKE_DL_LIBS})

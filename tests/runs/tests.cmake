# Runs of whole models; started by the stage `runs` of tools/run_tests.py.
set(retort_tool ${CMAKE_SOURCE_DIR}/apps/retort)  # for its counter of allocations
add_executable(steady_runs ${CMAKE_SOURCE_DIR}/tests/runs/steady_runs.cc ${retort_tool}/measure/allocations.cc
               ${conformance}/value.cc ${conformance}/value_pb.cc)
target_include_directories(steady_runs PRIVATE ${CMAKE_SOURCE_DIR}/include ${conformance} ${retort_tool})
target_link_libraries(steady_runs PRIVATE ${CMAKE_DL_LIBS})
retort_together(steady_runs)

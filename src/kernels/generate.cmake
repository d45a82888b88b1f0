# The loops of these files only call others, which do the work. -O2 makes half as much code of them as -O3. Precompiled
# headers are made with -O3, part of which they would bring back.
set(callers conv/conv_transpose.cc conv/conv_transpose_columns.cc conv/groups_plan.cc conv/inside.cc move/strided_copy.cc)
list(TRANSFORM callers PREPEND ${dir}/)
set_source_files_properties(${callers} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2> SKIP_PRECOMPILE_HEADERS ON)
# Functions of four vectors at a time: g++ otherwise orders the operations for x86-64 as they are written, one vector
# after the other. With 8 lanes, GELU takes 0.86 of the time, tanh 0.9, e^x 0.89. Precompiled headers would undo it.
set(functions attention/scores.cc elementwise/activate.cc elementwise/unary.cc norm/softmax.cc recurrent/cell.cc)
list(TRANSFORM functions PREPEND ${dir}/)
set_source_files_properties(${functions} PROPERTIES COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fschedule-insns>
                            SKIP_PRECOMPILE_HEADERS ON)
# Without this, SiLU takes 0.93 of the time and GELU 0.96, but e^x 1.15.
list(REMOVE_ITEM functions ${dir}/elementwise/activate.cc)
set_property(SOURCE ${functions} APPEND PROPERTY COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fsched-pressure>)

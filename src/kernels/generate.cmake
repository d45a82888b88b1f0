# The loops of these files only call others, which do the work: -O2 makes half as much code of them as -O3.
set(callers conv/conv_transpose_columns.cc conv/inside.cc move/strided_copy.cc)
list(TRANSFORM callers PREPEND ${dir}/)
set_source_files_properties(${callers} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)

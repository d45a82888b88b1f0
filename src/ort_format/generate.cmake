# Access to flatbuffers by the schema of the ORT format.
find_program(FLATC flatc REQUIRED)
set(ort_generated ${CMAKE_BINARY_DIR}/generated/ort_format/ort_generated.h)
add_custom_command(OUTPUT ${ort_generated} DEPENDS ${dir}/ort.fbs VERBATIM
  COMMAND ${FLATC} --cpp -o ${CMAKE_BINARY_DIR}/generated/ort_format ${dir}/ort.fbs)
list(APPEND sources ${ort_generated})

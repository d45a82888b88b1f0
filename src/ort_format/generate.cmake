# Access to flatbuffers by the schema of the ORT format.
find_program(FLATC flatc REQUIRED)
set(ort_generated ${CMAKE_BINARY_DIR}/generated/ort_format/ort_generated.h)
add_custom_command(OUTPUT ${ort_generated} DEPENDS ${dir}/ort.fbs VERBATIM
  COMMAND ${FLATC} --cpp -o ${CMAKE_BINARY_DIR}/generated/ort_format ${dir}/ort.fbs)
add_custom_target(retort_ort_schema DEPENDS ${ort_generated})  # a target that needs no other: the room need not wait for all
list(APPEND sources ${ort_generated})

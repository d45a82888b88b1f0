# Generates code to access the flatbuffers of the ORT format and of adapters from their schemas.
find_program(FLATC flatc REQUIRED)
set(ort_generated)
foreach(schema ort adapter)
  set(header ${CMAKE_BINARY_DIR}/generated/ort_format/${schema}_generated.h)
  add_custom_command(OUTPUT ${header} DEPENDS ${dir}/${schema}.fbs VERBATIM
    COMMAND ${FLATC} --cpp -o ${CMAKE_BINARY_DIR}/generated/ort_format ${dir}/${schema}.fbs)
  list(APPEND ort_generated ${header})
endforeach()
add_custom_target(retort_ort_schema DEPENDS ${ort_generated})  # no dependencies: built before the room
list(APPEND sources ${ort_generated})

# Facts of operators, each file as one text.
file(READ ${dir}/operator_facts.tsv operator_facts)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/onnx/operator_facts.inc CONTENT "R\"facts(@operator_facts@)facts\"\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dir}/operator_facts.tsv)
file(READ ${dir}/operator_schemas.tsv operator_schemas)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/onnx/operator_schemas.inc CONTENT "R\"facts(@operator_schemas@)facts\"\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dir}/operator_schemas.tsv)

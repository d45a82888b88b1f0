# retort_table(TABLE DECLARATION ROW PATTERN...): generates a source with a table of the objects that files export, so
# that nothing is registered by hand. @name@ in DECLARATION and ROW is the name of each file that matches a PATTERN (no
# tests), without folder and extension. ${dir}/TABLE.cc.in has the rest of the source. Appends it to `sources` of a
# room.
function(retort_table table declaration row)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  set(DECLARATIONS "")
  set(ROWS "")
  foreach(file IN LISTS files)
    get_filename_component(stem ${file} NAME_WE)
    string(REPLACE @name@ ${stem} line "${declaration}")
    string(APPEND DECLARATIONS "${line}\n")
    string(REPLACE @name@ ${stem} line "${row}")
    string(APPEND ROWS "    ${line},\n")
  endforeach()
  set(made ${CMAKE_BINARY_DIR}/generated/${name}/${table}.cc)
  configure_file(${dir}/${table}.cc.in ${made} @ONLY)
  # The table is alone in its object, so that a test program may link another table (tests/recipes).
  set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(sources ${sources} ${made} PARENT_SCOPE)
endfunction()

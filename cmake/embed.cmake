# cmake -DFILES=a;b -DOUT=file.h -P embed.cmake: a header with the content of each file as a std::string_view in
# retort::cli::web, named after the file, with _ in place of characters that no C++ name may have.
set(text "#pragma once\n#include <string_view>\n\nnamespace retort::cli::web {\n\n")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" name ${name})
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND text "inline constexpr char ${name}_bytes[] = {${bytes}};\n")
  string(APPEND text "inline constexpr std::string_view ${name}(${name}_bytes, sizeof ${name}_bytes);\n\n")
endforeach()
file(WRITE ${OUT} "${text}}  // namespace retort::cli::web\n")

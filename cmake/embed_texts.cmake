# cmake -DOUT=FILE.cc -DFOLDER=DIR -P embed_texts.cmake: writes a C++ file with the text of each file of DIR, for
# providers/cuda/core/kernels.h.
file(GLOB files ${FOLDER}/*.cu ${FOLDER}/*.cuh)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"retort_text(${text})retort_text\"},\n")
endforeach()
file(WRITE ${OUT}.new "#include \"cuda/core/kernel_texts.h\"

namespace providers::cuda {

const std::map<std::string, std::string, std::less<>>& kernel_texts() {
  static const auto& texts = *new std::map<std::string, std::string, std::less<>>{
${entries}  };
  return texts;
}

}  // namespace providers::cuda
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUT}.new)

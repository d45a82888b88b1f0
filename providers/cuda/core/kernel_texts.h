// The files of providers/cuda/kernels, in the library. cmake/embed_texts.cmake writes the definition.
#pragma once
#include <functional>
#include <map>
#include <string>

namespace providers::cuda {

/// Text by file name.
const std::map<std::string, std::string, std::less<>>& kernel_texts();

}  // namespace providers::cuda

// Makes the text of a CUDA program one that g++ compiles.
#pragma once
#include <string>
#include <vector>

namespace software_cuda {

/// The program with the shim around it. `text`: the program after its own macros are expanded.
std::string wrap(const std::string& text);

}  // namespace software_cuda

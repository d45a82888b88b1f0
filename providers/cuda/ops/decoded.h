// Constant codes that become numbers while a part is compiled; blocked_codes.cc.
#pragma once
#include <string>
#include <vector>

#include "cuda/core/operators.h"

namespace providers::cuda {

/// "" if decoded_numbers can make the results of a DequantizeLinear.
std::string refuses_decoding(const Node& dequantize);
/// Its results, in the type of its scale.
std::vector<char> decoded_numbers(const Node& dequantize, const TensorView& codes);

}  // namespace providers::cuda

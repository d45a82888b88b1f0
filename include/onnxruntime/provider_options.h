// Options of execution providers, by their names.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

namespace onnxruntime {

using ProviderOptions = std::unordered_map<std::string, std::string>;
using ProviderOptionsVector = std::vector<ProviderOptions>;
using ProviderOptionsMap = std::unordered_map<std::string, ProviderOptions>;

}  // namespace onnxruntime

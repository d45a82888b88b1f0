// Model files with intermediate values as extra outputs, made without understanding the rest of them.
#pragma once
#include <string>
#include <vector>

namespace retort::cli {

/// The whole file. Throws Failure naming it.
std::string read_model_file(const std::string& path);
/// Values that nodes of the main graph make, in the order of the file.
std::vector<std::string> made_values(const std::string& model);
/// The model with these values, which it makes, as outputs after its own; engines infer their types.
std::string with_outputs(const std::string& model, const std::vector<std::string>& values);

}  // namespace retort::cli

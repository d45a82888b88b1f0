// All models of a folder, each in a process of its own.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

/// Runs this program with `arguments(model)` for every .onnx file beneath `folder`, in order of their paths; the program
/// prints JSON. Answers [{model, report}] or, where it failed, [{model, error}]. Throws Failure where there is no model.
nlohmann::json run_suite(const std::string& folder,
                         const std::function<std::vector<std::string>(const std::string& model)>& arguments);

}  // namespace retort::cli

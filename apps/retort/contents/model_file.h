// What is inside a model's file beyond its description: the values of weights, the sizes of trees.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/tools_library.h"

namespace retort::cli {

/// The bytes of the model as ONNX with all weights inside, from ONNX or ORT format. Throws Failure, also for models of
/// 2 GiB and more.
std::string whole_model(const ToolsLibrary& tools, const std::string& path);

/// The weights of the main graph in the order of the file: [{name, type, shape, bytes, and, for numbers: min, max, mean,
/// deviation, zeros, not_finite, histogram [16 counts from min to max]}].
nlohmann::json list_weights(const std::string& model);

/// The size of each node with trees, by node name: {trees, nodes, leaves, depth: edges of the longest path}.
nlohmann::json list_trees(const std::string& model);

}  // namespace retort::cli

// Parts of what `retort inspect` prints; all texts in the data are clean (cli/text.h).
#pragma once
#include <nlohmann/json.hpp>

namespace retort::cli {

/// The result of list_trees().
void print_trees(const nlohmann::json& trees);
/// The result of list_weights().
void print_weights(const nlohmann::json& weights);
/// `passes` and `passes_total` of RetortDescribeModel.
void print_passes(const nlohmann::json& passes, const nlohmann::json& total);
/// The result of ToolsLibrary::placement().
void print_placement(const nlohmann::json& placement);

}  // namespace retort::cli

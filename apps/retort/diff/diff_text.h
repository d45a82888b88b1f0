// What `retort diff` prints for people.
#pragma once
#include <nlohmann/json.hpp>

namespace retort::cli {

/// `report` is the result of the comparison as --json prints it, with clean texts.
void print_difference(const nlohmann::json& report);

}  // namespace retort::cli

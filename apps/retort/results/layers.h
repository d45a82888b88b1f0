// Statistics of the values inside a model.
#pragma once
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace retort::cli {

/// Runs the model with its inner values as outputs, several at a time, and returns [{value, node, op, type, shape, min,
/// max, mean, deviation, zeros, not_finite, histogram}] in the order of the nodes, for tensors of numbers. The list is
/// shorter if the user interrupts it. Throws Failure.
nlohmann::json measure_layers(const Common& options);

void print_layers(const nlohmann::json& layers);

}  // namespace retort::cli

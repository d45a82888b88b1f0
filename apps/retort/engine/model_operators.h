// The operators that a model uses, and how the engine runs each.
#pragma once
#include <nlohmann/json.hpp>

namespace retort::cli {

/// `model` and `operators` are what RetortDescribeModel and RetortListOperators return. The result is an array of
///   {domain, name, version: of the definition in force, type: of the first input, nodes,
///    known: whether the engine has the operator, runs: how the nodes that it became run, as in RetortDescribeModel;
///    empty if nothing is left of it after optimisation, or if the model cannot run}
/// with one object for each version and type, ordered by domain and name.
nlohmann::json model_operators(const nlohmann::json& model, const nlohmann::json& operators);

}  // namespace retort::cli

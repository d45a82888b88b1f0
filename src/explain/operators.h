// Lists the operators that the engine implements.
#pragma once
#include <string>
#include <vector>

namespace retort {

/// Returns JSON as include/retort/retort_tools.h describes it: every operator with its revisions and element types.
std::string list_operators();

/// The names of all optimisation passes and rules, in alphabetical order, each once.
std::vector<std::string> pass_names();

}  // namespace retort

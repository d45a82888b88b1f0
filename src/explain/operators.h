// Lists the operators that the engine implements.
#pragma once
#include <string>

namespace retort {

/// Returns JSON as include/retort/retort_tools.h describes it: every operator with its revisions and element types.
std::string list_operators();

}  // namespace retort

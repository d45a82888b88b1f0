// Options that providers here have in common. Each throws Error, which names the provider and the option, for a value that
// cannot be.
#pragma once
#include <set>
#include <string>

namespace providers {

/// `threads`: a number, 0 for all processors.
int threads_of(const char* provider, const std::string& value);

/// `disable`: operators that are left to others, with commas between them, of those that the provider runs.
std::set<std::string> operators_of(const char* provider, const std::string& value, const std::set<std::string>& run);

}  // namespace providers

// Options that several providers have. The functions throw Error, naming the provider and the option, for an invalid
// value.
#pragma once
#include <set>
#include <string>

namespace providers {

/// `threads`: a number, 0 for all processors.
int threads_of(const char* provider, const std::string& value);

/// `disable`: operators that the provider must not claim, separated by commas, among the operators that it can run.
std::set<std::string> operators_of(const char* provider, const std::string& value, const std::set<std::string>& run);

}  // namespace providers

// What is said about words of the command line that nothing takes.
#pragma once
#include <string>

#include "cli/commands.h"

namespace retort::cli {

/// The first such word, and what was likely meant.
std::string unexpected_text(const CLI::App& app, int argc, const char* const* argv);
/// The one of `names` that is a slip or two away from `word`; "" where none is.
std::string likely(const std::string& word, const std::vector<std::string>& names);

}  // namespace retort::cli

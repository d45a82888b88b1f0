// Error messages for unexpected words of the command line.
#pragma once
#include <string>

#include "cli/commands.h"

namespace retort::cli {

/// The message for the first such word, with the likely intended one.
std::string unexpected_text(const CLI::App& app, int argc, const char* const* argv);
/// The name that differs from `word` by one or two typing errors; "" if there is none.
std::string likely(const std::string& word, const std::vector<std::string>& names);

}  // namespace retort::cli

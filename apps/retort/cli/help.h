// The texts of --help, wrapped at the terminal's width.
#pragma once
#include <string>

#include "cli/commands.h"

namespace retort::cli {

/// The help of the program: its commands, examples and exit codes.
std::string help_of_program(const CLI::App& app, size_t width);
/// The help of a command: its options by group, and its footer.
std::string help_of_command(const CLI::App& command, size_t width);

}  // namespace retort::cli

// A list of runs.
#pragma once
#include <string>
#include <vector>

namespace retort::cli {

/// The inputs of each run: a line has texts as --input takes them, with spaces between; a text with spaces stands in
/// quotes. Empty lines, and lines that begin with #, are left out. "-" is standard input. Throws Failure.
std::vector<std::vector<std::string>> read_run_list(const std::string& path);

}  // namespace retort::cli

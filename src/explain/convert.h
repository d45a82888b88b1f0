// Model files with their weights inside or beside.
#pragma once
#include <string>

namespace retort {

/// Reads `from` and writes the same model, in its own dialect, to `to`: weights of at least `threshold` bytes into the
/// file `external` in the folder of `to`, or all inside where `external` is empty. Throws Error; a file that is replaced
/// appears whole or not at all.
void convert_model(const std::string& from, const std::string& to, const std::string& external, size_t threshold);

}  // namespace retort

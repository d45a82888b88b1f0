// Text arguments and results, by the conventions of the C interface.
#pragma once
#include <map>
#include <string>

#include "abi/handle.h"

namespace retort::abi {

/// The two-call convention: with a null buffer, returns the size; otherwise copies, or fails with the required size.
/// Sizes include the terminator.
void copy_text(const std::string& text, char* buffer, size_t* size);

/// Checks lengths (with the official limits) and stores the entry.
void add_config_entry(std::map<std::string, std::string>& entries, const char* key, const char* value);

}  // namespace retort::abi

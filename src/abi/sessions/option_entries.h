// Entries of session options that mean the same as a function of their own.
#pragma once
#include <string>

#include "session/options.h"

namespace retort::abi {

/// Sets the option if the key is that of one ("session.intra_op_num_threads" is SetIntraOpNumThreads), else does
/// nothing. Returns whether it is; such an entry is not stored. Throws Error (invalid_argument) for a value that the
/// option cannot have.
bool set_option(SessionOptions& options, const std::string& key, const std::string& value);

/// AddSessionConfigEntry: sets an option, or stores the entry.
void add_session_entry(SessionOptions& options, const char* key, const char* value);

}  // namespace retort::abi

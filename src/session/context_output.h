// Where the model with the contexts of providers goes that ONNX Runtime calls an EPContext model. The CPU makes no such
// contexts; sessions and compilations keep to the same places all the same.
#pragma once
#include <string>

#include "session/options.h"

namespace retort {

/// The file: what ep.context_file_path names, else the model's name with "_ctx.onnx" in place of its suffix. Throws fail
/// where there is neither, invalid_argument for a folder.
std::string context_output(const SessionOptions& options, const std::string& model_path);

/// Throws fail where that file is there already.
void check_no_context(const std::string& file);

/// What a session with ep.context_enable checks before it would write one; it writes none, as no node is compiled.
void check_context_keys(const SessionOptions& options, const std::string& model_path);

}  // namespace retort

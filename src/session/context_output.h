// Models that keep what providers compiled, as ONNX Runtime's EPContext models do.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ep/partition.h"
#include "session/options.h"

namespace retort {

/// The file: what ep.context_file_path names, else the model's name with "_ctx.onnx" in place of its suffix. Throws fail
/// where there is neither, invalid_argument for a folder.
std::string context_output(const SessionOptions& options, const std::string& model_path);

/// Throws fail where that file is there already.
void check_no_context(const std::string& file);

/// What a session with ep.context_enable checks before anything is compiled.
void check_context_keys(const SessionOptions& options, const std::string& model_path);

/// partition(). Gives the model with what providers made of their parts in place of the nodes (put_stand_ins), and in its
/// metadata what they will want to read; nothing where no part was compiled to be kept.
std::optional<Model> partition_and_keep(Model& model, const SessionDevices& devices, std::vector<Assignment>& parts);

/// Writes such a model to its file.
void save_contexts(const SessionOptions& options, const std::string& model_path, const Model& model);

}  // namespace retort

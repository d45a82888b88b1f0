// Models that contain what providers compiled, like EPContext models of ONNX Runtime.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ep/partition.h"
#include "onnx/reader.h"
#include "session/options.h"

namespace retort {

/// The path of the file: the one that ep.context_file_path names, or else the model's path with "_ctx.onnx" in place of
/// its suffix. Throws fail if there is neither, invalid_argument if the path is a folder's.
std::string context_output(const SessionOptions& options, const std::string& model_path);

/// Throws fail if that file exists already.
void check_no_context(const std::string& file);

/// Checks the file of a session with ep.context_enable, before providers compile anything. Throws what the two above
/// throw.
void check_context_keys(const SessionOptions& options, const std::string& model_path);

/// A model that is compiled: the options of its session, and the files of its external data.
struct ContextSource {
  const SessionOptions& options;
  std::span<const ExternalFile> files;
};

/// Calls partition(). Returns a copy of the model in which compiled parts replace the nodes of the parts
/// (put_stand_ins), and whose metadata has what providers will read there; nothing if no provider compiled a part to be
/// kept.
std::optional<Model> partition_and_keep(Model& model, const SessionDevices& devices, const ContextSource& source,
                                        std::vector<Assignment>& parts);

/// Writes such a model to its file. Throws what save_model() throws.
void save_contexts(const SessionOptions& options, const std::string& model_path, const Model& model);

}  // namespace retort

#include "session/context_output.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "ort_format/write.h"

namespace retort {
namespace {

// The same path as in ONNX Runtime: for ".hidden" the name is "_ctx.onnx".
std::string beside(const std::string& model_path) {
  const size_t name = model_path.rfind('/') + 1;
  const size_t dot = model_path.rfind('.');
  const bool has_suffix = dot != std::string::npos && dot >= name;
  return (has_suffix ? model_path.substr(0, dot) : model_path) + "_ctx.onnx";
}

}  // namespace

std::string context_output(const SessionOptions& options, const std::string& model_path) {
  const std::string& told = options.config_entry("ep.context_file_path");
  require(
      !told.empty() || !model_path.empty(), ErrorCode::fail,
      "the model came from memory, so there is no name for the compiled model; give the compilation an output, or set "
      "ep.context_file_path");
  const std::string file = told.empty() ? beside(model_path) : told;
  std::error_code missing;
  require(!std::filesystem::is_directory(file, missing), ErrorCode::invalid_argument,
          "'{}' is a folder; give the compiled model the name of a file", file);
  return file;
}

void check_no_context(const std::string& file) {
  std::error_code missing;
  require(!std::filesystem::exists(file, missing), ErrorCode::fail,
          "the compiled model '{}' is there already; remove it, or choose another name", file);
}

void check_context_keys(const SessionOptions& options, const std::string& model_path) {
  if (options.config_on("ep.context_enable")) check_no_context(context_output(options, model_path));
}

std::optional<Model> partition_and_keep(Model& model, const SessionDevices& devices, std::vector<Assignment>& parts) {
  Model kept = model;
  for (const auto& provider : devices.providers) {
    const std::string note = provider->compatibility(model);
    const std::string key = cat("ep_compatibility_info.{}", provider->name());
    std::erase_if(kept.metadata, [&](const auto& entry) { return entry.first == key; });
    if (!note.empty()) kept.metadata.emplace_back(key, note);
  }
  parts = partition(model, devices);
  if (std::ranges::none_of(parts,
                           [&](const Assignment& part) { return part.stand_in && part.graph == model.graph.get(); }))
    return std::nullopt;
  kept.graph = model.graph->clone();
  put_stand_ins(*kept.graph, parts, *model.graph);
  return kept;
}

void save_contexts(const SessionOptions& options, const std::string& model_path, const Model& model) {
  const WriteOptions write{.external_file = options.config_entry("ep.context_model_external_initializers_file_name"),
                           .external_threshold = 0};
  save_model(model, context_output(options, model_path), ModelFormat::onnx, write);
}

}  // namespace retort

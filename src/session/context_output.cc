#include "session/context_output.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "onnx/weight_file.h"
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

void set_metadata(Model& model, const std::string& key, const std::string& value) {
  std::erase_if(model.metadata, [&](const auto& entry) { return entry.first == key; });
  model.metadata.emplace_back(key, value);
}

/// Which constants of a graph lie in files of external data, and which do not.
struct Weights {
  bool external = false, internal = false;
  void add(const Graph& graph, std::span<const ExternalFile> files) {
    for (size_t i = 0; i < graph.value_count(); ++i) {
      const Tensor* constant = graph.constant(ValueId(i));
      if (!constant || constant->dtype() == DType::string) continue;
      const auto range = file_range(*constant);
      const bool in_file =
          range && std::ranges::any_of(files, [&](const auto& f) { return f.identity == range->file; });
      (in_file ? external : internal) = true;
    }
  }
};

/// What the compiled model needs beside its own file, for the metadata: weights that stay in files, and weights that a
/// provider left to the caller because the session asks for models without them.
std::string dependencies(const Weights& all, std::span<const Assignment> parts, const ContextSource& source) {
  const std::string& mode = source.options.config_entry("ep.enable_weightless_mode");
  const bool any = mode.empty() && source.options.config_on("ep.enable_weightless");
  Weights dropped;
  for (const Assignment& part : parts) {
    if (part.drops_constants && part.stand_in) dropped.add(*part.inside, source.files);
  }
  const bool needs_model = dropped.internal && (any || mode == "2");
  const bool needs_files = all.external || (dropped.external && (any || mode == "1" || mode == "2"));
  return cat("{}{}{}", needs_model ? "source_model" : "", needs_model && needs_files ? ";" : "",
             needs_files ? "external_weights" : "");
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

std::optional<Model> partition_and_keep(Model& model, const SessionDevices& devices, const ContextSource& source,
                                        std::vector<Assignment>& parts) {
  Model kept = model;
  Weights weights;
  weights.add(*model.graph, source.files);
  for (const auto& provider : devices.providers) {
    const std::string note = provider->compatibility(model);
    const std::string key = cat("ep_compatibility_info.{}", provider->name());
    std::erase_if(kept.metadata, [&](const auto& entry) { return entry.first == key; });
    if (!note.empty()) set_metadata(kept, key, note);
  }
  parts = partition(model, devices, source.options.external_ops.get());
  if (std::ranges::none_of(parts,
                           [&](const Assignment& part) { return part.stand_in && part.graph == model.graph.get(); }))
    return std::nullopt;
  const std::string& mode = source.options.config_entry("ep.enable_weightless_mode");
  if (mode == "1" || mode == "2") set_metadata(kept, "weightless_mode", mode);
  set_metadata(kept, "external_dependencies", dependencies(weights, parts, source));
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

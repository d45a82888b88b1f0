#include "session/written_model.h"

#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/loading.h"
#include "ep/fold.h"
#include "ep/partition.h"
#include "ort_format/write.h"
#include "session/context_output.h"

namespace retort {

void save_optimized(const Model& model, const SessionOptions& options, const LowerOptions& lower) {
  const std::string& path = options.optimized_model_path;
  if (path.empty()) return;
  const LoadingScratch optimized(std::make_shared<Model>(portable_copy(model, lower)));
  const ModelFormat format = saved_format(options.config_entry("session.save_model_format"), path);
  WriteOptions write{.external_file = options.config_entry("session.optimized_model_external_initializers_file_name")};
  const std::string& least = options.config_entry("session.optimized_model_external_initializers_min_size_in_bytes");
  const auto [end, error] = std::from_chars(least.data(), least.data() + least.size(), write.external_threshold);
  require(
      least.empty() || (error == std::errc() && end == least.data() + least.size()), ErrorCode::invalid_argument,
      "session.optimized_model_external_initializers_min_size_in_bytes is '{}', not a number of bytes; set it to one",
      least);
  save_model(*optimized, path, format, write);
}

void compile_model(const Model& given, const SessionOptions& options, const LowerOptions& lower,
                   const SessionDevices& devices, const ModelSource& source) {
  Model model = given;
  std::optional<Model> kept;
  if (!devices.providers.empty()) {
    model.graph = model.graph->clone();
    fold_before_claims(model, lower);
    show_to_providers(model, options.external_ops.get());
    std::vector<Assignment> parts;
    kept = partition_and_keep(model, devices, {options, source.external_files()}, parts);
  }
  options.compile(compiled_copy(kept ? *kept : given, lower), source.external_files(), kept.has_value());
}

}  // namespace retort

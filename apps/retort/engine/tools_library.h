// Retort's own information about models and itself, through include/retort/retort_tools.h.
#pragma once
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace retort::cli {

/// A file in the folder for temporary files, which the destructor removes.
struct TemporaryFile {
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  std::string path;
};

/// The chosen library if it is Retort; otherwise the one of this installation, because other engines do not have these
/// functions. Must outlive copies.
class ToolsLibrary {
 public:
  explicit ToolsLibrary(const std::string& given);
  /// Describes the model with the shapes of --shape and without the passes of --disable; see retort_tools.h for the
  /// JSON. Throws Failure.
  nlohmann::json describe(const Common& options, int level = 99) const;
  nlohmann::json operators() const;
  /// {config_keys, passes}: the names that --config and --disable take; see retort_tools.h.
  nlohmann::json names() const;
  /// Which provider runs which node, with the providers of the options; see docs/placement.md for the JSON, which has a
  /// "problem" if the session cannot be made.
  nlohmann::json placement(const Common& options) const;
  /// `format`: "onnx", "ort", or "", which means the one that the name of `to` implies.
  void convert(const std::string& from, const std::string& to, const std::string& format, const std::string& external,
               size_t threshold) const;

 private:
  std::unique_ptr<EngineLibrary> library_;
};

/// Operations of a described model by node, for the nodes that run: fused ones if Retort runs them, otherwise the
/// model's own. NaN: unknown.
std::map<std::string, double> operations_by_name(const nlohmann::json& model);

}  // namespace retort::cli

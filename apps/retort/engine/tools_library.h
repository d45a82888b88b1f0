// What Retort tells about models and itself, through include/retort/retort_tools.h.
#pragma once
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace retort::cli {

/// The chosen library where it is Retort; else the one of this installation, because other engines cannot tell.
/// Objects may be copied only while this lives.
class ToolsLibrary {
 public:
  explicit ToolsLibrary(const std::string& given);
  /// The model with the shapes of --shape, without the passes of --disable; see retort_tools.h for the JSON. Throws
  /// Failure.
  nlohmann::json describe(const Common& options, int level = 99) const;
  nlohmann::json operators() const;
  /// Who runs which node, with the providers of the options; see docs/placement.md for the JSON, which has a "problem"
  /// where the session cannot be made for all that.
  nlohmann::json placement(const Common& options) const;
  /// `format`: "onnx", "ort", or "" for what the name of `to` asks for.
  void convert(const std::string& from, const std::string& to, const std::string& format, const std::string& external,
               size_t threshold) const;

 private:
  std::unique_ptr<EngineLibrary> library_;
};

/// Arithmetic by node of a model that was described, of the nodes that run: fused ones where Retort runs them, the
/// model's own otherwise. NaN: not known.
std::map<std::string, double> operations_by_name(const nlohmann::json& model);

}  // namespace retort::cli

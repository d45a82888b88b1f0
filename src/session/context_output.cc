#include "session/context_output.h"

#include <filesystem>

#include "base/error.h"

namespace retort {
namespace {

// As ONNX Runtime makes it: of ".hidden" the name is "_ctx.onnx".
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

}  // namespace retort

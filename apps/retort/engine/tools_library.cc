#include "engine/tools_library.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "retort/retort_tools.h"

namespace retort::cli {

TemporaryFile::TemporaryFile() {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  path = (folder / "retort_XXXXXX").string();
  const int file = error ? -1 : mkstemp(path.data());
  if (file < 0) throw Failure("cannot write a temporary file; set TMPDIR to a folder that can be written");
  close(file);
}

TemporaryFile::~TemporaryFile() { std::remove(path.c_str()); }

ToolsLibrary::ToolsLibrary(const std::string& given)
    : library_(std::make_unique<EngineLibrary>(default_library(given))) {
  if (library_->find<RetortDescribeModel>("RetortDescribeModel")) return;
  library_ = std::make_unique<EngineLibrary>(installed_library());
  if (!library_->find<RetortDescribeModel>("RetortDescribeModel"))
    throw Failure("libretort.so.1 is needed to look into a model; " + installed_library() + " is another library");
}

nlohmann::json ToolsLibrary::describe(const Common& options, int level) const {
  std::vector<std::pair<std::string, std::string>> entries{{"level", std::to_string(level)}};
  for (const auto& [name, shape] : options.wanted_shapes())
    entries.emplace_back("shape." + name, shape.empty() ? "" : dims_text(shape));
  for (const std::string& name : options.disabled) entries.emplace_back("disable", name);
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : entries) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  const auto call = library_->find<RetortDescribeModel>("RetortDescribeModel");
  return nlohmann::json::parse(library_->text([&](OrtAllocator* a, char** out) {
    return call(options.model.c_str(), keys.data(), values.data(), keys.size(), a, out);
  }));
}

// A step that computes several nodes of the model has all their names in a profile.
static std::vector<std::string> names_in_profile(const nlohmann::json& node) {
  std::string all;
  for (const auto& origin : node.value("origins", nlohmann::json::array()))
    all += (all.empty() ? "" : "+") + std::string(origin);
  std::vector<std::string> names{node["name"]};
  if (!all.empty() && all != names[0]) names.push_back(all);
  return names;
}

std::map<std::string, double> operations_by_name(const nlohmann::json& model) {
  std::map<std::string, double> all;
  for (const char* graph : {"graph", "optimized"}) {  // names of both graphs: the second replaces the first
    std::map<std::string, double> of_graph;
    if (!model.contains(graph)) continue;
    for (const auto& n : model[graph]["nodes"]) {
      for (const std::string& name : names_in_profile(n)) of_graph[name] += n.value("operations", std::nan(""));
    }
    for (const auto& [name, work] : of_graph) all[name] = work;
  }
  return all;
}

nlohmann::json ToolsLibrary::placement(const Common& options) const {
  const TemporaryFile file;
  SessionSettings settings = options.settings(1);
  settings.config["session.placement"] = file.path;
  settings.config.emplace("session.disable_prepacking", "1");  // nothing runs
  std::string problem;
  try {
    const EngineSession session(*library_, options.model, settings);
  } catch (const Failure& e) {
    problem = e.what();
  }
  std::ifstream text(file.path);
  nlohmann::json told = nlohmann::json::parse(text, nullptr, false);
  if (told.is_discarded()) throw Failure(problem);  // loading failed before any provider was asked
  if (!problem.empty()) told["problem"] = problem;
  return told;
}

nlohmann::json ToolsLibrary::operators() const {
  const auto call = library_->find<RetortListOperators>("RetortListOperators");
  return nlohmann::json::parse(library_->text([&](OrtAllocator* a, char** out) { return call(a, out); }));
}

nlohmann::json ToolsLibrary::names() const {
  const auto call = library_->find<RetortListNames>("RetortListNames");
  if (!call) return {{"config_keys", nlohmann::json::array()}, {"passes", nlohmann::json::array()}};
  return nlohmann::json::parse(library_->text([&](OrtAllocator* a, char** out) { return call(a, out); }));
}

void ToolsLibrary::convert(const std::string& from, const std::string& to, const std::string& format,
                           const std::string& external, size_t threshold) const {
  const auto call = library_->find<RetortWriteModel>("RetortWriteModel");
  const char* named = format == "ort" ? "ORT" : format == "onnx" ? "ONNX" : "";
  library_->check(call(from.c_str(), to.c_str(), named, external.c_str(), threshold));
}

}  // namespace retort::cli

// retort convert: writes a model to another file or format, or reports its operator sets.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/modes.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "engine/tools_library.h"

namespace retort::cli {
namespace {

using nlohmann::json;

struct ConvertOptions : Common {
  enum Mode : unsigned { kReport, kCopy, kOptimize };
  static constexpr const char* kModes[] = {"for the report (no OUT)", "to copy a model to OUT",
                                           "to write an optimised model"};
  static constexpr OptionUse kUses[] = {{"MODEL", 7},      {"OUT", 6},      {"--library", 7},  {"--config", 4},
                                        {"--provider", 4}, {"--plugin", 4}, {"--vulkan", 4},   {"--virtual", 4},
                                        {"--json", 7},     {"--format", 6}, {"--external", 6}, {"--threshold", 6},
                                        {"--optimize", 4}};
  static constexpr Modes kTable{kModes, kUses};

  std::string to, format, external, optimize;
  size_t threshold = 1024;
};

/// An operator that the model uses: its number of nodes, and its definitions.
struct Use {
  size_t nodes = 0;
  int form = 0, newest = 0;  ///< operator set versions of the definition in force and of the newest; 0: none
  bool known = false;        ///< whether Retort runs it, or replaces it while loading
};

json find_operator(const json& operators, const std::string& domain, const std::string& name) {
  for (const json& op : operators) {
    if (op["name"] == name && op["domain"] == domain) return op;
  }
  return nullptr;
}

void count_uses(const json& graph, const json& operators, std::map<std::pair<std::string, std::string>, Use>& uses) {
  for (const json& node : graph["nodes"]) {
    const std::string domain = node["domain"].get<std::string>().empty() ? "ai.onnx" : node["domain"];
    Use& use = uses[{domain, node["op"]}];
    ++use.nodes;
    const json op = find_operator(operators, domain, node["op"]);
    use.known = op.is_object();
    for (const int since : op.is_object() && op.contains("versions") ? op["versions"] : json::array()) {
      use.newest = std::max(use.newest, since);
      if (since <= node["version"]) use.form = std::max(use.form, since);
    }
    if (!node.contains("bodies")) continue;
    for (const json& body : node["bodies"]) count_uses(body, operators, uses);
  }
}

json opset_report(const ConvertOptions& o) {
  const ToolsLibrary tools(o.library);
  const json model = tools.describe(o, 0), operators = tools.operators();
  std::map<std::pair<std::string, std::string>, Use> uses;
  count_uses(model["graph"], operators, uses);
  json report = {{"ir_version", model["ir_version"]}, {"opsets", json::object()}, {"operators", json::array()}};
  for (const auto& [domain, version] : model["opsets"].items()) {
    int newest = 0;
    for (const json& op : operators) {
      if (op["domain"] != domain || !op.contains("versions")) continue;
      for (const int v : op["versions"]) newest = std::max(newest, v);
    }
    report["opsets"][domain] = {{"imported", version}, {"newest_known", newest}};
  }
  for (const auto& [name, use] : uses)
    report["operators"].push_back({{"domain", name.first},
                                   {"name", name.second},
                                   {"nodes", use.nodes},
                                   {"known", use.known},
                                   {"definition", use.form},
                                   {"newest", use.newest}});
  return report;
}

void print_report(const json& report) {
  std::printf("file format (IR) version %d\n", report["ir_version"].get<int>());
  for (const auto& [domain, v] : report["opsets"].items())
    std::printf("operator set %s: version %d; Retort knows definitions up to %d\n", domain.c_str(),
                v["imported"].get<int>(), v["newest_known"].get<int>());
  const auto full_name = [](const json& op) {
    const std::string domain = op["domain"];
    return (domain == "ai.onnx" ? "" : domain + ".") + op["name"].get<std::string>();
  };
  std::printf("\n");
  Table table({{"operator"}, {"nodes", true}, {"definition of opset"}}, 0);
  for (const json& op : report["operators"]) {
    const int form = op["definition"], newest = op["newest"];
    std::string text = form          ? std::to_string(form)
                       : op["known"] ? "replaced by other operators while loading"
                                     : paint(Paint::red, "unknown: Retort cannot run it");
    if (form && form < newest) text += " (newest: " + std::to_string(newest) + ", converted while loading)";
    table.row({full_name(op), op["nodes"].dump(), text});
  }
  table.print();
}

/// Any engine can save its optimised model.
void save_optimized(const ConvertOptions& o, int level) {
  const EngineLibrary engine(default_library(o.library));
  SessionSettings settings = o.settings(1);
  settings.optimization = level;
  settings.optimized = o.to;
  if (!o.format.empty()) settings.config["session.save_model_format"] = o.format == "ort" ? "ORT" : "ONNX";
  if (!o.external.empty()) {
    settings.config["session.optimized_model_external_initializers_file_name"] = o.external;
    settings.config["session.optimized_model_external_initializers_min_size_in_bytes"] = std::to_string(o.threshold);
  }
  const EngineSession session(engine, o.model, settings);
}

/// Another text after a file was written; "" if there is none.
std::string version_of(const std::filesystem::path& file) {
  struct stat s = {};
  if (stat(file.c_str(), &s) != 0) return "";
  return std::to_string(s.st_ino) + "," + std::to_string(s.st_mtim.tv_sec) + "," + std::to_string(s.st_mtim.tv_nsec);
}

void check_options(const ConvertOptions& o) {
  ConvertOptions::kTable.check(*o.command, o.to.empty()         ? ConvertOptions::kReport
                                           : o.optimize.empty() ? ConvertOptions::kCopy
                                                                : ConvertOptions::kOptimize);
  check_needs(*o.command, "--threshold", "--external");
  if (o.to.empty()) return;
  if (o.external.find('/') != std::string::npos || o.external == "." || o.external == "..")
    throw WrongUsage("--external " + o.external + " must be the name of a file, without a folder: it lies beside OUT");
  if (!o.external.empty() && (o.format == "ort" || (o.format.empty() && has_suffix(o.to, ".ort"))))
    throw WrongUsage("--external is not used for ORT format, whose weights are always inside the file; leave it out");
  const auto beside = std::filesystem::path(o.to).parent_path() / o.external;
  check_distinct_files({{"OUT", o.to}, {"--external", o.external.empty() ? "" : beside.string()}}, o.files_read());
}

void convert(const ConvertOptions& o) {
  check_options(o);
  if (o.to.empty()) {
    const json report = opset_report(o);
    if (o.json)
      print_json(report);
    else
      print_report(clean(report));
    return;
  }
  const auto beside = std::filesystem::path(o.to).parent_path() / o.external;
  const std::string before = o.external.empty() ? "" : version_of(beside);
  const std::map<std::string, int> levels{{"", 0}, {"basic", 1}, {"extended", 2}, {"all", 99}};
  if (o.optimize.empty())
    ToolsLibrary(o.library).convert(o.model, o.to, o.format, o.external, o.threshold);
  else
    save_optimized(o, levels.at(o.optimize));
  json told = {{"file", o.to}, {"bytes", std::filesystem::file_size(o.to)}};
  const bool outside = !o.external.empty() && version_of(beside) != before;
  if (outside) told.update({{"external", beside.string()}, {"external_bytes", std::filesystem::file_size(beside)}});
  if (o.json) {
    print_json(told);
    return;
  }
  std::printf("%s  %s\n", clean(o.to).c_str(), scaled(told["bytes"], "B").c_str());
  if (outside)
    std::printf("%s  %s of weights\n", clean(beside.string()).c_str(), scaled(told["external_bytes"], "B").c_str());
  if (!o.external.empty() && !outside) std::printf("no weight has %zu bytes or more: all are inside\n", o.threshold);
}

void add_convert(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "convert",
      "write a model to another file: ONNX or ORT format, weights inside or beside it, optimised or not; or report its "
      "opsets");
  const auto o = std::make_shared<ConvertOptions>();
  o->add_model(*sub);
  sub->add_option("OUT", o->to, "file to write; without it, a report of the operator sets that the model uses")
      ->type_name("");
  sub->add_option("--format", o->format,
                  "format of OUT; without it, ORT format (flatbuffers) if the name ends in .ort, else ONNX")
      ->check(one_of({"onnx", "ort"}))
      ->type_name("onnx|ort");
  sub->add_option(
         "--external", o->external,
         "name of a file beside OUT that takes the weights (external data); without it they are all inside OUT, "
         "which may have 2 GiB at most")
      ->type_name("NAME");
  sub->add_option("--threshold", o->threshold, "weights of fewer bytes stay inside")
      ->check(whole(0, int64_t(1) << 40))
      ->capture_default_str()
      ->type_name("BYTES");
  sub->add_option(
         "--optimize", o->optimize,
         "write the model as the engine optimises it: basic (constants folded, dead and duplicate nodes removed), "
         "extended (nodes fused), all; internal operators of the engine are avoided if possible")
      ->check(one_of({"basic", "extended", "all"}))
      ->type_name("basic|extended|all");
  sub->footer(
      "An operator set (opset) is a numbered version of the operators' definitions; a model names the one it was made "
      "for. ORT format has no functions, no Constant nodes and no types of optional values: calls are expanded, "
      "constants become weights. From ORT format, official ONNX Runtime does not run operators that it has only as "
      "functions (CenterCropPad, losses) or for which it has no kernel (most of float16). --library chooses the engine "
      "that optimises; without --optimize, Retort does the work.\n\nExamples: retort convert model.onnx\n          "
      "retort convert model.onnx small.onnx --external weights.bin\n          retort convert model.onnx fast.onnx "
      "--optimize all\n          retort convert model.onnx model.ort");
  ConvertOptions::kTable.cover(*sub);
  sub->callback([o] { convert(*o); });
}

}  // namespace

extern const Command command_convert;
constinit const Command command_convert{60, add_convert};

}  // namespace retort::cli

// retort inspect: what a model wants and gives.
#include <nlohmann/json.hpp>

#include "commands.h"

namespace retort::cli {
namespace {

nlohmann::json ports_json(const std::vector<PortInfo>& ports) {
  nlohmann::json list = nlohmann::json::array();
  for (const PortInfo& p : ports)
    list.push_back({{"name", p.name}, {"type", type_name(p.type)}, {"shape", shape_text(p)}});
  return list;
}

void print_ports(const char* title, const std::vector<PortInfo>& ports) {
  std::printf("%s\n", title);
  for (const PortInfo& p : ports)
    std::printf("  %-32s %s%s\n", p.name.c_str(), type_name(p.type), shape_text(p).c_str());
}

void inspect(const Common& o) {
  const EngineLibrary engine(default_library(o.library));
  const EngineSession session(engine, o.model, o.settings(1));
  if (o.json) {
    const nlohmann::json all = {{"metadata", session.metadata()},
                                {"inputs", ports_json(session.inputs())},
                                {"outputs", ports_json(session.outputs())}};
    std::printf("%s\n", all.dump(2).c_str());
    return;
  }
  for (const auto& [key, value] : session.metadata()) std::printf("%-12s %s\n", key.c_str(), value.c_str());
  print_ports("inputs", session.inputs());
  print_ports("outputs", session.outputs());
}

}  // namespace

void add_inspect(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("inspect", "show a model's metadata, inputs and outputs");
  const auto o = std::make_shared<Common>();
  o->add_model(*sub);
  sub->footer("Example: retort inspect model.onnx --json");
  sub->callback([o] { inspect(*o); });
}

}  // namespace retort::cli

// retort inspect: shows a model's inputs, outputs, contents and costs.

#include <algorithm>
#include <cstdio>

#include "cli/modes.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "contents/inspect_text.h"
#include "contents/model_file.h"
#include "web/page.h"

namespace retort::cli {
namespace {

using nlohmann::json;

struct InspectOptions : Common {
  enum Mode : unsigned { kContents, kPlacement };
  static constexpr const char* kModes[] = {"for the contents alone", "with --placement, --provider or --plugin"};
  static constexpr OptionUse kUses[] = {{"MODEL", 3},     {"--library", 3},  {"--shape", 3},   {"--nodes", 3},
                                        {"--passes", 3},  {"--disable", 3},  {"--weights", 3}, {"--placement", 2},
                                        {"--config", 2},  {"--provider", 2}, {"--plugin", 2},  {"--vulkan", 2},
                                        {"--virtual", 2}, {"--html", 3},     {"--json", 3}};
  static constexpr Modes kTable{kModes, kUses};

  bool nodes = false, passes = false, placement = false, weights = false;
  std::string html;
  bool places() const { return placement || !providers.empty() || !plugins.empty(); }
};

std::string text(const json& j) { return j.get<std::string>(); }

/// Types and shapes, as in "float32[batch,3]".
json ports(const json& graph, const char* key) {
  json list = json::array();
  for (const size_t i : graph[key]) {
    const json& value = graph["values"][i];
    const std::string type = value["type"];
    const size_t bracket = type.find('[');
    list.push_back({{"name", value["name"]},
                    {"type", type.substr(0, bracket)},
                    {"shape", bracket == std::string::npos ? "" : type.substr(bracket)}});
  }
  return list;
}

void print_ports(const char* title, const json& list) {
  std::printf("%s\n", paint(Paint::bold, title).c_str());
  Table table({{""}, {""}});
  for (const json& p : list) table.row({p["name"], text(p["type"]) + text(p["shape"])});
  table.print();
}

/// The number of elements of a type such as "float32[8,3]"; 0 if an extent is free.
double elements(const std::string& type) {
  double count = 1;
  for (size_t at = std::min(type.find('['), type.size()); at + 1 < type.size();) {
    const size_t end = std::min(type.find_first_of(",]", at + 1), type.size());
    if (end > at + 1) count *= std::atof(type.substr(at + 1, end - at - 1).c_str());
    at = end;
  }
  return count;
}

/// Adds the elements of a graph's constants, bodies included, by type.
void count_parameters(const json& graph, std::map<std::string, double>& counts) {
  for (const json& v : graph["values"]) {
    const std::string type = v["type"];
    if (v.contains("constant")) counts[type.substr(0, type.find('['))] += elements(type);
  }
  for (const json& n : graph["nodes"]) {
    for (const json& body : n.value("bodies", json::object())) count_parameters(body, counts);
  }
}

json parameters(const json& graph) {
  std::map<std::string, double> counts;
  count_parameters(graph, counts);
  json told = {{"count", 0}, {"by_type", json::object()}};
  double sum = 0;
  for (const auto& [type, count] : counts) {
    sum += count;
    told["by_type"][type] = int64_t(count);
  }
  told["count"] = int64_t(sum);
  return told;
}

struct Totals {
  size_t nodes = 0, unknown = 0;  ///< unknown: number of nodes whose operations cannot be counted
  double operations = 0;
  struct Row {
    size_t nodes = 0, unknown = 0;
    double operations = 0;
  };
  std::map<std::string, Row> by_operator;
};

void add_up(const json& graph, Totals& t) {
  for (const json& n : graph["nodes"]) {
    Totals::Row& row = t.by_operator[text(n["op"])];
    ++t.nodes;
    ++row.nodes;
    if (n.contains("operations")) {
      t.operations += n["operations"].get<double>();
      row.operations += n["operations"].get<double>();
    } else {
      ++t.unknown;
      ++row.unknown;
    }
    if (!n.contains("bodies")) continue;
    for (const json& body : n["bodies"]) add_up(body, t);
  }
}

std::string assumed_text(const json& assumed) {
  std::string all;
  for (const auto& [name, value] : assumed.items()) all += (all.empty() ? "" : ", ") + name + " = " + value.dump();
  return all.empty() ? "" : " with " + all + " (--shape sets other values)";
}

void print_head(const json& model, const Totals& t) {
  const auto line = [](const char* key, const std::string& value) {
    if (!value.empty()) std::printf("%-12s %s\n", key, value.c_str());
  };
  line("graph", text(model["name"]));
  line("description", text(model["doc"]));
  const std::string version = text(model["producer_version"]);
  line("producer", text(model["producer"]) + (version.empty() ? "" : " " + version));
  line("domain", text(model["domain"]));
  for (const auto& [key, value] : model["metadata"].items()) line(key.c_str(), text(value));
  std::string opsets;
  for (const auto& [domain, version] : model["opsets"].items())
    opsets += (opsets.empty() ? "" : ", ") + domain + " " + version.dump();
  line("opsets", opsets + "  (file format " + model["ir_version"].dump() + ")");
  Totals left;
  if (model.contains("optimized")) add_up(model["optimized"], left);
  line("nodes", std::to_string(t.nodes) + (model.contains("optimized") ? ", of which " + std::to_string(left.nodes) +
                                                                             " are left after optimisation"
                                                                       : ""));
  std::string types;
  for (const auto& [type, count] : model["parameters"]["by_type"].items())
    types += (types.empty() ? " (" : ", ") + type + " " + count.dump();
  line("parameters", model["parameters"]["count"].dump() + (types.empty() ? "" : types + ")"));
  if (model.contains("memory")) {
    const json& m = model["memory"];
    line("weights", scaled(m["weights"], "B"));
    line("memory", scaled(m["values_at_once"], "B") + " for intermediate values" +
                       (text(m["at"]).empty() ? "" : ", most at '" + text(m["at"]) + "'") +
                       (m["complete"] ? "" : "; without sizes that depend on data"));
  }
  line("arithmetic", scaled(t.operations, "FLOP") + " a run" + assumed_text(model["assumed"]) +
                         (t.unknown ? "; unknown for " + std::to_string(t.unknown) + " nodes" : ""));
}

void print_operators(const Totals& t) {
  std::vector<std::pair<std::string, Totals::Row>> rows(t.by_operator.begin(), t.by_operator.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.operations, a.second.nodes) > std::pair(b.second.operations, b.second.nodes);
  });
  std::printf("%s\n", paint(Paint::bold, "operators").c_str());
  Table table({{""}, {"nodes", true}, {"arithmetic", true}, {"share", true}});
  for (const auto& [name, row] : rows) {
    char share[32];
    std::snprintf(share, sizeof share, "%.1f%%", t.operations > 0 ? 100 * row.operations / t.operations : 0);
    const bool known = row.unknown < row.nodes;
    table.row(
        {name, std::to_string(row.nodes), known ? scaled(row.operations, "FLOP") : "not known", known ? share : ""});
  }
  table.print();
}

/// Counts the nodes of each operator in the graph and its bodies.
void count_operators(const json& graph, std::map<std::string, size_t>& counts) {
  for (const json& n : graph["nodes"]) {
    const std::string domain = text(n["domain"]);
    ++counts[(domain.empty() ? "ai.onnx" : domain) + "." + text(n["op"])];
    if (!n.contains("bodies")) continue;
    for (const json& body : n["bodies"]) count_operators(body, counts);
  }
}

/// Prints all unknown operators at once, since loading stops at the first.
void print_unknown_operators(const json& graph, const json& known) {
  std::map<std::string, size_t> counts;
  count_operators(graph, counts);
  for (const json& op : known) counts.erase(text(op["domain"]) + "." + text(op["name"]));
  std::string list;
  for (const auto& [name, nodes] : counts)
    list += (list.empty() ? "" : ", ") + name + " (" + std::to_string(nodes) + (nodes == 1 ? " node)" : " nodes)");
  if (!list.empty()) std::printf("unknown operators: %s\n", list.c_str());
}

void print_nodes(const json& graph, const std::string& indent) {
  const auto list = [&](const json& ids) {
    std::string all;
    for (const int i : ids) {
      const json value = i < 0 ? json{{"name", "_"}, {"type", ""}} : graph["values"][size_t(i)];
      all += (all.empty() ? "" : ", ") + text(value["name"]) + (text(value["type"]).empty() ? "" : ": ") +
             text(value["type"]);
    }
    return all;
  };
  for (const json& n : graph["nodes"]) {
    std::string attributes;
    for (const auto& [name, value] : n["attributes"].items())
      attributes += (attributes.empty() ? " {" : ", ") + name + ": " + text(value);
    std::printf("%s%s  %s = %s(%s)%s\n", indent.c_str(), paint(Paint::dim, text(n["name"])).c_str(),
                list(n["outputs"]).c_str(), paint(Paint::bold, text(n["op"])).c_str(), list(n["inputs"]).c_str(),
                attributes.empty() ? "" : (attributes + "}").c_str());
    if (!n.contains("bodies")) continue;
    for (const auto& [name, body] : n["bodies"].items()) {
      std::printf("%s  %s:\n", indent.c_str(), name.c_str());
      print_nodes(body, indent + "    ");
    }
  }
}

void print_text(const InspectOptions& o, const json& model, const ToolsLibrary& library) {
  Totals t;
  add_up(model["graph"], t);
  print_head(model, t);
  print_ports("inputs", model["inputs"]);
  if (const size_t n = model.value("overridable", json::array()).size())
    std::printf("  and %zu that have a value in the model, which a run may override: %s%s\n", n,
                text(model["overridable"][0]).c_str(), n > 1 ? ", …" : "");
  print_ports("outputs", model["outputs"]);
  print_operators(t);
  if (model.contains("problem")) {
    std::printf("%s %s\n", paint(Paint::red, "Retort cannot run this model:").c_str(), text(model["problem"]).c_str());
    print_unknown_operators(model["graph"], library.operators());
  }
  if (o.nodes) std::printf("%s\n", paint(Paint::bold, "nodes").c_str());
  if (o.nodes) print_nodes(model["graph"], "  ");
  if (model.contains("trees")) print_trees(model["trees"]);
  if (model.contains("weights")) print_weights(model["weights"]);
  if (model.contains("placement")) print_placement(model["placement"]);
  if (o.passes && model.contains("passes")) print_passes(model["passes"], model["passes_total"]);
}

bool has_trees(const json& graph) {
  return std::any_of(graph["nodes"].begin(), graph["nodes"].end(),
                     [](const json& n) { return text(n["op"]).starts_with("TreeEnsemble"); });
}

json describe(const InspectOptions& o, const ToolsLibrary& library) {
  json model = library.describe(o);
  model["inputs"] = ports(model["graph"], "inputs");
  model["outputs"] = ports(model["graph"], "outputs");
  model["parameters"] = parameters(model["graph"]);
  if (o.weights || has_trees(model["graph"])) {
    const std::string whole = whole_model(library, o.model);
    if (has_trees(model["graph"])) model["trees"] = list_trees(whole);
    if (o.weights) model["weights"] = list_weights(whole);
  }
  if (o.places()) model["placement"] = library.placement(o);
  return model;
}

/// Clean texts; those that say why something does not run keep their lines.
json readable(const json& model) {
  json shown = clean(model);
  if (model.contains("problem")) shown["problem"] = clean_lines(text(model["problem"]));
  if (model.contains("placement") && model["placement"].contains("problem"))
    shown["placement"]["problem"] = clean_lines(text(model["placement"]["problem"]));
  return shown;
}

void inspect(const InspectOptions& o) {
  InspectOptions::kTable.check(*o.command, o.places() ? InspectOptions::kPlacement : InspectOptions::kContents);
  check_output_files({{"--html", o.html}}, o.files_read());
  const ToolsLibrary library(o.library);
  json model = describe(o, library);
  if (o.json)
    print_json(model);
  else
    print_text(o, readable(model), library);
  if (o.html.empty()) return;
  model["file"] = o.model_name();
  write_page(o.html, model);
  std::fprintf(stderr, "retort inspect: the page is %s\n", clean(o.html).c_str());
}

void add_inspect(CLI::App& app) {
  CLI::App* sub =
      app.add_subcommand("inspect", "show a model's inputs, outputs, contents and costs, without running it");
  const auto o = std::make_shared<InspectOptions>();
  o->add_model_file(*sub);
  o->add_tools_library(*sub);
  o->add_shapes(*sub);
  sub->add_flag("--nodes", o->nodes,
                "list every node with its name, its attributes, and the types and shapes of its inputs and outputs");
  sub->add_flag("--weights", o->weights,
                "list every weight with its smallest, mean and largest value, its deviation, zeros and a histogram");
  sub->add_flag("--passes", o->passes,
                "list all optimisation passes in order: the time, the number of nodes and the applied rules of each");
  o->add_disable(*sub);
  sub->add_flag("--placement", o->placement,
                "list which provider runs each node, why others do not, and what is copied between them in every run; "
                "implied by --plugin and --provider");
  o->add_providers(*sub);
  sub->add_option("--html", o->html, "write a web page that shows the graph; it needs no other file")
      ->type_name("FILE");
  o->add_json(*sub);
  sub->footer(
      "FLOP counts arithmetic operations: a multiply-add counts as 2. It follows from shapes alone; "
      "extents\n"
      "that the model leaves free count as 1 unless --shape says otherwise.\n\n"
      "Examples: retort inspect model.onnx --shape image=8x3x224x224\n"
      "          retort inspect model.onnx --html model.html\n"
      "          retort inspect model.onnx --plugin my=libmy.so --provider MyProvider:claim=Add,Mul");
  InspectOptions::kTable.cover(*sub);
  sub->callback([o] { inspect(*o); });
}

}  // namespace

extern const Command command_inspect;
constinit const Command command_inspect{20, add_inspect};

}  // namespace retort::cli

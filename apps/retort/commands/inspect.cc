// retort inspect: shows a model's inputs, outputs, contents and costs.

#include <algorithm>
#include <cstdio>

#include "cli/terminal.h"
#include "engine/tools_library.h"
#include "web/page.h"

namespace retort::cli {
namespace {

using nlohmann::json;

struct InspectOptions : Common {
  bool nodes = false, passes = false, placement = false;
  std::string html;
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
  for (const json& p : list)
    std::printf("  %-32s %s%s\n", text(p["name"]).c_str(), text(p["type"]).c_str(), text(p["shape"]).c_str());
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
  line("producer", text(model["producer"]) + " " + text(model["producer_version"]));
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
  std::printf("%s\n  %-32s %6s %14s %7s\n", paint(Paint::bold, "operators").c_str(), "", "nodes", "arithmetic",
              "share");
  for (const auto& [name, row] : rows) {
    if (row.unknown == row.nodes) {
      std::printf("  %-32s %6zu %14s\n", name.c_str(), row.nodes, "not known");
      continue;
    }
    std::printf("  %-32s %6zu %14s %6.1f%%\n", name.c_str(), row.nodes, scaled(row.operations, "FLOP").c_str(),
                t.operations > 0 ? 100 * row.operations / t.operations : 0);
  }
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
    std::printf("%s%s = %s(%s)\n", indent.c_str(), list(n["outputs"]).c_str(),
                paint(Paint::bold, text(n["op"])).c_str(), list(n["inputs"]).c_str());
    if (!n.contains("bodies")) continue;
    for (const auto& [name, body] : n["bodies"].items()) {
      std::printf("%s  %s:\n", indent.c_str(), name.c_str());
      print_nodes(body, indent + "    ");
    }
  }
}

void print_passes(const json& passes, const json& total) {
  std::printf("%s\n  %-24s %8s %15s %8s  %s\n", paint(Paint::bold, "passes").c_str(), "in order", "ms", "nodes",
              "changes", "rules and how often each was applied");
  for (const json& p : passes) {
    std::string counts;
    for (const auto& [what, times] : p["counts"].items())
      counts += (counts.empty() ? "  " : ", ") + what + " " + times.dump();
    std::printf("  %-24s %8.2f %6zu → %6zu %8zu%s\n", text(p["name"]).c_str(), p["milliseconds"].get<double>(),
                p["nodes_before"].get<size_t>(), p["nodes_after"].get<size_t>(), p["changes"].get<size_t>(),
                counts.c_str());
  }
  std::printf("  %-24s %8.2f %15s %8zu\n", "total", total["milliseconds"].get<double>(), "",
              total["changes"].get<size_t>());
}

/// The width of the column of `key`, up to a limit.
int column(const json& rows, const char* key) {
  size_t width = 8;
  for (const json& row : rows) width = std::max(width, row[key].get_ref<const std::string&>().size());
  return int(std::min<size_t>(width, 40));
}

void print_placement(const json& placement) {
  std::printf("%s\n  %s\n", paint(Paint::bold, "placement").c_str(), text(placement["summary"]).c_str());
  const json& nodes = placement["nodes"];
  const int name = column(nodes, "name"), op = column(nodes, "op"), provider = column(nodes, "provider");
  std::printf("  %-*s  %-*s  %-*s  %s\n", name, "node", op, "operator", provider, "runs on", "part, or why no other");
  for (const json& n : nodes) {
    std::string why = n.value("part", "");
    if (n.contains("gone")) why = "gone after optimisation";
    for (const json& other : n["others"])
      why += (why.empty() ? "" : "; ") + text(other["provider"]) + ": " + text(other["why"]);
    std::printf("  %-*s  %-*s  %-*s  %s\n", name, text(n["name"]).c_str(), op, text(n["op"]).c_str(), provider,
                n.contains("gone") ? "-" : text(n["provider"]).c_str(), why.c_str());
  }
  std::string copies;
  for (const json& c : placement["copies"])
    copies += "  " + text(c["tensor"]) + ": " +
              (c.contains("bytes") ? scaled(c["bytes"], "B") : "size depends on the run") + " from " + text(c["from"]) +
              " to " + text(c["to"]) + " for " + text(c["reader"]) + "\n";
  for (const char* side : {"inputs", "outputs"}) {
    for (const json& port : placement[side]) {
      const std::string memory = port["memory"].size() == 1 ? text(port["memory"][0]) : port["memory"].dump();
      if (memory != "the CPU")
        copies += "  " + text(port["name"]) + (*side == 'i' ? ": read in " : ": made in ") + memory +
                  "; copied unless it is bound there\n";
    }
  }
  if (!copies.empty()) std::printf("%s\n%s", paint(Paint::bold, "copies in every run").c_str(), copies.c_str());
  if (placement.contains("problem"))
    std::printf("%s %s\n", paint(Paint::red, "No session:").c_str(), text(placement["problem"]).c_str());
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
  if (model.contains("placement")) print_placement(model["placement"]);
  if (o.passes && model.contains("passes")) print_passes(model["passes"], model["passes_total"]);
}

void inspect(const InspectOptions& o) {
  if (!o.html.empty()) check_can_write(o.html, true);
  const ToolsLibrary library(o.library);
  json model = library.describe(o);
  model["inputs"] = ports(model["graph"], "inputs");
  model["outputs"] = ports(model["graph"], "outputs");
  if (o.placement || !o.providers.empty() || !o.plugins.empty()) model["placement"] = library.placement(o);
  if (o.json)
    std::printf("%s\n", model.dump(2).c_str());
  else
    print_text(o, model, library);
  if (o.html.empty()) return;
  model["file"] = o.model;
  write_page(o.html, model);
  std::fprintf(stderr, "page: %s\n", o.html.c_str());
}

void add_inspect(CLI::App& app) {
  CLI::App* sub =
      app.add_subcommand("inspect", "show a model's inputs, outputs, contents and costs, without running it");
  const auto o = std::make_shared<InspectOptions>();
  o->add_model_file(*sub);
  o->add_tools_library(*sub);
  o->add_shapes(*sub);
  sub->add_flag("--nodes", o->nodes, "list every node with the types and shapes of its inputs and outputs");
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
  sub->callback([o] { inspect(*o); });
}

}  // namespace

extern const Command command_inspect;
constinit const Command command_inspect{20, add_inspect};

}  // namespace retort::cli

// retort ops: lists the operators that the engine implements, or those of a model and how they run.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "cli/terminal.h"
#include "cli/text.h"
#include "engine/model_operators.h"
#include "engine/tools_library.h"

namespace retort::cli {
namespace {

using nlohmann::json;

struct OpsOptions : Common {
  std::vector<std::string> names;
};

struct Family {
  const char* name;
  std::vector<std::string> types;
};
const std::vector<Family>& families() {
  static const std::vector<Family> all{
      {"floats", {"float32", "float64", "float16", "bfloat16"}},
      {"integers", {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}},
      {"complex", {"complex64", "complex128"}},
      {"float8", {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"}},
  };
  return all;
}

/// Abbreviates whole families of types by their name.
std::string types_text(const json& types) {
  std::set<std::string> left(types.begin(), types.end());
  std::string text;
  const auto add = [&](const std::string& name) { text += (text.empty() ? "" : " ") + name; };
  for (const Family& f : families()) {
    if (!std::all_of(f.types.begin(), f.types.end(), [&](const std::string& t) { return left.contains(t); })) continue;
    for (const std::string& t : f.types) left.erase(t);
    add(f.name);
  }
  for (const std::string& t : left) add(t);
  return text;
}

/// Whether the operator's full name has the part, in small or capital letters.
bool matches(const json& op, const std::string& part) {
  const std::string full = op["domain"].get<std::string>() + "." + op["name"].get<std::string>();
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(full.begin(), full.end(), part.begin(), part.end(), same) != full.end();
}

/// The operators that have one of the parts in their names. Throws Failure for parts that none has.
json chosen(const json& all, const std::vector<std::string>& parts) {
  if (parts.empty()) return all;
  std::set<std::string> unmatched(parts.begin(), parts.end());
  json found = json::array();
  for (const json& op : all) {
    bool wanted = false;
    for (const std::string& part : parts) {
      if (!matches(op, part)) continue;
      unmatched.erase(part);
      wanted = true;
    }
    if (wanted) found.push_back(op);
  }
  std::string none;
  for (const std::string& part : unmatched) none.append(none.empty() ? "'" : " or '").append(part).append("'");
  if (!none.empty()) throw Failure("no operator has " + none + " in its name; retort ops without a name lists all");
  return found;
}

/// The element types, those without a kernel of their own in parentheses.
std::string all_types(const json& op) {
  if (op.contains("rewritten")) return "of the operators that replace it";
  if (op["any_type"]) return "as its definition says";
  json slow = op["reference"];
  slow.insert(slow.end(), op["converted"].begin(), op["converted"].end());
  const std::string fast = types_text(op["types"]);
  return slow.empty() ? fast : fast + (fast.empty() ? "(" : " (") + types_text(slow) + ")";
}

void add_row(Table& table, const json& op) {
  std::string versions;
  for (const int v : op["versions"]) versions += (versions.empty() ? "" : ",") + std::to_string(v);
  table.row({op["name"], versions, all_types(op)});
}

/// Prints the operators domain by domain; `all` is ordered by domain.
void print_list(const json& all) {
  for (size_t i = 0; i < all.size();) {
    const std::string domain = all[i]["domain"];
    Table table({{"operator"}, {"versions"}, {"element types"}});
    for (; i < all.size() && all[i]["domain"] == domain; ++i) add_row(table, all[i]);
    std::printf("%s\n", paint(Paint::bold, domain).c_str());
    table.print();
  }
  std::printf("%zu operators\n", all.size());
}

/// What the ways in which an operator runs mean to a user.
std::string ways_text(const json& op, bool runs) {
  if (!op["known"]) return paint(Paint::red, "unknown: Retort cannot run it");
  if (!runs) return "";
  static const std::map<std::string, std::string> kWords{
      {"kernel", "kernel"}, {"reference", "plain loop"}, {"converted", "plain loop in a wider type"}};
  std::string text;
  for (const auto& [way, words] : kWords) {
    const auto& ways = op["runs"];
    if (std::find(ways.begin(), ways.end(), way) != ways.end()) text += (text.empty() ? "" : ", ") + words;
  }
  return text.empty() ? "nothing left to run" : text;
}

void list_ops_of_model(const OpsOptions& o, const std::string& file) {
  const ToolsLibrary library(o.library);
  OpsOptions of_model = o;
  of_model.model = file;
  const json model = library.describe(of_model);
  const json used = model_operators(model, library.operators());
  const bool runs = !model.contains("problem");
  if (o.json) {
    print_json({{"operators", used}, {"problem", model.value("problem", "")}});
    return;
  }
  std::printf("%s\n", paint(Paint::bold, clean(of_model.model_name())).c_str());
  Table table({{"operator"}, {"version", true}, {"type"}, {"nodes", true}, {"runs by"}});
  for (const json& op : clean(used)) {
    const std::string domain = op["domain"], name = op["name"], type = op["type"];
    const int version = op["version"];  // 0: the model does not import the domain
    table.row({(domain == "ai.onnx" ? "" : domain + ".") + name, version ? std::to_string(version) : "-", type,
               op["nodes"].dump(), ways_text(op, runs)});
  }
  table.print();
  if (!runs)
    std::printf("%s %s\n", paint(Paint::red, "Retort cannot run this model:").c_str(),
                clean_lines(model["problem"].get<std::string>()).c_str());
}

/// Whether an argument is a model rather than a part of an operator's name.
bool is_model(const std::string& name) {
  std::error_code error;
  const bool like_model = (name.ends_with(".onnx") && name != "ai.onnx") || name.ends_with(".ort");  // a domain
  return name == "-" || like_model || std::filesystem::is_regular_file(name, error) ||
         std::filesystem::is_fifo(name, error);
}

void list_ops(const OpsOptions& o) {
  if (std::any_of(o.names.begin(), o.names.end(), is_model)) {
    if (o.names.size() > 1) throw WrongUsage("give one model alone, or parts of operators' names");
    return list_ops_of_model(o, model_file(o.names[0]));
  }
  json all = chosen(ToolsLibrary(o.library).operators(), o.names);
  if (o.json) {
    print_json(all);
    return;
  }
  std::stable_sort(all.begin(), all.end(), [](const json& a, const json& b) { return a["domain"] < b["domain"]; });
  print_list(all);
}

void add_ops(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("ops", "list the operators that Retort implements, or those of a model");
  const auto o = std::make_shared<OpsOptions>();
  sub->add_option(
         "NAME", o->names,
         "only operators whose name, or domain.name, has this part; or a model, for the operators that it uses")
      ->type_name("OPERATOR|MODEL");
  o->add_tools_library(*sub);
  o->add_json(*sub);
  sub->footer(
      "An operator is one kind of node in a model. Its definition has changed over the years: 'versions' are the "
      "operator sets (opsets) that changed it, and models of all opsets from the first of them on are understood. The "
      "element types have a kernel of their own; those in (parentheses) are computed by a plain loop, some of them in "
      "a wider type. Models with 16-bit floats are computed in float32 where that is faster.\n\nFor a model, a row "
      "stands for the nodes of one operator with one definition and one type of the first input, and says how they "
      "run: by a kernel or by a plain loop. What Retort cannot run is listed at the end.\n\nExamples: retort ops "
      "conv\n          retort ops model.onnx");
  sub->callback([o] { list_ops(*o); });
}

}  // namespace

extern const Command command_ops;
constinit const Command command_ops{70, add_ops};

}  // namespace retort::cli

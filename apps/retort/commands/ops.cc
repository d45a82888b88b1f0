// retort ops: lists the operators that the engine implements.
#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/terminal.h"
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

bool wanted(const json& op, const std::vector<std::string>& names) {
  const auto matches = [&](const std::string& part) {
    const std::string full = op["domain"].get<std::string>() + "." + op["name"].get<std::string>();
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    return std::search(full.begin(), full.end(), part.begin(), part.end(), same) != full.end();
  };
  return names.empty() || std::any_of(names.begin(), names.end(), matches);
}

void print_row(const json& op) {
  const std::string name = op["name"];
  if (op.contains("rewritten")) {
    std::printf("  %-32s replaced by other operators while the model loads\n", name.c_str());
    return;
  }
  std::string versions, providers;
  for (const int v : op["versions"]) versions += (versions.empty() ? "" : ",") + std::to_string(v);
  for (const std::string p : op["providers"]) providers += (providers.empty() ? "" : " ") + p;
  std::string types = op["any_type"] ? "as its definition says" : types_text(op["types"]);
  if (!op["any_type"] && !op["converted"].empty())
    types += (types.empty() ? "(" : " (") + types_text(op["converted"]) + ")";
  std::printf("  %-32s %-26s %-44s %s\n", name.c_str(), versions.c_str(), types.c_str(), providers.c_str());
}

[[noreturn]] void fail_for_model(const std::string& name) {
  throw Failure("'" + name + "' is not a part of an operator's name; retort convert " + name +
                " shows which operators that model uses and which of them are unknown");
}

void list_ops(const OpsOptions& o) {
  json all = ToolsLibrary(o.library).operators();
  for (size_t i = all.size(); i-- > 0;) {
    if (!wanted(all[i], o.names)) all.erase(i);
  }
  if (all.empty()) {
    std::string asked;
    for (const std::string& name : o.names) {
      if (name.ends_with(".onnx")) fail_for_model(name);
      asked.append(asked.empty() ? "'" : " or '").append(name).append("'");
    }
    throw Failure("no operator has " + asked + " in its name; retort ops without a name lists all");
  }
  if (o.json) {
    std::printf("%s\n", all.dump(2).c_str());
    return;
  }
  std::stable_sort(all.begin(), all.end(), [](const json& a, const json& b) { return a["domain"] < b["domain"]; });
  std::string domain;
  for (const json& op : all) {
    if (op["domain"] != domain) {
      domain = op["domain"];
      std::printf("%s\n", paint(Paint::bold, domain).c_str());
      std::printf("  %-32s %-26s %-44s %s\n", "operator", "versions", "element types", "providers");
    }
    print_row(op);
  }
  std::printf("%zu operators\n", all.size());
}

void add_ops(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("ops", "list the operators that Retort implements");
  const auto o = std::make_shared<OpsOptions>();
  sub->add_option("NAME", o->names, "only operators whose name, or domain.name, has this part")->type_name("");
  o->add_tools_library(*sub);
  o->add_json(*sub);
  sub->footer(
      "An operator is one kind of node in a model. Its definition has changed over the years: 'versions' are the "
      "operator\n"
      "set versions (opsets) with a definition of their own, and models of all opsets from the first of them on are\n"
      "understood. 'Element types' have a kernel of their own; those in (parentheses) are computed in a wider type.\n"
      "'Providers' are what can run it.\n\n"
      "Example: retort ops conv");
  sub->callback([o] { list_ops(*o); });
}

}  // namespace

extern const Command command_ops;
constinit const Command command_ops{70, add_ops};

}  // namespace retort::cli

#include "engine/model_operators.h"

#include <map>
#include <set>
#include <string>
#include <tuple>

namespace retort::cli {
namespace {

using nlohmann::json;
using Ways = std::set<std::string>;

std::string string_of(const json& j) { return j.get<std::string>(); }

std::string shown_domain(const json& node) {
  return string_of(node["domain"]).empty() ? "ai.onnx" : string_of(node["domain"]);
}

/// How the nodes that run do so, by the labels of the model's nodes that they came from.
void collect_ways(const json& graph, std::map<std::string, Ways>& ways) {
  for (const json& node : graph["nodes"]) {
    const json labels = node.contains("origins") ? node["origins"] : json::array({node["name"]});
    for (const json& label : labels) {
      Ways& of_label = ways[string_of(label)];
      if (node.contains("runs")) of_label.insert(string_of(node["runs"]));
    }
    if (!node.contains("bodies")) continue;
    for (const json& body : node["bodies"]) collect_ways(body, ways);
  }
}

/// The element type of the first value, such as "float32" of "float32[2,3]".
std::string type_of(const json& graph, const json& node) {
  for (const char* side : {"inputs", "outputs"}) {
    for (const int i : node[side]) {
      if (i >= 0)
        return string_of(graph["values"][size_t(i)]["type"])
            .substr(0, string_of(graph["values"][size_t(i)]["type"]).find('['));
    }
  }
  return "";
}

class Uses {
 public:
  explicit Uses(const json& operators) {
    for (const json& op : operators) operators_[{string_of(op["domain"]), string_of(op["name"])}] = &op;
  }

  void add(const json& graph, const std::map<std::string, Ways>& ways) {
    for (const json& node : graph["nodes"]) {
      const std::string domain = shown_domain(node), name = string_of(node["op"]);
      const auto known = operators_.find({domain, name});
      const json* op = known == operators_.end() ? nullptr : known->second;
      Use& use = uses_[{domain, name, definition(op, node["version"]), type_of(graph, node)}];
      ++use.nodes;
      use.known = op != nullptr;
      if (const auto found = ways.find(string_of(node["name"])); found != ways.end())
        use.ways.insert(found->second.begin(), found->second.end());
      if (!node.contains("bodies")) continue;
      for (const json& body : node["bodies"]) add(body, ways);
    }
  }

  json list() const {
    json all = json::array();
    for (const auto& [key, use] : uses_) {
      const auto& [domain, name, version, type] = key;
      all.push_back({{"domain", domain},
                     {"name", name},
                     {"version", version},
                     {"type", type},
                     {"nodes", use.nodes},
                     {"known", use.known},
                     {"runs", use.ways}});
    }
    return all;
  }

 private:
  struct Use {
    size_t nodes = 0;
    bool known = false;
    Ways ways;
  };

  /// The newest definition that is not newer than the opset; the opset itself if none is known.
  static int definition(const json* op, int opset) {
    int form = 0;
    for (const int since : op ? (*op)["versions"] : json::array()) {
      if (since <= opset) form = std::max(form, since);
    }
    return form ? form : opset;
  }

  std::map<std::pair<std::string, std::string>, const json*> operators_;
  std::map<std::tuple<std::string, std::string, int, std::string>, Use> uses_;
};

}  // namespace

json model_operators(const json& model, const json& operators) {
  std::map<std::string, Ways> ways;
  if (model.contains("optimized")) collect_ways(model["optimized"], ways);
  Uses uses(operators);
  uses.add(model["graph"], ways);
  return uses.list();
}

}  // namespace retort::cli

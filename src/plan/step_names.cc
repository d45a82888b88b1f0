#include "plan/step_names.h"

#include <algorithm>
#include <utility>

#include "ir/describe.h"

namespace retort {
namespace {

constexpr size_t kMostNamed = 3;  // nodes of a fused step that its name lists

std::string operator_text(const std::string& domain, const std::string& type) {
  return domain.empty() ? type : cat("{}.{}", domain, type);
}

struct Origin {
  std::string label;
  const ModelNodes::Known* known;

  bool is(const Node& node) const { return known->type == node.type && known->domain == node.domain; }
  std::string text() const {
    return cat("node {}'{}' ({})", known->named ? "" : "of output ", label, operator_text(known->domain, known->type));
  }
};

/// What the model has under `label`; nothing if nodes of several operators have it.
std::vector<Origin> find_origin(const ModelNodes& nodes, const std::string& label) {
  const ModelNodes::Known* known = nodes.find(label);
  return known && !known->ambiguous ? std::vector<Origin>{{label, known}} : std::vector<Origin>{};
}

std::vector<Origin> find_origins(const ModelNodes& nodes, const Graph& graph, const Node& node) {
  std::vector<Origin> own = find_origin(nodes, label(graph, node));
  if (!own.empty() && (own[0].is(node) || node.origins.size() <= 1)) return own;
  std::vector<Origin> all;
  for (const std::string& name : node.origins) {
    for (Origin& origin : find_origin(nodes, name)) all.push_back(std::move(origin));
  }
  return all;
}

/// "node 'conv1' (Conv)". The author of the model knows its nodes, so a step that an operator was taken apart into, or
/// that nodes were fused into, is named by them: "node 'a' (MatMul), node 'b' (Add), step retort.Linear".
std::string name_of(const Graph& graph, const Node& node, const ModelNodes* nodes) {
  const std::vector<Origin> all = nodes ? find_origins(*nodes, graph, node) : std::vector<Origin>{};
  if (all.empty()) return describe(graph, node);
  const auto same = std::ranges::find_if(all, [&](const Origin& origin) { return origin.is(node); });
  if (same != all.end()) return same->text();
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) text += (i ? ", " : "") + all[i].text();
  if (all.size() > kMostNamed) text += cat(" and {} more", all.size() - kMostNamed);
  return cat("{}, step {}", text, operator_text(node.domain, node.type));
}

}  // namespace

void name_step(Step& step, const Graph& graph, const Node& node, const ModelNodes* nodes) {
  step.name = name_of(graph, node, nodes);
  const std::vector<std::string> own{label(graph, node)};
  bool first = true;
  for (const std::string& name : node.origins.empty() ? own : node.origins) {
    const ModelNodes::Known* known = nodes ? nodes->find(name) : nullptr;
    step.label += (step.label.empty() ? "" : "+") + name;
    if (!known) continue;
    step.operators += (step.operators.empty() ? "" : "+") + known->type;
    if (std::exchange(first, false)) step.index = known->index;
  }
  if (step.label.empty()) step.label = node.type;
  if (step.operators.empty()) step.operators = node.type;
}

}  // namespace retort

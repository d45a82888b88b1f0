// Makes views of the graphs of models.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "abi/graphs/graph.h"
#include "abi/sessions/session.h"
#include "lift/infer_types.h"
#include "onnx/functions.h"
#include "onnx/operator_facts.h"

namespace retort::abi {
namespace {

/// Makes one view, of a whole graph or of some of its nodes.
class Builder {
 public:
  Builder(OrtGraph& out, std::shared_ptr<const ViewedModel> model, const Graph& graph, const OrtNode* parent)
      : out_(out), graph_(graph) {
    out_.view = std::make_unique<GraphView>();
    view().model = std::move(model);
    view().graph = &graph;
    view().name = graph.name;
    view().parent = parent;
    view().values.resize(graph.value_count());
  }

  /// `outer`: the outer graph's values, by capture.
  void whole(std::span<const OrtValueInfo* const> outer) {
    const size_t formal = graph_.inputs.size() - graph_.captures;
    for (size_t i = 0; i < outer.size(); ++i) {
      if (graph_.use_count(graph_.inputs[formal + i]) > 0) value(graph_.inputs[formal + i]).view->outer = outer[i];
    }
    for (size_t i = 0; i < formal; ++i) add_input(graph_.inputs[i]);
    if (!view().parent) list_declared();
    for (const NodeId id : graph_.order()) add_node(id);
    for (const ValueId id : graph_.outputs) add_output(id);
    add_initializers();
  }

  /// `source`: the view that has the nodes.
  void part(const GraphView& source, std::span<const OrtNode* const> nodes) {
    view().name = "sub_graph";
    for (size_t i = 0; i < source.values.size(); ++i) {
      const OrtValueInfo* known = source.values[i].get();
      if (!known || !known->view->outer) continue;
      const bool read = std::any_of(nodes.begin(), nodes.end(), [&](const OrtNode* n) { return reads(*n, known); });
      if (read) value(ValueId(i)).view->outer = known->view->outer;
    }
    std::unordered_set<NodeId> chosen;
    for (const OrtNode* n : nodes) chosen.insert(NodeId(n->id));
    for (const NodeId id : graph_.order()) {
      if (chosen.contains(id)) add_node(id);
    }
    for (size_t i = 0; i < view().values.size(); ++i) {
      const OrtValueInfo* info = view().values[i].get();
      const bool constant = info && info->view->initial && !graph_.defaults.contains(ValueId(i));
      if (info && !info->view->producer && !info->view->outer && !constant) add_input(ValueId(i));
    }
    for (const auto& n : out_.nodes) {
      for (const ValueId id : graph_.node(NodeId(n->id)).outputs) {
        if (id != ValueId::none && leaves(id, chosen)) add_output(id);
      }
    }
    add_initializers();
  }

 private:
  GraphView& view() { return *out_.view; }

  OrtValueInfo& value(ValueId id) {
    std::unique_ptr<OrtValueInfo>& info = view().values[size_t(id)];
    if (info) return *info;
    info = std::make_unique<OrtValueInfo>();
    const GraphValue& v = graph_.value(id);
    info->name = v.name;
    info->type = type_of(v.type, graph_.dims());
    info->view = std::make_unique<ValueView>();
    info->view->graph = &out_;
    const auto fallback = graph_.defaults.find(id);
    info->view->initial = v.is_constant()                     ? &v.constant
                          : fallback != graph_.defaults.end() ? &fallback->second
                                                              : nullptr;
    return *info;
  }

  void add_input(ValueId id) {
    OrtValueInfo& info = value(id);
    const bool has_default = graph_.defaults.contains(id);
    (has_default ? info.view->optional_input : info.view->required_input) = true;
    view().inputs.push_back(&info);
  }

  /// Old files also list constants among the inputs.
  void list_declared() {
    const std::vector<std::string>& names = view().model->model->declared_inputs;
    if (names.empty()) return;
    std::unordered_map<std::string_view, ValueId> by_name;
    for (size_t i = 0; i < graph_.value_count(); ++i) by_name.emplace(graph_.value(ValueId(i)).name, ValueId(i));
    view().inputs.clear();
    for (const std::string& name : names) {
      const auto found = by_name.find(name);
      if (found != by_name.end()) view().inputs.push_back(&value(found->second));
    }
  }

  void add_output(ValueId id) {
    OrtValueInfo& info = value(id);
    info.view->output = true;
    view().outputs.push_back(&info);
  }

  void add_initializers() {
    for (const auto& info : view().values) {
      if (info && info->view->initial) view().initializers.push_back(info.get());
    }
  }

  static bool reads(const OrtNode& node, const OrtValueInfo* value) {
    const auto has = [&](const auto& list) { return std::find(list.begin(), list.end(), value) != list.end(); };
    return has(node.inputs) || has(node.implicit);
  }

  /// Whether nodes other than `chosen` read the value, or it is an output of the graph.
  bool leaves(ValueId id, const std::unordered_set<NodeId>& chosen) const {
    const auto& uses = graph_.value(id).uses;
    return graph_.is_output(id) ||
           std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return !chosen.contains(u.node); });
  }

  void add_node(NodeId id) {
    const Node& n = graph_.node(id);
    OrtNode& node = *out_.nodes.emplace_back(std::make_unique<OrtNode>());
    node.type = n.type;
    node.domain = n.domain;
    node.name = n.name;
    node.id = size_t(id);
    node.graph = &out_;
    const onnx::OperatorForm* form = onnx::operator_form(n.domain, n.type, n.version);
    node.since = form ? form->since : n.version;
    const size_t own = n.inputs.size() - n.captures;
    for (size_t i = 0; i < n.inputs.size(); ++i) add_edge(node, n.inputs[i], i < own ? int64_t(i) : -1);
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      OrtValueInfo* info = n.outputs[i] == ValueId::none ? nullptr : &value(n.outputs[i]);
      node.outputs.push_back(info);
      if (!info) continue;
      info->view->producer = &node;
      info->view->producer_slot = i;
    }
    for (const auto& [name, a] : n.attributes) add_attribute(node, name, a);
    for (const Body& b : n.bodies) add_body(node, b);
    for (const std::string_view text : form ? form->defaults : std::vector<std::string_view>()) add_default(node, text);
  }

  void add_edge(OrtNode& node, ValueId id, int64_t slot) {
    const OrtValueInfo* info = nullptr;
    if (id != ValueId::none) {
      OrtValueInfo& v = value(id);
      v.view->consumers.emplace_back(&node, slot);
      info = &v;
    }
    (slot < 0 ? node.implicit : node.inputs).push_back(info);
  }

  static void add_attribute(OrtNode& node, const std::string& name, Attribute value) {
    auto attribute = std::make_unique<OrtOpAttr>();
    attribute->name = name;
    attribute->value = std::move(value);
    node.attributes.push_back(std::move(attribute));
  }

  static void add_default(OrtNode& node, std::string_view text) {
    auto [name, value] = onnx::read_default(text);
    const bool given =
        std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& a) { return a->name == name; });
    if (!given) add_attribute(node, name, std::move(value));
  }

  void add_body(OrtNode& node, const Body& body) {
    auto attribute = std::make_unique<OrtOpAttr>();
    attribute->name = body.attribute;
    attribute->is_graph = true;
    node.attributes.push_back(std::move(attribute));
    OrtNode::Subgraph& sub = node.subgraphs.emplace_back();
    sub.attribute = body.attribute;
    sub.graph = std::make_unique<OrtGraph>();
    Builder(*sub.graph, view().model, *body.graph, &node).whole(node.implicit);
  }

  OrtGraph& out_;
  const Graph& graph_;
};

}  // namespace

ValueView::~ValueView() = default;

std::shared_ptr<const ViewedModel> view_model(std::shared_ptr<Model> model, std::vector<ExternalFile> files) {
  inline_functions(*model);
  lift_constants(*model->graph);
  infer_types(*model->graph);
  auto viewed = std::make_shared<ViewedModel>();
  viewed->model = std::move(model);
  viewed->files = std::move(files);
  return viewed;
}

std::unique_ptr<OrtGraph> view_graph(std::shared_ptr<const ViewedModel> model) {
  auto graph = std::make_unique<OrtGraph>();
  const Graph& behind = *model->model->graph;
  Builder(*graph, std::move(model), behind, nullptr).whole({});
  return graph;
}

std::unique_ptr<OrtGraph> view_part(const OrtGraph& graph, std::span<const OrtNode* const> nodes) {
  auto part = std::make_unique<OrtGraph>();
  Builder(*part, graph.view->model, *graph.view->graph, nullptr).part(*graph.view, nodes);
  return part;
}

}  // namespace retort::abi

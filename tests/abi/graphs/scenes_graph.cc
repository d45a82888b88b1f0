// Reading graphs that were made in memory, and what a session tells of its providers.
#include "editor.h"

using namespace scenes;

namespace {

/// y = Softmax(x · w), axis 1.
struct Made {
  explicit Made(Editor& e) : graph(e.graph()) {
    x = e.value("x", {-1, 3});
    y = e.value("y", {-1, 2});
    e.inputs(graph, {x});
    e.outputs(graph, {y});
    e.initializer(graph, "w", e.tensor({3, 2}, 1));
    product = e.node("MatMul", {"x", "w"}, {"xw"}, "product");
    soft = e.node("Softmax", {"xw"}, {"y"}, "soft", {e.integer("axis", 1)});
    e.s.call("AddNodeToGraph", e.api.AddNodeToGraph(graph, product));
    e.s.call("AddNodeToGraph", e.api.AddNodeToGraph(graph, soft));
  }
  OrtGraph* graph;
  OrtValueInfo *x, *y;
  OrtNode *product, *soft;
};

}  // namespace

SCENE(graph, of_an_editor) {
  Editor e(s);
  Made m(e);
  const char* text = nullptr;
  CALL(Graph_GetName, m.graph, &text);
  s.note("name", text);
  text = nullptr;
  CALL(Graph_GetModelPath, m.graph, &text);
  s.note("path", text);
  int64_t version = 77;
  CALL(Graph_GetOnnxIRVersion, m.graph, &version);
  s.note("version", version);
  size_t n = 77;
  CALL(Graph_GetNumOperatorSets, m.graph, &n);
  s.note("operator sets", n);
  const char* domains[3] = {};
  int64_t opsets[3] = {-7, -7, -7};
  CALL(Graph_GetOperatorSets, m.graph, domains, opsets, n);
  for (size_t i = 0; i < 3; ++i) s.note(domains[i] ? domains[i] : "null", opsets[i]);
  CALL(Graph_GetNumInputs, m.graph, &n);
  s.note("inputs", n);
  const OrtValueInfo* values[3] = {};
  CALL(Graph_GetInputs, m.graph, values, 1);
  s.note("same", values[0] == m.x);
  CALL(Graph_GetNumOutputs, m.graph, &n);
  s.note("outputs", n);
  CALL(Graph_GetOutputs, m.graph, values, 1);
  s.note("same", values[0] == m.y);
  CALL(Graph_GetNumInitializers, m.graph, &n);
  s.note("initializers", n);
  CALL(Graph_GetInitializers, m.graph, values, 1);
  CALL(Graph_GetNumNodes, m.graph, &n);
  s.note("nodes", n);
  const OrtNode* nodes[2] = {};
  CALL(Graph_GetNodes, m.graph, nodes, 2);
  s.note("same", nodes[0] == m.product && nodes[1] == m.soft);
  const OrtNode* parent = nullptr;
  CALL(Graph_GetParentNode, m.graph, &parent);
  s.note("parent", parent);
  OrtModelMetadata* metadata = nullptr;
  CALL(Graph_GetModelMetadata, m.graph, &metadata);
  s.note("metadata", metadata);
  s.api.ReleaseModelMetadata(metadata);
  s.api.ReleaseGraph(m.graph);
}

SCENE(graph, view_of_an_editor) {
  Editor e(s);
  Made m(e);
  OrtGraph* view = nullptr;
  const OrtNode* nodes[1] = {m.soft};
  CALL(Graph_GetGraphView, m.graph, nodes, 1, &view);
  s.note("view", view);
}

SCENE(graph, short_arrays_of_an_editor) {
  Editor e(s);
  Made m(e);
  const OrtValueInfo* values[3] = {};
  const OrtNode* nodes[3] = {};
  CALL(Graph_GetInputs, m.graph, values, 0);
  CALL(Graph_GetInputs, m.graph, values, 3);
  CALL(Graph_GetOutputs, m.graph, values, 0);
  CALL(Graph_GetNodes, m.graph, nodes, 1);
  CALL(Graph_GetNodes, m.graph, nodes, 3);
}

SCENE(graph, nodes_of_an_editor) {
  Editor e(s);
  Made m(e);
  size_t n = 77;
  CALL(Node_GetId, m.product, &n);
  s.note("id", n);
  CALL(Node_GetId, m.soft, &n);
  s.note("id", n);
  for (const auto get : {s.api.Node_GetName, s.api.Node_GetOperatorType, s.api.Node_GetDomain, s.api.Node_GetEpName}) {
    const char* text = nullptr;
    s.call("text", get(m.soft, &text));
    s.note("text", text);
  }
  int since = 77;
  CALL(Node_GetSinceVersion, m.soft, &since);
  CALL(Node_GetNumInputs, m.product, &n);
  s.note("inputs", n);
  const OrtValueInfo* values[2] = {};
  CALL(Node_GetInputs, m.product, values, 2);
  CALL(Node_GetNumOutputs, m.product, &n);
  s.note("outputs", n);
  CALL(Node_GetOutputs, m.product, values, 1);
  CALL(Node_GetNumImplicitInputs, m.product, &n);
  s.note("implicit", n);
  CALL(Node_GetImplicitInputs, m.product, values, 0);
  CALL(Node_GetNumAttributes, m.soft, &n);
  s.note("attributes", n);
  const OrtOpAttr* attributes[1] = {};
  CALL(Node_GetAttributes, m.soft, attributes, 1);
  const char* name = nullptr;
  if (attributes[0]) CALL(OpAttr_GetName, attributes[0], &name);
  s.note("attribute", name);
  const OrtOpAttr* found = nullptr;
  CALL(Node_GetAttributeByName, m.soft, "axis", &found);
  s.note("same", found == attributes[0]);
  CALL(Node_GetAttributeByName, m.soft, "missing", &found);
  s.note("missing", found);
  CALL(Node_GetNumSubgraphs, m.soft, &n);
  s.note("subgraphs", n);
  CALL(Node_GetSubgraphs, m.soft, nullptr, 0, nullptr);
  const OrtGraph* graph = nullptr;
  CALL(Node_GetGraph, m.soft, &graph);
  s.note("graph", graph);
  s.api.ReleaseGraph(m.graph);
}

SCENE(graph, values_of_an_editor) {
  Editor e(s);
  Made m(e);
  const OrtNode* node = nullptr;
  size_t n = 77;
  CALL(ValueInfo_GetValueProducer, m.y, &node, &n);
  CALL(ValueInfo_GetValueNumConsumers, m.x, &n);
  int64_t slots[1] = {};
  CALL(ValueInfo_GetValueConsumers, m.x, &node, slots, 1);
  const OrtValue* value = nullptr;
  CALL(ValueInfo_GetInitializerValue, m.x, &value);
  OrtExternalInitializerInfo* external = nullptr;
  CALL(ValueInfo_GetExternalInitializerInfo, m.x, &external);
  bool yes = false;
  for (const auto get :
       {s.api.ValueInfo_IsRequiredGraphInput, s.api.ValueInfo_IsOptionalGraphInput, s.api.ValueInfo_IsGraphOutput,
        s.api.ValueInfo_IsConstantInitializer, s.api.ValueInfo_IsFromOuterScope}) {
    s.call("flag", get(m.x, &yes));
  }
  s.api.ReleaseGraph(m.graph);
}

SCENE(graph, assignment_that_was_not_recorded) {
  OrtSession* session = open(s, "dense");
  const OrtEpAssignedSubgraph* const* subgraphs = nullptr;
  size_t n = 77;
  CALL(Session_GetEpGraphAssignmentInfo, session, &subgraphs, &n);
  s.note("subgraphs", n);
  s.api.ReleaseSession(session);
}

SCENE(graph, assignment) {
  OrtSessionOptions* options = s.options();
  CALL(AddSessionConfigEntry, options, "session.record_ep_graph_assignment_info", "1");
  CALL(SetSessionGraphOptimizationLevel, options, ORT_DISABLE_ALL);
  OrtSession* session = open(s, "dense", options);
  const OrtEpAssignedSubgraph* const* subgraphs = nullptr;
  size_t n = 0;
  CALL(Session_GetEpGraphAssignmentInfo, session, &subgraphs, &n);
  s.note("subgraphs", n);
  for (size_t i = 0; i < n; ++i) {
    const char* text = nullptr;
    CALL(EpAssignedSubgraph_GetEpName, subgraphs[i], &text);
    s.note("provider", text);
    const OrtEpAssignedNode* const* nodes = nullptr;
    size_t count = 0;
    CALL(EpAssignedSubgraph_GetNodes, subgraphs[i], &nodes, &count);
    for (size_t k = 0; k < count; ++k) {
      CALL(EpAssignedNode_GetName, nodes[k], &text);
      s.note("name", text);
      CALL(EpAssignedNode_GetDomain, nodes[k], &text);
      s.note("domain", text);
      CALL(EpAssignedNode_GetOperatorType, nodes[k], &text);
      s.note("operator", text);
    }
  }
  s.api.ReleaseSession(session);
  s.api.ReleaseSessionOptions(options);
}

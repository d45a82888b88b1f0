// The functions of OrtGraph, which providers call.
#include "abi/graphs/graph.h"

#include "abi/listing.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

/// The IR version of models that the model editor makes; ONNX Runtime 1.32 writes the same.
constexpr int64_t kEditorIrVersion = 14;

const OrtGraph& of(const OrtGraph* graph) { return handle(graph, "graph"); }

/// The view behind the graph; throws for graphs of the model editor, which support few queries.
const GraphView& view_of(const OrtGraph* graph, const char* what) {
  const OrtGraph& g = of(graph);
  require(g.view != nullptr, ErrorCode::not_implemented,
          "the graph was made by the model editor, which does not provide {}; make a session of it", what);
  return *g.view;
}

/// The number of elements of a view's list, or of the list that a caller filled.
template <typename Count>
OrtStatusPtr give_count(const OrtGraph* graph, size_t* out, const char* what, Count count) noexcept {
  return guard([&] {
    const OrtGraph& g = of(graph);
    need(out, what) = g.view ? count(*g.view) : count(g);
  });
}

const auto kSame = [](const auto* item) { return item; };

}  // namespace

void ORT_API_CALL ReleaseGraph(OrtGraph* input) noexcept {
  const bool body = input && input->tag == OrtGraph::kTag && input->view && input->view->parent;
  if (!body) release(input);  // bodies are released with their node
}

OrtStatusPtr ORT_API_CALL Graph_GetName(const OrtGraph* graph, const char** graph_name) noexcept {
  return guard([&] {
    const OrtGraph& g = of(graph);
    need(graph_name, "graph_name") = g.view ? g.view->name.c_str() : "ModelEditorGraph";
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetModelPath(const OrtGraph* graph, const char** model_path) noexcept {
  return guard([&] {
    const OrtGraph& g = of(graph);
    need(model_path, "model_path") = g.view ? g.view->model->model->path.c_str() : "";
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetOnnxIRVersion(const OrtGraph* graph, int64_t* onnx_ir_version) noexcept {
  return guard([&] {
    const OrtGraph& g = of(graph);
    need(onnx_ir_version, "onnx_ir_version") = g.view ? g.view->model->model->ir_version : kEditorIrVersion;
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetNumOperatorSets(const OrtGraph* graph, size_t* num_operator_sets) noexcept {
  return guard([&] {
    const GraphView& view = view_of(graph, "operator sets");
    need(num_operator_sets, "num_operator_sets") = view.model->model->opsets.size();
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetOperatorSets(const OrtGraph* graph, const char** domains, int64_t* opset_versions,
                                                size_t num_operator_sets) noexcept {
  return guard([&] {
    const auto& opsets = view_of(graph, "operator sets").model->model->opsets;
    fill_list(opsets, domains, num_operator_sets, "domains", [](const auto& set) { return set.first.c_str(); });
    fill_list(opsets, opset_versions, num_operator_sets, "opset_versions", [](const auto& set) { return set.second; });
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetNumInputs(const OrtGraph* graph, size_t* num_inputs) noexcept {
  return give_count(graph, num_inputs, "num_inputs", [](const auto& from) { return from.inputs.size(); });
}

OrtStatusPtr ORT_API_CALL Graph_GetInputs(const OrtGraph* graph, const OrtValueInfo** inputs,
                                          size_t num_inputs) noexcept {
  return guard([&] { fill_list(view_of(graph, "inputs").inputs, inputs, num_inputs, "inputs", kSame); });
}

OrtStatusPtr ORT_API_CALL Graph_GetNumOutputs(const OrtGraph* graph, size_t* num_outputs) noexcept {
  return give_count(graph, num_outputs, "num_outputs", [](const auto& from) { return from.outputs.size(); });
}

OrtStatusPtr ORT_API_CALL Graph_GetOutputs(const OrtGraph* graph, const OrtValueInfo** outputs,
                                           size_t num_outputs) noexcept {
  return guard([&] { fill_list(view_of(graph, "outputs").outputs, outputs, num_outputs, "outputs", kSame); });
}

OrtStatusPtr ORT_API_CALL Graph_GetNumInitializers(const OrtGraph* graph, size_t* num_initializers) noexcept {
  return give_count(graph, num_initializers, "num_initializers",
                    [](const auto& from) { return from.initializers.size(); });
}

OrtStatusPtr ORT_API_CALL Graph_GetInitializers(const OrtGraph* graph, const OrtValueInfo** initializers,
                                                size_t num_initializers) noexcept {
  return guard([&] {
    fill_list(view_of(graph, "initializers").initializers, initializers, num_initializers, "initializers", kSame);
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetNumNodes(const OrtGraph* graph, size_t* num_nodes) noexcept {
  return guard([&] { need(num_nodes, "num_nodes") = of(graph).nodes.size(); });
}

OrtStatusPtr ORT_API_CALL Graph_GetNodes(const OrtGraph* graph, const OrtNode** nodes, size_t num_nodes) noexcept {
  return guard([&] {
    view_of(graph, "nodes");
    fill_list(graph->nodes, nodes, num_nodes, "nodes", [](const auto& n) { return n.get(); });
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetParentNode(const OrtGraph* graph, const OrtNode** node) noexcept {
  return guard([&] { need(node, "node") = view_of(graph, "the parent node").parent; });
}

OrtStatusPtr ORT_API_CALL Graph_GetGraphView(const OrtGraph* src_graph, const OrtNode** nodes, size_t num_nodes,
                                             OrtGraph** dst_graph) noexcept {
  return guard([&] {
    const OrtGraph& source = handle(src_graph, "src_graph");
    require(source.view != nullptr, ErrorCode::invalid_argument,
            "src_graph was made by the model editor and has no views");
    require(num_nodes > 0, ErrorCode::invalid_argument, "num_nodes is 0; give the nodes of the view");
    need(nodes, "nodes");
    const std::span<const OrtNode* const> chosen(nodes, num_nodes);
    for (const OrtNode* n : chosen) {
      const OrtNode& node = handle(n, "nodes");
      require(node.graph == &source, ErrorCode::invalid_argument, "node '{}' ({}) is not in src_graph", node.name,
              node.type);
    }
    give(dst_graph, "dst_graph", view_part(source, chosen));
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetModelMetadata(const OrtGraph* graph, OrtModelMetadata** out) noexcept {
  return guard([&] {
    const OrtGraph& g = of(graph);
    auto metadata = std::make_unique<OrtModelMetadata>();
    if (g.view) metadata->info = interface_of(*g.view->model->model).info;
    give(out, "out", std::move(metadata));
  });
}

}  // namespace retort::abi

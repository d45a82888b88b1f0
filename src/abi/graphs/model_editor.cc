// Graphs and models that a caller makes. Nothing is checked that needs the rest of the model: the session that is made of
// it says what does not fit.
#include <algorithm>

#include "abi/graphs/graph.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

/// From here on an initializer may stay in memory of the caller, as in ONNX Runtime: below, what infers shapes reads it.
constexpr size_t kLeastExternal = 128;

std::string domain_of(const char* name) {
  const std::string domain = need_text(name, "domain_name");
  return domain == "ai.onnx" ? "" : domain;
}

std::vector<std::string> names_of(const char* const* names, size_t count, const char* what) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) all.emplace_back(need_text((&need(names, what))[i], what));
  return all;
}

/// `count` objects behind handles, none twice: what a call takes over.
template <typename T>
std::vector<T*> handles_of(T* const* objects, size_t count, const char* what) {
  std::vector<T*> all;
  for (size_t i = 0; i < count; ++i) {
    T* object = &handle((&need(objects, what))[i], what);
    require(std::find(all.begin(), all.end(), object) == all.end(), ErrorCode::invalid_argument,
            "entry {} of {} was given before; make an object for each", i, what);
    all.push_back(object);
  }
  return all;
}

/// The caller's array is emptied: what was in it has a new owner.
template <typename T>
std::vector<std::unique_ptr<T>> take(const std::vector<T*>& objects, T** array) {
  std::vector<std::unique_ptr<T>> taken(objects.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    taken[i].reset(objects[i]);
    array[i] = nullptr;
  }
  return taken;
}

OrtStatusPtr set_values(OrtGraph* graph, OrtValueInfo** values, size_t count, const char* what,
                        std::vector<std::unique_ptr<OrtValueInfo>> OrtGraph::*to) noexcept {
  return guard([&] {
    OrtGraph& g = handle(graph, "graph");
    require(!g.view, ErrorCode::invalid_argument, "the graph is a view of a model and cannot be changed");
    const std::vector<OrtValueInfo*> given = handles_of(values, count, what);
    for (const OrtValueInfo* v : given) {
      require(!v->view, ErrorCode::invalid_argument, "value '{}' of {} belongs to the view of a model", v->name, what);
      const auto owned = [&](const auto& mine) { return mine.get() == v; };
      for (const auto* list : {&g.inputs, &g.outputs}) {
        require(std::none_of(list->begin(), list->end(), owned), ErrorCode::invalid_argument,
                "value '{}' of {} belongs to the graph already; make another of that name", v->name, what);
      }
    }
    g.*to = take(given, values);
  });
}

}  // namespace

void ORT_API_CALL ReleaseModel(OrtModel* input) noexcept { release(input); }

namespace editor_api {

OrtStatusPtr ORT_API_CALL CreateNode(const char* operator_name, const char* domain_name, const char* node_name,
                                     const char* const* input_names, size_t input_names_len,
                                     const char* const* output_names, size_t output_names_len, OrtOpAttr** attributes,
                                     size_t attribs_len, OrtNode** node) noexcept {
  return guard([&] {
    auto made = std::make_unique<OrtNode>();
    made->type = need_text(operator_name, "operator_name");
    made->domain = domain_of(domain_name);
    made->name = need_text(node_name, "node_name");
    made->input_names = names_of(input_names, input_names_len, "input_names");
    made->output_names = names_of(output_names, output_names_len, "output_names");
    std::vector<OrtOpAttr*> given;
    if (attributes) given = handles_of(attributes, attribs_len, "attributes");
    need(node, "node");
    made->attributes = take(given, attributes);
    give(node, "node", std::move(made));
  });
}

OrtStatusPtr ORT_API_CALL CreateGraph(OrtGraph** graph) noexcept {
  return guard([&] { give(graph, "graph", std::make_unique<OrtGraph>()); });
}

OrtStatusPtr ORT_API_CALL SetGraphInputs(OrtGraph* graph, OrtValueInfo** inputs, size_t inputs_len) noexcept {
  return set_values(graph, inputs, inputs_len, "inputs", &OrtGraph::inputs);
}

OrtStatusPtr ORT_API_CALL SetGraphOutputs(OrtGraph* graph, OrtValueInfo** outputs, size_t outputs_len) noexcept {
  return set_values(graph, outputs, outputs_len, "outputs", &OrtGraph::outputs);
}

OrtStatusPtr ORT_API_CALL AddInitializerToGraph(OrtGraph* graph, const char* name, OrtValue* tensor,
                                                bool data_is_external) noexcept {
  return guard([&] {
    OrtGraph& g = handle(graph, "graph");
    const std::string key = need_text(name, "name");
    require(!key.empty(), ErrorCode::invalid_argument, "name is empty; an initializer needs one");
    const Tensor& t = tensor_of(&handle(tensor, "tensor"));
    require(!g.view, ErrorCode::invalid_argument, "the graph is a view of a model and cannot be changed");
    require(t.space().device == DeviceType::cpu, ErrorCode::invalid_argument,
            "initializer '{}' does not lie in memory of the CPU; copy it there", key);
    require(!g.initializers.contains(key), ErrorCode::invalid_argument, "the graph has an initializer '{}' already",
            key);
    require(!g.owned.contains(tensor), ErrorCode::invalid_argument,
            "the tensor for initializer '{}' belongs to the graph already; make another", key);
    require(!data_is_external || t.dtype() != DType::string, ErrorCode::invalid_argument,
            "initializer '{}' is of strings, which must not be external", key);
    require(!data_is_external || t.bytes() >= kLeastExternal, ErrorCode::invalid_argument,
            "initializer '{}' has {} bytes; below {} it must not be external: make it by CreateTensorAsOrtValue and "
            "pass data_is_external as false",
            key, t.bytes(), kLeastExternal);
    OrtGraph::Initializer& initializer = g.initializers[key];
    initializer.external = data_is_external;
    g.owned.insert(tensor);
    initializer.value.reset(tensor);  // last: nothing can fail any more
  });
}

OrtStatusPtr ORT_API_CALL AddNodeToGraph(OrtGraph* graph, OrtNode* node) noexcept {
  return guard([&] {
    OrtGraph& g = handle(graph, "graph");
    OrtNode& n = handle(node, "node");
    require(!g.view && !n.graph, ErrorCode::invalid_argument,
            "node '{}' ({}): views of models cannot be changed, and their nodes stay there", n.name, n.type);
    require(!n.added, ErrorCode::invalid_argument, "node '{}' ({}) belongs to a graph already", n.name, n.type);
    g.nodes.emplace_back();
    n.added = true;
    n.id = g.nodes.size() - 1;
    g.nodes.back().reset(node);
  });
}

OrtStatusPtr ORT_API_CALL CreateModel(const char* const* domain_names, const int* opset_versions,
                                      size_t opset_entries_len, OrtModel** model) noexcept {
  return guard([&] {
    auto made = std::make_unique<OrtModel>();
    for (size_t i = 0; i < opset_entries_len; ++i) {
      const std::string domain = domain_of((&need(domain_names, "domain_names"))[i]);
      made->opsets[domain] = (&need(opset_versions, "opset_versions"))[i];
    }
    give(model, "model", std::move(made));
  });
}

OrtStatusPtr ORT_API_CALL AddGraphToModel(OrtModel* model, OrtGraph* graph) noexcept {
  return guard([&] {
    OrtModel& m = handle(model, "model");
    OrtGraph& g = handle(graph, "graph");
    require(!g.view, ErrorCode::invalid_argument, "the graph is a view of another model");
    require(!m.graph, ErrorCode::invalid_argument, "the model has a graph already; make a model for each graph");
    m.graph.reset(&g);
  });
}

}  // namespace editor_api
}  // namespace retort::abi

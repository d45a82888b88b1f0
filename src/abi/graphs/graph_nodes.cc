// The functions of OrtNode, which providers call.
#include <algorithm>

#include "abi/graphs/graph.h"
#include "abi/listing.h"
#include "abi/slots.h"
#include "onnx/operator_facts.h"

namespace retort::abi {
namespace {

const OrtNode& node_of(const OrtNode* node) { return handle(node, "node"); }

const OrtNode& viewed(const OrtNode* node, const char* what, ErrorCode code = ErrorCode::not_implemented) {
  const OrtNode& n = node_of(node);
  require(n.graph != nullptr, code, "node '{}' ({}) was made by the model editor, which does not provide {}", n.name,
          n.type, what);
  return n;
}

bool optional_attribute(const OrtNode& node, std::string_view name) {
  const onnx::OperatorForm* form = onnx::operator_form(node.domain, node.type, node.since);
  return form && std::find(form->unset.begin(), form->unset.end(), name) != form->unset.end();
}

const auto kItself = [](const auto* item) { return item; };

}  // namespace

void ORT_API_CALL ReleaseNode(OrtNode* input) noexcept {
  if (input && input->tag == OrtNode::kTag && !input->graph && !input->added)
    release(input);  // other nodes are released with their graph
}

OrtStatusPtr ORT_API_CALL Node_GetId(const OrtNode* node, size_t* node_id) noexcept {
  return guard([&] { need(node_id, "node_id") = node_of(node).id; });
}

OrtStatusPtr ORT_API_CALL Node_GetName(const OrtNode* node, const char** node_name) noexcept {
  return guard([&] { need(node_name, "node_name") = node_of(node).name.c_str(); });
}

OrtStatusPtr ORT_API_CALL Node_GetOperatorType(const OrtNode* node, const char** operator_type) noexcept {
  return guard([&] { need(operator_type, "operator_type") = node_of(node).type.c_str(); });
}

OrtStatusPtr ORT_API_CALL Node_GetDomain(const OrtNode* node, const char** domain_name) noexcept {
  return guard([&] { need(domain_name, "domain_name") = node_of(node).domain.c_str(); });
}

OrtStatusPtr ORT_API_CALL Node_GetSinceVersion(const OrtNode* node, int* since_version) noexcept {
  return guard([&] { need(since_version, "since_version") = viewed(node, "the version of its operator").since; });
}

OrtStatusPtr ORT_API_CALL Node_GetNumInputs(const OrtNode* node, size_t* num_inputs) noexcept {
  return guard([&] {
    const OrtNode& n = node_of(node);
    need(num_inputs, "num_inputs") = n.graph ? n.inputs.size() : n.input_names.size();
  });
}

OrtStatusPtr ORT_API_CALL Node_GetInputs(const OrtNode* node, const OrtValueInfo** inputs, size_t num_inputs) noexcept {
  return guard([&] { fill_list(viewed(node, "its inputs").inputs, inputs, num_inputs, "inputs", kItself); });
}

OrtStatusPtr ORT_API_CALL Node_GetNumOutputs(const OrtNode* node, size_t* num_outputs) noexcept {
  return guard([&] {
    const OrtNode& n = node_of(node);
    need(num_outputs, "num_outputs") = n.graph ? n.outputs.size() : n.output_names.size();
  });
}

OrtStatusPtr ORT_API_CALL Node_GetOutputs(const OrtNode* node, const OrtValueInfo** outputs,
                                          size_t num_outputs) noexcept {
  return guard([&] { fill_list(viewed(node, "its outputs").outputs, outputs, num_outputs, "outputs", kItself); });
}

OrtStatusPtr ORT_API_CALL Node_GetNumImplicitInputs(const OrtNode* node, size_t* num_implicit_inputs) noexcept {
  return guard([&] {
    const OrtNode& n = viewed(node, "its implicit inputs");
    need(num_implicit_inputs, "num_implicit_inputs") = n.implicit.size();
  });
}

OrtStatusPtr ORT_API_CALL Node_GetImplicitInputs(const OrtNode* node, const OrtValueInfo** implicit_inputs,
                                                 size_t num_implicit_inputs) noexcept {
  return guard([&] {
    const OrtNode& n = viewed(node, "its implicit inputs");
    fill_list(n.implicit, implicit_inputs, num_implicit_inputs, "implicit_inputs", kItself);
  });
}

OrtStatusPtr ORT_API_CALL Node_GetNumAttributes(const OrtNode* node, size_t* num_attributes) noexcept {
  return guard([&] { need(num_attributes, "num_attributes") = node_of(node).attributes.size(); });
}

OrtStatusPtr ORT_API_CALL Node_GetAttributes(const OrtNode* node, const OrtOpAttr** attributes,
                                             size_t num_attributes) noexcept {
  return guard([&] {
    const OrtNode& n = viewed(node, "its attributes");
    fill_list(n.attributes, attributes, num_attributes, "attributes", [](const auto& a) { return a.get(); });
  });
}

// As in ONNX Runtime, an optional attribute that is not set is null. A name that the operator does not have is an error.
OrtStatusPtr ORT_API_CALL Node_GetAttributeByName(const OrtNode* node, const char* attribute_name,
                                                  const OrtOpAttr** attribute) noexcept {
  return guard([&] {
    const OrtNode& n = viewed(node, "its attributes", ErrorCode::invalid_argument);
    const std::string_view name = need_text(attribute_name, "attribute_name");
    const OrtOpAttr*& out = need(attribute, "attribute");
    const auto found =
        std::find_if(n.attributes.begin(), n.attributes.end(), [&](const auto& a) { return a->name == name; });
    require(found != n.attributes.end() || optional_attribute(n, name), ErrorCode::not_found,
            "node '{}': operator {} {} has no attribute '{}'", n.name, n.type, n.since, name);
    out = found == n.attributes.end() ? nullptr : found->get();
  });
}

OrtStatusPtr ORT_API_CALL Node_GetNumSubgraphs(const OrtNode* node, size_t* num_subgraphs) noexcept {
  return guard([&] { need(num_subgraphs, "num_subgraphs") = viewed(node, "its subgraphs").subgraphs.size(); });
}

OrtStatusPtr ORT_API_CALL Node_GetSubgraphs(const OrtNode* node, const OrtGraph** subgraphs, size_t num_subgraphs,
                                            const char** attribute_names) noexcept {
  return guard([&] {
    const OrtNode& n = viewed(node, "its subgraphs");
    fill_list(n.subgraphs, subgraphs, num_subgraphs, "subgraphs", [](const auto& s) { return s.graph.get(); });
    if (!attribute_names) return;  // optional
    fill_list(n.subgraphs, attribute_names, num_subgraphs, "attribute_names",
              [](const auto& s) { return s.attribute.c_str(); });
  });
}

OrtStatusPtr ORT_API_CALL Node_GetGraph(const OrtNode* node, const OrtGraph** graph) noexcept {
  return guard([&] { need(graph, "graph") = viewed(node, "its graph").graph; });
}

// Empty until a provider claims the node.
OrtStatusPtr ORT_API_CALL Node_GetEpName(const OrtNode* node, const char** out) noexcept {
  return guard([&] {
    viewed(node, "its provider", ErrorCode::invalid_argument);
    need(out, "out") = "";
  });
}

}  // namespace retort::abi

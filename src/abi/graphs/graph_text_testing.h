// Writes a graph as text, using only the C interface. Tests compare the texts of the official library and of this one.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "retort/onnxruntime_c_api.h"

namespace retort::abi {

/// Writes values, nodes and subgraphs, sorted by name if the interface specifies no order; then the same for a view of
/// every second node. If a call fails, "!code" stands in place of its result.
class GraphWriter {
 public:
  GraphWriter(const OrtApi& api, int depth, bool sorted = false)
      : api_(api), indent_(size_t(depth) * 2, ' '), depth_(depth), sorted_(sorted) {}

  std::string graph(const OrtGraph* g) {
    line("graph " + text(api_.Graph_GetName, g) + " ir " + number<int64_t>(api_.Graph_GetOnnxIRVersion, g));
    const auto all = list<const OrtNode*>(api_.Graph_GetNumNodes, api_.Graph_GetNodes, g);
    opsets(g, all);
    const OrtNode* parent = nullptr;
    const std::string failure = failed(api_.Graph_GetParentNode(g, &parent));
    line("parent " + failure + (parent ? node_name(parent) : "none"));
    const auto inputs = list<const OrtValueInfo*>(api_.Graph_GetNumInputs, api_.Graph_GetInputs, g);
    const auto outputs = list<const OrtValueInfo*>(api_.Graph_GetNumOutputs, api_.Graph_GetOutputs, g);
    const auto initializers = list<const OrtValueInfo*>(api_.Graph_GetNumInitializers, api_.Graph_GetInitializers, g);
    line("inputs" + names(in_order(inputs)));
    line("outputs" + names(in_order(outputs)));
    for (const OrtValueInfo* v : inputs) value(v);
    for (const OrtValueInfo* v : outputs) value(v);
    for (const OrtValueInfo* v : initializers) value(v, "initializer ");
    std::vector<std::pair<std::string, const OrtNode*>> nodes;
    for (const OrtNode* n : all)
      nodes.emplace_back(names(list<const OrtValueInfo*>(api_.Node_GetNumOutputs, api_.Node_GetOutputs, n)), n);
    std::sort(nodes.begin(), nodes.end());
    for (const auto& [key, n] : nodes) node(n, g);
    for (const auto& [name, v] : values_) line(v);
    if (depth_ == 0) part(g, nodes);
    return out_;
  }

 private:
  void line(const std::string& s) { out_ += indent_ + s + "\n"; }

  std::string failed(OrtStatus* status) {
    if (!status) return "";
    const std::string code = "!" + std::to_string(api_.GetErrorCode(status)) + " ";
    api_.ReleaseStatus(status);
    return code;
  }
  template <typename F, typename H>
  std::string text(F get, const H* object) {
    const char* s = nullptr;
    std::string e = failed(get(object, &s));
    return e + "'" + (s ? s : "(null)") + "'";
  }
  template <typename T, typename F, typename H>
  std::string number(F get, const H* object) {
    T n{};
    std::string e = failed(get(object, &n));
    return e.empty() ? std::to_string(n) : e;
  }
  template <typename T, typename N, typename G, typename H>
  std::vector<T> list(N count, G get, const H* object) {
    size_t n = 0;
    if (std::string e = failed(count(object, &n)); !e.empty()) line("count " + e);
    std::vector<T> all(n);
    if (std::string e = failed(get(object, all.data(), n)); !e.empty()) line("list " + e);
    return all;
  }
  std::string name(const OrtValueInfo* v) {
    const char* s = nullptr;
    const std::string failure = v ? failed(api_.GetValueInfoName(v, &s)) : "";
    return v ? failure + (s ? s : "(null)") : "-";
  }
  /// The interface does not specify the order of a partial view's inputs and outputs.
  std::vector<const OrtValueInfo*> in_order(std::vector<const OrtValueInfo*> all) {
    if (sorted_) std::sort(all.begin(), all.end(), [&](const auto* a, const auto* b) { return name(a) < name(b); });
    return all;
  }
  std::string names(const std::vector<const OrtValueInfo*>& all) {
    std::string s;
    for (const OrtValueInfo* v : all) s += " " + name(v);
    return s;
  }
  std::string node_name(const OrtNode* n) { return text(api_.Node_GetOperatorType, n) + text(api_.Node_GetName, n); }
  /// Only the domains of the nodes: the official library lists every domain that it knows.
  void opsets(const OrtGraph* g, const std::vector<const OrtNode*>& nodes) {
    size_t n = 0;
    if (std::string e = failed(api_.Graph_GetNumOperatorSets(g, &n)); !e.empty()) line("operator sets " + e);
    std::vector<const char*> domains(n);
    std::vector<int64_t> versions(n);
    const std::string e = failed(api_.Graph_GetOperatorSets(g, domains.data(), versions.data(), n));
    if (!e.empty()) line("operator sets " + e);
    std::set<std::string> used;
    for (const OrtNode* node : nodes) used.insert(text(api_.Node_GetDomain, node));
    std::set<std::string> lines;
    for (size_t i = 0; e.empty() && i < n; ++i) {
      const std::string domain = "'" + std::string(domains[i]) + "'";
      if (used.count(domain)) lines.insert("opset " + domain + " " + std::to_string(versions[i]));
    }
    for (const std::string& one : lines) line(one);
  }

  std::string type(const OrtValueInfo* v) {
    const OrtTypeInfo* info = nullptr;
    std::string s = failed(api_.GetValueInfoTypeInfo(v, &info));
    if (!info) return s + "untyped";
    ONNXType kind = ONNX_TYPE_UNKNOWN;
    s += failed(api_.GetOnnxTypeFromTypeInfo(info, &kind));
    s += "kind " + std::to_string(kind);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    s += failed(api_.CastTypeInfoToTensorInfo(info, &tensor));
    if (!tensor) return s;
    ONNXTensorElementDataType element{};
    s += failed(api_.GetTensorElementType(tensor, &element));
    s += " of " + std::to_string(element);
    if (!api_.TensorTypeAndShape_HasShape(tensor)) return s + " unranked";
    size_t rank = 0;
    s += failed(api_.GetDimensionsCount(tensor, &rank));
    std::vector<int64_t> dims(rank);
    s += failed(api_.GetDimensions(tensor, dims.data(), rank)) + " [";
    for (int64_t d : dims) s += std::to_string(d) + " ";
    return s + "]";
  }
  std::string flag(decltype(OrtApi::ValueInfo_IsGraphOutput) get, const OrtValueInfo* v, const char* word) {
    bool yes = false;
    std::string e = failed(get(v, &yes));
    return e + (yes ? word : "");
  }
  std::string constant(const OrtValueInfo* v) {
    const OrtValue* value = nullptr;
    std::string s = failed(api_.ValueInfo_GetInitializerValue(v, &value));
    if (value) {
      size_t bytes = 0;
      const void* data = nullptr;
      OrtTensorTypeAndShapeInfo* info = nullptr;
      s += failed(api_.GetTensorTypeAndShape(value, &info));
      ONNXTensorElementDataType element{};
      s += failed(api_.GetTensorElementType(info, &element));
      api_.ReleaseTensorTypeAndShapeInfo(info);
      uint64_t hash = 14695981039346656037u;
      if (element != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
        s += failed(api_.GetTensorSizeInBytes(value, &bytes)) + failed(api_.GetTensorData(value, &data));
        for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
      }
      s += " value " + std::to_string(bytes) + " bytes " + std::to_string(hash);
    }
    OrtExternalInitializerInfo* external = nullptr;
    s += failed(api_.ValueInfo_GetExternalInitializerInfo(v, &external));
    if (!external) return s;
    s += std::string(" external ") + api_.ExternalInitializerInfo_GetFilePath(external) + " " +
         std::to_string(api_.ExternalInitializerInfo_GetFileOffset(external)) + " " +
         std::to_string(api_.ExternalInitializerInfo_GetByteSize(external));
    api_.ReleaseExternalInitializerInfo(external);
    return s;
  }
  std::string edges(const OrtValueInfo* v) {
    const OrtNode* producer = nullptr;
    size_t slot = 0, n = 0;
    std::string s = failed(api_.ValueInfo_GetValueProducer(v, &producer, &slot));
    if (producer) s += " from " + node_name(producer) + std::to_string(slot);
    s += failed(api_.ValueInfo_GetValueNumConsumers(v, &n));
    std::vector<const OrtNode*> nodes(n);
    std::vector<int64_t> slots(n);
    s += failed(api_.ValueInfo_GetValueConsumers(v, nodes.data(), slots.data(), n));
    std::vector<std::string> all;
    for (size_t i = 0; i < n; ++i) all.push_back(" to " + node_name(nodes[i]) + std::to_string(slots[i]));
    std::sort(all.begin(), all.end());
    for (const std::string& one : all) s += one;
    return s;
  }
  /// Notes a value's description; each one is written once, at the end.
  void value(const OrtValueInfo* v, const char* role = "") {
    if (!v) return;
    std::string& known = values_[std::string(role) + name(v)];
    if (!known.empty()) return;
    known = std::string(role) + "value " + name(v) + ": " + type(v) +
            flag(api_.ValueInfo_IsRequiredGraphInput, v, " required") +
            flag(api_.ValueInfo_IsOptionalGraphInput, v, " optional") +
            flag(api_.ValueInfo_IsGraphOutput, v, " output") +
            flag(api_.ValueInfo_IsConstantInitializer, v, " constant") +
            flag(api_.ValueInfo_IsFromOuterScope, v, " outer") + constant(v) + edges(v);
  }

  std::string attribute(const OrtOpAttr* a) {
    const char* s = nullptr;
    std::string line = failed(api_.OpAttr_GetName(a, &s));
    line += s ? s : "(null)";
    OrtOpAttrType kind{};
    line += failed(api_.OpAttr_GetType(a, &kind));
    line += " kind " + std::to_string(kind);
    size_t n = 0;
    if (kind == ORT_OP_ATTR_UNDEFINED || kind == ORT_OP_ATTR_GRAPH) return line;
    if (kind == ORT_OP_ATTR_TENSOR) {
      OrtValue* value = nullptr;
      line += failed(api_.OpAttr_GetTensorAttributeAsOrtValue(a, &value));
      api_.ReleaseValue(value);
      return line;
    }
    OrtStatus* status = api_.ReadOpAttr(a, kind, nullptr, 0, &n);
    api_.ReleaseStatus(status);  // the first call returned the size
    std::string bytes(n, '\0');
    line += failed(api_.ReadOpAttr(a, kind, bytes.data(), n, &n)) + " ";
    for (unsigned char c : bytes) line += "0123456789abcdef"[c >> 4], line += "0123456789abcdef"[c & 15];
    return line;
  }

  /// What the library answers for names of attributes, most of which a node does not have.
  std::string answers(const OrtNode* n) {
    std::string line = "  asked";
    for (const char* name : {"axes", "axis", "dilations", "kernel_shape", "keepdims", "pads", "seed", "perm", "dtype",
                             "activations", "clip", "nodes_values", "value", "to", "body", "nonesuch"}) {
      const OrtOpAttr* found = nullptr;
      OrtStatus* status = api_.Node_GetAttributeByName(n, name, &found);
      line += std::string(" ") + name + (found ? "" : status ? "!" + std::to_string(api_.GetErrorCode(status)) : "-");
      api_.ReleaseStatus(status);
    }
    return line;
  }

  void node(const OrtNode* n, const OrtGraph* g) {
    const auto inputs = list<const OrtValueInfo*>(api_.Node_GetNumInputs, api_.Node_GetInputs, n);
    const auto implicit = list<const OrtValueInfo*>(api_.Node_GetNumImplicitInputs, api_.Node_GetImplicitInputs, n);
    const auto outputs = list<const OrtValueInfo*>(api_.Node_GetNumOutputs, api_.Node_GetOutputs, n);
    const OrtGraph* owner = nullptr;
    const std::string failure = failed(api_.Node_GetGraph(n, &owner));
    line("node " + text(api_.Node_GetDomain, n) + node_name(n) + " since " + number<int>(api_.Node_GetSinceVersion, n) +
         " ep " + text(api_.Node_GetEpName, n) + failure + (owner == g ? "" : " of another graph"));
    line("  in" + names(inputs));
    auto sorted = implicit;
    std::sort(sorted.begin(), sorted.end(),
              [&](const OrtValueInfo* a, const OrtValueInfo* b) { return name(a) < name(b); });
    if (!sorted.empty()) line("  implicit" + names(sorted));
    line("  out" + names(outputs));
    for (const auto* all : {&inputs, &implicit, &outputs}) {
      for (const OrtValueInfo* v : *all) value(v);
    }
    std::vector<std::string> attributes;
    for (const OrtOpAttr* a : list<const OrtOpAttr*>(api_.Node_GetNumAttributes, api_.Node_GetAttributes, n))
      attributes.push_back(attribute(a));
    std::sort(attributes.begin(), attributes.end());
    for (const std::string& a : attributes) line("  attribute " + a);
    line(answers(n));
    subgraphs(n);
  }
  void subgraphs(const OrtNode* n) {
    size_t count = 0;
    if (std::string e = failed(api_.Node_GetNumSubgraphs(n, &count)); !e.empty()) line("subgraphs " + e);
    std::vector<const OrtGraph*> graphs(count);
    std::vector<const char*> attributes(count);
    const std::string e = failed(api_.Node_GetSubgraphs(n, graphs.data(), count, attributes.data()));
    if (!e.empty()) line("subgraphs " + e);
    std::map<std::string, const OrtGraph*> sorted;
    for (size_t i = 0; i < count; ++i) sorted[attributes[i] ? attributes[i] : "(null)"] = graphs[i];
    for (const auto& [name, g] : sorted) {
      line("  subgraph " + name);
      out_ += GraphWriter(api_, depth_ + 2).graph(g);
    }
  }

  /// Writes a view of every second node.
  void part(const OrtGraph* g, const std::vector<std::pair<std::string, const OrtNode*>>& nodes) {
    std::vector<const OrtNode*> chosen;
    for (size_t i = 0; i < nodes.size(); i += 2) chosen.push_back(nodes[i].second);
    OrtGraph* made = nullptr;
    const std::string failure = failed(api_.Graph_GetGraphView(g, chosen.data(), chosen.size(), &made));
    line("every second node " + failure);
    if (made) out_ += GraphWriter(api_, 1, true).graph(made);
    api_.ReleaseGraph(made);
  }

  const OrtApi& api_;
  const std::string indent_;
  const int depth_;
  const bool sorted_;
  std::string out_;
  std::map<std::string, std::string> values_;
};

inline std::string graph_text(const OrtApi& api, const OrtGraph* graph) { return GraphWriter(api, 0).graph(graph); }

}  // namespace retort::abi

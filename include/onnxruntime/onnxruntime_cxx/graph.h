// Part of onnxruntime_cxx_api.h: graphs, their nodes and values: to be read by providers, and made by programs.
#pragma once
#include "attributes.h"
#include "options.h"

namespace Ort {

struct Graph;
struct ModelMetadata;
struct ValueInfoConsumerProducerInfo;
struct AttrNameSubgraph;

namespace detail {

template <typename T>
struct ConstValueInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  std::string GetName() const { return FetchView(GetApi().GetValueInfoName, this->p_); }
  ConstTypeInfo TypeInfo() const {
    return ConstTypeInfo{Fetch<const OrtTypeInfo*>(GetApi().GetValueInfoTypeInfo, this->p_)};
  }
  // The node that computes the value, empty for an input or initializer, and the number of its output.
  ValueInfoConsumerProducerInfo GetProducerNode() const;
  // The nodes that read the value, each with the number of its input, -1 for one that only a subgraph reads.
  std::vector<ValueInfoConsumerProducerInfo> GetConsumers() const;

  // Succeeds with an empty `value` for a value that is not an initializer.
  Status GetInitializer(ConstValue& value) const {
    const OrtValue* initializer = nullptr;
    ORT_CXX_RETURN_ON_API_FAIL(GetApi().ValueInfo_GetInitializerValue(this->p_, &initializer));
    value = ConstValue{initializer};
    return Status();
  }
  // Succeeds with an empty `info` for a value that is not an initializer in a file.
  Status GetExternalInitializerInfo(ExternalInitializerInfo& info) const {
    OrtExternalInitializerInfo* found = nullptr;
    ORT_CXX_RETURN_ON_API_FAIL(GetApi().ValueInfo_GetExternalInitializerInfo(this->p_, &found));
    info = ExternalInitializerInfo(found);
    return Status();
  }

  bool IsRequiredGraphInput() const { return Fetch<bool>(GetApi().ValueInfo_IsRequiredGraphInput, this->p_); }
  bool IsOptionalGraphInput() const { return Fetch<bool>(GetApi().ValueInfo_IsOptionalGraphInput, this->p_); }
  bool IsGraphOutput() const { return Fetch<bool>(GetApi().ValueInfo_IsGraphOutput, this->p_); }
  bool IsConstantInitializer() const { return Fetch<bool>(GetApi().ValueInfo_IsConstantInitializer, this->p_); }
  bool IsFromOuterScope() const { return Fetch<bool>(GetApi().ValueInfo_IsFromOuterScope, this->p_); }
};

}  // namespace detail

using ConstValueInfo = detail::ConstValueInfoImpl<detail::Unowned<const OrtValueInfo>>;

struct ValueInfo : detail::ConstValueInfoImpl<OrtValueInfo> {
  ValueInfo() = default;
  explicit ValueInfo(std::nullptr_t) {}
  explicit ValueInfo(OrtValueInfo* p) : ConstValueInfoImpl<OrtValueInfo>(p) {}
#if !defined(ORT_MINIMAL_BUILD)
  explicit ValueInfo(const std::string& name, const ConstTypeInfo& type_info) {
    ThrowOnError(GetModelEditorApi().CreateValueInfo(name.c_str(), type_info, &p_));
  }
#endif
  ConstValueInfo GetConst() const { return ConstValueInfo{this->p_}; }
};

namespace detail {

template <typename T>
struct ConstGraphImpl;

template <typename T>
struct ConstNodeImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  size_t GetId() const { return Fetch<size_t>(GetApi().Node_GetId, this->p_); }
  std::string GetName() const { return FetchView(GetApi().Node_GetName, this->p_); }
  std::string GetOperatorType() const { return FetchView(GetApi().Node_GetOperatorType, this->p_); }
  std::string GetDomain() const { return FetchView(GetApi().Node_GetDomain, this->p_); }
  int GetSinceVersion() const { return Fetch<int>(GetApi().Node_GetSinceVersion, this->p_); }
  // The provider that the node is assigned to; empty if there is none.
  std::string GetEpName() const { return FetchView(GetApi().Node_GetEpName, this->p_); }

  // Empty objects stand for optional inputs and outputs that are left out.
  std::vector<ConstValueInfo> GetInputs() const {
    return FetchList<ConstValueInfo>(Fetch<size_t>(GetApi().Node_GetNumInputs, this->p_), GetApi().Node_GetInputs,
                                     Handle());
  }
  std::vector<ConstValueInfo> GetOutputs() const {
    return FetchList<ConstValueInfo>(Fetch<size_t>(GetApi().Node_GetNumOutputs, this->p_), GetApi().Node_GetOutputs,
                                     Handle());
  }
  // Values of outer graphs that subgraphs of the node read.
  std::vector<ConstValueInfo> GetImplicitInputs() const {
    return FetchList<ConstValueInfo>(Fetch<size_t>(GetApi().Node_GetNumImplicitInputs, this->p_),
                                     GetApi().Node_GetImplicitInputs, Handle());
  }
  std::vector<ConstOpAttr> GetAttributes() const {
    return FetchList<ConstOpAttr>(Fetch<size_t>(GetApi().Node_GetNumAttributes, this->p_), GetApi().Node_GetAttributes,
                                  Handle());
  }
  Status GetAttributeByName(const std::string& name, ConstOpAttr& attr) const {
    const OrtOpAttr* found = nullptr;
    ORT_CXX_RETURN_ON_API_FAIL(GetApi().Node_GetAttributeByName(this->p_, name.c_str(), &found));
    attr = ConstOpAttr{found};
    return Status();
  }
  std::vector<AttrNameSubgraph> GetSubgraphs() const;
  // The graph that has the node; empty for a node that was not added to one.
  ConstGraphImpl<detail::Unowned<const OrtGraph>> GetGraph() const;

 private:
  const OrtNode* Handle() const { return this->p_; }
};

}  // namespace detail

using ConstNode = detail::ConstNodeImpl<detail::Unowned<const OrtNode>>;

struct Node : detail::ConstNodeImpl<OrtNode> {
  Node() = default;
  explicit Node(std::nullptr_t) {}
  explicit Node(OrtNode* p) : ConstNodeImpl<OrtNode>(p) {}

#if !defined(ORT_MINIMAL_BUILD)
  Node(const std::string& operator_name, const std::string& operator_domain, const std::string& node_name,
       const std::vector<std::string>& input_names, const std::vector<std::string>& output_names) {
    std::vector<OpAttr> none;
    Make(operator_name, operator_domain, node_name, input_names, output_names, none);
  }
  // Takes the attributes over.
  Node(const std::string& operator_name, const std::string& operator_domain, const std::string& node_name,
       const std::vector<std::string>& input_names, const std::vector<std::string>& output_names,
       std::vector<OpAttr>& attributes) {
    Make(operator_name, operator_domain, node_name, input_names, output_names, attributes);
  }

 private:
  void Make(const std::string& operator_name, const std::string& operator_domain, const std::string& node_name,
            const std::vector<std::string>& input_names, const std::vector<std::string>& output_names,
            std::vector<OpAttr>& attributes) {
    const std::vector<const char*> inputs = detail::Pointers(input_names), outputs = detail::Pointers(output_names);
    ThrowOnError(GetModelEditorApi().CreateNode(operator_name.c_str(), operator_domain.c_str(), node_name.c_str(),
                                                inputs.data(), inputs.size(), outputs.data(), outputs.size(),
                                                detail::HandlesOf(attributes.data()), attributes.size(), &p_));
    for (OpAttr& attribute : attributes) attribute.release();
  }
#endif
};

struct ValueInfoConsumerProducerInfo {
  ConstNode node;
  int64_t index;
};

struct OperatorSet {
  std::string domain;
  int64_t version;
};

namespace detail {

template <typename T>
struct ConstGraphImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  std::string GetName() const { return FetchView(GetApi().Graph_GetName, this->p_); }
  // Empty for a model that came from memory.
  std::basic_string<ORTCHAR_T> GetModelPath() const {
    const auto* path = Fetch<const ORTCHAR_T*>(GetApi().Graph_GetModelPath, this->p_);
    return path ? std::basic_string<ORTCHAR_T>(path) : std::basic_string<ORTCHAR_T>();
  }
  int64_t GetOnnxIRVersion() const { return Fetch<int64_t>(GetApi().Graph_GetOnnxIRVersion, this->p_); }
  std::vector<OperatorSet> GetOperatorSets() const {
    const auto count = Fetch<size_t>(GetApi().Graph_GetNumOperatorSets, this->p_);
    std::vector<const char*> domains(count);
    std::vector<int64_t> versions(count);
    if (count > 0) ThrowOnError(GetApi().Graph_GetOperatorSets(this->p_, domains.data(), versions.data(), count));
    std::vector<OperatorSet> sets;
    for (size_t i = 0; i < count; ++i) sets.push_back({domains[i], versions[i]});
    return sets;
  }
  std::vector<ConstValueInfo> GetInputs() const {
    return FetchList<ConstValueInfo>(Fetch<size_t>(GetApi().Graph_GetNumInputs, this->p_), GetApi().Graph_GetInputs,
                                     Handle());
  }
  std::vector<ConstValueInfo> GetOutputs() const {
    return FetchList<ConstValueInfo>(Fetch<size_t>(GetApi().Graph_GetNumOutputs, this->p_), GetApi().Graph_GetOutputs,
                                     Handle());
  }
  std::vector<ConstValueInfo> GetInitializers() const {
    return FetchList<ConstValueInfo>(Fetch<size_t>(GetApi().Graph_GetNumInitializers, this->p_),
                                     GetApi().Graph_GetInitializers, Handle());
  }
  // In an order in which they can run.
  std::vector<ConstNode> GetNodes() const {
    return FetchList<ConstNode>(Fetch<size_t>(GetApi().Graph_GetNumNodes, this->p_), GetApi().Graph_GetNodes, Handle());
  }
  // The node that has this graph as an attribute; empty for the graph of a model.
  ConstNode GetParentNode() const { return ConstNode{Fetch<const OrtNode*>(GetApi().Graph_GetParentNode, this->p_)}; }
  // Some nodes of this graph, which must outlive the result.
  Graph GetGraphView(const std::vector<ConstNode>& nodes) const;
  ModelMetadata GetModelMetadata() const;

 private:
  const OrtGraph* Handle() const { return this->p_; }
};

// Functions that take an object over leave it empty.
template <typename T>
struct GraphImpl : ConstGraphImpl<T> {
  using B = ConstGraphImpl<T>;
  using B::B;

#if !defined(ORT_MINIMAL_BUILD)
  void SetInputs(std::vector<ValueInfo>& inputs) {
    ThrowOnError(GetModelEditorApi().SetGraphInputs(this->p_, HandlesOf(inputs.data()), inputs.size()));
    for (ValueInfo& input : inputs) input.release();
  }
  void SetOutputs(std::vector<ValueInfo>& outputs) {
    ThrowOnError(GetModelEditorApi().SetGraphOutputs(this->p_, HandlesOf(outputs.data()), outputs.size()));
    for (ValueInfo& output : outputs) output.release();
  }
  // `data_is_external`: the memory of the value is the program's, and must outlive the session.
  void AddInitializer(const std::string& name, Value& initializer, bool data_is_external) {
    ThrowOnError(GetModelEditorApi().AddInitializerToGraph(this->p_, name.c_str(), initializer, data_is_external));
    initializer.release();
  }
  void AddNode(Node& node) {
    ThrowOnError(GetModelEditorApi().AddNodeToGraph(this->p_, node));
    node.release();
  }
#endif
};

}  // namespace detail

using ConstGraph = detail::ConstGraphImpl<detail::Unowned<const OrtGraph>>;

struct AttrNameSubgraph {
  std::string attr_name;
  ConstGraph sub_graph;
};

struct Graph : detail::GraphImpl<OrtGraph> {
  explicit Graph(std::nullptr_t) {}
  explicit Graph(OrtGraph* p) : GraphImpl<OrtGraph>(p) {}
#if !defined(ORT_MINIMAL_BUILD)
  Graph() { ThrowOnError(GetModelEditorApi().CreateGraph(&p_)); }
#endif
};

namespace detail {

template <typename T>
struct ModelImpl : Base<T> {
  using B = Base<T>;
  using B::B;
#if !defined(ORT_MINIMAL_BUILD)
  // Takes the graph over.
  void AddGraph(Graph& graph) {
    ThrowOnError(GetModelEditorApi().AddGraphToModel(this->p_, graph));
    graph.release();
  }
#endif
};

template <typename T>
ValueInfoConsumerProducerInfo ConstValueInfoImpl<T>::GetProducerNode() const {
  const OrtNode* node = nullptr;
  size_t index = 0;
  ThrowOnError(GetApi().ValueInfo_GetValueProducer(this->p_, &node, &index));
  return {ConstNode{node}, static_cast<int64_t>(index)};
}

template <typename T>
std::vector<ValueInfoConsumerProducerInfo> ConstValueInfoImpl<T>::GetConsumers() const {
  const auto count = Fetch<size_t>(GetApi().ValueInfo_GetValueNumConsumers, this->p_);
  std::vector<const OrtNode*> nodes(count);
  std::vector<int64_t> indices(count);
  if (count > 0) ThrowOnError(GetApi().ValueInfo_GetValueConsumers(this->p_, nodes.data(), indices.data(), count));
  std::vector<ValueInfoConsumerProducerInfo> consumers;
  for (size_t i = 0; i < count; ++i) consumers.push_back({ConstNode{nodes[i]}, indices[i]});
  return consumers;
}

template <typename T>
std::vector<AttrNameSubgraph> ConstNodeImpl<T>::GetSubgraphs() const {
  const auto count = Fetch<size_t>(GetApi().Node_GetNumSubgraphs, this->p_);
  std::vector<const OrtGraph*> graphs(count);
  std::vector<const char*> names(count);
  if (count > 0) ThrowOnError(GetApi().Node_GetSubgraphs(this->p_, graphs.data(), count, names.data()));
  std::vector<AttrNameSubgraph> subgraphs;
  for (size_t i = 0; i < count; ++i) subgraphs.push_back({names[i], ConstGraph{graphs[i]}});
  return subgraphs;
}

template <typename T>
ConstGraphImpl<Unowned<const OrtGraph>> ConstNodeImpl<T>::GetGraph() const {
  return ConstGraph{Fetch<const OrtGraph*>(GetApi().Node_GetGraph, this->p_)};
}

template <typename T>
Graph ConstGraphImpl<T>::GetGraphView(const std::vector<ConstNode>& nodes) const {
  std::vector<const OrtNode*> handles(nodes.begin(), nodes.end());
  return Graph{Fetch<OrtGraph*>(GetApi().Graph_GetGraphView, this->p_, handles.data(), handles.size())};
}

}  // namespace detail

using UnownedModel = detail::ModelImpl<detail::Unowned<OrtModel>>;

struct Model : detail::ModelImpl<OrtModel> {
  using DomainOpsetPair = std::pair<std::string, int>;

  explicit Model(std::nullptr_t) {}
  explicit Model(OrtModel* p) : ModelImpl<OrtModel>(p) {}
#if !defined(ORT_MINIMAL_BUILD)
  explicit Model(const std::vector<DomainOpsetPair>& opsets) {
    std::vector<const char*> domains;
    std::vector<int> versions;
    for (const auto& [domain, version] : opsets) {
      domains.push_back(domain.c_str());
      versions.push_back(version);
    }
    ThrowOnError(GetModelEditorApi().CreateModel(domains.data(), versions.data(), opsets.size(), &p_));
  }
#endif
};

}  // namespace Ort

// State that the parts of the writer share while one model is written.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/names.h"
#include "ort_generated.h"

namespace retort::ort_format {

template <typename T>
using At = flatbuffers::Offset<T>;
template <typename T>
using ListAt = At<flatbuffers::Vector<T>>;
template <typename T>
using TablesAt = ListAt<At<T>>;

/// The engine's blocks for flatbuffers: the system takes back 1 GiB of huge pages in 15 ms, of small ones in 120, and a
/// cancelled load has 50.
class Blocks final : public flatbuffers::Allocator {
 public:
  uint8_t* allocate(size_t bytes) override;
  void deallocate(uint8_t* block, size_t bytes) override;

 private:
  std::map<uint8_t*, std::shared_ptr<void>> blocks_;
};

/// The buffer of a model. flatbuffers fails at 2 GiB without a check, so room() is called before every list and text.
class Fill {
 public:
  explicit Fill(size_t expected) : builder(expected, new Blocks, true) {}

  flatbuffers::FlatBufferBuilder builder;

  /// Throws invalid_argument if `bytes` and a few tables do not fit.
  void room(size_t bytes) const;
  At<flatbuffers::String> text(std::string_view s);
  ListAt<uint32_t> texts(const std::vector<std::string>& all);
  template <typename T>
  ListAt<T> list(const std::vector<T>& all) {
    room(all.size() * sizeof(T));
    return builder.CreateVector(all);
  }
  /// Sets fields that the schema declares only for writing.
  template <typename T>
  ListAt<uint32_t> unread(const std::vector<At<T>>& all) {
    return ListAt<uint32_t>(list(all).o);
  }
  At<fbs::Tensor> tensor(const Tensor& t, std::string_view name);
  At<fbs::TypeInfo> type(const DimTable& dims, const ValueType& type);

 private:
  At<fbs::TensorType> tensor_type(const DimTable& dims, const ValueType& type);
};

/// Writes the graphs of one model, and collects the operators that they use.
class GraphWriter {
 public:
  GraphWriter(Fill& fill, const std::map<std::string, int>& opsets) : fill_(fill), opsets_(opsets) {}
  At<fbs::Graph> graph(const Graph& graph, const onnx::Names& names);
  At<fbs::KernelTypes> kernel_types();

 private:
  At<fbs::Node> node(const Graph& graph, const onnx::Names& names, const Node& n, uint32_t index,
                     const std::string& called);
  At<fbs::NodeEdges> edges(const Graph& graph, const Node& n, const std::vector<uint32_t>& places);
  TablesAt<fbs::Attribute> attributes(const Graph& graph, const onnx::Names& names, const Node& n);
  TablesAt<fbs::ValueInfo> values(const Graph& graph, const onnx::Names& names);
  TablesAt<fbs::Tensor> constants(const Graph& graph, const onnx::Names& names);

  Fill& fill_;
  const std::map<std::string, int>& opsets_;
  std::map<std::string, std::string> used_;  ///< "domain:operator:version", with types as in operator_facts.h
};

}  // namespace retort::ort_format

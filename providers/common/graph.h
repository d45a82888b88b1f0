// A graph of the host, copied once into plain structs, which a provider reads to claim and to compile nodes.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "api.h"

namespace providers {

using Dims = std::vector<int64_t>;

/// A tensor of the host, in the host's memory.
struct TensorView {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Dims dims;
  const void* data = nullptr;
  void* mutable_data = nullptr;
  size_t count() const;
  size_t bytes() const;
  /// The values of an int64 or int32 tensor; throws Error for other types.
  std::vector<int64_t> integers() const;
};
TensorView view_of(const OrtValue* value);
/// Bytes of one element; 0 for types without a fixed size.
size_t size_of(ONNXTensorElementDataType type);
const char* name_of(ONNXTensorElementDataType type);

struct Node;

/// A value of the graph. Unknown dimensions are -1.
struct Value {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool has_rank = false;
  Dims dims;
  const OrtValue* constant = nullptr;  ///< set if no run can change the value
  const Node* maker = nullptr;         ///< null: no node of this graph

  size_t rank() const { return dims.size(); }
  bool fixed() const;  ///< whether all dimensions are known
};

/// Attributes are read on demand; absent ones have the caller's default.
struct Node {
  const OrtNode* handle = nullptr;
  std::string name, type, domain;
  int since = 0;
  std::vector<const Value*> in, out;   ///< null: omitted
  std::vector<const Value*> implicit;  ///< values that the node's bodies read
  std::map<std::string, const OrtOpAttr*> attributes;
  /// An attribute of a node that no graph of the host has.
  using Given = std::variant<int64_t, float, std::string, Dims>;
  std::map<std::string, Given> given;

  bool has(const std::string& attribute) const { return attributes.count(attribute) + given.count(attribute) > 0; }
  const Value* input(size_t i) const { return i < in.size() ? in[i] : nullptr; }
  int64_t integer(const std::string& attribute, int64_t otherwise) const;
  float number(const std::string& attribute, float otherwise) const;
  std::string string(const std::string& attribute, const std::string& otherwise) const;
  Dims integers(const std::string& attribute, const Dims& otherwise = {}) const;
  /// Lists; empty if they are absent.
  std::vector<float> numbers(const std::string& attribute) const;
  std::vector<std::string> strings(const std::string& attribute) const;
  /// "node 'name' (Type)".
  std::string who() const { return "node '" + name + "' (" + type + ")"; }
  /// The inputs with types and shapes, for messages.
  std::string inputs_text() const;
};

/// Valid as long as the host's graph.
class Graph {
 public:
  explicit Graph(const OrtGraph* graph);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  const std::deque<Node>& nodes() const { return nodes_; }
  const std::vector<const Value*>& outputs() const { return outputs_; }

 private:
  Value* value(const OrtValueInfo* info);
  void read_node(const OrtNode* handle);

  std::deque<Value> values_;
  std::map<std::string, Value*> by_name_;
  std::deque<Node> nodes_;
  std::vector<const Value*> outputs_;
};

/// Names of a node's inputs or outputs, in order; "" for omitted ones.
std::vector<std::string> input_names(const OrtNode* node);
std::vector<std::string> output_names(const OrtNode* node);

}  // namespace providers

// The graph: values and nodes in two dense tables, addressed by typed ids that are never reused. In the model's own
// dialect, nodes have the form of the model file (domain, name, version, attributes); after the lift `op` is set as
// well (core dialect).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/attributes.h"
#include "tensor/dims.h"

namespace retort {

struct OpDef;
class Graph;

enum class NodeId : uint32_t { none = ~0u };
enum class ValueId : uint32_t { none = ~0u };  ///< none stands for an omitted optional input or output.

struct Use {
  NodeId node;
  uint32_t slot;
  bool operator==(const Use&) const = default;
};

struct GraphValue {
  std::string name;
  ValueType type;
  NodeId producer = NodeId::none;  ///< none for a graph input, capture or constant
  uint32_t producer_slot = 0;
  Tensor constant;         ///< set for initializers and folded values
  std::vector<Dim> known;  ///< content of a small integer tensor as far as it follows from shapes; see has_known
  bool has_known = false;
  std::vector<Use> uses;
  bool is_constant() const { return bool(constant); }
};

/// A graph attribute. Values captured from outside are explicit: they are the node's inputs after its own ones, and the
/// body's inputs after its formal ones. All bodies of a node share one list of captures.
struct Body {
  std::string attribute;  ///< "then_branch", "body", …
  std::shared_ptr<Graph> graph;
};

struct Node {
  NodeId id = NodeId::none;
  const OpDef* op = nullptr;           ///< core dialect only
  std::shared_ptr<const void> params;  ///< the op's parsed and checked attributes; core dialect only
  std::string domain, type, overload;  ///< "" stands for ai.onnx
  int version = 0;                     ///< opset version that the model imports for the domain
  Attributes attributes;
  std::vector<ValueId> inputs, outputs;
  uint32_t captures = 0;  ///< number of trailing inputs that are captures of the bodies
  std::vector<Body> bodies;
  std::string name;
  /// For nodes that the engine made, the labels (describe.h) of the model's nodes that they compute.
  std::vector<std::string> origins;
  uint32_t position = 0;  ///< position in the model's order; fused nodes inherit it
  bool dead = false;

  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : ValueId::none; }
  bool is(std::string_view wanted, std::string_view wanted_domain = "") const {
    return type == wanted && domain == wanted_domain;
  }
};

/// The description of a new node.
struct NodeSpec {
  std::string type;
  std::vector<ValueId> inputs;
  Attributes attributes = {};
  std::string domain = {};
  std::string name = {};
  size_t outputs = 1;
  int version = 0;
  uint32_t position = 0;  ///< 0: at the end
};

/// Edits keep uses and producers consistent. Not thread-safe; graphs that do not change may be read from many threads.
class Graph {
 public:
  explicit Graph(std::shared_ptr<DimTable> dims) : dims_(std::move(dims)) {}
  Graph(const Graph&) = delete;
  /// A deep copy with the same ids; constants share their memory.
  std::shared_ptr<Graph> clone() const;

  std::string name, doc;
  std::vector<ValueId> inputs, outputs;
  uint32_t captures = 0;               ///< number of trailing inputs that are captures (bodies only)
  std::map<ValueId, Tensor> defaults;  ///< values of inputs that the caller may omit (main graph only)

  DimTable& dims() const { return *dims_; }
  const std::shared_ptr<DimTable>& shared_dims() const { return dims_; }

  size_t value_count() const { return values_.size(); }
  size_t node_count() const { return nodes_.size(); }  ///< including dead ones
  const GraphValue& value(ValueId id) const { return values_[size_t(id)]; }
  GraphValue& value(ValueId id) { return values_[size_t(id)]; }
  const Node& node(NodeId id) const { return nodes_[size_t(id)]; }
  Node& node(NodeId id) { return nodes_[size_t(id)]; }
  /// Live nodes, every producer before its consumers. Recomputed after edits; throws invalid_graph on a cycle.
  std::span<const NodeId> order() const;

  ValueId add_value(std::string name, ValueType type = {});
  ValueId add_constant(std::string name, Tensor tensor);
  /// Adds `node` and sets its id; throws if an output already has a producer.
  NodeId add_node(Node node);
  /// Adds a node whose new outputs are named after it.
  NodeId add(NodeSpec spec);
  void set_input(NodeId node, size_t slot, ValueId value);
  /// Removes or appends trailing inputs.
  void resize_inputs(NodeId node, size_t count);
  /// Makes every use of `before`, including graph outputs, a use of `after`. A graph output keeps its name; if `after`
  /// cannot take that name (it is an input, a constant or another output), an Identity node is inserted.
  void replace_uses(ValueId before, ValueId after);
  /// Marks the node dead and detaches it. Its outputs must be unused.
  void remove(NodeId node);
  /// Detaches `value` from its producer and makes it a constant.
  void make_constant(ValueId value, Tensor tensor);

  bool is_output(ValueId value) const;
  bool is_input(ValueId value) const;
  /// Number of uses by live nodes plus appearances among the graph's outputs.
  size_t use_count(ValueId value) const;
  /// The producing node, or null for inputs and constants.
  const Node* producer(ValueId value) const;
  /// The constant tensor of `value`, or null.
  const Tensor* constant(ValueId value) const {
    return value != ValueId::none && this->value(value).is_constant() ? &this->value(value).constant : nullptr;
  }
  /// A new name that begins with `hint`.
  std::string unique_name(const std::string& hint);
  void touch() { order_stale_ = true; }

 private:
  void detach(NodeId node);
  void replace_output(ValueId before, ValueId after);

  std::shared_ptr<DimTable> dims_;
  std::vector<GraphValue> values_;
  std::vector<Node> nodes_;
  uint64_t next_name_ = 0;
  mutable std::vector<NodeId> order_;
  mutable bool order_stale_ = true;
};

/// Model-local function: a graph whose attributes may be AttributeRef.
struct Function {
  std::string domain, name, overload;
  std::vector<std::string> attributes;  ///< those without a default
  Attributes defaults;
  std::map<std::string, int> opsets;
  std::shared_ptr<Graph> body;
};

struct Model {
  static constexpr int64_t kNoVersion = INT64_MAX;  ///< as the C interface tells it

  int64_t ir_version = 0;
  std::map<std::string, int> opsets;  ///< domain → version; "" stands for ai.onnx
  std::string producer_name, producer_version, domain, doc;
  int64_t model_version = kNoVersion;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<Function> functions;
  /// The names ("DATA_BATCH") that the file gives to free extents.
  std::vector<std::pair<std::string, Dim>> denotations;
  std::shared_ptr<DimTable> dims = std::make_shared<DimTable>();
  std::shared_ptr<Graph> graph = std::make_shared<Graph>(dims);
  /// The names of all inputs that the file declares. Only for files older than IR version 4, which also declare
  /// constants as inputs; otherwise empty.
  std::vector<std::string> declared_inputs;
  std::string path;  ///< "" if the model was read from bytes
};

/// The graph as text, one node per line; the format of golden tests.
std::string print(const Graph& graph);
/// Throws Error(invalid_graph) naming what is inconsistent: uses, producers, cycles, captures, outputs. For development
/// builds.
void verify(const Graph& graph);
/// "node 'conv1' (Conv)"
std::string describe(const Node& node);

}  // namespace retort

// Reads one graph: names become values, and nodes find their inputs by name, wherever they are in the file. A name that
// is unknown in the graph is looked up in the graph around it and becomes a capture.
#pragma once
#include <unordered_map>
#include <vector>

#include "onnx/name_hash.h"
#include "onnx/read_context.h"

namespace retort::onnx {

/// Values of the outer graph that the bodies of one node use, in order of first use.
class Captures {
 public:
  uint32_t index_of(ValueId outer) {
    const auto [at, added] = index_.try_emplace(outer, uint32_t(outer_.size()));
    if (added) outer_.push_back(outer);
    return at->second;
  }
  const std::vector<ValueId>& outer() const { return outer_; }

 private:
  std::vector<ValueId> outer_;
  std::unordered_map<ValueId, uint32_t> index_;
};

/// One graph while it is read. Names are views of the file.
class Scope {
 public:
  enum class Kind : uint8_t { main, body, function };

  /// The model's graph, or the body of a function.
  Scope(ReadContext& c, Graph& graph, const Opsets& opsets, Kind kind)
      : c_(c), graph_(graph), opsets_(opsets), kind_(kind), references_(kind == Kind::function) {}
  /// A body of a node of `outer`.
  Scope(Scope& outer, Graph& graph, Captures& captures)
      : c_(outer.c_),
        graph_(graph),
        opsets_(outer.opsets_),
        kind_(Kind::body),
        references_(outer.references_),
        outer_(&outer),
        captures_(&captures) {}

  void read_graph(Message m);
  void read_function(Message m);
  /// Appends the captures of all bodies of the node to this body's inputs.
  void add_capture_inputs();

 private:
  struct Parts;
  Parts collect(Message m);
  ValueId add_value(std::string_view name, ValueType type = {});
  /// Makes a new value with this name; throws if there is one.
  ValueId declare(std::string_view name, const char* role);
  void read_input(Message m);
  void read_initializers(const Parts& p);
  void add_initializer(std::string_view name, Tensor tensor);
  void demote_inputs();
  void declare_outputs(Message node);
  void read_value_type(Message m);
  void read_nodes(const std::vector<Message>& nodes);
  void read_node(Message m, Node& n);
  void set_attributes(std::vector<ReadAttribute> all, Node& n);
  void read_bodies(const std::vector<ReadAttribute>& graphs, Node& n);
  void add_output(std::string_view name);
  ValueId resolve(std::string_view name, const char* role);
  /// Advice for a name that does not exist.
  std::string correction(std::string_view name) const;
  /// The value with this name, captured if it is from outside; none if there is no such value.
  ValueId find(std::string_view name);
  ValueId capture(std::string_view name, ValueId outer);
  int version_of(std::string_view domain) const;

  ReadContext& c_;
  Graph& graph_;
  const Opsets& opsets_;
  Kind kind_;
  bool references_;  ///< inside a function, where attributes may be references
  Scope* outer_ = nullptr;
  Captures* captures_ = nullptr;   ///< of the node that has this body
  size_t first_output_ = 0;        ///< values from this index on are outputs of nodes; in functions: all values
  std::vector<ValueId> captured_;  ///< this body's value for each of them; none if it does not use it
  NameMap<ValueId> names_;
  NameSet node_names_;
};

}  // namespace retort::onnx

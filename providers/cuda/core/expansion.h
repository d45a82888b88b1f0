// Nodes that together do what one node does. They exist in no graph of the host; a part has them instead of the node,
// so that they are fused with each other and with the nodes around them.
#pragma once
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "operators.h"

namespace providers::cuda {

class Expansion {
 public:
  explicit Expansion(const Node& of) : of_(of) {}
  Expansion(const Expansion&) = delete;
  Expansion& operator=(const Expansion&) = delete;

  using Given = std::vector<std::pair<std::string, Node::Given>>;
  /// What a node is: its type, its domain and the opset whose rules it follows.
  struct Form {
    std::string type;
    int since = 21;
    std::string domain = {};
  };

  const Node& of() const { return of_; }
  /// A value between nodes. Its shape is that of `like`, unless that is null.
  const Value* value(Type type, const Value* like = nullptr);
  /// Adds a node that makes a new value, of this type and of the shape of `like`.
  const Value* add(const Form& form, std::vector<const Value*> in, Type type, const Value* like = nullptr,
                   const Given& given = {});
  /// Adds a node that makes these values. Null: omitted.
  void make(const Form& form, std::vector<const Value*> in, std::vector<const Value*> out, const Given& given = {});

  const std::deque<Node>& nodes() const { return nodes_; }
  /// Why some node of them cannot be run; "" if all can.
  std::string refuses(const Claiming& claiming) const;

 private:
  bool has(const Value* value) const;

  const Node& of_;
  std::deque<Value> values_;
  std::deque<Node> nodes_;
};

/// An operator type whose nodes are expanded. `refuses` is asked first; then all nodes of the expansion are. A node
/// whose expansion has none is made by Kind::make.
Kind expanded(std::function<std::string(const Node&)> refuses, void (*expand)(Expansion&));

}  // namespace providers::cuda

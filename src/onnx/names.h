// Names of the values of a graph in the file to be written. Each value gets a name that no other value of the graph
// has, and that no value of a surrounding graph has unless it is a formal input: some operators find the inputs of
// their graphs by name. In the ir, values may share names or have none.
#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "onnx/name_hash.h"

namespace retort::onnx {

class Names {
 public:
  /// `captured` has the names of the graph's trailing inputs in the surrounding graph, whose names are `outer`.
  Names(const Graph& graph, const Names* outer, const std::vector<std::string>& captured);
  /// "" for ValueId::none.
  const std::string& of(ValueId id) const { return id == ValueId::none ? none_ : names_[size_t(id)]; }

 private:
  bool taken(const std::string& name) const { return own_.contains(name) || (outer_ && outer_->taken(name)); }
  void choose(const Graph& graph, ValueId id);

  const Names* outer_;
  std::vector<std::string> names_;
  std::unordered_set<std::string, NameHash> own_;
  size_t next_ = 0;
  std::string none_;
};

}  // namespace retort::onnx

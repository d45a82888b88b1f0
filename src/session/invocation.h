// Runs one operator of the engine on given values, without a model, for custom operators that call InvokeOp.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/run_context.h"

namespace retort {

/// Thread-safe. The first call with each combination of input types resolves the version and the attributes.
class Invocation {
 public:
  Invocation(std::string domain, std::string type, int version, Attributes attributes, size_t inputs, size_t outputs);

  /// Returns the outputs. A null input is an omitted one. Throws what the operator throws, with its name.
  std::vector<Value> run(std::span<const Value* const> inputs, const Parallel& parallel) const;
  size_t inputs() const { return inputs_; }
  size_t outputs() const { return outputs_; }
  std::string name() const { return domain_.empty() ? type_ : domain_ + "." + type_; }

 private:
  std::shared_ptr<const Graph> graph_for(std::span<const Value* const> inputs) const;
  std::shared_ptr<const Graph> make_graph(std::span<const Value* const> inputs) const;

  const std::string domain_, type_;
  const int version_;
  const Attributes attributes_;
  const size_t inputs_, outputs_;
  mutable std::mutex mutex_;                                            ///< guards graphs_
  mutable std::map<std::string, std::shared_ptr<const Graph>> graphs_;  ///< by the types of the inputs
};

}  // namespace retort

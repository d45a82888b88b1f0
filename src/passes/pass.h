// What passes and rules are, and what they see.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "ir/patch.h"
#include "ops/op.h"
#include "passes/optimize.h"

namespace retort {

/// What a pass sees besides the graph, and where it counts what it did.
class PassContext {
 public:
  explicit PassContext(const PassOptions& options) : options_(options) {}
  const PassOptions& options() const { return options_; }
  bool enabled(std::string_view name) const;
  /// A pass counts all that it changes: types are inferred again only after changes.
  void count(std::string_view what, size_t times = 1) {
    if (times != 0) counts_[std::string(what)] += times;
  }
  /// Something was counted since take_counts().
  bool changed() const { return !counts_.empty(); }
  /// What was counted since the last call.
  std::map<std::string, size_t> take_counts() { return std::exchange(counts_, {}); }

 private:
  const PassOptions& options_;
  std::map<std::string, size_t> counts_;
};

/// A rewrite of a whole graph. `run` leaves the graph consistent; nodes that it adds in topological order are resolved
/// and inferred by the pipeline.
struct Pass {
  std::string_view name;
  int level;  ///< lowest optimisation level that runs it
  void (*run)(Graph& graph, PassContext& context);
};

/// A local rewrite around a node of type `root` in `domain`. `match` builds a patch or says that the rule does not
/// apply; it never changes the graph.
struct Rule {
  std::string_view name;
  std::string_view root;
  std::optional<Patch> (*match)(const Graph& graph, const Node& node);
  std::string_view domain = "";
};

/// Applies the rules until none matches any more, bounded by a multiple of the graph's size. After each patch the new
/// nodes are resolved and inferred, and what became dead around them is removed.
void rewrite(Graph& graph, std::span<const Rule* const> rules, PassContext& context);

/// Resolves and infers the nodes that were added since the graph had `first` nodes (dead ones counted), in that order.
void resolve_new_nodes(Graph& graph, size_t first);

/// Removes `node` when all its outputs are unused, and then its producers where they became dead.
void remove_dead(Graph& graph, NodeId node);

}  // namespace retort

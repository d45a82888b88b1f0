// What passes and rules are, and what they see.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

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

/// Stages that apply rules; optimize.cc has their order and what each does.
enum class RuleStage : uint8_t {
  none,
  cleanup,
  idioms,
  conv_affine,
  affine,
  linear,
  sink_transposes,
  attention,
  channel_multiplier,
  epilogues,
  skip_norms,
};

/// A local rewrite around a node of type `root` in `domain`. `match` builds a patch or says that the rule does not
/// apply; it never changes the graph.
///
/// Rules of one root compete: the first that matches a node changes it. A rule stands behind those of its stage that
/// `after` names, and else where its file stands in the alphabet.
struct Rule {
  std::string_view name;
  std::string_view root;
  std::optional<Patch> (*match)(const Graph& graph, const Node& node);
  std::array<RuleStage, 2> stages{};  ///< those that apply it; one stage may run several times
  std::array<std::string_view, 2> after{};
  std::string_view domain = "";
};

/// What a file of rules/ exports, as rules_<file name>: the build finds it by that name.
struct Rules {
  std::span<const Rule> list;
};

/// All files of rules/, in the order of their names.
std::span<const Rules* const> rule_files();
/// All rules, file by file.
std::vector<const Rule*> all_rules();
/// The rules of a stage in their order. Throws when their `after` go round in a circle. Thread-safe.
std::span<const Rule* const> rules_of(RuleStage stage);
/// Sorts rules of one stage by their `after`; rules that it does not decide stay in the order given.
std::vector<const Rule*> in_order(std::span<const Rule* const> rules);

/// Applies the rules until none matches any more, bounded by a multiple of the graph's size. After each patch the new
/// nodes are resolved and inferred, and what became dead around them is removed.
void rewrite(Graph& graph, std::span<const Rule* const> rules, PassContext& context);

/// Resolves and infers the nodes that were added since the graph had `first` nodes (dead ones counted), in that order.
void resolve_new_nodes(Graph& graph, size_t first);

/// Removes `node` when all its outputs are unused, and then its producers where they became dead.
void remove_dead(Graph& graph, NodeId node);

}  // namespace retort

// Passes and rules, and the context that they get.
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

/// What a pass can use besides the graph. It also counts the changes of the pass.
class PassContext {
 public:
  explicit PassContext(const PassOptions& options) : options_(options) {}
  const PassOptions& options() const { return options_; }
  bool enabled(std::string_view name) const;
  /// A pass must count all its changes: types are inferred again only after changes.
  void count(std::string_view what, size_t times = 1) {
    if (times != 0) counts_[std::string(what)] += times;
  }
  /// Whether anything has been counted since take_counts().
  bool changed() const { return !counts_.empty(); }
  /// The same of anything but `what`.
  bool changed_more_than(std::string_view what) const {
    return counts_.size() > 1 || (changed() && counts_.begin()->first != what);
  }
  /// Returns what was counted since the last call.
  std::map<std::string, size_t> take_counts() { return std::exchange(counts_, {}); }

 private:
  const PassOptions& options_;
  std::map<std::string, size_t> counts_;
};

/// A rewrite of a whole graph. `run` leaves the graph consistent. It may add nodes in topological order; the pipeline
/// resolves and infers them.
struct Pass {
  std::string_view name;
  int level;  ///< the lowest optimisation level that runs it
  void (*run)(Graph& graph, PassContext& context);
};

/// The stages that apply rules. optimize.cc has their order and says what each does.
enum class RuleStage : uint8_t {
  none,
  rounded_products,
  quantized,
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

/// A local rewrite around a node of type `root` in `domain`. `match` returns a patch, or nullopt if the rule does not
/// apply; it never changes the graph.
///
/// Rules of one root compete: the first that matches a node changes it. A rule comes after those of its stage that
/// `after` names, and otherwise in alphabetical order of the file names.
struct Rule {
  std::string_view name;
  std::string_view root;
  std::optional<Patch> (*match)(const Graph& graph, const Node& node);
  std::array<RuleStage, 2> stages{};  ///< those that apply it; one stage may run several times
  std::array<std::string_view, 2> after{};
  std::string_view domain = "";
};

/// The rules that a file of rules/ exports as rules_<file name>; the build finds them by that name.
struct Rules {
  std::span<const Rule> list;
};

/// All files of rules/, in the order of their names.
std::span<const Rules* const> rule_files();
/// All rules, file by file.
std::vector<const Rule*> all_rules();
/// The rules of a stage in their order. Throws if their `after` form a cycle. Thread-safe.
std::span<const Rule* const> rules_of(RuleStage stage);
/// Sorts rules of one stage by their `after`; rules that it does not order keep the order given.
std::vector<const Rule*> in_order(std::span<const Rule* const> rules);

/// Applies the rules until none matches any more; the number of patches is limited by a multiple of the graph's size.
/// After each patch the new nodes are resolved and inferred, and nodes that became dead around them are removed.
void rewrite(Graph& graph, std::span<const Rule* const> rules, PassContext& context);

/// Resolves and infers the nodes that were added since the graph had `first` nodes (including dead ones), in that
/// order.
void resolve_new_nodes(Graph& graph, size_t first);

/// Removes `node` if all its outputs are unused, and then each producer that became dead.
void remove_dead(Graph& graph, NodeId node);

}  // namespace retort

#include "passes/optimize.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/advice.h"
#include "base/loading.h"
#include "passes/passes.h"

namespace retort {
namespace {

/// A pass over the graph, or a set of rules applied until none matches.
struct Stage {
  std::string_view name;
  int level;
  const Pass* pass = nullptr;
  RuleStage rules = RuleStage::none;
  bool portable = true;  ///< whether it makes only ONNX operators, so that it may run before a model is saved
};
constexpr bool kOurs = false;

constexpr Stage kStages[] = {
    {"carried_invariants", 1, &pass_carried_invariants},
    {"sink_constants", 1, &pass_sink_constants},
    // A saved model keeps its types. Without any other pass, too: ONNX Runtime has no arithmetic in 16 bits on the CPU.
    {"widen_half", 0, &pass_widen_half, RuleStage::none, kOurs},
    // Only if PassOptions::round_products asks for it.
    {"rounded_products", 2, nullptr, RuleStage::rounded_products, kOurs},
    // Before constant weights are folded: DequantizeLinear would make floats of them.
    {"quantized", 2, nullptr, RuleStage::quantized, kOurs},
    {"constant_folding", 1, &pass_constant_folding},
    {"known_branches", 1, &pass_known_branches},
    {"known_values", 1, &pass_known_values},
    {"cleanup", 1, nullptr, RuleStage::cleanup},
    // Folding and cleanup have made constants of more captures.
    {"sink_constants", 1, &pass_sink_constants},
    {"constant_folding", 1, &pass_constant_folding},
    {"common_subexpressions", 1, &pass_common_subexpressions},
    {"unused_outputs", 1, &pass_unused_outputs},
    {"dead_code", 1, &pass_dead_code},
    {"idioms", 2, nullptr, RuleStage::idioms},
    {"conv_affine", 2, nullptr, RuleStage::conv_affine},
    {"affine", 2, nullptr, RuleStage::affine},
    {"linear", 2, nullptr, RuleStage::linear, kOurs},
    {"sink_transposes", 2, nullptr, RuleStage::sink_transposes},
    {"attention", 2, nullptr, RuleStage::attention, kOurs},
    {"sink_transposes", 2, nullptr, RuleStage::sink_transposes},
    {"layout", 3, &pass_layout, RuleStage::none, kOurs},
    {"cleanup", 1, nullptr, RuleStage::cleanup},
    {"channel_multiplier", 3, nullptr, RuleStage::channel_multiplier, kOurs},
    {"epilogues", 2, nullptr, RuleStage::epilogues, kOurs},
    {"skip_norms", 2, nullptr, RuleStage::skip_norms, kOurs},
    {"constant_folding", 1, &pass_constant_folding},
    {"common_subexpressions", 1, &pass_common_subexpressions},
    {"unused_outputs", 1, &pass_unused_outputs},
    {"dead_code", 1, &pass_dead_code},
};

class Pipeline {
 public:
  explicit Pipeline(const PassOptions& options) : options_(options), context_(options) {}

  void run(Graph& graph) {
    for (const Stage& stage : kStages) {
      const bool asked = stage.rules != RuleStage::rounded_products || options_.round_products;
      const bool wanted = asked && stage.level <= options_.level && (stage.portable || !options_.portable);
      if (wanted && context_.enabled(stage.name)) run(stage, graph);
    }
  }

 private:
  void run(const Stage& stage, Graph& graph) {
    check_loading(options_.parallel);
    const auto start = std::chrono::steady_clock::now();
    const size_t before = options_.report ? graph.order().size() : 0;
    try {
      each_graph(stage, graph);
    } catch (Error& e) {
      e.add_context(cat("pass {}", stage.name));
      throw;
    }
    std::map<std::string, size_t> counts = context_.take_counts();
    if (!options_.report) return;
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    options_.report({stage.name, time.count(), before, graph.order().size(), std::move(counts)});
  }

  // Bodies are optimised first, so that the outer graph can use the results.
  void each_graph(const Stage& stage, Graph& graph) {
    for (NodeId id : graph.order()) {
      for (Body& b : graph.node(id).bodies) each_graph(stage, *b.graph);
    }
    const size_t before = graph.node_count();
#ifdef RETORT_VERIFY
    const std::string text = print(graph);
#endif
    if (stage.pass) {
      stage.pass->run(graph, context_);
    } else {
      rewrite(graph, rules_of(stage.rules), context_);
    }
    resolve_new_nodes(graph, before);
    if (changes_types(stage)) infer_types(graph);
#ifdef RETORT_VERIFY
    verify(graph);
    require(context_.changed() || print(graph) == text, ErrorCode::fail, "a change was not counted");
#endif
  }

  // Whether a value may have got another type. Nothing that is dropped matters, nor which of two equal constants is
  // read.
  bool changes_types(const Stage& stage) const {
    if (stage.pass == &pass_dead_code || stage.pass == &pass_unused_outputs) return false;
    return stage.pass == &pass_common_subexpressions ? context_.changed_more_than("constant") : context_.changed();
  }

  const PassOptions& options_;
  PassContext context_;
};

}  // namespace

std::string PassReport::text() const {
  std::string line = cat("{} ({:.2f} ms)", name, milliseconds);
  const char* between = ": ";
  for (const auto& [what, times] : counts) line += cat("{}{} x{}", std::exchange(between, ", "), what, times);
  return line;
}

size_t PassReport::changes() const {
  size_t sum = 0;
  for (const auto& [what, times] : counts) sum += times;
  return sum;
}

void optimize(Graph& graph, const PassOptions& options) {
  infer_types(graph);
  Pipeline(options).run(graph);
}

std::string unknown_pass(std::string_view name) {
  std::vector<std::string_view> names;
  std::set<std::string_view> passes;
  for (const Stage& stage : kStages) {
    passes.insert(stage.name);
    names.push_back(stage.name);
    for (const Rule* rule : rules_of(stage.rules)) names.push_back(rule->name);
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return "";
  std::string known;
  for (const std::string_view pass : passes) known += cat("{}{}", known.empty() ? "" : ", ", pass);
  const std::string_view near = nearest(name, names);
  return cat("there is no pass or rule '{}'; {}", name,
             near.empty() ? "the passes are " + known : cat("use '{}'", near));
}

std::vector<std::vector<std::string>> pass_stages() {
  std::vector<std::vector<std::string>> stages;
  for (const Stage& stage : kStages) {
    stages.push_back({std::string(stage.name)});
    for (const Rule* rule : rules_of(stage.rules)) stages.back().emplace_back(rule->name);
  }
  return stages;
}

}  // namespace retort

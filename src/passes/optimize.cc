#include "passes/optimize.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/advice.h"
#include "passes/passes.h"
#include "passes/rules/rules.h"

namespace retort {
namespace {

/// A pass over the graph, or a set of rules applied until none matches.
struct Stage {
  std::string_view name;
  int level;
  const Pass* pass = nullptr;
  std::span<const Rule* const> rules = {};
  bool portable = true;  ///< whether it makes only ONNX operators, so that it may run before a model is saved
};
constexpr bool kOurs = false;

constexpr const Rule* kCleanup[] = {
    &rule_identity,       &rule_noop_cast,    &rule_cast_chain,      &rule_constant_reshape,
    &rule_reshape_chain,  &rule_noop_reshape, &rule_transpose_chain, &rule_noop_transpose,
    &rule_transpose_unit, &rule_noop_expand,  &rule_noop_concat,     &rule_noop_slice,
    &rule_neutral_add,    &rule_neutral_sub,  &rule_neutral_mul,     &rule_neutral_div,
};
constexpr const Rule* kIdioms[] = {
    &rule_gelu,
    &rule_silu,
    &rule_hard_swish,
    &rule_hard_swish_inner,
    &rule_hard_swish_outer_mul,
    &rule_hard_swish_outer,
    &rule_layer_norm,
    &rule_layer_norm_gamma,
    &rule_layer_norm_beta,
    &rule_rms_norm_div,
    &rule_rms_norm_mul,
    &rule_rms_norm_gamma,
    &rule_global_pool,
    &rule_pad_conv,
};
constexpr const Rule* kConvAffine[] = {
    &rule_conv_batch_norm, &rule_conv_add, &rule_conv_sub, &rule_conv_mul, &rule_conv_div,
};
constexpr const Rule* kAffine[] = {&rule_batch_norm_affine};
constexpr const Rule* kLinear[] = {
    &rule_linear_from_matmul,
    &rule_linear_from_gemm,
    &rule_linear_bias,
    &rule_linear_scale,
};
constexpr const Rule* kSink[] = {
    &rule_sink_transpose_linear, &rule_sink_transpose_reshape, &rule_unfold_linear,  &rule_reshape_chain,
    &rule_noop_reshape,          &rule_transpose_chain,        &rule_noop_transpose,
};
constexpr const Rule* kAttention[] = {&rule_attention};
constexpr const Rule* kEpilogues[] = {
    &rule_linear_bias,           &rule_linear_scale,        &rule_epilogue_residual, &rule_epilogue_relu,
    &rule_epilogue_sigmoid,      &rule_epilogue_tanh,       &rule_epilogue_clip,     &rule_epilogue_leaky_relu,
    &rule_epilogue_hard_sigmoid, &rule_epilogue_hard_swish, &rule_epilogue_gelu,     &rule_epilogue_swish,
};
constexpr const Rule* kMultiplier[] = {&rule_channel_multiplier};
constexpr const Rule* kSkipNorms[] = {&rule_skip_layer_norm, &rule_skip_rms_norm};

constexpr Stage kStages[] = {
    {"sink_constants", 1, &pass_sink_constants},
    {"widen_half", 1, &pass_widen_half, {}, kOurs},  // a saved model keeps its types
    {"constant_folding", 1, &pass_constant_folding},
    {"known_values", 1, &pass_known_values},
    {"cleanup", 1, nullptr, kCleanup},
    {"constant_folding", 1, &pass_constant_folding},
    {"common_subexpressions", 1, &pass_common_subexpressions},
    {"unused_outputs", 1, &pass_unused_outputs},
    {"dead_code", 1, &pass_dead_code},
    {"idioms", 2, nullptr, kIdioms},
    {"conv_affine", 2, nullptr, kConvAffine},
    {"affine", 2, nullptr, kAffine},
    {"linear", 2, nullptr, kLinear, kOurs},
    {"sink_transposes", 2, nullptr, kSink},
    {"attention", 2, nullptr, kAttention, kOurs},
    {"sink_transposes", 2, nullptr, kSink},
    {"layout", 3, &pass_layout, {}, kOurs},
    {"cleanup", 1, nullptr, kCleanup},
    {"channel_multiplier", 3, nullptr, kMultiplier, kOurs},
    {"epilogues", 2, nullptr, kEpilogues},
    {"skip_norms", 2, nullptr, kSkipNorms, kOurs},
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
      const bool wanted = stage.level <= options_.level && (stage.portable || !options_.portable);
      if (wanted && context_.enabled(stage.name)) run(stage, graph);
    }
  }

 private:
  void run(const Stage& stage, Graph& graph) {
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
      rewrite(graph, stage.rules, context_);
    }
    resolve_new_nodes(graph, before);
    if (context_.changed()) infer_types(graph);
#ifdef RETORT_VERIFY
    verify(graph);
    require(context_.changed() || print(graph) == text, ErrorCode::fail, "a change was not counted");
#endif
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
  if (options.level == 0) return;
  infer_types(graph);
  Pipeline(options).run(graph);
}

std::string unknown_pass(std::string_view name) {
  std::vector<std::string_view> names;
  std::set<std::string_view> passes;
  for (const Stage& stage : kStages) {
    passes.insert(stage.name);
    names.push_back(stage.name);
    for (const Rule* rule : stage.rules) names.push_back(rule->name);
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
    for (const Rule* rule : stage.rules) stages.back().emplace_back(rule->name);
  }
  return stages;
}

}  // namespace retort

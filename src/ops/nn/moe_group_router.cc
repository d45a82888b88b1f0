// com.microsoft.MoEGroupRouter: selects experts for a mixture of experts. The score of an expert is the sigmoid of its
// logit; logits are an input, or are computed from activations by a projection. For each token, the operator selects
// the topk_group groups of experts whose group_topk best scores (with a bias) have the largest sum, and among these the
// top_k best experts. The output has the logarithms of their scores, and a sentinel for all others. Alternatively, it
// returns all scores, with and without the bias.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kernels/elementwise/chunks.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct MoEGroupRouter {
  int64_t group_topk = 2, n_group = 1, top_k = 0, topk_group = 1;
  float sentinel = -10000;
  static constexpr std::tuple attributes{
      attr("group_topk", &MoEGroupRouter::group_topk), attr("n_group", &MoEGroupRouter::n_group),
      attr("router_sentinel", &MoEGroupRouter::sentinel), required("top_k", &MoEGroupRouter::top_k),
      attr("topk_group", &MoEGroupRouter::topk_group)};
  enum Input : size_t { kLogits, kBias, kProjection };
  enum Output : size_t { kLogScores, kBiased, kScores };

  void check() const {
    require(group_topk > 0 && n_group > 0 && top_k > 0 && topk_group > 0, ErrorCode::invalid_argument,
            "group_topk is {}, n_group {}, top_k {}, topk_group {}; all must be positive", group_topk, n_group, top_k,
            topk_group);
    require(topk_group <= n_group, ErrorCode::invalid_argument, "topk_group is {}, there are {} groups", topk_group,
            n_group);
  }

  void infer(InferContext& c) const {
    c.set(kLogScores, c.dtype(kLogits));
    c.set(kBiased, DType::f32);
    c.set(kScores, DType::f32);
    const bool full = c.wants(kBiased) || c.wants(kScores);
    require(!full || (n_group == 1 && topk_group == 1), ErrorCode::invalid_argument,
            "selection_scores and router_weights require one group, but n_group is {}", n_group);
    require(full || !c.has(kProjection), ErrorCode::invalid_argument,
            "projection_weight requires the output selection_scores or router_weights, which are missing");
    const Shape& x = c.shape(kLogits);
    require(x.rank() >= 1, ErrorCode::invalid_argument, "logits have shape {}, expected at least one axis",
            c.dims().text(x));
    Dim tokens = 1;
    for (size_t d = 0; d + 1 < x.rank(); ++d) tokens = c.dims().mul(tokens, x[d]);
    const Shape y{tokens, c.has(kProjection) ? projected(c, x) : x.back()};
    require(c.rank(kBias) == 1 && may_equal(c.shape(kBias)[0], y[1]), ErrorCode::invalid_argument,
            "expert_bias has shape {}, expected [{}]", c.dims().text(c.shape(kBias)), c.dims().text(y[1]));
    require(!is_known(y[1]) || (y[1] % n_group == 0 && top_k <= y[1]), ErrorCode::invalid_argument,
            "there are {} experts; expected a multiple of n_group, {}, and at least top_k, {}", c.dims().text(y[1]),
            n_group, top_k);
    c.set(kLogScores, c.dtype(kLogits), y);
    c.set(kBiased, DType::f32, y);
    c.set(kScores, DType::f32, y);
  }
  static Dim projected(const InferContext& c, const Shape& x) {
    const Shape& w = c.shape(kProjection);
    require(x.rank() == 2 && w.rank() == 2 && may_equal(x[1], w[1]), ErrorCode::invalid_argument,
            "projection_weight has shape {}, expected [experts, width] for activations of shape {}", c.dims().text(w),
            c.dims().text(x));
    return w[0];
  }
  // The sigmoid, and the projection if there is one.
  Cost cost(const CostContext& c) const {
    const double width = c.has(kProjection) ? c.extent(kProjection, 1) : 0;
    return {.multiply_adds = c.out_count() * width, .operations = c.out_count()};
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Shape& x = c.shape(kLogits);
    const size_t experts = c.count(kBias);
    const auto tokens = size_t(extent_product(x, 0, x.rank() - 1));
    kernels::for_chunks(
        c.parallel(), tokens,
        [&](size_t begin, size_t end) {
          Token t(experts, size_t(n_group));
          for (size_t i = begin; i < end; ++i) route(c, i, t);
        },
        std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, experts)));
  }

 private:
  // Scores of a token: per expert, and per group.
  struct Token {
    std::vector<float> scores, biased, sums, sorted;
    std::vector<size_t> order, groups;
    Token(size_t experts, size_t count)
        : scores(experts), biased(experts), sums(count), sorted(experts / count), order(experts), groups(count) {}
  };

  void route(RunContext& c, size_t token, Token& t) const {
    const size_t experts = t.scores.size();
    for (size_t e = 0; e < experts; ++e) {
      t.scores[e] = 1 / (1 + std::exp(-logit(c, token, e)));
      t.biased[e] = t.scores[e] + static_cast<const float*>(c.data(kBias))[e];
    }
    if (c.wants(kBiased))
      std::copy(t.biased.begin(), t.biased.end(), c.output<float>(kBiased).data() + token * experts);
    if (c.wants(kScores))
      std::copy(t.scores.begin(), t.scores.end(), c.output<float>(kScores).data() + token * experts);
    if (!c.wants(kLogScores)) return;
    float* y = c.output<float>(kLogScores).data() + token * experts;
    std::fill_n(y, experts, sentinel);
    const size_t found = candidates(t);
    const auto best = [&](size_t a, size_t b) { return t.biased[a] > t.biased[b]; };
    std::stable_sort(t.order.begin(), t.order.begin() + ptrdiff_t(found), best);
    for (size_t i = 0; i < std::min(size_t(top_k), found); ++i)
      y[t.order[i]] = std::log(std::max(t.scores[t.order[i]], 1e-20f));
  }
  static float logit(const RunContext& c, size_t token, size_t expert) {
    if (!c.has(kProjection)) return c.input<float>(kLogits)[token * c.count(kBias) + expert];
    const auto width = size_t(c.shape(kProjection)[1]);
    const float *x = c.input<float>(kLogits).data() + token * width,
                *w = c.input<float>(kProjection).data() + expert * width;
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += double(x[i]) * double(w[i]);
    return float(sum);
  }
  // Stores the experts of the best groups in t.order, and returns their number.
  size_t candidates(Token& t) const {
    const size_t size = t.sorted.size(), counted = std::min(size_t(group_topk), size);
    for (size_t g = 0; g < t.groups.size(); ++g) {
      std::copy_n(t.biased.data() + g * size, size, t.sorted.data());
      std::partial_sort(t.sorted.begin(), t.sorted.begin() + ptrdiff_t(counted), t.sorted.end(), std::greater<>());
      t.sums[g] = 0;
      for (size_t i = 0; i < counted; ++i) t.sums[g] += t.sorted[i];
      t.groups[g] = g;
    }
    std::stable_sort(t.groups.begin(), t.groups.end(), [&](size_t a, size_t b) { return t.sums[a] > t.sums[b]; });
    std::sort(t.groups.begin(), t.groups.begin() + ptrdiff_t(topk_group));
    size_t found = 0;
    for (size_t g = 0; g < size_t(topk_group); ++g)
      for (size_t i = 0; i < size; ++i) t.order[found++] = t.groups[g] * size + i;
    return found;
  }
};

}  // namespace

extern const OpDef op_moe_group_router;
constinit const OpDef op_moe_group_router = define<MoEGroupRouter>({
    .name = "MoEGroupRouter",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"logits: T", "expert_bias: float", "projection_weight: T?"},
    .outputs = {"router_probs: T?", "selection_scores: float?", "router_weights: float?"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .traits = kCountsOutputs,
});

}  // namespace retort::ops

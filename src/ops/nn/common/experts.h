// Mixtures of experts. Each expert is a small network of two or three matrices. Every token is computed by the k
// experts with the best router scores, and the results are added, weighted by the probabilities of these experts.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "ops/op.h"
#include "ops/quant/common/float_scratch.h"

namespace retort::ops {

struct ExpertAttributes {
  int64_t k = 1, fusion = 0;
  bool normalize = false, sparse_mixer = false, limit_after = false;
  float alpha = 1, beta = 0;
  std::optional<float> limit;
  std::string activation = "relu";
  static constexpr std::tuple expert_attributes{attr("activation_alpha", &ExpertAttributes::alpha),
                                                attr("activation_beta", &ExpertAttributes::beta),
                                                attr("activation_type", &ExpertAttributes::activation),
                                                attr("k", &ExpertAttributes::k),
                                                attr("normalize_routing_weights", &ExpertAttributes::normalize),
                                                attr("swiglu_fusion", &ExpertAttributes::fusion),
                                                attr("swiglu_limit", &ExpertAttributes::limit),
                                                attr("swiglu_limit_after_activation", &ExpertAttributes::limit_after),
                                                attr("use_sparse_mixer", &ExpertAttributes::sparse_mixer)};
  void check() const;
  /// Whether the activation has a second operand, which the first or the third layer computes.
  bool gated() const { return activation == "swiglu" || activation == "geglu"; }
  /// Number of rows of the first layer for each element of the input of the second layer.
  int64_t fused() const { return gated() && fusion != 0 ? 2 : 1; }
};

/// The tokens that one expert computes: y[tokens, rows] = x[tokens, columns] · W' + bias.
struct ExpertProduct {
  size_t expert, tokens;
  const float *x, *bias;  ///< bias: [rows] or null
  float* y;
};
/// The matrices of a layer, packed one by one, so that a run reads only those of the chosen experts.
class PackedLayer {
 public:
  virtual ~PackedLayer() = default;
  /// Bytes of scratch for a product with up to `tokens` rows.
  virtual size_t scratch(size_t tokens, int workers) const = 0;
  /// `scratch` is 64-byte aligned.
  virtual void multiply(const ExpertProduct& product, void* scratch, const Parallel& parallel) const = 0;
};
/// The first, the second and the third layer; the third may be null.
struct PackedExperts : State {
  std::array<std::unique_ptr<PackedLayer>, 3> layers;
};

/// One matrix of every expert: y[rows] = W[rows, columns] · x + bias.
struct ExpertLayer {
  size_t rows, columns;
  FunctionRef<void(size_t expert, size_t row, float* to)> decode;  ///< writes a row of W; called by many threads
  const float* bias;                                               ///< [experts, rows] or null
  const PackedLayer* packed = nullptr;                             ///< used in place of `decode`
};

struct ExpertMixture {
  size_t tokens, hidden, inner, experts;
  const float *x, *scores;  ///< [tokens, hidden]; [tokens, experts], the router scores
  const float* weights;     ///< [tokens, experts], used instead of the probabilities; or null
  bool among_chosen;        ///< probabilities are normalised over the chosen experts
  ExpertLayer first, second;
  const ExpertLayer* third;  ///< the linear operand of a gated activation that is not fused, or null
  float* y;                  ///< [tokens, hidden]
};
/// Bytes of scratch.
size_t mixture_scratch(const ExpertAttributes& op, const ExpertMixture& mixture, int workers);
/// `scratch` is 64-byte aligned.
void mix_experts(const ExpertAttributes& op, const ExpertMixture& mixture, void* scratch, const Parallel& parallel);

/// Infers output 0, which is like input 0, the tokens. Throws invalid_argument if input 1, their scores, does not
/// match, or if input `third`, the weights of the third layer, is given or missing against the attributes.
void infer_experts(InferContext& c, const ExpertAttributes& op, size_t third);
/// The products of the k experts of each token; `weights` is the number of all weights of all experts.
Cost expert_cost(const CostContext& c, const ExpertAttributes& op, double weights);

/// The sizes of a call.
struct ExpertShape {
  size_t tokens, hidden, inner, experts;
};

/// The sizes, from the input, its scores, and the number of elements in a row of the second layer.
ExpertShape expert_shape(const RunContext& c, size_t inner);

/// The tensors of a call, as floats. `Rows` are the weights of a layer: operator()(expert, row, to) writes a row.
template <typename Rows>
struct ExpertCall {
  ScratchParts parts;
  ExpertShape s;
  Rows first, second, third;
  const PackedExperts* packed = nullptr;
  bool among_chosen = false;
  const float *x = nullptr, *scores = nullptr, *weights = nullptr, *first_bias = nullptr, *second_bias = nullptr,
              *third_bias = nullptr;
  float* y = nullptr;

  /// Calls f(mixture).
  template <typename F>
  void with_mixture(const ExpertAttributes& op, bool has_third, const F& f) const {
    const auto layer = [&](size_t i) { return packed ? packed->layers[i].get() : nullptr; };
    const ExpertLayer linear{s.inner, s.hidden, third, third_bias, layer(2)};
    f(ExpertMixture{.tokens = s.tokens,
                    .hidden = s.hidden,
                    .inner = s.inner,
                    .experts = s.experts,
                    .x = x,
                    .scores = scores,
                    .weights = weights,
                    .among_chosen = among_chosen && !weights,
                    .first = {s.inner * size_t(op.fused()), s.hidden, first, first_bias, layer(0)},
                    .second = {s.hidden, s.inner, second, second_bias, layer(1)},
                    .third = has_third ? &linear : nullptr,
                    .y = y});
  }
  size_t scratch(const RunContext& c, const ExpertAttributes& op, bool has_third) {
    with_mixture(op, has_third,
                 [&](const ExpertMixture& m) { parts.take<char>(mixture_scratch(op, m, c.parallel().workers())); });
    return parts.bytes();
  }
  void run(const RunContext& c, const ExpertAttributes& op, bool has_third) {
    with_mixture(op, has_third, [&](const ExpertMixture& m) { mix_experts(op, m, parts.take<char>(0), c.parallel()); });
    store_result(c, y);
  }
};
}  // namespace retort::ops

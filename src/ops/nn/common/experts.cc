#include "ops/nn/common/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/unary.h"
#include "ops/quant/common/decoded_product.h"

namespace retort::ops {
namespace {

/// The activation of that name, for the gate or the only operand of an element.
class ExpertActivation {
 public:
  explicit ExpertActivation(const ExpertAttributes& op)
      : op_(op), most_(op.limit.value_or(std::numeric_limits<float>::infinity())) {}
  /// x[i] = f(x[i]).
  void apply(std::span<float> x) const {
    using Kind = kernels::Activation::Kind;
    const std::string_view name = op_.activation;
    if (name == "relu2") {
      for (float& v : x) v = v > 0 ? v * v : 0;
    } else if (name == "swiglu") {
      kernels::unary({kernels::Unary::Kind::scaled_silu, op_.alpha}, x, x, Parallel());
    } else if (name != "identity") {
      const Kind kind = name == "relu" ? Kind::relu : name == "silu" ? Kind::silu : Kind::gelu_tanh;
      kernels::activate({kind}, x, x, Parallel());
    }
  }
  /// gate[i] = f(gate[i]) · linear[i · stride], where SwiGLU limits both operands.
  void apply(std::span<float> gate, const float* linear, size_t stride) const {
    const bool limits = op_.activation == "swiglu";
    const float most = limits ? most_ : std::numeric_limits<float>::infinity(), beta = limits ? op_.beta : 0;
    const auto limit = [&] {
      for (float& v : gate) v = std::min(v, most);
    };
    if (!op_.limit_after) limit();
    apply(gate);
    if (op_.limit_after) limit();
    for (size_t i = 0; i < gate.size(); ++i) gate[i] *= std::min(std::max(linear[i * stride], -most), most) + beta;
  }

 private:
  const ExpertAttributes& op_;
  float most_;
};

/// Bytes of scratch for the product of a layer with up to `tokens` rows.
size_t layer_scratch(const ExpertLayer& layer, size_t tokens, int workers) {
  return layer.packed ? layer.packed->scratch(tokens, workers) : decoded_scratch(layer.columns, workers);
}

/// The working memory of mix_experts(): rows of one expert, and the experts that each token has chosen.
struct ExpertMemory {
  ScratchParts parts;
  int32_t* chosen;         ///< [tokens, k]
  float *shares, *scores;  ///< [tokens, k]; [tokens, experts]
  size_t* rows;            ///< tokens of an expert
  float *x, *first, *third, *inner, *y, *weight;
  char* panels;
  ExpertMemory(const ExpertAttributes& op, const ExpertMixture& m, int workers, void* base) : parts(base) {
    const auto size = [&](size_t width) { return checked_mul(m.tokens, width, "rows of experts"); };
    chosen = parts.take<int32_t>(size(size_t(op.k)));
    shares = parts.take<float>(size(size_t(op.k)));
    scores = parts.take<float>(size(m.experts));
    rows = parts.take<size_t>(m.tokens);
    weight = parts.take<float>(m.tokens);
    x = parts.take<float>(size(m.hidden));
    first = parts.take<float>(size(m.first.rows));
    third = parts.take<float>(m.third ? size(m.inner) : 0);
    inner = parts.take<float>(size(m.inner));
    y = parts.take<float>(size(m.hidden));
    size_t most = std::max(layer_scratch(m.first, m.tokens, workers), layer_scratch(m.second, m.tokens, workers));
    if (m.third) most = std::max(most, layer_scratch(*m.third, m.tokens, workers));
    panels = parts.take<char>(most);
  }
};

// The k most probable experts of a token; among equally probable ones, the last.
void choose(const ExpertAttributes& op, const ExpertMixture& m, size_t token, const ExpertMemory& memory) {
  const float* from = m.scores + token * m.experts;
  float* scores = memory.scores + token * m.experts;
  const float most = *std::max_element(from, from + m.experts);
  float sum = 0;
  for (size_t e = 0; e < m.experts; ++e) sum += scores[e] = std::exp(from[e] - most);
  for (size_t e = 0; e < m.experts; ++e) scores[e] /= sum;
  const auto k = size_t(op.k);
  int32_t* chosen = memory.chosen + token * k;
  float* shares = memory.shares + token * k;
  float total = 0;
  for (size_t i = 0; i < k; ++i) {
    size_t best = m.experts;
    for (size_t e = 0; e < m.experts; ++e) {
      const bool taken = std::find(chosen, chosen + i, int32_t(e)) != chosen + i;
      if (!taken && (best == m.experts || scores[e] >= scores[best])) best = e;
    }
    chosen[i] = int32_t(best);
    shares[i] = m.weights ? m.weights[token * m.experts + best] : scores[best];
    total += shares[i];
  }
  for (size_t i = 0; (op.normalize || m.among_chosen) && i < k; ++i) shares[i] /= total;
}

// Multiplies the rows of one expert: from `x_to_y.first` to `x_to_y.second`.
void multiply_layer(const ExpertLayer& layer, size_t expert, size_t rows, std::pair<const float*, float*> x_to_y,
                    void* panels, const Parallel& parallel) {
  const float* bias = layer.bias ? layer.bias + expert * layer.rows : nullptr;
  if (layer.packed) return layer.packed->multiply({expert, rows, x_to_y.first, bias, x_to_y.second}, panels, parallel);
  multiply_decoded({.m = rows,
                    .n = layer.rows,
                    .k = layer.columns,
                    .a = x_to_y.first,
                    .decode = [&](size_t row, float* to) { layer.decode(expert, row, to); },
                    .bias = bias,
                    .c = x_to_y.second},
                   panels, parallel);
}

// Calls f(row) for rows of `width` elements, several in a task.
template <typename F>
void for_rows(const Parallel& parallel, size_t rows, size_t width, const F& f) {
  const auto some = [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) f(r);
  };
  kernels::for_chunks(parallel, rows, some, std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, width)));
}

void activate_rows(const ExpertAttributes& op, const ExpertMixture& m, const ExpertMemory& memory, size_t rows,
                   const Parallel& parallel) {
  const bool pairs = op.gated() && op.fusion == 1;
  const ExpertActivation f(op);
  for_rows(parallel, rows, m.inner, [&](size_t r) {
    const float* from = memory.first + r * m.first.rows;
    const std::span<float> to(memory.inner + r * m.inner, m.inner);
    for (size_t i = 0; i < m.inner; ++i) to[i] = from[pairs ? 2 * i : i];
    if (!op.gated()) return f.apply(to);
    if (m.third) return f.apply(to, memory.third + r * m.inner, 1);
    pairs ? f.apply(to, from + 1, 2) : f.apply(to, from + m.inner, 1);
  });
}

void run_expert(const ExpertAttributes& op, const ExpertMixture& m, size_t expert, const ExpertMemory& memory,
                const Parallel& parallel) {
  size_t rows = 0;
  for (size_t i = 0; i < m.tokens * size_t(op.k); ++i) {
    if (memory.chosen[i] != int32_t(expert) || !(memory.shares[i] > 0)) continue;
    const size_t token = i / size_t(op.k);
    memory.weight[rows] = memory.shares[i];
    std::copy_n(m.x + token * m.hidden, m.hidden, memory.x + rows * m.hidden);
    memory.rows[rows++] = token;
  }
  if (rows == 0) return;
  multiply_layer(m.first, expert, rows, {memory.x, memory.first}, memory.panels, parallel);
  if (m.third) multiply_layer(*m.third, expert, rows, {memory.x, memory.third}, memory.panels, parallel);
  activate_rows(op, m, memory, rows, parallel);
  multiply_layer(m.second, expert, rows, {memory.inner, memory.y}, memory.panels, parallel);
  for_rows(parallel, rows, m.hidden, [&](size_t r) {
    float* to = m.y + memory.rows[r] * m.hidden;
    for (size_t j = 0; j < m.hidden; ++j) to[j] += memory.weight[r] * memory.y[r * m.hidden + j];
  });
}

}  // namespace

void ExpertAttributes::check() const {
  require(k >= 1, ErrorCode::invalid_argument, "k is {}, expected at least 1", k);
  require(fusion >= 0 && fusion <= 2, ErrorCode::invalid_argument, "swiglu_fusion is {}, expected 0, 1 or 2", fusion);
  require(!sparse_mixer || k == 2, ErrorCode::invalid_argument, "use_sparse_mixer requires k = 2, k is {}", k);
  require(!limit_after || activation == "swiglu", ErrorCode::invalid_argument,
          "swiglu_limit_after_activation requires activation_type swiglu, not {}", activation);
  for (const char* known : {"relu", "gelu", "silu", "identity", "relu2", "swiglu", "geglu"})
    if (activation == known) return;
  fail(ErrorCode::invalid_argument,
       "activation_type is '{}', expected relu, gelu, silu, identity, relu2, swiglu or geglu", activation);
}

void infer_experts(InferContext& c, const ExpertAttributes& op, size_t third) {
  const DType type = c.dtype(0);
  c.set(0, type);
  require(is_float(type) && type != DType::f64 && c.dtype(1) == type, ErrorCode::invalid_argument,
          "input is {}, router_probs {}; expected float32, float16 or bfloat16 for both", dtype_name(type),
          dtype_name(c.dtype(1)));
  const Shape& x = c.shape(0);
  require(x.rank() == 2 || x.rank() == 3, ErrorCode::invalid_argument, "input has shape {}, expected 2 or 3 axes",
          c.dims().text(x));
  c.set(0, type, x);
  const Shape& scores = c.shape(1);
  const Dim tokens = x.rank() == 2 ? x[0] : c.dims().mul(x[0], x[1]);
  require(scores.rank() == 2 && may_equal(scores[0], tokens), ErrorCode::invalid_argument,
          "router_probs have shape {}, expected [{}, experts] for input {}", c.dims().text(scores),
          c.dims().text(tokens), c.dims().text(x));
  require(!is_known(scores[1]) || scores[1] >= op.k, ErrorCode::invalid_argument, "k is {}, there are {} experts", op.k,
          c.dims().text(scores[1]));
  require(!c.has(third) || (op.gated() && op.fusion == 0), ErrorCode::invalid_argument,
          "fc3_experts_weights require a gated activation_type and swiglu_fusion 0; these are {} and {}", op.activation,
          op.fusion);
  require(c.has(third) || !op.gated() || op.fusion != 0, ErrorCode::invalid_argument,
          "activation_type {} needs swiglu_fusion 1 or 2, or fc3_experts_weights", op.activation);
}

Cost expert_cost(const CostContext& c, const ExpertAttributes& op, double weights) {
  return {.multiply_adds = c.extent(1, 0) * double(op.k) * per(weights, c.extent(1, 1)), .tiles = true};
}

ExpertShape expert_shape(const RunContext& c, size_t inner) {
  const Shape& x = c.shape(0);
  const auto hidden = size_t(x.back());
  return {.tokens = size_t(c.shape(1)[0]), .hidden = hidden, .inner = inner, .experts = size_t(c.shape(1)[1])};
}

size_t mixture_scratch(const ExpertAttributes& op, const ExpertMixture& m, int workers) {
  return ExpertMemory(op, m, workers, nullptr).parts.bytes();
}

void mix_experts(const ExpertAttributes& op, const ExpertMixture& m, void* scratch, const Parallel& parallel) {
  require(size_t(op.k) <= m.experts, ErrorCode::invalid_argument, "k is {}, there are {} experts", op.k, m.experts);
  const ExpertMemory memory(op, m, parallel.workers(), scratch);
  std::fill_n(m.y, m.tokens * m.hidden, 0.0f);
  for_rows(parallel, m.tokens, m.experts * size_t(op.k), [&](size_t token) { choose(op, m, token, memory); });
  for (size_t e = 0; e < m.experts && !parallel.cancelled(); ++e) run_expert(op, m, e, memory, parallel);
}

}  // namespace retort::ops

#include "ops/nn/common/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/quant/common/decoded_product.h"

namespace retort::ops {
namespace {

float sigmoid_of(float x) { return 1 / (1 + std::exp(-x)); }
float gelu_by_tanh(float x) { return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }

/// The activation of that name; if it is gated, multiplied by its linear operand.
class ExpertActivation {
 public:
  explicit ExpertActivation(const ExpertAttributes& op)
      : op_(op), most_(op.limit.value_or(std::numeric_limits<float>::infinity())) {
    for (const std::string_view name : {"relu", "gelu", "silu", "relu2", "geglu", "swiglu"}) {
      if (op.activation == name) break;
      ++kind_;
    }
  }
  float operator()(float x) const {
    switch (kind_) {
      case kRelu:
        return std::max(x, 0.0f);
      case kGelu:
        return gelu_by_tanh(x);
      case kSilu:
        return x * sigmoid_of(x);
      case kRelu2:
        return x > 0 ? x * x : 0;
      default:
        return x;
    }
  }
  float operator()(float gate, float linear) const {
    if (kind_ == kGeglu) return gelu_by_tanh(gate) * linear;
    linear = std::min(std::max(linear, -most_), most_) + op_.beta;
    if (op_.limit_after) return std::min(gate * sigmoid_of(op_.alpha * gate), most_) * linear;
    gate = std::min(gate, most_);
    return gate * sigmoid_of(op_.alpha * gate) * linear;
  }

 private:
  enum Kind { kRelu, kGelu, kSilu, kRelu2, kGeglu };
  const ExpertAttributes& op_;
  float most_;
  int kind_ = 0;
};

/// The working memory of mix_experts(): rows of one expert, and the experts that each token has chosen.
struct ExpertMemory {
  ScratchParts parts;
  int32_t* chosen;         ///< [tokens, k]
  float *shares, *scores;  ///< [tokens, k]; [experts]
  size_t* rows;            ///< tokens of an expert
  float *x, *first, *third, *inner, *y, *weight;
  char* panels;
  ExpertMemory(const ExpertAttributes& op, const ExpertMixture& m, int workers, void* base) : parts(base) {
    const auto size = [&](size_t width) { return checked_mul(m.tokens, width, "rows of experts"); };
    chosen = parts.take<int32_t>(size(size_t(op.k)));
    shares = parts.take<float>(size(size_t(op.k)));
    scores = parts.take<float>(m.experts);
    rows = parts.take<size_t>(m.tokens);
    weight = parts.take<float>(m.tokens);
    x = parts.take<float>(size(m.hidden));
    first = parts.take<float>(size(m.first.rows));
    third = parts.take<float>(m.third ? size(m.inner) : 0);
    inner = parts.take<float>(size(m.inner));
    y = parts.take<float>(size(m.hidden));
    panels = parts.take<char>(decoded_scratch(std::max(m.hidden, m.inner), workers));
  }
};

// The k most probable experts of a token; among equally probable ones, the last.
void choose(const ExpertAttributes& op, const ExpertMixture& m, size_t token, const ExpertMemory& memory) {
  const float* from = m.scores + token * m.experts;
  const float most = *std::max_element(from, from + m.experts);
  float sum = 0;
  for (size_t e = 0; e < m.experts; ++e) sum += memory.scores[e] = std::exp(from[e] - most);
  for (size_t e = 0; e < m.experts; ++e) memory.scores[e] /= sum;
  const auto k = size_t(op.k);
  int32_t* chosen = memory.chosen + token * k;
  float* shares = memory.shares + token * k;
  float total = 0;
  for (size_t i = 0; i < k; ++i) {
    size_t best = m.experts;
    for (size_t e = 0; e < m.experts; ++e) {
      const bool taken = std::find(chosen, chosen + i, int32_t(e)) != chosen + i;
      if (!taken && (best == m.experts || memory.scores[e] >= memory.scores[best])) best = e;
    }
    chosen[i] = int32_t(best);
    shares[i] = m.weights ? m.weights[token * m.experts + best] : memory.scores[best];
    total += shares[i];
  }
  for (size_t i = 0; (op.normalize || m.among_chosen) && i < k; ++i) shares[i] /= total;
}

// Multiplies the rows of one expert: from `x_to_y.first` to `x_to_y.second`.
void multiply_layer(const ExpertLayer& layer, size_t expert, size_t rows, std::pair<const float*, float*> x_to_y,
                    void* panels, const Parallel& parallel) {
  multiply_decoded({.m = rows,
                    .n = layer.rows,
                    .k = layer.columns,
                    .a = x_to_y.first,
                    .decode = [&](size_t row, float* to) { layer.decode(expert, row, to); },
                    .bias = layer.bias ? layer.bias + expert * layer.rows : nullptr,
                    .c = x_to_y.second},
                   panels, parallel);
}

void activate_rows(const ExpertAttributes& op, const ExpertMixture& m, const ExpertMemory& memory, size_t rows) {
  const bool pairs = op.fusion == 1, gated = op.gated();
  const ExpertActivation f(op);
  for (size_t r = 0; r < rows; ++r) {
    const float *from = memory.first + r * m.first.rows, *third = memory.third + r * m.inner;
    float* to = memory.inner + r * m.inner;
    for (size_t i = 0; i < m.inner; ++i) {
      if (!gated)
        to[i] = f(from[i]);
      else if (m.third)
        to[i] = f(from[i], third[i]);
      else
        to[i] = pairs ? f(from[2 * i], from[2 * i + 1]) : f(from[i], from[m.inner + i]);
    }
  }
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
  activate_rows(op, m, memory, rows);
  multiply_layer(m.second, expert, rows, {memory.inner, memory.y}, memory.panels, parallel);
  for (size_t r = 0; r < rows; ++r) {
    float* to = m.y + memory.rows[r] * m.hidden;
    for (size_t j = 0; j < m.hidden; ++j) to[j] += memory.weight[r] * memory.y[r * m.hidden + j];
  }
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
  for (size_t token = 0; token < m.tokens; ++token) choose(op, m, token, memory);
  for (size_t e = 0; e < m.experts && !parallel.cancelled(); ++e) run_expert(op, m, e, memory, parallel);
}

}  // namespace retort::ops

#include "ops/nn/common/attention.h"

namespace retort::ops {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double load(const ScoreOperand& o, size_t i) {
  switch (o.dtype) {
    case DType::f32:
      return static_cast<const float*>(o.data)[i];
    case DType::f64:
      return static_cast<const double*>(o.data)[i];
    case DType::f16:
      return float(static_cast<const float16*>(o.data)[i]);
    default:
      return float(static_cast<const bfloat16*>(o.data)[i]);
  }
}

// Joins past and new rows as [B, H, total, D].
template <typename T>
std::vector<T> join(const AttentionShape& s, const T* fresh, const HeadStrides& from, const T* past,
                    const HeadStrides& old, size_t size) {
  std::vector<T> all;
  all.reserve(s.batch * s.kv_heads * s.total() * size);
  for (size_t row = 0; row < s.batch * s.kv_heads * s.total(); ++row) {
    const size_t b = row / (s.kv_heads * s.total()), h = row / s.total() % s.kv_heads, j = row % s.total();
    const T* p = j < s.past_len ? past + old.at(b, h, j) : fresh + from.at(b, h, j - s.past_len);
    all.insert(all.end(), p, p + size);
  }
  return all;
}

// Copies [B, H, total, D] into the heads of the cache.
template <typename T>
void keep(const AttentionShape& s, const std::vector<T>& all, T* to, const HeadStrides& heads, size_t size) {
  const size_t head = s.total() * size;
  for (size_t i = 0; to && head > 0 && i < s.batch * s.kv_heads; ++i)
    std::copy_n(all.data() + i * head, head, to + heads.at(i / s.kv_heads, i % s.kv_heads, 0));
}

void softmax(std::vector<double>& x, double blind) {
  const double top = x.empty() ? kNever : *std::max_element(x.begin(), x.end());
  if (top == kNever) return std::fill(x.begin(), x.end(), blind);
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - top);
  for (double& v : x) v /= sum;
}

}  // namespace

ScoreOperand score_operand(const RunContext& c, size_t i, const AttentionShape& s, bool repeats) {
  ScoreOperand o;
  if (!c.has(i)) return o;
  const Shape& shape = c.shape(i);
  const size_t wanted[] = {s.batch, s.q_heads, s.q_len, s.total()};
  require(is_float(c.dtype(i)) || c.dtype(i) == DType::boolean, ErrorCode::invalid_argument,
          "a mask of {}; let it be booleans, or floating-point numbers that are added to the scores",
          dtype_name(c.dtype(i)));
  bool fits = shape.rank() <= 4;
  size_t stride = 1;
  for (size_t d = shape.rank(); fits && d-- > 0;) {
    const size_t axis = 4 - shape.rank() + d, extent = size_t(shape[d]);
    const bool last = axis == 3;
    fits = extent == 1 || extent == wanted[axis] || (last && extent < wanted[axis]) ||
           (repeats && axis == 0 && extent != 0 && wanted[0] % extent == 0);
    o.strides[axis] = extent == 1 ? 0 : stride;
    if (last && extent != 1) o.columns = extent;
    if (axis == 0 && extent != 0) o.batches = extent;
    stride *= extent;
  }
  if (!fits)
    fail(ErrorCode::invalid_argument,
         "the mask has shape {}, which does not broadcast to scores of shape [{},{},{},{}]", to_string(shape), s.batch,
         s.q_heads, s.q_len, s.total());
  o.data = c.data(i);
  o.dtype = c.dtype(i);
  return o;
}

std::pair<size_t, size_t> ScoreRule::visible(const AttentionShape& s, size_t b, size_t i) const {
  // Number of keys before the first query.
  const int64_t before = valid ? valid[b] - int64_t(s.q_len) : int64_t(s.past_len);
  const int64_t position = before + int64_t(i);
  int64_t first = 0, last = int64_t(s.total());
  if (causal) last = std::min(last, position + 1);
  if (right >= 0) last = std::min(last, position + 1 + std::min<int64_t>(right, int64_t(s.total())));
  if (left >= 0) first = std::max(first, position - std::min<int64_t>(left, position + 1));
  if (valid) last = std::min(last, valid[b]);
  for (const ScoreOperand* o : {&bias, &flags}) {
    if (o->data && o->columns < s.total()) last = std::min(last, int64_t(o->columns));
  }
  last = std::max<int64_t>(last, 0);
  return {size_t(std::clamp<int64_t>(first, 0, last)), size_t(last)};
}

double ScoreRule::apply(double score, size_t b, size_t h, size_t i, size_t j) const {
  if (flags.data && static_cast<const bool*>(flags.data)[flags.at(b, h, i, j)] == flag_hides) score = hidden;
  return bias.data ? score + load(bias, bias.at(b, h, i, j)) : score;
}

template <typename T>
void attention_reference(const AttentionShape& s, const AttentionData<T>& d, const ScoreRule& rule,
                         const Parallel& run) {
  const std::vector<T> keys = join(s, d.k, s.k, d.past_k, s.past_k(), s.head_size);
  const std::vector<T> values = join(s, d.v, s.v, d.past_v, s.past_v(), s.v_head_size);
  const HeadStrides k_heads = split_heads(s.total(), s.kv_heads, s.head_size);
  const HeadStrides v_heads = split_heads(s.total(), s.kv_heads, s.v_head_size);
  std::vector<double> scores(s.total());
  for (size_t row = 0; row < s.batch * s.q_heads * s.q_len && !run.cancelled(); ++row) {
    const size_t b = row / (s.q_heads * s.q_len), h = row / s.q_len % s.q_heads, i = row % s.q_len;
    const T* q = d.q + s.q.at(b, h, i);
    const auto show = [&](int64_t mode) {
      if (d.scores && mode == d.scores_mode) std::copy(scores.begin(), scores.end(), d.scores + row * s.total());
    };
    for (size_t j = 0; j < s.total(); ++j) {
      const T* k = keys.data() + k_heads.at(b, s.kv_head(h), j);
      double dot = 0;
      for (size_t e = 0; e < s.head_size; ++e) dot += double(q[e]) * double(k[e]);
      scores[j] = dot * rule.scale;
    }
    show(0);
    for (double& x : scores) x = rule.capped(x);
    show(1);
    const auto [first, last] = rule.visible(s, b, i);
    for (size_t j = 0; j < s.total(); ++j)
      scores[j] = j < first || j >= last ? kNever : rule.apply(scores[j], b, h, i, j);
    show(2);
    if (rule.sink) scores.push_back(rule.sink_score(h));
    softmax(scores, rule.blind);
    scores.resize(s.total());
    show(3);
    T* y = d.y + s.y.at(b, h, i);
    for (size_t e = 0; e < s.v_head_size; ++e) {
      double sum = 0;
      for (size_t j = 0; j < s.total(); ++j) sum += scores[j] * double(values[v_heads.at(b, s.kv_head(h), j) + e]);
      y[e] = T(sum);
    }
  }
  keep(s, keys, d.present_k, s.present_k(), s.head_size);
  keep(s, values, d.present_v, s.present_v(), s.v_head_size);
}

template void attention_reference(const AttentionShape&, const AttentionData<float>&, const ScoreRule&,
                                  const Parallel&);
template void attention_reference(const AttentionShape&, const AttentionData<double>&, const ScoreRule&,
                                  const Parallel&);

}  // namespace retort::ops

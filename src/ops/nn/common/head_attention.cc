#include "ops/nn/common/head_attention.h"

#include "base/checked.h"
#include "ops/nn/common/head_extents.h"
#include "ops/nn/common/load.h"

namespace retort::ops {
namespace head_attention {
namespace {

/// The shape of the mask and the bias as one tensor [batch, heads or 1, rows or 1, total].
struct Mask {
  size_t heads = 0, rows = 0, ends = 0;  // ends: entries of a mask of lengths
  bool by_row = false, given = false;
};

Mask mask_of(const RunContext& c, const HeadAttention& a, const Extents& e) {
  const bool has_bias = c.has(a.in.bias);
  if (has_bias) {
    const Shape& s = c.shape(a.in.bias);
    const bool fits = s.rank() == 4 && (s[0] == 1 || size_t(s[0]) == e.batch) && (s[1] == 1 || s[1] == a.heads) &&
                      size_t(s[2]) == e.rows && size_t(s[3]) == e.total();
    require(fits, ErrorCode::invalid_argument, "attention_bias has shape {}, expected [{} or 1,{} or 1,{},{}]", s,
            e.batch, e.heads, e.rows, e.total());
  }
  Mask m;
  if (!c.has(a.in.mask)) return m;
  const Shape& s = c.shape(a.in.mask);
  const size_t b = e.batch;
  const auto is = [&](std::initializer_list<size_t> wanted) {
    return s.rank() == wanted.size() &&
           std::equal(wanted.begin(), wanted.end(), s.begin(), [](size_t x, int64_t y) { return x == size_t(y); });
  };
  if (is({b, 1}) && e.total() != 1) return m;  // such a tensor stands for a missing mask
  if (is({1, 1}) && e.total() != 1) return m;
  m.given = true;
  m.by_row = is({b, e.rows, e.total()});
  if (is({b}) || is({2 * b}) || is({3 * b + 2})) m.ends = size_t(s[0]);
  require(m.ends > 0 || m.by_row || is({b, e.total()}) || b == 0, ErrorCode::invalid_argument,
          "the mask has shape {}, expected [{}], [{}], [{}], [{},{}] or [{},{},{}]", s, b, 2 * b, 3 * b + 2, b,
          e.total(), b, e.rows, e.total());
  m.heads = has_bias && c.shape(a.in.bias)[1] != 1 ? e.heads : 1;
  m.rows = has_bias || m.by_row ? e.rows : 1;
  return m;
}

/// Whether masked keys may get the score of later keys, the lowest float: a query that sees only such keys weighs all
/// keys alike. The mask then holds later keys too.
bool hides_alike(const HeadAttention& a, const Extents& e) {
  return a.causal && e.rows > 1 && a.filter <= std::numeric_limits<float>::lowest();
}

size_t mask_elements(const RunContext& c, const HeadAttention& a, const Extents& e) {
  if (!c.has(a.in.mask)) return 0;
  const bool has_bias = c.has(a.in.bias), by_row = c.shape(a.in.mask).rank() == 3 || hides_alike(a, e);
  return e.batch * (has_bias ? e.heads : 1) * (has_bias || by_row ? e.rows : 1) * e.total();
}

/// The tensors and sizes of a run.
struct Work {
  float *q = nullptr, *k = nullptr, *v = nullptr;  // with their bias
  float* mask = nullptr;
  float *old_k = nullptr, *old_v = nullptr;  // the past rows that the beams select
  void* rest = nullptr;
  size_t bytes = 0;

  Work(const RunContext& c, const HeadAttention& a, const Extents& e, void* memory) {
    auto* at = static_cast<std::byte*>(memory);
    const auto take = [&](bool wanted, size_t count) {
      float* p = wanted ? reinterpret_cast<float*>(at + bytes) : nullptr;
      if (wanted) bytes += round_up(count * sizeof(float), 64);
      return p;
    };
    const bool projected = c.has(a.in.projection), both = projected && e.form != Form::split, beams = c.has(a.in.cache);
    q = take(projected, e.batch * e.rows * e.hidden());
    k = take(both, e.batch * e.fresh * e.hidden());
    v = take(both, e.batch * e.fresh * e.v_hidden());
    mask = take(c.has(a.in.mask), mask_elements(c, a, e));
    old_k = take(beams, e.batch * e.past * e.hidden());
    old_v = take(beams, e.batch * e.past * e.v_hidden());
    rest = at + bytes;
  }
};

// Rows of heads with their bias, packed.
void add_projection(const RunContext& c, size_t rows, const AttentionShape& s, size_t size,
                    std::pair<const float*, HeadStrides> from, std::pair<const float*, float*> bias_to) {
  const HeadStrides to = packed_heads(rows, s.q_heads, size);
  c.parallel().for_each(s.batch * rows, [&](size_t task, int) {
    const size_t b = task / rows, r = task % rows;
    for (size_t h = 0; h < s.q_heads; ++h) {
      const float* x = from.first + from.second.at(b, h, r);
      float* y = bias_to.second + to.at(b, h, r);
      for (size_t i = 0; i < size; ++i) y[i] = x[i] + bias_to.first[h * size + i];
    }
  });
}
void project(const RunContext& c, const HeadAttention& a, const Extents& e, const Work& w, AttentionShape& s,
             AttentionData<float>& d) {
  if (!w.q) return;
  const float* bias = c.input<float>(a.in.projection).data();
  add_projection(c, e.rows, s, e.size, {d.q, s.q}, {bias, w.q});
  d.q = w.q;
  s.q = packed_heads(e.rows, e.heads, e.size);
  if (!w.k) return;
  add_projection(c, e.fresh, s, e.size, {d.k, s.k}, {bias + e.hidden(), w.k});
  add_projection(c, e.fresh, s, e.v_size, {d.v, s.v}, {bias + 2 * e.hidden(), w.v});
  d.k = w.k;
  d.v = w.v;
  s.k = packed_heads(e.fresh, e.heads, e.size);
  s.v = packed_heads(e.fresh, e.heads, e.v_size);
}

// Whether the mask hides key j from query i of batch b.
bool is_hidden(std::span<const int32_t> mask, const Extents& e, const Mask& m, size_t b, size_t i, size_t j) {
  if (m.ends == 0) return mask[(m.by_row ? b * e.rows + i : b) * e.total() + j] <= 0;
  const auto key = int64_t(j);
  return key >= mask[b] || (m.ends == 2 * e.batch && key < mask[e.batch + b]);
}

// Whether a query sees no key that the mask leaves.
bool sees_nothing(std::span<const int32_t> mask, const Extents& e, const Mask& m) {
  for (size_t b = 0; b < e.batch; ++b) {
    for (size_t i = 0; i < (m.by_row ? e.rows : 1); ++i) {  // a later query sees more, unless it has a mask of its own
      const size_t keys = std::min(e.total(), e.past + i + 1);
      size_t j = 0;
      while (j < keys && is_hidden(mask, e, m, b, i, j)) ++j;
      if (j == keys) return true;
    }
  }
  return false;
}

// `later`: hide later keys too.
ScoreOperand fill_mask(const RunContext& c, const HeadAttention& a, const Extents& e, const Mask& m, bool later,
                       float* mask) {
  const ScoreOperand bias = [&] {
    AttentionShape all;
    all.batch = e.batch;
    all.q_heads = e.heads;
    all.q_len = e.rows;
    all.new_len = e.total();
    return score_operand(c, a.in.bias, all);
  }();
  if (!m.given) return bias;
  const size_t total = e.total();
  const auto values = c.input<int32_t>(a.in.mask);
  c.parallel().for_each(e.batch * m.heads * m.rows, [&](size_t task, int) {
    const size_t b = task / (m.heads * m.rows), h = task / m.rows % m.heads, i = task % m.rows;
    float* row = mask + task * total;
    const float* from = bias.data ? static_cast<const float*>(bias.data) + bias.at(b, h, i, 0) : nullptr;
    for (size_t j = 0; j < total; ++j) {
      const float hides = is_hidden(values, e, m, b, i, j) ? a.filter : 0;
      row[j] = hides + (from ? from[j * bias.strides[3]] : 0.0f);
    }
    if (later) std::fill(row + std::min(total, e.past + i + 1), row + total, std::numeric_limits<float>::lowest());
  });
  ScoreOperand o;
  o.data = mask;
  o.dtype = DType::f32;
  o.strides[0] = m.heads * m.rows * total;
  o.strides[1] = m.heads > 1 ? m.rows * total : 0;
  o.strides[2] = m.rows > 1 ? total : 0;
  o.strides[3] = 1;
  return o;
}

// Copies the part of a cache that follows the rows of this run, unchanged.
void keep_room(const RunContext& c, const Extents& e, size_t size, const float* from, float* to) {
  if (!to || !from || from == to || e.capacity == 0) return;
  c.parallel().for_each(e.batch * e.heads, [&](size_t head, int) {
    const size_t first = (head * e.capacity + e.total()) * size, end = (head + 1) * e.capacity * size;
    std::copy(from + first, from + end, to + first);
  });
}

// Copies the past rows of each row of the batch from the beams that its tokens come from.
void choose_beams(const RunContext& c, const HeadAttention& a, const Extents& e, std::pair<const float*, float*> what,
                  size_t size) {
  const Shape& s = c.shape(a.in.cache);
  const auto width = size_t(c.has(a.in.beam) ? one_number(c, a.in.beam, "beam_width") : s.rank() == 3 ? s[1] : 1);
  require(
      s.rank() == 3 && width > 0 && size_t(s[1]) == width && size_t(s[0]) * width == e.batch && size_t(s[2]) >= e.past,
      ErrorCode::invalid_argument, "cache_indirection has shape {}, with a batch of {}, {} beams and {} past rows", s,
      e.batch, width, e.past);
  const auto from = c.input<int32_t>(a.in.cache);
  for (size_t b = 0; b < e.batch; ++b) {
    for (size_t t = 0; t < e.past; ++t) {
      const int64_t beam = from[b * size_t(s[2]) + t];
      require(beam >= 0 && size_t(beam) < width, ErrorCode::invalid_argument, "cache_indirection names beam {} of {}",
              beam, width);
      const size_t source = b / width * width + size_t(beam);
      for (size_t h = 0; h < e.heads; ++h) {
        const size_t room = e.capacity ? e.capacity : e.past;
        std::copy_n(what.first + ((source * e.heads + h) * room + t) * size, size,
                    what.second + ((b * e.heads + h) * e.past + t) * size);
      }
    }
  }
}

// Writes old and new rows to the present caches, and selects the past rows by the beams.
void follow_beams(const RunContext& c, const HeadAttention& a, const Extents& e, const Work& w, AttentionShape& s,
                  AttentionData<float>& d) {
  if (!c.has(a.in.cache) || !d.past_k) return;
  choose_beams(c, a, e, {d.past_k, w.old_k}, e.size);
  choose_beams(c, a, e, {d.past_v, w.old_v}, e.v_size);
  const auto append = [&](const float* old, const float* fresh, const HeadStrides& at, float* to, size_t size) {
    if (!to) return;
    const size_t room = e.capacity ? e.capacity : e.total(), old_room = e.capacity ? e.capacity : e.past;
    c.parallel().for_each(e.batch * e.heads, [&](size_t head, int) {
      if (old != to) std::copy_n(old + head * old_room * size, e.past * size, to + head * room * size);
      for (size_t j = 0; j < e.fresh; ++j)
        std::copy_n(fresh + at.at(head / e.heads, head % e.heads, j), size, to + (head * room + e.past + j) * size);
    });
  };
  append(d.past_k, d.k, s.k, d.present_k, e.size);
  append(d.past_v, d.v, s.v, d.present_v, e.v_size);
  d.past_k = w.old_k;
  d.past_v = w.old_v;
  d.present_k = d.present_v = nullptr;
  s.rooms = {};
}

// Sets the scores of later keys in the output of scores: they are the lowest float there, not left out.
void hide_later_keys(const AttentionShape& s, const ScoreRule& r, std::span<float> scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    const size_t row = i / s.total(), j = i % s.total(), b = row / (s.q_heads * s.q_len);
    if (j >= r.visible(s, b, row % s.q_len).second) scores[i] = std::numeric_limits<float>::lowest();
  }
}

// Calls attend(shape, data, rule, rest of the working memory).
template <typename F>
void compute(const RunContext& c, const HeadAttention& a, const Extents& e, void* memory, const F& attend) {
  Mask m = mask_of(c, a, e);
  const bool later = m.given && hides_alike(a, e) && sees_nothing(c.input<int32_t>(a.in.mask), e, m);
  if (later) m.rows = e.rows;
  const Work w(c, a, e, memory);
  AttentionShape s = shape_of(c, a, e);
  AttentionData<float> d = data_of(c, a, e);
  ScoreRule r;
  r.scale = a.scale != 0 ? double(a.scale) : 1 / std::sqrt(double(std::max<size_t>(e.size, 1)));
  r.causal = a.causal && e.rows > 1 && !later;
  r.blind = std::numeric_limits<double>::quiet_NaN();
  r.bias = fill_mask(c, a, e, m, later, w.mask);
  project(c, a, e, w, s, d);
  keep_room(c, e, e.size, d.past_k, d.present_k);
  keep_room(c, e, e.v_size, d.past_v, d.present_v);
  follow_beams(c, a, e, w, s, d);
  attend(s, d, r, w.rest);
}

}  // namespace
}  // namespace head_attention

void HeadAttention::infer(InferContext& c) const {
  for (const size_t i : {kY, kPresentK, kPresentV, kScores}) c.set(i, c.dtype(in.q));
  require(c.has(in.past_k) == c.has(in.past_v), ErrorCode::invalid_argument,
          "past_key is {}, past_value {}; give both or none", c.has(in.past_k) ? "given" : "missing",
          c.has(in.past_v) ? "given" : "missing");
  const head_attention::Form form = head_attention::form_of(c, *this);
  const head_attention::Dims s = head_attention::dims_of(c, *this, form);
  require(!one_row || may_equal(s.rows, 1), ErrorCode::invalid_argument, "query has {} rows, expected 1",
          c.dims().text(s.rows));
  c.set(kY, c.dtype(in.q), {s.batch, s.rows, s.v_hidden});
  DimTable& d = c.dims();
  const bool shared = c.has(in.past_k) && c.has(in.past_rows);
  Dim total = s.fresh;
  if (shared) {
    const auto past = c.try_value(in.past_rows);
    total = past && past->size() == 1 ? d.add((*past)[0], s.fresh) : Dim(-1);
  } else if (c.has(in.past_k)) {
    total = d.add(c.shape(in.past_k)[2], s.fresh);
  }
  const Dim room = shared ? c.shape(in.past_k)[2] : total;
  c.set(kPresentK, c.dtype(in.q), {s.batch, heads, room, s.size});
  c.set(kPresentV, c.dtype(in.q), {s.batch, heads, room, s.v_size});
  if (c.wants(kScores)) {
    if (shared && !c.try_value(in.past_rows)) total = c.unknown_extent();
    c.set(kScores, c.dtype(in.q), {s.batch, heads, s.rows, total});
  }
}

Cost HeadAttention::cost(const CostContext& c) const {
  const double fresh = c.has(in.k) ? c.extent(in.k, c.rank(in.k) == 4 ? 2 : 1) : c.extent(in.q, 1);
  const double keys = c.extent(in.past_k, 2) + fresh;
  return attention_cost(c.out_count(), c.out_count(), keys);
}

size_t HeadAttention::scratch(const RunContext& c) const {
  if (c.dtype(in.q) != DType::f32 || c.wants(kScores)) return 0;
  const head_attention::Extents e = head_attention::extents_of(c, *this, true);
  const bool keeps = !c.has(in.cache);
  return head_attention::Work(c, *this, e, nullptr).bytes +
         attention_scratch(head_attention::shape_of(c, *this, e), keeps && c.wants(kPresentK),
                           keeps && c.wants(kPresentV), c.parallel().workers());
}

void HeadAttention::reference(RunContext& c) const {
  const head_attention::Extents e = head_attention::extents_of(c, *this);
  std::vector<std::byte> memory(head_attention::Work(c, *this, e, nullptr).bytes);
  head_attention::compute(c, *this, e, memory.data(),
                          [&](const AttentionShape& s, AttentionData<float>& d, const ScoreRule& r, void*) {
                            std::vector<float> scores(c.wants(kScores) ? s.batch * s.q_heads * s.q_len * s.total() : 0);
                            if (c.wants(kScores)) d.scores = scores.data();
                            d.scores_mode = 2;
                            attention_reference(s, d, r, c.parallel());
                            if (r.causal) head_attention::hide_later_keys(s, r, scores);
                            fill_floats(c, kScores, [&](size_t i) { return double(scores[i]); });
                          });
}

void HeadAttention::fast(RunContext& c) const {
  if (c.wants(kScores)) return reference(c);  // a debugging aid
  head_attention::compute(c, *this, head_attention::extents_of(c, *this), c.scratch(),
                          [&](const AttentionShape& s, const AttentionData<float>& d, const ScoreRule& r, void* rest) {
                            attention_fast(s, d, r, rest, c.parallel());
                          });
}

}  // namespace retort::ops

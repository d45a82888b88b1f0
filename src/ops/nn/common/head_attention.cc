#include "ops/nn/common/head_attention.h"

#include "base/checked.h"
#include "ops/nn/common/load.h"

namespace retort::ops {
namespace {

/// The layout of Q, K and V: three tensors; K and V split into heads (a cache); K and V side by side for each head; Q,
/// K and V side by side for each head; or, in each row, all Q, then all K, then all V.
enum class Form { apart, split, pairs, triples, rows };

template <typename Context>
Form form_of(const Context& c, const HeadAttention& a) {
  const size_t rank = c.shape(a.in.q).rank();
  if (c.has(a.in.k)) {
    require(rank == 3, ErrorCode::invalid_argument, "query has {} axes, expected 3 if there is a key", rank);
    const size_t keys = c.shape(a.in.k).rank();
    require(keys >= 3 && keys <= 5, ErrorCode::invalid_argument, "key has {} axes, expected 3, 4 or 5", keys);
    require(c.has(a.in.v) == (keys != 5), ErrorCode::invalid_argument, "key has {} axes, value is {}", keys,
            c.has(a.in.v) ? "given" : "missing");
    require(keys == 5 || c.shape(a.in.v).rank() == keys, ErrorCode::invalid_argument, "key has {} axes, value {}", keys,
            keys == 5 ? 0 : c.shape(a.in.v).rank());
    return keys == 3 ? Form::apart : keys == 4 ? Form::split : Form::pairs;
  }
  require(!c.has(a.in.v) && (rank == 5 || (rank == 3 && a.flat_packs)), ErrorCode::invalid_argument,
          "query has {} axes; without a key it is [batch, rows, heads, 3, size]", rank);
  return rank == 5 ? Form::triples : Form::rows;
}

/// Shapes during inference, whose extents may be symbols.
struct Dims {
  Dim batch, rows, size, fresh, v_size, v_hidden;
};

Dims dims_of(InferContext& c, const HeadAttention& a, Form form) {
  DimTable& d = c.dims();
  const Shape& q = c.shape(a.in.q);
  const auto expect = [&](size_t i, const Shape& wanted) {
    const Shape& s = c.shape(i);
    bool fits = s.rank() == wanted.rank();
    for (size_t axis = 0; fits && axis < s.rank(); ++axis) fits = may_equal(s[axis], wanted[axis]);
    require(fits, ErrorCode::invalid_argument, "input {} has shape {}, expected {}", i, d.text(s), d.text(wanted));
  };
  const auto divide = [&](Dim hidden, std::string_view name) {
    require(!is_known(hidden) || hidden % a.heads == 0, ErrorCode::invalid_argument, "{} elements of {} for {} heads",
            d.text(hidden), name, a.heads);
    return d.div(hidden, a.heads);
  };
  Dims s{.batch = q[0], .rows = q[1]};
  s.fresh = q[1];
  if (form == Form::triples) {
    expect(a.in.q, {q[0], q[1], a.heads, 3, q[4]});
    s.size = s.v_size = q[4];
  } else if (form == Form::rows) {
    require(!is_known(q[2]) || q[2] % 3 == 0, ErrorCode::invalid_argument, "{} elements of Q, K and V", d.text(q[2]));
    s.size = s.v_size = divide(d.div(q[2], 3), "query");
  } else {
    const Shape& k = c.shape(a.in.k);
    s.size = s.v_size = divide(q[2], "query");
    s.fresh = k[form == Form::split ? 2 : 1];
    if (form == Form::pairs) {
      expect(a.in.k, {q[0], s.fresh, a.heads, 2, s.size});
    } else if (form == Form::split) {
      expect(a.in.k, {q[0], a.heads, s.fresh, s.size});
      expect(a.in.v, {q[0], a.heads, s.fresh, s.size});
    } else {
      expect(a.in.k, {q[0], s.fresh, q[2]});
      s.v_size = divide(c.shape(a.in.v)[2], "value");
      expect(a.in.v, {q[0], s.fresh, c.shape(a.in.v)[2]});
    }
  }
  s.v_hidden = form == Form::apart ? c.shape(a.in.v)[2] : d.mul(s.v_size, a.heads);
  if (c.has(a.in.projection)) {
    const Dim hidden = d.mul(s.size, a.heads);
    require(form != Form::pairs, ErrorCode::invalid_argument,
            "a bias of Q, K and V is not supported with packed K and V");
    expect(a.in.projection, {d.add(d.add(hidden, hidden), s.v_hidden)});
  }
  if (c.has(a.in.past_k)) {
    require(c.rank(a.in.past_k) == 4 && form != Form::split, ErrorCode::invalid_argument,
            "past_key has {} axes, expected 4, and a key of another rank", c.rank(a.in.past_k));
    const Dim past = c.shape(a.in.past_k)[2];
    expect(a.in.past_k, {q[0], a.heads, past, s.size});
    expect(a.in.past_v, {q[0], a.heads, past, s.size});
  }
  return s;
}

/// Extents of a run.
struct Extents {
  Form form;
  size_t batch, rows, heads, size, v_size, fresh, past,
      capacity;  // capacity: number of rows of the past if it is a buffer, else 0
  size_t total() const { return past + fresh; }
  size_t hidden() const { return heads * size; }
  size_t v_hidden() const { return heads * v_size; }
};

int64_t one_number(const RunContext& c, size_t i, std::string_view name) {
  require(c.count(i) == 1, ErrorCode::invalid_argument, "{} has {} elements, expected 1", name, c.count(i));
  return c.input<int32_t>(i)[0];
}

// With `most`, the number of past rows is the capacity of the buffer: the actual number is unknown while a run is laid
// out.
Extents extents_of(const RunContext& c, const HeadAttention& a, bool most = false) {
  const Form form = form_of(c, a);
  const Shape& q = c.shape(a.in.q);
  Extents e{.form = form, .batch = size_t(q[0]), .rows = size_t(q[1]), .heads = size_t(a.heads)};
  const size_t width = size_t(form == Form::triples ? q[4] : form == Form::rows ? q[2] / 3 : q[2]);
  e.size = e.v_size = form == Form::triples ? width : width / e.heads;
  e.fresh = e.rows;
  if (c.has(a.in.k)) e.fresh = size_t(c.shape(a.in.k)[form == Form::split ? 2 : 1]);
  if (form == Form::split) e.v_size = size_t(c.shape(a.in.v)[3]);
  if (form == Form::apart) e.v_size = size_t(c.shape(a.in.v)[2]) / e.heads;
  e.past = c.has(a.in.past_k) ? size_t(c.shape(a.in.past_k)[2]) : 0;
  e.capacity = 0;
  if (c.has(a.in.past_k) && c.has(a.in.past_rows)) {
    e.capacity = e.past;
    const int64_t past = most ? int64_t(e.capacity) - int64_t(std::min(e.fresh, e.capacity))
                              : one_number(c, a.in.past_rows, "past_sequence_length");
    require(most || (past >= 0 && size_t(past) + e.fresh <= e.capacity), ErrorCode::invalid_argument,
            "past_sequence_length is {}, with {} new rows in caches of {}", past, e.fresh, e.capacity);
    e.past = size_t(past);
  }
  return e;
}

AttentionShape shape_of(const RunContext& c, const HeadAttention& a, const Extents& e) {
  AttentionShape s;
  s.batch = e.batch;
  s.q_heads = s.kv_heads = e.heads;
  s.q_len = e.rows;
  s.new_len = e.fresh;
  s.past_len = e.past;
  s.head_size = e.size;
  s.v_head_size = e.v_size;
  const size_t n = e.hidden();
  if (e.form == Form::triples) {
    s.q = s.k = s.v = {e.rows * 3 * n, 3 * e.size, 3 * n};
  } else if (e.form == Form::rows) {
    s.q = s.k = s.v = {e.rows * 3 * n, e.size, 3 * n};
  } else {
    s.q = packed_heads(e.rows, e.heads, e.size);
    s.k = packed_heads(e.fresh, e.heads, e.size);
    s.v = packed_heads(e.fresh, e.heads, e.v_size);
    if (e.form == Form::pairs) s.k = s.v = {e.fresh * 2 * n, 2 * e.size, 2 * n};
    if (e.form == Form::split) {
      s.k = split_heads(e.fresh, e.heads, e.size);
      s.v = split_heads(e.fresh, e.heads, e.v_size);
    }
  }
  s.y = packed_heads(e.rows, e.heads, e.v_size);
  s.rooms = cache_rooms(c, a.in.past_k, a.in.past_v, HeadAttention::kPresentK, HeadAttention::kPresentV);
  if (e.capacity > 0) s.rooms = {e.capacity, e.capacity, e.capacity, e.capacity};
  return s;
}

AttentionData<float> data_of(const RunContext& c, const HeadAttention& a, const Extents& e) {
  const auto output = [&](size_t i) { return c.wants(i) ? c.output<float>(i).data() : nullptr; };
  AttentionData<float> d;
  d.q = c.input<float>(a.in.q).data();
  d.k = c.has(a.in.k) ? c.input<float>(a.in.k).data() : d.q + (e.form == Form::triples ? e.size : e.hidden());
  if (c.has(a.in.v))
    d.v = c.input<float>(a.in.v).data();
  else
    d.v = d.k + (e.form == Form::rows ? e.hidden() : e.size);
  d.past_k = c.optional<float>(a.in.past_k);
  d.past_v = c.optional<float>(a.in.past_v);
  d.y = output(HeadAttention::kY);
  d.present_k = output(HeadAttention::kPresentK);
  d.present_v = output(HeadAttention::kPresentV);
  return d;
}

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

size_t mask_elements(const RunContext& c, const HeadAttention& a, const Extents& e) {
  if (!c.has(a.in.mask)) return 0;
  const bool has_bias = c.has(a.in.bias), by_row = c.shape(a.in.mask).rank() == 3;
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

// The number that the mask adds to the score of key j for query i of batch b.
float masked(const RunContext& c, const HeadAttention& a, const Extents& e, const Mask& m, size_t b, size_t i,
             size_t j) {
  const auto values = c.input<int32_t>(a.in.mask);
  bool hidden = false;
  if (m.ends > 0) {
    const auto key = int64_t(j);
    hidden = key >= values[b] || (m.ends == 2 * e.batch && key < values[e.batch + b]);
  } else {
    hidden = values[(m.by_row ? b * e.rows + i : b) * e.total() + j] <= 0;
  }
  return hidden ? a.filter : 0;
}

ScoreOperand fill_mask(const RunContext& c, const HeadAttention& a, const Extents& e, const Mask& m, float* mask) {
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
  c.parallel().for_each(e.batch * m.heads * m.rows, [&](size_t task, int) {
    const size_t b = task / (m.heads * m.rows), h = task / m.rows % m.heads, i = task % m.rows;
    float* row = mask + task * total;
    const float* from = bias.data ? static_cast<const float*>(bias.data) + bias.at(b, h, i, 0) : nullptr;
    for (size_t j = 0; j < total; ++j) row[j] = masked(c, a, e, m, b, i, j) + (from ? from[j * bias.strides[3]] : 0.0f);
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

template <typename F>
void compute(const RunContext& c, const HeadAttention& a, const Extents& e, void* memory, const F& attend) {
  const Mask m = mask_of(c, a, e);
  const Work w(c, a, e, memory);
  AttentionShape s = shape_of(c, a, e);
  AttentionData<float> d = data_of(c, a, e);
  ScoreRule r;
  r.scale = a.scale != 0 ? double(a.scale) : 1 / std::sqrt(double(std::max<size_t>(e.size, 1)));
  r.causal = a.causal && e.rows > 1;
  r.blind = std::numeric_limits<double>::quiet_NaN();
  r.bias = fill_mask(c, a, e, m, w.mask);
  project(c, a, e, w, s, d);
  keep_room(c, e, e.size, d.past_k, d.present_k);
  keep_room(c, e, e.v_size, d.past_v, d.present_v);
  follow_beams(c, a, e, w, s, d);
  attend(s, d, r, w.rest);
}

}  // namespace

void HeadAttention::infer(InferContext& c) const {
  for (const size_t i : {kY, kPresentK, kPresentV, kScores}) c.set(i, c.dtype(in.q));
  require(c.has(in.past_k) == c.has(in.past_v), ErrorCode::invalid_argument, "past_key and past_value come together");
  const Form form = form_of(c, *this);
  const Dims s = dims_of(c, *this, form);
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
  const Extents e = extents_of(c, *this, true);
  const bool keeps = !c.has(in.cache);
  return Work(c, *this, e, nullptr).bytes + attention_scratch(shape_of(c, *this, e), keeps && c.wants(kPresentK),
                                                              keeps && c.wants(kPresentV), c.parallel().workers());
}

void HeadAttention::reference(RunContext& c) const {
  const Extents e = extents_of(c, *this);
  std::vector<std::byte> memory(Work(c, *this, e, nullptr).bytes);
  compute(c, *this, e, memory.data(), [&](const AttentionShape& s, AttentionData<float>& d, const ScoreRule& r, void*) {
    std::vector<float> scores(c.wants(kScores) ? s.batch * s.q_heads * s.q_len * s.total() : 0);
    if (c.wants(kScores)) d.scores = scores.data();
    d.scores_mode = 2;
    attention_reference(s, d, r, c.parallel());
    for (size_t i = 0; r.causal && i < scores.size(); ++i) {  // later keys get the lowest score; they are not left out
      const size_t row = i / s.total(), j = i % s.total(), b = row / (s.q_heads * s.q_len);
      if (j >= r.visible(s, b, row % s.q_len).second) scores[i] = std::numeric_limits<float>::lowest();
    }
    fill_floats(c, kScores, [&](size_t i) { return double(scores[i]); });
  });
}

void HeadAttention::fast(RunContext& c) const {
  if (c.wants(kScores)) return reference(c);  // a debugging aid
  compute(c, *this, extents_of(c, *this), c.scratch(),
          [&](const AttentionShape& s, const AttentionData<float>& d, const ScoreRule& r, void* rest) {
            attention_fast(s, d, r, rest, c.parallel());
          });
}

}  // namespace retort::ops

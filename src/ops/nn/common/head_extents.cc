#include "ops/nn/common/head_extents.h"

namespace retort::ops::head_attention {

Dims dims_of(InferContext& c, const HeadAttention& a, Form form) {
  DimTable& d = c.dims();
  const Shape& q = c.shape(a.in.q);
  const auto expect = [&](size_t i, const Shape& wanted) { expect_shape(c, i, "", wanted); };
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

int64_t one_number(const RunContext& c, size_t i, std::string_view name) {
  require(c.count(i) == 1, ErrorCode::invalid_argument, "{} has {} elements, expected 1", name, c.count(i));
  return c.input<int32_t>(i)[0];
}

Extents extents_of(const RunContext& c, const HeadAttention& a, bool most) {
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
  s.rounds = rounds_attention(c);
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

}  // namespace retort::ops::head_attention

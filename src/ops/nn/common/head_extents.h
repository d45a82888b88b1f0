// Where the inputs of HeadAttention lie, and their extents: during inference, and in a run.
#pragma once
#include "ops/nn/common/head_attention.h"

namespace retort::ops::head_attention {

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

/// Throws invalid_argument for inputs whose shapes do not match.
Dims dims_of(InferContext& c, const HeadAttention& a, Form form);

/// Extents of a run.
struct Extents {
  Form form;
  size_t batch, rows, heads, size, v_size, fresh, past;
  size_t capacity;  ///< rows of the past if it is a buffer, otherwise 0
  size_t total() const { return past + fresh; }
  size_t hidden() const { return heads * size; }
  size_t v_hidden() const { return heads * v_size; }
};

/// The only element of an int32 input.
int64_t one_number(const RunContext& c, size_t i, std::string_view name);
/// With `most`, the number of past rows is the capacity of the buffer: the actual number is unknown while a run is
/// laid out.
Extents extents_of(const RunContext& c, const HeadAttention& a, bool most = false);

AttentionShape shape_of(const RunContext& c, const HeadAttention& a, const Extents& e);
AttentionData<float> data_of(const RunContext& c, const HeadAttention& a, const Extents& e);

}  // namespace retort::ops::head_attention

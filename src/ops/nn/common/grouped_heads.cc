#include "ops/nn/common/grouped_heads.h"

namespace retort::ops {
namespace {

enum Input : size_t { kQ, kK, kV, kPastK, kPastV };

int64_t heads_of_a_row(bool packed, int64_t heads, int64_t kv_heads) { return packed ? heads + 2 * kv_heads : heads; }

}  // namespace

void check_grouped_heads(int64_t heads, int64_t kv_heads) {
  require(heads > 0 && kv_heads > 0 && heads % kv_heads == 0, ErrorCode::invalid_argument,
          "num_heads {} is not a multiple of kv_num_heads {}", heads, kv_heads);
}

Dim infer_grouped_rows(InferContext& c, int64_t heads, int64_t kv_heads) {
  DimTable& d = c.dims();
  const Shape& q = c.shape(kQ);
  require(q.rank() == 3, ErrorCode::invalid_argument, "query has shape {}, expected [batch, rows, hidden]", d.text(q));
  const int64_t parts = heads_of_a_row(!c.has(kK), heads, kv_heads);
  require(!is_known(q[2]) || q[2] % parts == 0, ErrorCode::invalid_argument, "query has {} elements for {} heads",
          d.text(q[2]), parts);
  const Dim size = d.div(q[2], parts);
  c.set(0, c.dtype(kQ), {q[0], q[1], d.mul(size, heads)});
  return size;
}

GroupedHeads grouped_heads(const RunContext& c, int64_t heads, int64_t kv_heads) {
  const Shape& q = c.shape(kQ);
  const auto parts = size_t(heads_of_a_row(!c.has(kK), heads, kv_heads));
  const size_t past = c.has(kPastK) ? size_t(c.shape(kPastK)[2]) : 0;
  return {.batch = size_t(q[0]),
          .rows = size_t(q[1]),
          .heads = size_t(heads),
          .kv_heads = size_t(kv_heads),
          .size = size_t(q[2]) / parts,
          .past = past,
          .capacity = past,
          .work = past,
          .parts = parts};
}

void expect_given(const RunContext& c, size_t i, std::string_view name, const Shape& wanted) {
  if (c.has(i) && c.shape(i) != wanted)
    fail(ErrorCode::invalid_argument, "{} has shape {}, expected {}", name, to_string(c.shape(i)), to_string(wanted));
}

void expect_grouped_inputs(const RunContext& c, const GroupedHeads& e, int64_t stored) {
  const auto b = int64_t(e.batch), rows = int64_t(e.rows), kv = int64_t(e.kv_heads), past = int64_t(e.past);
  const int64_t width = kv * int64_t(e.size);
  expect_given(c, kK, "key", {b, rows, width});
  expect_given(c, kV, "value", {b, rows, width});
  expect_given(c, kPastK, "past_key", {b, kv, past, stored});
  expect_given(c, kPastV, "past_value", {b, kv, past, stored});
}

size_t rotated_half(const RunContext& c, size_t cos, size_t sin, size_t size) {
  const Shape& shape = c.shape(cos);
  require(shape.rank() == 2 && c.shape(sin) == shape && size_t(shape[1]) * 2 <= size, ErrorCode::invalid_argument,
          "cos_cache and sin_cache have shapes {} and {} for heads of {} elements", shape, c.shape(sin), size);
  return size_t(shape[1]);
}

}  // namespace retort::ops

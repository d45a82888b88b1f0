#include "ops/nn/common/grouped_query.h"

#include <cmath>

#include "base/checked.h"
#include "ops/expect_shape.h"

namespace retort::ops {
namespace {

Dim past_rows(const InferContext& c) {
  require(c.rank(GroupedQuery::kPastK) == 4, ErrorCode::invalid_argument, "past_key has shape {}, expected 4 axes",
          c.dims().text(c.shape(GroupedQuery::kPastK)));
  return c.shape(GroupedQuery::kPastK)[2];
}

}  // namespace

void GroupedQuery::check() const {
  check_grouped_heads(num_heads, kv_num_heads);
  require(local_window_size == -1 || (local_window_size > 0 && causal), ErrorCode::invalid_argument,
          "local_window_size is {}, with causal {}", local_window_size, int(causal));
  require(qk_output >= 0 && qk_output <= 2, ErrorCode::invalid_argument, "qk_output is {}", qk_output);
  require(!sliding_cache || local_window_size > 0, ErrorCode::invalid_argument,
          "sliding_window_cache needs a local_window_size, which is {}", local_window_size);
  for (const std::string& type : {k_quant_type, v_quant_type})
    require(type == "NONE" || type == "PER_TENSOR" || type == "PER_CHANNEL", ErrorCode::invalid_argument,
            "a cache has the quantisation '{}', expected NONE, PER_TENSOR or PER_CHANNEL", type);
  require((k_quant_type == "NONE") == (v_quant_type == "NONE"), ErrorCode::invalid_argument,
          "k_quant_type is {} and v_quant_type {}; quantise both caches or none", k_quant_type, v_quant_type);
  require(quantised() ? cache_bits == 4 || cache_bits == 8 : cache_bits == 0, ErrorCode::invalid_argument,
          "kv_cache_bit_width is {} with k_quant_type {}, expected 4 or 8 for codes and 0 for floats", cache_bits,
          k_quant_type);
  for (const float epsilon : {norm_epsilon, q_epsilon.value_or(1), k_epsilon.value_or(1)})
    require(epsilon > 0 && std::isfinite(epsilon), ErrorCode::invalid_argument,
            "the epsilon of a norm is {}, expected a positive number", epsilon);
}

void GroupedQuery::infer(InferContext& c) const {
  const DType cache = c.has(kPastK) ? c.dtype(kPastK) : c.dtype(kQ);
  for (const size_t i : {kY, kScores}) c.set(i, c.dtype(kQ));
  for (const size_t i : {kPresentK, kPresentV}) c.set(i, cache);
  check_given(c, cache);
  DimTable& d = c.dims();
  const Shape& q = c.shape(kQ);
  const Dim size = infer_grouped_rows(c, num_heads, kv_num_heads);
  const auto total = c.try_value(kTotal);
  require(!total || total->size() == 1, ErrorCode::invalid_argument, "total_sequence_length is not a single number");
  const Dim past = c.has(kPastK) ? past_rows(c) : 0, last = total ? (*total)[0] : c.unknown_extent();
  const Dim stored = cache_bits == 4 ? d.div(d.add(size, 1), 2) : size;
  const Shape present{q[0], kv_num_heads, sliding_cache ? past : d.max(past, last), stored};
  c.set(kPresentK, cache, present);
  c.set(kPresentV, cache, present);
  c.set(kScores, c.dtype(kQ), {q[0], num_heads, q[1], last});
}

void GroupedQuery::check_given(const InferContext& c, DType cache) const {
  require(c.has(kK) == c.has(kV) && c.has(kPastK) == c.has(kPastV), ErrorCode::invalid_argument,
          "keys need values: key {}, value {}, past_key {}, past_value {}", c.has(kK), c.has(kV), c.has(kPastK),
          c.has(kPastV));
  require(!do_rotary || (c.has(kCos) && c.has(kSin)), ErrorCode::invalid_argument,
          "do_rotary needs cos_cache and sin_cache");
  require(c.has(kQNorm) == c.has(kKNorm), ErrorCode::invalid_argument,
          "q_norm_weight is {}, k_norm_weight {}; give both or none", c.has(kQNorm) ? "given" : "missing",
          c.has(kKNorm) ? "given" : "missing");
  require(c.has(kPastK) || (!sliding_cache && !quantised() && !c.has(kFresh)), ErrorCode::invalid_argument,
          "sliding_window_cache, quantised caches and query_seqlens need past_key and past_value");
  require(!c.has(kFresh) || causal, ErrorCode::invalid_argument, "query_seqlens requires causal 1, which is 0");
  require(!sliding_cache || !c.wants(kScores), ErrorCode::not_implemented,
          "output_qk is not supported with sliding_window_cache; leave it out");
  require(!quantised() || (c.has(kKScale) && c.has(kVScale)), ErrorCode::invalid_argument,
          "quantised caches need k_scale and v_scale");
  const bool fits =
      quantised() ? cache == (cache_bits == 4 ? DType::u8 : DType::i8) : is_float(cache) && cache != DType::f64;
  if (cache != DType::undefined && !fits)
    fail(ErrorCode::invalid_argument,
         "the caches are {} with k_quant_type {} and kv_cache_bit_width {}; expected int8 for 8 bits, uint8 for 4, "
         "and float32, float16 or bfloat16 without quantisation",
         dtype_name(cache), k_quant_type, cache_bits);
}

GroupedHeads GroupedQuery::extents(const RunContext& c) const {
  GroupedHeads e = grouped_heads(c, num_heads, kv_num_heads);
  if (!sliding_cache)
    e.capacity = c.wants(kPresentK)   ? size_t(c.out_shape(kPresentK)[2])
                 : c.wants(kPresentV) ? size_t(c.out_shape(kPresentV)[2])
                                      : checked_add(e.past, e.rows, "rows of a cache");
  e.work = sliding_cache ? checked_add(e.capacity, e.rows, "rows of a cache") : e.capacity;
  return e;
}

void GroupedQuery::check_inputs(const RunContext& c, const GroupedHeads& e) const {
  const auto b = int64_t(e.batch), size = int64_t(e.size), rows = int64_t(e.rows);
  expect_grouped_inputs(c, e, cache_bits == 4 ? (size + 1) / 2 : size);
  expect_shape(c, kPositions, "position_ids", {b, rows});
  expect_shape(c, kSinks, "head_sink", {num_heads});
  expect_shape(c, kQNorm, "q_norm_weight", {size});
  expect_shape(c, kKNorm, "k_norm_weight", {size});
  expect_shape(c, kFresh, "query_seqlens", {b});
  require(c.count(kLast) == e.batch, ErrorCode::invalid_argument, "seqlens_k has {} entries for a batch of {}",
          c.count(kLast), e.batch);
  require(c.count(kTotal) == 1, ErrorCode::invalid_argument, "total_sequence_length is not a single number");
  require(!sliding_cache || int64_t(e.capacity) >= local_window_size, ErrorCode::invalid_argument,
          "sliding_window_cache: the cache has {} rows, expected at least local_window_size {}", e.capacity,
          local_window_size);
}

KvEntry GroupedQuery::entry_of(const RunContext& c, const GroupedHeads& e, size_t b) const {
  const int64_t longest = c.input<int32_t>(kTotal)[0], given = int64_t(c.input<int32_t>(kLast)[b]) + 1;
  const auto rows = int64_t(e.rows);
  const bool exact = c.has(kFresh) || sliding_cache;  // otherwise the rows after a shorter prompt are stored, too
  // As in ONNX Runtime, a longer entry of a prompt has the rows that are there.
  const bool prompt = !exact && longest == rows;
  const int64_t total = prompt ? std::min(given, rows) : given;
  const int64_t fresh = c.has(kFresh) ? c.input<int32_t>(kFresh)[b] : exact ? std::min(rows, total) : rows;
  const int64_t before = prompt ? 0 : total - fresh;
  // As in ONNX Runtime, total_sequence_length may be too small where nothing has a column for each key.
  const int64_t most = exact || c.has(kBias) || c.wants(kScores) ? longest : int64_t(e.capacity);
  require(total >= 1 && total <= most && (exact || longest >= rows) && fresh >= 0 && fresh <= rows && before >= 0,
          ErrorCode::invalid_argument,
          "seqlens_k[{}] is {}, with {} of {} rows new and total_sequence_length {}; it may be at most {}", b,
          given - 1, fresh, rows, longest, most - 1);
  require(sliding_cache || before <= int64_t(e.past), ErrorCode::invalid_argument,
          "seqlens_k[{}] is {}, with {} new rows, {} past ones and total_sequence_length {}", b, given - 1, fresh,
          e.past, longest);
  require(!c.has(kFresh) || sliding_cache || before + rows <= int64_t(e.capacity), ErrorCode::invalid_argument,
          "query_seqlens[{}]: {} past rows and a chunk of {} do not fit into a cache of {}", b, before, rows,
          e.capacity);
  const size_t first = sliding_cache ? size_t(before) - resident_rows(size_t(before), e.capacity, window()) : 0;
  return {size_t(before), size_t(fresh), size_t(exact ? fresh : rows), size_t(total), first};
}

}  // namespace retort::ops

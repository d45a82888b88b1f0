#include "base/checked.h"
#include "kernels/attention/rows.h"
#include "kernels/attention/scores.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/move/copy.h"
#include "ops/nn/common/attention.h"

namespace retort::ops {
namespace {

// Query rows of one task: a multiple of the GEMM's tile rows; the scores of that many stay in the second-level cache.
constexpr size_t kBlockRows = 48;
// The same in bfloat16 arithmetic: two tiles of AMX registers, which share the keys that a tile reads. By
// vectors, the scores of 64 rows stay in the second-level cache, too.
constexpr size_t kRoundedRows = 64;
// If fewer rows than this share a key head, packing keys costs more than it saves.
constexpr size_t kFewRows = 8;
// If past rows of at least this many bytes are copied, they are written past the caches: until the next step reads them,
// the weights of a model have passed through. A plain store would first read the line that it overwrites. With plain
// stores, a step of GPT-2 with 4-bit weights after 511 tokens takes 1.04 to 1.08 times as long on Zen 5.
constexpr size_t kStreamed = size_t(2) << 20;

size_t aligned(size_t bytes) { return round_up(bytes, 64); }

/// The division of scratch for one call: joined keys and values (if no present outputs hold them), packed keys and
/// values of every head, and for each worker the scores of a block of queries and, in bfloat16 arithmetic, these queries.
struct Layout {
  bool few, rounds;  ///< uses dot products instead of GEMM; multiplies in bfloat16 arithmetic
  size_t block, blocks;
  size_t join_k = 0, join_v = 0, pack_k = 0, pack_v = 0;  ///< bytes for each head of K and V
  size_t score_stride;                                    ///< floats from one row of scores to the next
  size_t scores, queries = 0;                             ///< bytes for each worker

  Layout(const AttentionShape& s, bool present_k, bool present_v) {
    few = s.q_len * s.group() <= kFewRows;
    rounds = s.rounds && !few;
    const size_t most = rounds ? kRoundedRows : kBlockRows;
    blocks = few ? 1 : ceil_div(s.q_len, most);
    block = few ? s.q_len : rounds ? ceil_div(s.q_len, std::max<size_t>(blocks, 1)) : std::min(most, s.q_len);
    if (s.past_len > 0 && !present_k) join_k = aligned(s.total() * s.head_size * sizeof(float));
    if (s.past_len > 0 && !present_v) join_v = aligned(s.total() * s.v_head_size * sizeof(float));
    score_stride = s.total();
    // The memory for a block depends on no division into equal blocks: fewer queries must not need more.
    const size_t rows = few ? s.group() : std::min(most, s.q_len);
    if (rounds) {
      pack_k = aligned(kernels::bf16_packed_bytes(s.head_size, s.total()));
      pack_v = aligned(kernels::bf16_packed_bytes(s.total(), s.v_head_size));
      // Whole panels are written, and rows are rounded in place.
      score_stride = kernels::bf16_row_stride(2 * round_up(s.total(), kernels::gemm_panel_width()));
      queries = aligned(rows * kernels::bf16_row_stride(s.head_size) * sizeof(float));
    } else if (!few) {
      pack_k = aligned(kernels::gemm_packed_bytes(s.head_size, s.total()));
      pack_v = aligned(kernels::gemm_packed_bytes(s.total(), s.v_head_size));
    }
    scores = aligned(rows * score_stride * sizeof(float));
  }
  size_t per_head() const { return join_k + join_v + pack_k + pack_v; }
  size_t per_worker() const { return scores + queries; }
};

class Runner {
 public:
  Runner(const AttentionShape& s, const AttentionData<float>& d, const ScoreRule& rule, void* scratch)
      : s_(s), d_(d), rule_(rule), layout_(s, d.present_k, d.present_v), scratch_(static_cast<char*>(scratch)) {}

  void run(const Parallel& parallel) const {
    const size_t kv = s_.batch * s_.kv_heads;
    if (layout_.few) {
      parallel.for_each(kv, [&](size_t task, int worker) { few_rows(task, scores(worker)); });
      return;
    }
    parallel.for_each(kv, [&](size_t task, int) { pack(task); });
    parallel.for_each(s_.batch * s_.q_heads * layout_.blocks, [&](size_t task, int worker) {
      const size_t head = task / layout_.blocks;
      block(head / s_.q_heads, head % s_.q_heads, task % layout_.blocks * layout_.block, scores(worker), parallel);
    });
  }

 private:
  struct Matrix {
    const float* data;
    size_t row;
  };
  char* head_memory(size_t kv) const { return scratch_ + kv * layout_.per_head(); }
  float* scores(int worker) const {
    const size_t heads = s_.batch * s_.kv_heads * layout_.per_head();
    return reinterpret_cast<float*>(scratch_ + heads + size_t(worker) * layout_.per_worker());
  }
  const float* packed_k(size_t kv) const {
    return reinterpret_cast<float*>(head_memory(kv) + layout_.join_k + layout_.join_v);
  }
  const float* packed_v(size_t kv) const {
    return reinterpret_cast<float*>(head_memory(kv) + layout_.join_k + layout_.join_v + layout_.pack_k);
  }

  // The rows of one head: the first `split` in the past, the others behind them in `all`, which may not be written yet.
  struct Rows {
    Matrix all{};
    const float* past = nullptr;
    size_t split = 0;
    const float* rest() const { return all.data + split * all.row; }
  };
  // The same as rows(), but a large past is read where it is, while its copy goes past the caches.
  Rows split_rows(size_t b, size_t h, bool key) const {
    const size_t size = key ? s_.head_size : s_.v_head_size;
    const HeadStrides from = key ? s_.past_k() : s_.past_v();
    const float* past = key ? d_.past_k : d_.past_v;
    float* to = key ? d_.present_k : d_.present_v;
    const size_t all_bytes = 2 * s_.batch * s_.kv_heads * s_.past_len * size * sizeof(float);
    if (!past || !to || all_bytes < kStreamed) return {rows(b, h, key)};
    past += from.at(b, h, 0);
    to += (key ? s_.present_k() : s_.present_v()).at(b, h, 0);
    if (past == to) return {rows(b, h, key)};
    const size_t split = s_.past_len / kernels::kDotItems * kernels::kDotItems;
    kernels::stream_bytes(to, past, split * size * sizeof(float));
    std::copy(past + split * size, past + s_.past_len * size, to + split * size);
    append(b, h, key, to);
    return {{to, size}, past, split};
  }
  // Copies the new rows of one head behind the past ones.
  void append(size_t b, size_t h, bool key, float* to) const {
    const size_t size = key ? s_.head_size : s_.v_head_size;
    const HeadStrides& from = key ? s_.k : s_.v;
    const float* fresh = (key ? d_.k : d_.v) + from.at(b, h, 0);
    for (size_t j = 0; j < s_.new_len; ++j) std::copy_n(fresh + j * from.row, size, to + (s_.past_len + j) * size);
  }

  // Returns past and new rows of one head, one after the other. Without a past and a present output, returns the new
  // rows in place.
  Matrix rows(size_t b, size_t h, bool key) const {
    const size_t size = key ? s_.head_size : s_.v_head_size;
    const HeadStrides& from = key ? s_.k : s_.v;
    const float* fresh = (key ? d_.k : d_.v) + from.at(b, h, 0);
    float* to = key ? d_.present_k : d_.present_v;
    if (to)
      to += (key ? s_.present_k() : s_.present_v()).at(b, h, 0);
    else if (s_.past_len > 0)
      to = reinterpret_cast<float*>(head_memory(b * s_.kv_heads + h) + (key ? 0 : layout_.join_k));
    else
      return {fresh, from.row};
    const float* past = key ? d_.past_k : d_.past_v;
    if (s_.past_len > 0) past += (key ? s_.past_k() : s_.past_v()).at(b, h, 0);
    if (s_.past_len > 0 && past != to) std::copy_n(past, s_.past_len * size, to);
    append(b, h, key, to);
    return {to, size};
  }

  void pack(size_t kv) const {
    const Matrix k = rows(kv / s_.kv_heads, kv % s_.kv_heads, true);
    const Matrix v = rows(kv / s_.kv_heads, kv % s_.kv_heads, false);
    if (layout_.rounds) {
      kernels::bf16_pack_b(k.data, 1, k.row, s_.head_size, s_.total(), const_cast<float*>(packed_k(kv)));
      kernels::bf16_pack_b(v.data, v.row, 1, s_.total(), s_.v_head_size, const_cast<float*>(packed_v(kv)));
    } else {
      kernels::gemm_pack_b(k.data, 1, k.row, s_.head_size, s_.total(), const_cast<float*>(packed_k(kv)));
      kernels::gemm_pack_b(v.data, v.row, 1, s_.total(), s_.v_head_size, const_cast<float*>(packed_v(kv)));
    }
  }

  void block(size_t b, size_t h, size_t first, float* scores, const Parallel& parallel) const {
    const size_t kv = b * s_.kv_heads + s_.kv_head(h), rows = std::min(layout_.block, s_.q_len - first);
    size_t keys = 0;  // no query of the block sees a later key
    for (size_t i = 0; i < rows; ++i) keys = std::max(keys, rule_.visible(s_, b, first + i).second);
    if (layout_.rounds) keys = std::min(round_up(keys, size_t(2)), s_.total());  // values are packed in pairs
    kernels::GemmArgs g;
    g.m = rows;
    g.n = keys;
    g.k = s_.head_size;
    g.run = &parallel;
    g.a = d_.q + s_.q.at(b, h, first);
    g.a_stride = s_.q.row;
    g.packed_b = packed_k(kv);
    g.c = scores;
    g.c_stride = layout_.score_stride;
    if (layout_.rounds) round_queries(g, reinterpret_cast<float*>(reinterpret_cast<char*>(scores) + layout_.scores));
    if (keys > 0) kernels::gemm_block(g, 0, g.n);
    float factors[std::max(kBlockRows, kRoundedRows)];
    for (size_t i = 0; i < rows; ++i) factors[i] = finish_row(scores + i * layout_.score_stride, keys, b, h, first + i);
    g.k = keys;
    g.a = scores;
    g.a_stride = layout_.score_stride;
    g.c_stride = s_.y.row;
    if (layout_.rounds) round_rows(g, scores, layout_.score_stride);
    const size_t width = kernels::gemm_panel_width();  // one panel at a time, since panels are packed for all keys
    const size_t steps = layout_.rounds ? kernels::bf16_pairs(s_.total()) : s_.total();
    for (size_t n = 0; n < s_.v_head_size; n += width) {
      g.n = std::min(width, s_.v_head_size - n);
      g.packed_b.data = packed_v(kv) + n * steps;
      g.c = d_.y + s_.y.at(b, h, first) + n;
      kernels::gemm_block(g, 0, g.n);
    }
    for (size_t i = 0; i < rows; ++i) scale_result(b, h, first + i, factors[i]);
  }
  // Rounds the rows on the left of a product to `to`.
  static void round_rows(kernels::GemmArgs& g, float* to, size_t stride) {
    kernels::bf16_round_rows(g.a, g.a_stride, g.m, g.k, to, stride);
    g = kernels::bf16_block(g, to, stride);
  }
  // Makes the product of queries and keys one in bfloat16 arithmetic, whose last panel is whole.
  void round_queries(kernels::GemmArgs& g, float* to) const {
    round_rows(g, to, kernels::bf16_row_stride(s_.head_size));
    g.n = round_up(g.n, kernels::gemm_panel_width());
    g.packed_b.type = kernels::PackedType::bf16_pairs;
  }

  void few_rows(size_t kv, float* scores) const {
    const size_t b = kv / s_.kv_heads, h = kv % s_.kv_heads, group = s_.group();
    const Rows k = split_rows(b, h, true);
    Rows v;  // copied after the first scores, for which the keys may then still be in the cache
    for (size_t i = 0; i < s_.q_len; ++i) {
      const size_t keys = rule_.visible(s_, b, i).second;
      const size_t first = h * group;
      dot(k, keys, d_.q + s_.q.at(b, first, i), scores);
      if (i == 0) v = split_rows(b, h, false);
      float factors[kFewRows];
      for (size_t r = 0; r < group; ++r) factors[r] = finish_row(scores + r * s_.total(), keys, b, first + r, i);
      sum(v, keys, scores, d_.y + s_.y.at(b, first, i));
      for (size_t r = 0; r < group; ++r) scale_result(b, first + r, i, factors[r]);
    }
  }

  // Calls f(shape, items, first) for the past items of a head, if they are elsewhere, and for the others: `first` is the
  // number of items before them. `row` is the distance of the query rows of a group.
  template <typename F>
  void each_part(const Rows& head, size_t keys, size_t size, size_t row, const F& f) const {
    const size_t past = std::min(keys, head.split);
    kernels::RowItems items{.rows = s_.group(),
                            .count = past,
                            .size = size,
                            .row_stride = row,
                            .item_stride = head.all.row,
                            .score_stride = s_.total()};
    if (past > 0) f(items, head.past, size_t(0));
    items.count = keys - past;
    items.adds = past > 0;
    f(items, head.rest(), past);
  }
  // The scores of the query rows of a group.
  void dot(const Rows& k, size_t keys, const float* q, float* scores) const {
    each_part(k, keys, s_.head_size, s_.q.head, [&](const kernels::RowItems& items, const float* from, size_t first) {
      kernels::dot_rows(items, q, from, scores + first);
    });
  }
  // The values, weighted by the scores.
  void sum(const Rows& v, size_t keys, const float* scores, float* y) const {
    each_part(v, keys, s_.v_head_size, s_.y.head, [&](const kernels::RowItems& items, const float* from, size_t first) {
      kernels::weighted_rows(items, scores + first, from, y);
    });
  }

  void scale_result(size_t b, size_t h, size_t i, float factor) const {
    float* y = d_.y + s_.y.at(b, h, i);
    for (size_t j = 0; j < s_.v_head_size; ++j) y[j] *= factor;
  }

  // Turns the dot products of one query with keys [0, keys) into weights, except for a factor, which is returned.
  float finish_row(float* x, size_t keys, size_t b, size_t h, size_t i) const {
    const auto [first, last] = rule_.visible(s_, b, i);
    kernels::ScoreRow row{.count = last - first, .blind = float(rule_.blind)};
    if (rule_.sink) row.sink = rule_.sink_score(h);
    const ScoreOperand &bias = rule_.bias, &flags = rule_.flags;
    if (rule_.softcap > 0 || (bias.data && (bias.dtype != DType::f32 || bias.strides[3] != 1))) {
      for (size_t j = first; j < last; ++j)
        x[j] = float(rule_.apply(rule_.capped(double(x[j]) * rule_.scale), b, h, i, j));
    } else {
      row.scale = float(rule_.scale);
      if (flags.data) {
        row.flags = static_cast<const bool*>(flags.data) + flags.at(b, h, i, first);
        row.flag_step = flags.strides[3];
        row.flag_hides = rule_.flag_hides;
        row.hidden = float(rule_.hidden);
      }
      if (bias.data) row.bias = static_cast<const float*>(bias.data) + bias.at(b, h, i, first);
    }
    const float factor = kernels::weigh_scores(row, x + first);
    const float outside = first == last && !rule_.sink ? row.blind : 0.0f;
    std::fill_n(x, first, outside);
    std::fill(x + last, x + keys, outside);
    return factor;
  }

  const AttentionShape& s_;
  const AttentionData<float>& d_;
  const ScoreRule& rule_;
  const Layout layout_;
  char* const scratch_;
};

}  // namespace

std::unique_ptr<State> prepare_attention(const PrepareContext& c) {
  if (!c.options().bf16_products || !kernels::has_bf16_products()) return nullptr;
  return std::make_unique<State>();
}

size_t attention_scratch(const AttentionShape& s, bool present_k, bool present_v, int workers) {
  const Layout l(s, present_k, present_v);
  return s.batch * s.kv_heads * l.per_head() + size_t(workers) * l.per_worker();
}

void attention_fast(const AttentionShape& s, const AttentionData<float>& d, const ScoreRule& rule, void* scratch,
                    const Parallel& parallel) {
  if (s.batch * s.q_heads * s.q_len == 0) {  // the present cache must still be written
    if (d.present_k || d.present_v) attention_reference(s, d, rule);
    return;
  }
  Runner(s, d, rule, scratch).run(parallel);
}

}  // namespace retort::ops

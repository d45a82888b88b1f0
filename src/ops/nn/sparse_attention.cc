// SparseAttention: causal attention in which each block of queries sees only some blocks of keys. The new keys and values,
// rotated by their position if requested, are written into a cache of fixed length.
#include "base/checked.h"
#include "ops/expect_shape.h"
#include "ops/nn/common/attention.h"
#include "ops/nn/common/rotary.h"

namespace retort::ops {
namespace {

/// One layout: the blocks of keys that a block of queries sees, in the form of compressed sparse rows.
struct BlockLayout {
  std::span<const int32_t> rows;  ///< [blocks + 1]: where the columns of each row begin
  std::span<const int32_t> columns;
  size_t block = 0;  ///< tokens per block

  size_t blocks() const { return rows.size() - 1; }
  /// Whether the rows have so many blocks that queries see everything before them; then the columns are not read.
  bool dense() const { return size_t(rows.back()) >= blocks() * (blocks() + 1) / 2; }
  /// Whether the keys before the end of the block are all visible to it.
  bool dense(size_t row) const { return dense() || size_t(rows[row + 1] - rows[row]) == row + 1; }
  /// Sets the flags of the first `shown.size()` keys for a query in block `row`.
  void show(size_t row, std::span<bool> shown) const {
    std::fill(shown.begin(), shown.end(), dense(row));
    for (int32_t i = rows[row]; i < rows[row + 1] && !dense(row); ++i) {
      const size_t first = size_t(columns[size_t(i)]) * block;
      for (size_t j = first; j < std::min(first + block, shown.size()); ++j) shown[j] = true;
    }
  }
  /// Throws invalid_argument if an index is out of range.
  void check() const {
    int32_t last = 0;
    for (const int32_t r : rows) {
      require(r >= last && (dense() || size_t(r) <= columns.size()), ErrorCode::invalid_argument,
              "block_row_indices has {} after {}, but there are {} columns", r, last, columns.size());
      last = r;
    }
    for (int32_t i = 0; !dense() && i < last; ++i) {
      const int32_t column = columns[size_t(i)];
      require(column >= 0 && size_t(column) < blocks(), ErrorCode::invalid_argument,
              "block_col_indices has {}, expected a block in [0, {})", column, blocks());
    }
  }
};

/// Extents of one run. Q, K and V are [batch, rows, ·], and caches [batch, kv_heads, capacity, size]. `parts`: the heads that one row of Q has, with those of K and V if they are packed.
struct GroupedHeads {
  size_t batch = 0, rows = 0, heads = 0, kv_heads = 0, size = 0, capacity = 0, parts = 0;
  HeadStrides input(size_t heads) const { return packed_heads(rows, heads, size); }
  HeadStrides cache() const { return split_heads(capacity, kv_heads, size); }
  bool packed() const { return parts != heads; }
};

/// The tensors of one run. `k` and `v` are null if they are packed with Q.
template <typename T>
struct GroupedRows {
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  T* turned = nullptr;  ///< receives Q, [batch, rows, heads, size]
  T *cache_k = nullptr, *cache_v = nullptr;
  const Rotation<T>* rotation = nullptr;   ///< null: Q and K are not rotated
  std::span<const size_t> positions = {};  ///< [batch, rows], if they are
};

/// Copies Q, and appends K and V to the caches: row s of entry b becomes row before(b) + s. Q and K are rotated.
template <typename T, typename Before>
void append_rows(const GroupedHeads& e, const GroupedRows<T>& d, const Before& before, const Parallel& parallel) {
  const T* k = e.packed() ? d.q + e.heads * e.size : d.k;
  const T* v = e.packed() ? k + e.kv_heads * e.size : d.v;
  const HeadStrides of_q = e.input(e.parts), of_kv = e.packed() ? of_q : e.input(e.kv_heads), cache = e.cache();
  parallel.for_each(e.batch * e.rows, [&](size_t task, int) {
    const size_t b = task / e.rows, s = task % e.rows, row = before(b) + s;
    const auto turn = [&](const T* from, T* to) {
      if (d.rotation) return d.rotation->apply(d.positions[task], from, to);
      std::copy_n(from, e.size, to);
    };
    for (size_t h = 0; h < e.heads; ++h) turn(d.q + of_q.at(b, h, s), d.turned + e.input(e.heads).at(b, h, s));
    for (size_t h = 0; h < e.kv_heads; ++h) {
      turn(k + of_kv.at(b, h, s), d.cache_k + cache.at(b, h, row));
      std::copy_n(v + of_kv.at(b, h, s), e.size, d.cache_v + cache.at(b, h, row));
    }
  });
}

struct SparseAttention {
  int64_t num_heads = 0, kv_num_heads = 0, block = 0;
  bool do_rotary = false, rotary_interleaved = false;
  float scale = 0;
  using Self = SparseAttention;
  static constexpr std::tuple attributes{attr("do_rotary", &Self::do_rotary),
                                         required("kv_num_heads", &Self::kv_num_heads),
                                         required("num_heads", &Self::num_heads),
                                         attr("rotary_interleaved", &Self::rotary_interleaved),
                                         attr("scale", &Self::scale),
                                         required("sparse_block_size", &Self::block)};
  enum Input : size_t { kQ, kK, kV, kPastK, kPastV, kRows, kColumns, kTotal, kTotals, kCos, kSin };
  enum Output : size_t { kY, kPresentK, kPresentV };

  void check() const {
    require(num_heads > 0 && kv_num_heads > 0 && num_heads % kv_num_heads == 0, ErrorCode::invalid_argument,
            "num_heads {} is not a multiple of kv_num_heads {}", num_heads, kv_num_heads);
    require(block > 0, ErrorCode::invalid_argument, "sparse_block_size is {}, expected a positive number", block);
  }

  void infer(InferContext& c) const {
    for (const size_t i : {kY, kPresentK, kPresentV}) c.set(i, c.dtype(kQ));
    require(c.has(kK) == c.has(kV), ErrorCode::invalid_argument, "key and value are both given, or both packed");
    require(!do_rotary || (c.has(kCos) && c.has(kSin)), ErrorCode::invalid_argument,
            "do_rotary needs cos_cache and sin_cache");
    DimTable& d = c.dims();
    const Shape& q = c.shape(kQ);
    require(q.rank() == 3, ErrorCode::invalid_argument, "query has shape {}, expected [batch, rows, hidden]",
            d.text(q));
    const int64_t parts = c.has(kK) ? num_heads : num_heads + 2 * kv_num_heads;
    require(!is_known(q[2]) || q[2] % parts == 0, ErrorCode::invalid_argument, "query has {} elements for {} heads",
            d.text(q[2]), parts);
    c.set(kY, c.dtype(kQ), {q[0], q[1], d.mul(d.div(q[2], parts), num_heads)});
    require(c.rank(kPastK) == 4, ErrorCode::invalid_argument, "past_key has shape {}, expected 4 axes",
            d.text(c.shape(kPastK)));
    for (const size_t i : {kPresentK, kPresentV}) c.set(i, c.dtype(kQ), c.shape(kPastK));
  }
  // As if queries saw all keys: how many they see depends on the layout.
  Cost cost(const CostContext& c) const { return attention_cost(c.out_count(), c.out_count(), c.extent(kPastK, 2)); }

  GroupedHeads extents(const RunContext& c) const {
    const Shape& q = c.shape(kQ);
    const auto heads = size_t(num_heads), kv = size_t(kv_num_heads), parts = c.has(kK) ? heads : heads + 2 * kv;
    const auto capacity = size_t(c.shape(kPastK)[2]);
    return {.batch = size_t(q[0]),
            .rows = size_t(q[1]),
            .heads = heads,
            .kv_heads = kv,
            .size = size_t(q[2]) / parts,
            .capacity = capacity,
            .parts = parts};
  }

  void check_inputs(const RunContext& c, const GroupedHeads& e) const {
    const auto expect = [&](size_t i, std::string_view name, const Shape& wanted) { expect_shape(c, i, name, wanted); };
    const auto b = int64_t(e.batch), size = int64_t(e.size), rows = int64_t(e.rows);
    expect(kK, "key", {b, rows, kv_num_heads * size});
    expect(kV, "value", {b, rows, kv_num_heads * size});
    expect(kPastK, "past_key", {b, kv_num_heads, int64_t(e.capacity), size});
    expect(kPastV, "past_value", {b, kv_num_heads, int64_t(e.capacity), size});
    expect(kTotals, "key_total_sequence_lengths", {b});
    require(c.count(kTotal) == 1, ErrorCode::invalid_argument, "total_sequence_length is not a single number");
  }

  /// The layouts; head h has layout h modulo their number.
  std::vector<BlockLayout> layouts(const RunContext& c) const {
    const Shape &rows = c.shape(kRows), &columns = c.shape(kColumns);
    require(rows.rank() == 2 && columns.rank() == 2 && rows[0] > 0 && rows[1] > 1 && columns[0] == rows[0] &&
                num_heads % rows[0] == 0,
            ErrorCode::invalid_argument,
            "block_row_indices and block_col_indices have shapes {} and {}, expected [layouts, blocks + 1] and "
            "[layouts, any] for {} heads, a multiple of the layouts",
            rows, columns, num_heads);
    std::vector<BlockLayout> all;
    for (int64_t i = 0; i < rows[0]; ++i) {
      const auto row = size_t(rows[1]), column = size_t(columns[1]);
      all.push_back({.rows = c.input<int32_t>(kRows).subspan(size_t(i) * row, row),
                     .columns = c.input<int32_t>(kColumns).subspan(size_t(i) * column, column),
                     .block = size_t(block)});
      all.back().check();
    }
    return all;
  }

  /// For each entry of the batch: number of keys before this run and after it.
  struct Span {
    size_t before, total;
  };
  std::vector<Span> spans(const RunContext& c, const GroupedHeads& e, size_t longest) const {
    const int64_t total = c.input<int32_t>(kTotal)[0];
    require(total >= int64_t(e.rows) && total <= int64_t(std::min(e.capacity, longest)), ErrorCode::invalid_argument,
            "total_sequence_length is {}, with {} new rows, caches of {} rows and layouts for {}", total, e.rows,
            e.capacity, longest);
    const bool prompt = total == int64_t(e.rows);
    std::vector<Span> all;
    for (size_t b = 0; b < e.batch; ++b) {
      const int64_t own = c.input<int32_t>(kTotals)[b], before = prompt ? 0 : own - int64_t(e.rows);
      require(own >= 1 && own <= total && before >= 0, ErrorCode::invalid_argument,
              "key_total_sequence_lengths[{}] is {}, with {} new rows and total_sequence_length {}", b, own, e.rows,
              total);
      all.push_back({size_t(before), size_t(own)});
    }
    return all;
  }

  template <typename T>
  static void keep_past(const RunContext& c, size_t past, size_t present) {
    const auto from = c.input<T>(past);
    T* to = c.output<T>(present).data();
    if (from.data() != to) std::copy(from.begin(), from.end(), to);
  }

  // Rotates Q into `turned`, and writes the new rows into the caches.
  template <typename T>
  void gather(const RunContext& c, const GroupedHeads& e, std::span<const Span> spans, T* turned) const {
    Rotation<T> rotation;
    std::vector<size_t> positions;
    if (do_rotary) {
      check_rotation(c, kCos, kSin, e.size);
      rotation = {.cos = c.input<T>(kCos).data(),
                  .sin = c.input<T>(kSin).data(),
                  .positions = size_t(c.shape(kCos)[0]),
                  .half = size_t(c.shape(kCos)[1]),
                  .size = e.size,
                  .interleaved = rotary_interleaved};
      for (size_t i = 0; i < e.batch * e.rows; ++i) positions.push_back(spans[i / e.rows].before + i % e.rows);
      const size_t last = positions.empty() ? 0 : *std::max_element(positions.begin(), positions.end());
      require(last < rotation.positions, ErrorCode::invalid_argument, "position {} is outside of cos_cache, [0, {})",
              last, rotation.positions);
    }
    keep_past<T>(c, kPastK, kPresentK);
    keep_past<T>(c, kPastV, kPresentV);
    const GroupedRows<T> rows{.q = c.input<T>(kQ).data(),
                              .k = c.optional<T>(kK),
                              .v = c.optional<T>(kV),
                              .turned = turned,
                              .cache_k = c.output<T>(kPresentK).data(),
                              .cache_v = c.output<T>(kPresentV).data(),
                              .rotation = do_rotary ? &rotation : nullptr,
                              .positions = positions};
    append_rows(
        e, rows, [&](size_t b) { return spans[b].before; }, c.parallel());
  }

  /// Attention of one head.
  AttentionShape shape(const GroupedHeads& e, size_t keys) const {
    AttentionShape s;
    s.batch = s.q_heads = s.kv_heads = 1;
    s.q_len = e.rows;
    s.new_len = keys;
    s.head_size = s.v_head_size = e.size;
    s.q = s.y = e.input(e.heads);
    s.k = s.v = e.cache();
    return s;
  }

  /// Working memory of one worker: which keys each query sees, and that of the attention.
  struct Work {
    size_t flags, attention;
    size_t bytes() const { return flags + attention; }
  };
  Work work(const GroupedHeads& e) const {
    return {round_up(e.rows * e.capacity, 64), attention_scratch(shape(e, e.capacity), false, false, 1)};
  }

  // Calls attend(shape, data, rule, worker) for each head, with a mask in the worker's flags.
  template <typename T, typename Attend>
  void compute(const RunContext& c, const GroupedHeads& e, T* turned, const Attend& attend) const {
    check_inputs(c, e);
    const std::vector<BlockLayout> all = layouts(c);
    const std::vector<Span> spans = this->spans(c, e, all[0].blocks() * size_t(block));
    gather(c, e, spans, turned);
    c.parallel().for_each(e.batch * e.heads, [&](size_t task, int worker) {
      const size_t b = task / e.heads, h = task % e.heads, kv = h / (e.heads / e.kv_heads);
      const Span& span = spans[b];
      const AttentionShape s = shape(e, span.total);
      const auto keys = int64_t(span.total);
      ScoreRule r;
      r.scale = scale != 0 ? double(scale) : 1 / std::sqrt(double(std::max<size_t>(e.size, 1)));
      r.causal = true;
      r.hidden = std::numeric_limits<float>::lowest();                 // a query that sees no block sees all keys alike
      r.valid = span.before + e.rows == span.total ? &keys : nullptr;  // otherwise a prompt that starts at row 0
      AttentionData<T> d;
      d.q = turned + s.q.at(b, h, 0);
      d.k = c.output<T>(kPresentK).data() + s.k.at(b, kv, 0);
      d.v = c.output<T>(kPresentV).data() + s.v.at(b, kv, 0);
      d.y = c.output<T>(kY).data() + s.y.at(b, h, 0);
      attend(all[h % all.size()], span, s, d, r, worker);
    });
  }

  void mask(const BlockLayout& layout, const Span& span, const AttentionShape& s, bool* flags, ScoreRule& r) const {
    if (layout.dense()) return;
    for (size_t i = 0; i < s.q_len; ++i) {
      const size_t row = std::min((span.before + i) / layout.block, layout.blocks() - 1);
      layout.show(row, {flags + i * s.total(), s.total()});
    }
    r.flags.data = flags;
    r.flags.dtype = DType::boolean;
    r.flags.strides[2] = s.total();
    r.flags.strides[3] = 1;
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const GroupedHeads e = extents(c);
    std::vector<T> turned(e.batch * e.rows * e.heads * e.size);
    const size_t each = e.rows * e.capacity;
    const auto flags = std::make_unique<bool[]>(each * size_t(c.parallel().workers()));
    compute<T>(c, e, turned.data(),
               [&](const BlockLayout& layout, const Span& span, const AttentionShape& s, const AttentionData<T>& d,
                   ScoreRule& r, int worker) {
                 mask(layout, span, s, flags.get() + size_t(worker) * each, r);
                 attention_reference(s, d, r);
               });
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(kQ) != DType::f32) return 0;
    constexpr auto kWhat = "the working memory of SparseAttention";
    const GroupedHeads e = extents(c);
    return checked_add(round_up(e.batch * e.rows * e.heads * e.size * sizeof(float), 64),
                       checked_mul(work(e).bytes(), size_t(c.parallel().workers()), kWhat), kWhat);
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const GroupedHeads e = extents(c);
    auto* turned = static_cast<float*>(c.scratch());
    auto* rest =
        static_cast<std::byte*>(c.scratch()) + round_up(e.batch * e.rows * e.heads * e.size * sizeof(float), 64);
    const Work w = work(e);
    compute<float>(c, e, turned,
                   [&](const BlockLayout& layout, const Span& span, const AttentionShape& s,
                       const AttentionData<float>& d, ScoreRule& r, int worker) {
                     std::byte* own = rest + size_t(worker) * w.bytes();
                     mask(layout, span, s, reinterpret_cast<bool*>(own), r);
                     attention_fast(s, d, r, own + w.flags, Parallel());
                   });
  }
};

}  // namespace

extern const OpDef op_sparse_attention;
constinit const OpDef op_sparse_attention = define<SparseAttention>({
    .name = "SparseAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T?", "value: T?", "past_key: T", "past_value: T", "block_row_indices: int32",
               "block_col_indices: int32", "total_sequence_length: int32", "key_total_sequence_lengths: int32",
               "cos_cache: T?", "sin_cache: T?"},
    .outputs = {"output: T", "present_key: T", "present_value: T"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .in_place = {{{1, 3}, {2, 4}}},
});

}  // namespace retort::ops

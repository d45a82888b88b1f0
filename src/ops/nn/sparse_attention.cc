// SparseAttention: causal attention in which each block of queries sees only some blocks of keys. The new keys and values,
// rotated by their position if requested, are written into a cache of fixed length.
#include "base/checked.h"
#include "ops/nn/common/grouped_heads.h"

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
    check_grouped_heads(num_heads, kv_num_heads);
    require(block > 0, ErrorCode::invalid_argument, "sparse_block_size is {}, expected a positive number", block);
  }

  void infer(InferContext& c) const {
    for (const size_t i : {kY, kPresentK, kPresentV}) c.set(i, c.dtype(kQ));
    require(c.has(kK) == c.has(kV), ErrorCode::invalid_argument, "key and value are both given, or both packed");
    require(!do_rotary || (c.has(kCos) && c.has(kSin)), ErrorCode::invalid_argument,
            "do_rotary needs cos_cache and sin_cache");
    infer_grouped_rows(c, num_heads, kv_num_heads);
    require(c.rank(kPastK) == 4, ErrorCode::invalid_argument, "past_key has shape {}, expected 4 axes",
            c.dims().text(c.shape(kPastK)));
    for (const size_t i : {kPresentK, kPresentV}) c.set(i, c.dtype(kQ), c.shape(kPastK));
  }
  // As if queries saw all keys: how many they see depends on the layout.
  Cost cost(const CostContext& c) const { return attention_cost(c.out_count(), c.out_count(), c.extent(kPastK, 2)); }

  GroupedHeads extents(const RunContext& c) const { return grouped_heads(c, num_heads, kv_num_heads); }

  void check_inputs(const RunContext& c, const GroupedHeads& e) const {
    expect_grouped_inputs(c, e, int64_t(e.size));
    expect_given(c, kTotals, "key_total_sequence_lengths", {int64_t(e.batch)});
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
      rotation = {.cos = c.input<T>(kCos).data(),
                  .sin = c.input<T>(kSin).data(),
                  .positions = size_t(c.shape(kCos)[0]),
                  .half = rotated_half(c, kCos, kSin, e.size),
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

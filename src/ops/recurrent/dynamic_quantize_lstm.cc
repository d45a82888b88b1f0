// com.microsoft.DynamicQuantizeLSTM: LSTM whose weights have 8 bits, [directions, inputs, gates], and whose products
// are quantised: X as a whole, and h in every step, are rounded to 8 bits by their range.
#include "ops/quant/common/quantization.h"
#include "ops/recurrent/common/code_products.h"
#include "ops/recurrent/common/lstm_cell.h"

namespace retort::ops {

namespace {

/// Codes of one matrix of each direction, with a scale and a zero point for each direction or each column.
struct LstmCodes {
  const void *data, *scales, *zeros;
  DType type;
  size_t k, n, columns;  ///< rows; columns; number of scales (one per column, or 1)
  size_t parts;          ///< of the columns, packed one after the other
  kernels::CodesSums sums = kernels::CodesSums::exact;
  size_t excess = 0;  ///< bytes of the excess of each part, if sums are corrected
  float scale(size_t d, size_t j) const { return static_cast<const float*>(scales)[columns == 1 ? d : d * n + j]; }
  int32_t zero(size_t d, size_t j) const { return integer_code(zeros, type, columns == 1 ? d : d * n + j); }
  bool same_zero(size_t d) const {
    for (size_t j = 1; j < columns; ++j)
      if (zero(d, j) != zero(d, 0)) return false;
    return true;
  }
  /// The transposed matrices of floats, [directions, n, k].
  void decode(size_t directions, float* to) const {
    for (size_t d = 0; d < directions; ++d) {
      for (size_t j = 0; j < n; ++j, to += k) {
        for (size_t i = 0; i < k; ++i)
          to[i] = float(integer_code(data, type, (d * k + i) * n + j) - zero(d, j)) * scale(d, j);
      }
    }
  }

  /// Chooses the sums that are fastest for constant weights, whose excess is counted once. That of few rows, h of a
  /// step, takes longer than the masks of magnitudes if it is more than a twentieth of the weights. That of many rows
  /// does so if it is more than three quarters, as that of weights which are distributed evenly over their range.
  void choose_sums(size_t directions, bool few_rows) {
    if (!kernels::corrects_code_pairs()) return;
    sums = kernels::CodesSums::corrected;
    for (size_t part = 0; part < directions * parts; ++part)
      excess = std::max(excess, kernels::code_excess_bytes(part_codes(part / parts, part % parts), n, k, n / parts));
    excess = round_up(excess, 64);
    const size_t weights = k * (n / parts);
    if (excess <= (few_rows ? weights / 20 : weights / 4 * 3)) return;
    sums = kernels::CodesSums::magnitudes;
    excess = 0;
  }

  /// Bytes of one packed matrix: its panels and its scales.
  size_t packed_bytes() const {
    return checked_add(checked_mul(parts, part_bytes(), "packed weights"),
                       round_up(checked_mul(n, sizeof(float), "scales"), 64), "packed weights");
  }
  void pack(size_t d, char* to, const Parallel& parallel) const {
    for (size_t part = 0; part < parts; ++part) pack_part(d, part, to + part * part_bytes(), parallel);
    float* to_scales = reinterpret_cast<float*>(to + parts * part_bytes());
    for (size_t j = 0; j < n; ++j) to_scales[j] = scale(d, j);
  }
  CodeMatrix matrix(size_t d, const char* packed) const {
    return {.panels = packed,
            .scales = reinterpret_cast<const float*>(packed + parts * part_bytes()),
            .same_zero = same_zero(d),
            .parts = parts,
            .part_bytes = part_bytes(),
            .sums = sums,
            .excess_at = excess > 0 ? panels_bytes() : 0};
  }

 private:
  size_t panels_bytes() const { return round_up(kernels::codes_packed_bytes(k, n / parts), 64); }
  size_t part_bytes() const { return checked_add(panels_bytes(), excess, "packed weights"); }
  kernels::Codes part_codes(size_t d, size_t part) const {
    return {static_cast<const uint8_t*>(data) + d * k * n + part * (n / parts), type == DType::i8};
  }
  void pack_part(size_t d, size_t part, char* to, const Parallel& parallel) const {
    const size_t wide = n / parts, first = part * wide;
    const bool is_signed = type == DType::i8;
    const kernels::Codes all = part_codes(d, part);
    const size_t zero_at = columns == 1 ? d : d * n + first;
    const kernels::Codes own_zeros{static_cast<const uint8_t*>(zeros) + zero_at, is_signed, columns};
    const auto some = [&](size_t begin, size_t end) {
      kernels::pack_code_panels(all, n, k, begin, end, own_zeros, to, sums);
    };
    const size_t width = kernels::codes_panel_width();
    kernels::for_chunks(parallel, wide, some,
                        width * std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, k * width)));
    if (excess > 0) kernels::split_code_excess(k, wide, to, to + panels_bytes());
  }
};

/// Packed weights: those of X and of h for each direction.
struct PackedCells : State {
  std::array<std::array<CodeMatrix, 2>, 2> matrices;
  std::shared_ptr<const void> owner;

  static size_t bytes(size_t directions, const LstmCodes& w, const LstmCodes& r) {
    return checked_mul(directions, checked_add(w.packed_bytes(), r.packed_bytes(), "packed weights"), "packed weights");
  }
  static void pack(size_t directions, const LstmCodes& w, const LstmCodes& r, void* to, const Parallel& parallel) {
    for (size_t d = 0; d < directions; ++d) {
      char* at = static_cast<char*>(to) + d * (w.packed_bytes() + r.packed_bytes());
      w.pack(d, at, parallel);
      r.pack(d, at + w.packed_bytes(), parallel);
    }
  }
  void set(size_t directions, const LstmCodes& w, const LstmCodes& r, const void* memory) {
    for (size_t d = 0; d < directions; ++d) {
      const char* at = static_cast<const char*>(memory) + d * (w.packed_bytes() + r.packed_bytes());
      matrices[d] = {w.matrix(d, at), r.matrix(d, at + w.packed_bytes())};
    }
  }
};

struct DynamicQuantizeLSTM : LstmCell<DynamicQuantizeLSTM> {
  enum Quantization : size_t { kWScale = 8, kWZero, kRScale, kRZero };

  void infer(InferContext& c) const {
    for (size_t i = 0; i < 3; ++i)
      if (c.wants(i)) c.set(i, DType::f32);
    const Shape &x = c.shape(kX), &r = c.shape(kR);
    require(x.rank() == 3 && r.rank() == 3 && layout == 0, ErrorCode::invalid_argument,
            "X has shape {} and R {}, expected rank 3; layout is {}, expected 0", c.dims().text(x), c.dims().text(r),
            layout);
    const Dim d = Dim(directions()), hidden = r[1], width = c.dims().mul(hidden, 4);
    require(!hidden_size || may_equal(hidden, *hidden_size), ErrorCode::invalid_argument,
            "hidden_size is {} but R has shape {}", hidden_size.value_or(0), c.dims().text(r));
    expect_shape_if_given(c, kW, "W", {d, x[2], width});
    expect_shape_if_given(c, kR, "R", {d, hidden, width});
    expect_shape_if_given(c, kB, "B", {d, c.dims().mul(width, 2)});
    expect_shape_if_given(c, kLengths, "sequence_lens", {x[1]});
    expect_shape_if_given(c, kInitialH, "initial_h", {d, x[1], hidden});
    expect_shape_if_given(c, kInitialC, "initial_c", {d, x[1], hidden});
    expect_shape_if_given(c, kPeepholes, "P", {d, c.dims().mul(hidden, 3)});
    for (const size_t i : {kWScale, kWZero, kRScale, kRZero}) {
      const bool by_direction = !c.ranked(i) || c.rank(i) == 1;
      by_direction ? expect_shape_if_given(c, i, "scale or zero point", {d})
                   : expect_shape_if_given(c, i, "scale or zero point", {d, width});
    }
    require(c.dtype(kW) == c.dtype(kWZero) && c.dtype(kR) == c.dtype(kRZero), ErrorCode::invalid_argument,
            "W is {}, its zero point {}; R {}, its zero point {}", dtype_name(c.dtype(kW)), dtype_name(c.dtype(kWZero)),
            dtype_name(c.dtype(kR)), dtype_name(c.dtype(kRZero)));
    if (c.wants(0)) c.set(0, DType::f32, {x[0], d, x[1], hidden});
    for (size_t i = 1; i < 3; ++i)
      if (c.wants(i)) c.set(i, DType::f32, {d, x[1], hidden});
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const auto matrix = [&](size_t i, size_t scale) -> std::optional<LstmCodes> {
      const Tensor *t = c.constant(i), *s = c.constant(scale), *z = c.constant(scale + 1);
      if (!t || !s || !z) return std::nullopt;
      return codes(*t, *s, *z, i);
    };
    auto w = matrix(kW, kWScale), r = matrix(kR, kRScale);
    if (!w || !r) return nullptr;
    w->choose_sums(directions(), false);
    r->choose_sums(directions(), true);
    auto packed = std::make_unique<PackedCells>();
    packed->owner = c.packed(PackedCells::bytes(directions(), *w, *r),
                             [&](void* to) { PackedCells::pack(directions(), *w, *r, to, c.parallel()); });
    packed->set(directions(), *w, *r, packed->owner.get());
    c.release(kW);
    c.release(kR);
    return packed;
  }

  size_t scratch(const RunContext& c) const { return Memory(c, *this, nullptr).parts.bytes(); }
  void fast(RunContext& c, std::type_identity<float>) const {
    const RecurrentShape s = sizes(c, false);
    const Memory memory(c, *this, c.scratch());
    PackedCells own;
    const PackedCells* packed = c.state<PackedCells>();
    if (!packed) {
      const LstmCodes w = codes(c, kW, kWScale), r = codes(c, kR, kRScale);
      PackedCells::pack(s.directions, w, r, memory.packed, c.parallel());
      own.set(s.directions, w, r, memory.packed);
      packed = &own;
    }
    auto matrices = packed->matrices;
    Recurrent::run<CodesMath>(c, s, memory.cells, [&](size_t d, Matrix<float>& w, auto& r) {
      for (CodeMatrix& m : matrices[d]) m.left = memory.left[d];
      w.codes = &matrices[d][0];
      r[0].codes = &matrices[d][1];
    });
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const RecurrentShape s = sizes(c, true);
    std::vector<T> memory(s.directions * CellMemory<T>::bytes(s) / sizeof(T));
    std::vector<T> weights(s.directions * s.width() * s.input), recurrent(s.directions * s.width() * s.hidden);
    codes(c, kW, kWScale).decode(s.directions, weights.data());
    codes(c, kR, kRScale).decode(s.directions, recurrent.data());
    Recurrent::run<PlainMath<T>>(c, s, memory.data(), [&](size_t d, Matrix<T>& w, auto& r) {
      w.plain = weights.data() + d * s.width() * s.input;
      r[0].plain = recurrent.data() + d * s.width() * s.hidden;
    });
  }

 private:
  struct Memory {
    ScratchParts parts;
    float* cells;
    CodeMatrix::Left left[2];
    char* packed = nullptr;
    Memory(const RunContext& c, const DynamicQuantizeLSTM& op, void* base) : parts(base) {
      const RecurrentShape s = op.sizes(c, false);
      cells =
          reinterpret_cast<float*>(parts.take<char>(checked_mul(s.directions, CellMemory<float>::bytes(s), "gates")));
      // X, or h of a step; both have rows of their own length.
      const size_t rows = checked_mul(s.steps, s.batch, "steps of all batches");
      const auto* state = c.state<PackedCells>();
      const bool corrected = state && state->matrices[0][0].excess_at > 0;
      const size_t most = std::max(rows, s.batch), depth = std::max(s.input, s.hidden);
      const auto sums_of = [state](size_t i) { return state ? state->matrices[0][i].sums : kernels::CodesSums::exact; };
      const size_t bytes = std::max(kernels::codes_rows_bytes(most, depth, sums_of(0)),
                                    kernels::codes_rows_bytes(s.batch, depth, sums_of(1)));
      for (size_t d = 0; d < s.directions; ++d) left[d] = {most, depth, bytes, corrected, parts};
      if (state) return;
      packed = parts.take<char>(PackedCells::bytes(s.directions, codes(c, kW, kWScale), codes(c, kR, kRScale)));
    }
  };
  // `rounds`: products of floats are those of codes.
  RecurrentShape sizes(const RunContext& c, bool rounds) const {
    const Shape& x = c.shape(kX);
    return {.steps = size_t(x[0]),
            .batch = size_t(x[1]),
            .input = size_t(x[2]),
            .hidden = size_t(c.shape(kR)[1]),
            .directions = directions(),
            .gates = kGates,
            .rounds = rounds};
  }
  static size_t parts_of(size_t i) { return i == kR ? size_t(kGates) : 1; }
  static LstmCodes codes(const Tensor& t, const Tensor& scale, const Tensor& zero, size_t i) {
    require(t.shape().rank() == 3 && scale.count() == zero.count(), ErrorCode::invalid_argument,
            "weights have shape {}, scales {}, zero points {}; expected 3 axes, and as many scales as zero points",
            t.shape(), scale.shape(), zero.shape());
    return {t.data(),
            scale.data(),
            zero.data(),
            t.dtype(),
            size_t(t.shape()[1]),
            size_t(t.shape()[2]),
            scale.shape().rank() == 2 ? size_t(t.shape()[2]) : 1,
            parts_of(i)};
  }
  static LstmCodes codes(const RunContext& c, size_t i, size_t scale) {
    require(c.count(scale) == c.count(scale + 1), ErrorCode::invalid_argument, "scales have shape {}, zero points {}",
            c.shape(scale), c.shape(scale + 1));
    const Shape& shape = c.shape(i);
    return {c.data(i),
            c.data(scale),
            c.data(scale + 1),
            c.dtype(i),
            size_t(shape[1]),
            size_t(shape[2]),
            c.shape(scale).rank() == 2 ? size_t(shape[2]) : 1,
            parts_of(i)};
  }
};

}  // namespace

extern const OpDef op_dynamic_quantize_lstm;
constinit const OpDef op_dynamic_quantize_lstm = define<DynamicQuantizeLSTM>({
    .name = "DynamicQuantizeLSTM",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "W: W", "R: R", "B: T?", "sequence_lens: int32?", "initial_h: T?", "initial_c: T?", "P: T?",
               "W_scale: T", "W_zero_point: W", "R_scale: T", "R_zero_point: R"},
    .outputs = {"Y: T?", "Y_h: T?", "Y_c: T?"},
    .types = types({DType::f32}),
    .traits = kCountsOutputs,
});

}  // namespace retort::ops

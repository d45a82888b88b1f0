// com.microsoft.DynamicQuantizeLSTM: LSTM whose weights have 8 bits, [directions, inputs, gates], and whose products
// are quantised: X as a whole, and h in every step, are rounded to 8 bits by their range. Here, the weights are
// converted to floats; up to rounding, the sums are those of the products of codes.
#include "ops/quant/common/codes.h"
#include "ops/quant/common/quantization.h"
#include "ops/recurrent/common/lstm_cell.h"

namespace retort::ops {
namespace {

/// Codes of one matrix of each direction, with a scale and a zero point for each direction or each column.
struct LstmCodes {
  const void *data, *scales, *zeros;
  DType type;
  size_t k, n, columns;  ///< rows; columns; number of scales (one per column, or 1)
  /// The transposed matrices of floats, [directions, n, k].
  void decode(size_t directions, float* to) const {
    for (size_t d = 0; d < directions; ++d) {
      for (size_t j = 0; j < n; ++j, to += k) {
        const size_t of = columns == 1 ? d : d * n + j;
        const float scale = static_cast<const float*>(scales)[of];
        const int32_t zero = integer_code(zeros, type, of);
        for (size_t i = 0; i < k; ++i) to[i] = float(integer_code(data, type, (d * k + i) * n + j) - zero) * scale;
      }
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
      return codes(*t, *s, *z);
    };
    const auto w = matrix(kW, kWScale), r = matrix(kR, kRScale);
    if (!w || !r) return nullptr;
    const RecurrentShape s{.input = w->k, .hidden = r->k, .directions = directions(), .gates = kGates};
    auto packed = std::make_unique<PackedRecurrent>();
    packed->owner = c.packed(packed_bytes(s, parts()), [&](void* to) {
      std::vector<float> memory(s.directions * s.width() * (s.input + s.hidden));
      pack(s, *w, *r, {memory.data(), to, c.parallel()});
    });
    packed->set(s, parts(), packed->owner.get());
    c.release(kW);
    c.release(kR);
    return packed;
  }

  size_t scratch(const RunContext& c) const { return Memory(c, *this, nullptr).parts.bytes(); }
  void fast(RunContext& c, std::type_identity<float>) const {
    const RecurrentShape s = sizes(c);
    const Memory memory(c, *this, c.scratch());
    PackedRecurrent own;
    const PackedRecurrent* packed = c.state<PackedRecurrent>();
    if (!packed) {
      pack(s, codes(c, kW, kWScale), codes(c, kR, kRScale), {memory.floats, memory.packed, c.parallel()});
      own.set(s, parts(), memory.packed);
      packed = &own;
    }
    Recurrent::run<FastMath>(c, s, memory.cells, [&](size_t d, Matrix<float>& w, auto& r) {
      w.packed = packed->directions[d].w;
      r[0].packed = packed->directions[d].r[0];
    });
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const RecurrentShape s = sizes(c);
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
    float *cells, *floats = nullptr;
    char* packed = nullptr;
    Memory(const RunContext& c, const DynamicQuantizeLSTM& op, void* base) : parts(base) {
      const RecurrentShape s = op.sizes(c);
      cells =
          reinterpret_cast<float*>(parts.take<char>(checked_mul(s.directions, CellMemory<float>::bytes(s), "gates")));
      if (c.state<PackedRecurrent>()) return;
      packed = parts.take<char>(packed_bytes(s, op.parts()));
      floats = parts.take<float>(checked_mul(s.directions * s.width(), s.input + s.hidden, "weights"));
    }
  };
  RecurrentShape sizes(const RunContext& c) const {
    const Shape& x = c.shape(kX);
    return {.steps = size_t(x[0]),
            .batch = size_t(x[1]),
            .input = size_t(x[2]),
            .hidden = size_t(c.shape(kR)[1]),
            .directions = directions(),
            .gates = kGates,
            .rounds = true};
  }
  struct Packing {
    float* floats;  ///< for the decoded weights
    void* to;
    const Parallel& run;
  };
  static void pack(const RecurrentShape& s, const LstmCodes& w, const LstmCodes& r, const Packing& p) {
    float* recurrent = p.floats + s.directions * s.width() * s.input;
    w.decode(s.directions, p.floats);
    r.decode(s.directions, recurrent);
    pack_recurrent(s, kOnePart, p.floats, recurrent, p.to, p.run);
  }
  static constexpr size_t kOnePart[] = {kGates};

  static LstmCodes codes(const Tensor& t, const Tensor& scale, const Tensor& zero) {
    require(t.shape().rank() == 3 && scale.count() == zero.count(), ErrorCode::invalid_argument,
            "weights have shape {}, scales {}, zero points {}; expected 3 axes, and as many scales as zero points",
            t.shape(), scale.shape(), zero.shape());
    return {t.data(),
            scale.data(),
            zero.data(),
            t.dtype(),
            size_t(t.shape()[1]),
            size_t(t.shape()[2]),
            scale.shape().rank() == 2 ? size_t(t.shape()[2]) : 1};
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
            c.shape(scale).rank() == 2 ? size_t(shape[2]) : 1};
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
});

}  // namespace retort::ops

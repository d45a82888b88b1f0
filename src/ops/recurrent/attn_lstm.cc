// com.microsoft.AttnLSTM: an LSTM whose input in each step is followed by the attention of the step before, zero at
// first. Attention is Bahdanau's: the mean of the memory, weighted by the softmax of Σ V · tanh(memory · MW + h · QW).
// With a layer AW, h and this mean are multiplied by it.
#include <cmath>

#include "ops/recurrent/common/lstm_row.h"

namespace retort::ops {
namespace {

/// Sizes of the attention, and its memory for one item of the batch.
struct AttentionSizes {
  size_t memory = 0, depth = 0, size = 0, state = 0;
  size_t elements() const { return memory * size + size + memory + depth + state; }
};

struct AttnLSTM : RecurrentAttributes {
  static constexpr size_t kGates = 4;
  static constexpr std::array<const char*, 3> kFunctions{"Sigmoid", "Tanh", "Tanh"};
  int64_t input_forget = 0;
  static constexpr std::tuple attributes{attr("activation_alpha", &AttnLSTM::activation_alpha),
                                         attr("activation_beta", &AttnLSTM::activation_beta),
                                         attr("activations", &AttnLSTM::activations),
                                         attr("clip", &AttnLSTM::clip),
                                         attr("direction", &AttnLSTM::direction),
                                         attr("hidden_size", &AttnLSTM::hidden_size),
                                         attr("input_forget", &AttnLSTM::input_forget)};
  enum Attention : size_t { kQuery = kPeepholes + 1, kKeys, kV, kMemory, kMemoryLengths, kLayer };

  void check() const { RecurrentAttributes::check(kFunctions); }

  void infer(InferContext& c) const {
    for (size_t i = 0; i < 3; ++i) c.set(i, c.dtype(kX));
    for (size_t i : {kQuery, kKeys, kV, kMemory})
      require(c.has(i), ErrorCode::invalid_graph, "input {} of the attention is missing", i);
    const Shape &x = c.shape(kX), &w = c.shape(kW), &r = c.shape(kR), &memory = c.shape(kMemory),
                &keys = c.shape(kKeys);
    require(x.rank() == 3 && w.rank() == 3 && r.rank() == 3 && memory.rank() == 3 && keys.rank() == 3,
            ErrorCode::invalid_argument, "X, W, R, M and MW have shapes {}, {}, {}, {} and {}, expected rank 3",
            c.dims().text(x), c.dims().text(w), c.dims().text(r), c.dims().text(memory), c.dims().text(keys));
    require(!hidden_size || may_equal(r[2], *hidden_size), ErrorCode::invalid_argument,
            "hidden_size is {}, R has shape {}", hidden_size.value_or(0), c.dims().text(r));
    const Dim d = Dim(directions()), steps = x[0], batch = x[1], hidden = r[2], width = c.dims().mul(hidden, 4);
    const auto expect = [&](size_t i, const Shape& wanted) { expect_shape_if_given(c, i, "", wanted); };
    const bool layer = c.has(kLayer), ranked = layer && c.ranked(kLayer) && c.rank(kLayer) == 3;
    const Dim state = ranked ? c.shape(kLayer)[2] : layer ? c.dims().fresh_extent() : memory[2];
    expect(kW, {d, width, c.dims().add(x[2], state)});
    expect(kR, {d, width, hidden});
    expect(kB, {d, c.dims().mul(width, 2)});
    expect(kLengths, {batch});
    for (size_t i : {kInitialH, kInitialC}) expect(i, {d, batch, hidden});
    expect(kPeepholes, {d, c.dims().mul(hidden, 3)});
    expect(kQuery, {d, hidden, keys[2]});
    expect(kKeys, {d, memory[2], keys[2]});
    expect(kV, {d, keys[2]});
    expect(kMemory, {batch, memory[1], memory[2]});
    expect(kMemoryLengths, {batch});
    expect(kLayer, {d, c.dims().add(memory[2], hidden), state});
    c.set(0, c.dtype(kX), {steps, d, batch, hidden});
    for (size_t i : {1, 2}) c.set(i, c.dtype(kX), {d, batch, hidden});
  }

  // Weights are used once for each step and item of the batch, those of the keys once for each position of the memory.
  Cost cost(const CostContext& c) const {
    const double items = c.extent(kX, 1), places = c.extent(kMemory, 1);
    const double step = c.count(kW) + c.count(kR) + c.count(kQuery) + c.count(kLayer) +
                        double(directions()) * places * (c.extent(kKeys, 2) + c.extent(kMemory, 2));
    return {.multiply_adds = items * (c.extent(kX, 0) * step + places * c.count(kKeys)), .rounds = c.extent(kX, 0)};
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const RecurrentShape s = shape(c, kGates);
    const AttentionSizes a{size_t(c.shape(kMemory)[1]), size_t(c.shape(kMemory)[2]), size_t(c.shape(kKeys)[2]),
                           size_t(c.shape(kW)[2]) - s.input};
    check_lengths(c, kLengths, s.steps);
    check_lengths(c, kMemoryLengths, a.memory);
    require(s.batch == 0 || a.memory > 0, ErrorCode::invalid_argument, "the memory of shape {} has no places",
            to_string(c.shape(kMemory)));
    const CellFunctions functions = this->functions(kFunctions);
    const size_t each = a.elements() + s.width() + 2 * s.hidden, items = s.directions * s.batch;
    std::vector<T> memory(checked_mul(each, items, "states"));
    c.parallel().for_each(items, [&](size_t i, int) {
      Item<T> item{.c = c, .s = s, .a = a, .d = i / s.batch, .b = i % s.batch};
      CellStep<T> step{.s = s, .parallel = c.parallel(), .clip = clip};
      step.functions = std::span(functions).subspan(item.d * 3, 3);
      if (c.has(kPeepholes)) step.peepholes = c.input<T>(kPeepholes).data() + item.d * 3 * s.hidden;
      item.take(memory.data() + i * each);
      run(item, step);
    });
  }

 private:
  static void check_lengths(const RunContext& c, size_t i, size_t most) {
    if (!c.has(i)) return;
    for (const int32_t n : c.input<int32_t>(i))
      require(n > 0 && size_t(n) <= most, ErrorCode::invalid_argument, "input {} holds {}, expected 1 to {}", i, n,
              most);
  }

  /// One item of the batch in one direction.
  template <typename T>
  struct Item {
    const RunContext& c;
    const RecurrentShape& s;
    const AttentionSizes& a;
    size_t d, b;
    T *keys, *query, *weights, *mean, *attention, *gates, *h, *cell;

    void take(T* at) {
      T** const parts[] = {&keys, &query, &weights, &mean, &attention, &gates, &h, &cell};
      const size_t sizes[] = {a.memory * a.size, a.size, a.memory, a.depth, a.state, s.width(), s.hidden, s.hidden};
      for (size_t i = 0; i < 8; ++i, at += sizes[i - 1]) *parts[i] = at;
    }
    /// Input i of this direction; null if it is missing.
    const T* input(size_t i) const {
      const T* all = c.template optional<T>(i);
      return all ? all + d * (c.count(i) / s.directions) : nullptr;
    }
    const T* memory() const { return c.template input<T>(kMemory).data() + b * a.memory * a.depth; }
    size_t length(size_t i, size_t most) const { return c.has(i) ? size_t(c.template input<int32_t>(i)[b]) : most; }
  };

  /// Σ a[i] · b[i · stride]
  template <typename T>
  static double dot(const T* a, const T* b, size_t n, size_t stride) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += double(a[i]) * double(b[i * stride]);
    return sum;
  }

  template <typename T>
  void run(Item<T>& o, CellStep<T>& step) const {
    const RecurrentShape& s = o.s;
    const size_t steps = o.length(kLengths, s.steps);
    for (const auto& [input, state] : {std::pair{kInitialH, o.h}, std::pair{kInitialC, o.cell}}) {
      if (const T* initial = o.input(input)) std::copy_n(initial + o.b * s.hidden, s.hidden, state);
    }
    for (size_t m = 0; m < o.a.memory; ++m) {
      for (size_t k = 0; k < o.a.size; ++k)
        o.keys[m * o.a.size + k] = T(dot(o.memory() + m * o.a.depth, o.input(kKeys) + k, o.a.depth, o.a.size));
    }
    T* y = o.c.wants(0) ? o.c.template output<T>(0).data() : nullptr;
    for (size_t i = 0; i < s.steps && !o.c.parallel().cancelled(); ++i) {
      const size_t time = reversed(o.d) && i < steps ? steps - 1 - i : i;
      if (i < steps) {
        sum_gates(o, time);
        lstm_row<PlainMath<T>>(step, input_forget != 0, o.gates, o.h, o.cell);
        attend(o);
      }
      T* to = y ? y + s.y_row(time, o.d, o.b) * s.hidden : nullptr;
      if (to) i < steps ? (void)std::copy_n(o.h, s.hidden, to) : (void)std::fill_n(to, s.hidden, T(0));
    }
    for (size_t i : {1, 2}) {
      T* to = o.c.wants(i) ? o.c.template output<T>(i).data() + s.state_row(o.d, o.b) * s.hidden : nullptr;
      if (to) std::copy_n(i == 1 ? o.h : o.cell, s.hidden, to);
    }
  }

  template <typename T>
  static void sum_gates(const Item<T>& o, size_t time) {
    const size_t input = o.s.input, width = o.s.width(), row = input + o.a.state;
    const T* x = o.c.template input<T>(kX).data() + o.s.x_row(time, o.b) * input;
    for (size_t j = 0; j < width; ++j) {
      const T* w = o.input(kW) + j * row;
      double sum = dot(x, w, input, 1) + dot(o.attention, w + input, o.a.state, 1);
      sum += dot(o.h, o.input(kR) + j * o.s.hidden, o.s.hidden, 1);
      if (const T* bias = o.input(kB)) sum += double(bias[j]) + double(bias[width + j]);
      o.gates[j] = T(sum);
    }
  }

  // The attention for the state h.
  template <typename T>
  static void attend(const Item<T>& o) {
    const AttentionSizes& a = o.a;
    const size_t places = o.length(kMemoryLengths, a.memory);
    for (size_t k = 0; k < a.size; ++k) o.query[k] = T(dot(o.h, o.input(kQuery) + k, o.s.hidden, a.size));
    double most = -INFINITY, sum = 0;
    for (size_t m = 0; m < places; ++m) {
      double score = 0;
      for (size_t k = 0; k < a.size; ++k)
        score += double(o.input(kV)[k]) * std::tanh(double(o.keys[m * a.size + k]) + double(o.query[k]));
      o.weights[m] = T(score);
      most = std::max(most, double(o.weights[m]));
    }
    for (size_t m = 0; m < places; ++m) sum += double(o.weights[m] = T(std::exp(double(o.weights[m]) - most)));
    for (size_t k = 0; k < a.depth; ++k) o.mean[k] = T(dot(o.weights, o.memory() + k, places, a.depth) / sum);
    const T* layer = o.input(kLayer);
    for (size_t k = 0; k < a.state; ++k) {
      o.attention[k] = !layer ? o.mean[k]
                              : T(dot(o.h, layer + k, o.s.hidden, a.state) +
                                  dot(o.mean, layer + o.s.hidden * a.state + k, a.depth, a.state));
    }
  }
};

}  // namespace

extern const OpDef op_attn_lstm;
constinit const OpDef op_attn_lstm = define<AttnLSTM>({
    .name = "AttnLSTM",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "W: T", "R: T", "B: T?", "sequence_lens: int32?", "initial_h: T?", "initial_c: T?", "P: T?",
               "QW: T?", "MW: T?", "V: T?", "M: T?", "memory_seq_lens: int32?", "AW: T?"},
    .outputs = {"Y: T?", "Y_h: T?", "Y_c: T?"},
    .types = types({DType::f32, DType::f64}),
});

}  // namespace retort::ops

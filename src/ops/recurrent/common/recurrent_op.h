// RNN, GRU and LSTM. An operator is a struct `Op : Recurrent<Op>` with
//   static constexpr size_t kGates;                               blocks of `hidden` rows of W and R, in ONNX's order
//   static constexpr std::array<const char*, n> kFunctions;       the default activations
//   static constexpr bool kCell;                                  has a cell state: inputs 6 and 7, output 2
//   template <class Math, typename T> void step(const CellStep<T>&) const;
// and, if they differ from the defaults below: separate_bias(), parts().
#pragma once
#include "ops/recurrent/common/cell_step.h"

namespace retort::ops {

template <typename Op>
struct Recurrent : RecurrentAttributes {
  static constexpr auto attributes = recurrent_attributes;
  /// Whether the bias of R is kept apart instead of being added to that of W.
  bool separate_bias() const { return false; }
  /// Numbers of gates of R that are multiplied together.
  std::span<const size_t> parts() const {
    static constexpr size_t kAll[] = {Op::kGates};
    return kAll;
  }

  void check() const { RecurrentAttributes::check(Op::kFunctions); }
  void infer(InferContext& c) const { RecurrentAttributes::infer(c, Op::kGates, Op::kCell); }
  // Each weight is used once for each time step and row of the batch.
  Cost cost(const CostContext& c) const {
    return {.multiply_adds = c.extent(kX, 0) * c.extent(kX, 1) * (c.count(kW) + c.count(kR)),
            .rounds = c.extent(kX, int(layout))};
  }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return pack(c, Op::kGates, self().parts()); }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(kX) != DType::f32) return 0;
    const RecurrentShape s = shape(c, Op::kGates);
    const size_t weights = c.state<PackedRecurrent>() ? 0 : packed_bytes(s, self().parts());
    return checked_add(weights, checked_mul(s.directions, CellMemory<float>::bytes(s), "gates"), "gates");
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const RecurrentShape s = shape(c, Op::kGates);
    char* memory = static_cast<char*>(c.scratch());
    PackedRecurrent own;
    const PackedRecurrent* packed = c.state<PackedRecurrent>();
    if (!packed) {
      pack_recurrent(s, self().parts(), c.input<float>(kW).data(), c.input<float>(kR).data(), memory, c.parallel());
      own.set(s, self().parts(), memory);
      memory += packed_bytes(s, self().parts());
      packed = &own;
    }
    run<FastMath>(c, s, reinterpret_cast<float*>(memory), [&](size_t d, Matrix<float>& w, auto& r) {
      w.packed = packed->directions[d].w;
      for (size_t p = 0; p < r.size(); ++p) r[p].packed = packed->directions[d].r[p];
    });
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const RecurrentShape s = shape(c, Op::kGates);
    std::vector<T> memory(s.directions * CellMemory<T>::bytes(s) / sizeof(T));
    run<PlainMath<T>>(c, s, memory.data(), [&](size_t d, Matrix<T>& w, auto& r) {
      w.plain = c.input<T>(kW).data() + d * s.width() * s.input;
      r[0].plain = c.input<T>(kR).data() + d * s.width() * s.hidden;
      r[1].plain = r[0].plain + r[0].n * s.hidden;
    });
  }

 protected:
  const Op& self() const { return static_cast<const Op&>(*this); }

  // Runs all directions; `weights(d, w, r)` sets the matrices of direction d.
  template <class Math, typename T, class Weights>
  void run(RunContext& c, const RecurrentShape& s, T* memory, const Weights& weights) const {
    const int32_t* lengths = sequence_lengths(c, s);
    const CellFunctions all = functions(Op::kFunctions);
    const auto direction = [&](size_t d, const Parallel& parallel) {
      const CellMemory<T> space(s, memory + d * CellMemory<T>::bytes(s) / sizeof(T));
      CellStep<T> step{.s = s,
                       .parallel = parallel,
                       .clip = clip,
                       .lengths = lengths,
                       .gates = space.gates,
                       .h = space.h,
                       .before = space.before,
                       .c = space.c,
                       .rounded = space.rounded,
                       .rounds_running_only = c.wants(0)};
      Matrix<T> w{.n = s.width(), .k = s.input};
      const auto split = self().parts();
      for (size_t p = 0; p < split.size(); ++p) step.r[p] = {.n = split[p] * s.hidden, .k = s.hidden};
      weights(d, w, step.r);
      step.functions = std::span(all).subspan(d * Op::kFunctions.size(), Op::kFunctions.size());
      if (Op::kCell && c.has(kPeepholes)) step.peepholes = c.input<T>(kPeepholes).data() + d * 3 * s.hidden;
      const T* bias = input_bias(c, d, space, step);
      Math::multiply({.m = used_steps(s, lengths) * s.batch,
                      .a = c.input<T>(kX).data(),
                      .b = w,
                      .c = space.x,
                      .c_stride = s.width(),
                      .bias = bias,
                      .rounded = space.rounded},
                     parallel);
      walk<Math>(c, d, space, step);
    };
    if (s.directions == 1) return direction(0, c.parallel());
    c.parallel().for_each(s.directions, [&](size_t d, int) { direction(d, {}); });
  }

 private:
  // The steps whose inputs are multiplied, and count for the range by which X is rounded: those of the longest item if
  // their rows are contiguous.
  static size_t used_steps(const RecurrentShape& s, const int32_t* lengths) {
    const bool all = !lengths || s.batch_major || s.batch == 0;
    return all ? s.steps : size_t(*std::max_element(lengths, lengths + s.batch));
  }
  // The vector added to X·Wᵀ; null: none. A separate bias of R is passed to the step.
  template <typename T>
  const T* input_bias(const RunContext& c, size_t d, const CellMemory<T>& space, CellStep<T>& step) const {
    if (!c.has(kB)) return nullptr;
    const size_t width = step.s.width();
    const T *w = c.input<T>(kB).data() + d * 2 * width, *r = w + width;
    if (self().separate_bias()) {
      step.bias = r;
      return w;
    }
    for (size_t i = 0; i < width; ++i) space.bias[i] = w[i] + r[i];
    return space.bias;
  }

  template <class Math, typename T>
  void walk(RunContext& c, size_t d, const CellMemory<T>& space, CellStep<T>& step) const {
    const RecurrentShape& s = step.s;
    const size_t width = s.width();
    T* y = c.wants(0) ? c.output<T>(0).data() : nullptr;
    load_state(c, kInitialH, d, s, step.h);
    if (Op::kCell) load_state(c, kInitialC, d, s, step.c);
    const size_t used = used_steps(s, step.lengths);
    const bool contiguous = !step.lengths && (!s.batch_major || s.batch == 1);
    for (size_t& i = step.index; i < s.steps && !c.parallel().cancelled(); ++i) {
      const auto time = [&](size_t b) {
        if (!reversed(d) || step.ended(b)) return i;
        return (step.lengths ? size_t(step.lengths[b]) : s.steps) - 1 - i;
      };
      if (i < used) {
        step.x = contiguous ? space.x + s.x_row(time(0), 0) * width : space.row;
        for (size_t b = 0; !contiguous && b < s.batch; ++b)
          std::copy_n(space.x + s.x_row(time(b), b) * width, width, space.row + b * width);
        self().template step<Math>(step);
        request_written(step.parallel, step.h, s.batch * s.hidden * sizeof(T));
      }
      for (size_t b = 0; y && b < s.batch; ++b) {
        T* to = y + s.y_row(time(b), d, b) * s.hidden;
        step.ended(b) ? (void)std::fill_n(to, s.hidden, T(0)) : (void)std::copy_n(step.h + b * s.hidden, s.hidden, to);
      }
    }
    store_state(c, 1, d, step, step.h);
    if (Op::kCell) store_state(c, 2, d, step, step.c);
  }

  template <typename T>
  static void load_state(const RunContext& c, size_t input, size_t d, const RecurrentShape& s, T* state) {
    for (size_t b = 0; b < s.batch; ++b) {
      if (c.has(input))
        std::copy_n(c.input<T>(input).data() + s.state_row(d, b) * s.hidden, s.hidden, state + b * s.hidden);
      else
        std::fill_n(state + b * s.hidden, s.hidden, T(0));
    }
  }
  // The state after a batch item's last step; 0 for items without steps, as in ONNX Runtime.
  template <typename T>
  static void store_state(const RunContext& c, size_t output, size_t d, const CellStep<T>& step, const T* state) {
    const size_t hidden = step.s.hidden;
    for (size_t b = 0; c.wants(output) && b < step.s.batch; ++b) {
      T* to = c.output<T>(output).data() + step.s.state_row(d, b) * hidden;
      if (step.lengths && step.lengths[b] == 0)
        std::fill_n(to, hidden, T(0));
      else
        std::copy_n(state + b * hidden, hidden, to);
    }
  }
};

}  // namespace retort::ops

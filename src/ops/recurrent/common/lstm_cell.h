// The cell of LSTM: i, o, f = f(x·Wᵀ + h·Rᵀ + b + p·c), n = g(x·Wᵀ + h·Rᵀ + b), c' = f·c + i·n, h' = o·h(c'); o sees
// c'. Peepholes p may be missing; with input_forget f = 1 - i.
#pragma once
#include "ops/recurrent/common/recurrent_op.h"

namespace retort::ops {

template <typename Op>
struct LstmCell : Recurrent<Op> {
  static constexpr size_t kGates = 4;  // i o f c
  static constexpr std::array<const char*, 3> kFunctions{"Sigmoid", "Tanh", "Tanh"};
  static constexpr bool kCell = true;

  int64_t input_forget = 0;
  static constexpr auto attributes = std::tuple_cat(RecurrentAttributes::recurrent_attributes,
                                                    std::tuple{attr("input_forget", &LstmCell::input_forget)});

  template <class Math, typename T>
  void step(const CellStep<T>& s) const {
    const size_t hidden = s.s.hidden, width = 4 * hidden;
    Math::multiply(
        {.m = s.s.batch, .a = s.h, .b = s.r[0], .c = s.gates, .c_stride = width, .residual = s.x, .rounded = s.rounded},
        s.parallel);
    for (size_t b = 0; b < s.s.batch; ++b)
      if (!s.ended(b)) row<Math>(s, s.gates + b * width, s.h + b * hidden, s.c + b * hidden);
  }

 private:
  template <class Math, typename T>
  void row(const CellStep<T>& s, T* gates, T* h, T* c) const {
    const size_t hidden = s.s.hidden;
    T *i = gates, *o = i + hidden, *f = o + hidden, *n = f + hidden;
    peep(s, 0, c, i);
    peep(s, 2, c, f);
    gate<Math>(s, s.functions[0], i, hidden);
    gate<Math>(s, s.functions[0], f, hidden);
    gate<Math>(s, s.functions[1], n, hidden);
    for (size_t j = 0; j < hidden; ++j) c[j] = (input_forget ? T(1) - i[j] : f[j]) * c[j] + i[j] * n[j];
    peep(s, 1, c, o);
    gate<Math>(s, s.functions[0], o, hidden);
    std::copy_n(c, hidden, h);
    Math::apply(s.functions[2], h, hidden);
    for (size_t j = 0; j < hidden; ++j) h[j] *= o[j];
  }
  template <class Math, typename T>
  static void gate(const CellStep<T>& s, const CellFunction& f, T* v, size_t n) {
    s.limit(v, n);
    Math::apply(f, v, n);
  }
  template <typename T>
  static void peep(const CellStep<T>& s, size_t which, const T* c, T* v) {
    if (!s.peepholes) return;
    for (size_t j = 0; j < s.s.hidden; ++j) v[j] += s.peepholes[which * s.s.hidden + j] * c[j];
  }
};

}  // namespace retort::ops

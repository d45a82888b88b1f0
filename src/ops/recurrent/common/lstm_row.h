// The cell of an LSTM for one item of a batch, shared by LSTM and AttnLSTM.
#pragma once
#include "kernels/recurrent/cell.h"
#include "ops/recurrent/common/cell_step.h"

namespace retort::ops {

template <class Math, typename T>
void lstm_gate(const CellStep<T>& s, const CellFunction& f, T* v) {
  s.limit(v, s.s.hidden);
  Math::apply(f, v, s.s.hidden);
}

/// Adds peepholes `which` times the cell state.
template <typename T>
void lstm_peep(const CellStep<T>& s, size_t which, const T* c, T* v) {
  if (!s.peepholes) return;
  for (size_t j = 0; j < s.s.hidden; ++j) v[j] += s.peepholes[which * s.s.hidden + j] * c[j];
}

/// Whether kernels::lstm_cell() computes the cell: it has the default functions and no options.
template <typename T>
bool has_default_cell(const CellStep<T>& s, bool input_forget) {
  using Kind = CellFunction::Kind;
  return !input_forget && !s.peepholes && s.applies({Kind::sigmoid, Kind::tanh, Kind::tanh});
}

/// `gates`: the sums i, o, f, c of [4 * hidden], which are overwritten; h and c: [hidden], the states before and after.
template <class Math, typename T>
void lstm_row(const CellStep<T>& s, bool input_forget, T* gates, T* h, T* c) {
  const size_t hidden = s.s.hidden;
  if constexpr (Math::kCells) {
    if (has_default_cell(s, input_forget)) return kernels::lstm_cell({hidden, gates, c, h});
  }
  T *i = gates, *o = i + hidden, *f = o + hidden, *n = f + hidden;
  lstm_peep(s, 0, c, i);
  lstm_peep(s, 2, c, f);
  lstm_gate<Math>(s, s.functions[0], i);
  lstm_gate<Math>(s, s.functions[0], f);
  lstm_gate<Math>(s, s.functions[1], n);
  for (size_t j = 0; j < hidden; ++j) c[j] = (input_forget ? T(1) - i[j] : f[j]) * c[j] + i[j] * n[j];
  lstm_peep(s, 1, c, o);
  lstm_gate<Math>(s, s.functions[0], o);
  std::copy_n(c, hidden, h);
  Math::apply(s.functions[2], h, hidden);
  for (size_t j = 0; j < hidden; ++j) h[j] *= o[j];
}

}  // namespace retort::ops

// The cells of LSTM and GRU with their default functions, sigmoid and tanh, for one item of a batch. Serial, no
// allocation; memory needs no alignment.
#pragma once
#include <cstddef>

namespace retort::kernels {

/// c' = σ(f)·c + σ(i)·tanh(n), h' = σ(o)·tanh(c').
struct LstmCell {
  size_t hidden = 0;             ///< units, all of a layer or some
  const float* gates = nullptr;  ///< [4, hidden]: the sums i, o, f, n
  float* c = nullptr;            ///< [hidden], the state before and after
  float* h = nullptr;            ///< [hidden], the output; no other memory of the cell
  size_t gate_stride = 0;        ///< elements from one gate to the next; 0: hidden
  size_t stride() const { return gate_stride ? gate_stride : hidden; }
};
void lstm_cell(const LstmCell& cell) noexcept;
/// The reference: a plain loop in double.
void lstm_cell_reference(const LstmCell& cell) noexcept;

/// z = σ(x_z + g_z), r = σ(x_r + g_r), n = tanh(x_n + r·g_n), h' = (1 - z)·n + z·h.
struct GruCell {
  size_t hidden = 0;             ///< units, all of a layer or some
  const float* x = nullptr;      ///< [3, hidden]: the sums z, r, n of the input
  const float* gates = nullptr;  ///< [3, hidden]: those of the state
  float* h = nullptr;            ///< [hidden], the state before and after
  size_t gate_stride = 0;        ///< elements from one gate to the next, of x and of gates; 0: hidden
  size_t stride() const { return gate_stride ? gate_stride : hidden; }
};
void gru_cell(const GruCell& cell) noexcept;
void gru_cell_reference(const GruCell& cell) noexcept;

}  // namespace retort::kernels

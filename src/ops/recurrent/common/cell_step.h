// One direction of a recurrent operator during a run: its memory, its products, and the arguments of one step.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/checked.h"
#include "kernels/gemm/gemm.h"
#include "ops/recurrent/common/recurrent.h"
#include "ops/recurrent/common/unit_tasks.h"

namespace retort::ops {

struct CodeMatrix;

/// Weights [n, k], whose transpose is multiplied: plain rows for the reference, otherwise packed by gemm_pack_b, or codes.
template <typename T>
struct Matrix {
  size_t n = 0, k = 0;
  const T* plain = nullptr;
  const float* packed = nullptr;
  const CodeMatrix* codes = nullptr;
};

/// The steps that each item of a batch has, and the number of steps done. Null: all items have all steps.
struct BatchSteps {
  const int32_t* lengths = nullptr;
  size_t index = 0;
  /// Whether the item had ended before the last step that was done.
  bool over(size_t b) const { return lengths && index > size_t(lengths[b]); }
};

/// Writes to `to` the rows of `from`, rounded to 8-bit codes whose scale and zero point are those of
/// DynamicQuantizeLinear. Rows of items that are over are 0.
template <typename T>
const T* rounded_to_codes(const T* from, size_t rows, size_t count, const BatchSteps& steps, T* to) {
  T low = 0, high = 0;
  for (size_t r = 0; r < rows; ++r) {
    const T* x = from + r * count;
    for (size_t i = 0; i < count && !steps.over(r); ++i) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
  }
  const T scale = low == high ? T(1) : (high - low) / T(255);
  const T zero = std::nearbyint(std::clamp(-low / scale, T(0), T(255)));
  for (size_t r = 0; r < rows; ++r) {
    const T* x = from + r * count;
    T* y = to + r * count;
    if (steps.over(r)) {
      std::fill_n(y, count, T(0));
      continue;
    }
    for (size_t i = 0; i < count; ++i)
      y[i] = (std::clamp(std::nearbyint(x[i] / scale) + zero, T(0), T(255)) - zero) * scale;
  }
  return to;
}

/// C [m, n] = A [m, k] · Bᵀ + bias + residual.
template <typename T>
struct CellProduct {
  size_t m = 0;
  const T* a = nullptr;  ///< rows of b.k elements without gaps
  Matrix<T> b;
  T* c = nullptr;
  size_t c_stride = 0;
  const T* bias = nullptr;      ///< [n] or null
  const T* residual = nullptr;  ///< [m, n] with the stride of C, or null
  T* rounded = nullptr;         ///< not null: A is first rounded to codes of 8 bits, into this memory
  BatchSteps steps;             ///< for rounding
  bool again = false;           ///< every step multiplies by B
  const T* left() const { return rounded ? rounded_to_codes(a, m, b.k, steps, rounded) : a; }
};

template <typename T>
struct CellStep;

/// The reference: plain loops.
template <typename T>
struct PlainMath {
  static constexpr bool kCells = false;
  static void multiply(const CellProduct<T>& p, const Parallel&) {
    const T* a = p.left();
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.b.n; ++j) {
        double sum = p.bias ? double(p.bias[j]) : 0;
        if (p.residual) sum += double(p.residual[i * p.c_stride + j]);
        for (size_t l = 0; l < p.b.k; ++l) sum += double(a[i * p.b.k + l]) * double(p.b.plain[j * p.b.k + l]);
        p.c[i * p.c_stride + j] = T(sum);
      }
    }
  }
  /// The product of a step; `after` is called for each block of units when their sums are complete, and may change the
  /// left-hand side of the product.
  template <class After>
  static void in_blocks(const CellProduct<T>& p, const CellStep<T>& s, const After& after) {
    multiply(p, s.parallel);
    after({0, p.m, 0, s.s.hidden});
  }
  static void apply(const CellFunction& f, T* x, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] = T(f(double(x[i])));
  }
};

/// The memory of one direction. h and c, [batch, hidden], are kept from step to step.
template <typename T>
struct CellMemory {
  T* x = nullptr;      ///< X·Wᵀ and bias of all steps: [steps·batch, width]
  T* row = nullptr;    ///< for one step: [batch, width]
  T* gates = nullptr;  ///< for the cell: [batch, width]
  T* bias = nullptr;   ///< [width]
  T *h = nullptr, *c = nullptr;
  T* before = nullptr;   ///< a copy of h while tasks change it
  T* rounded = nullptr;  ///< the left-hand side of a product, where those are rounded

  static size_t bytes(const RecurrentShape& s) {
    const size_t rows = checked_add(checked_mul(s.steps, s.batch, "steps of all batches"), 2 * s.batch + 1, "gates");
    const size_t states = checked_mul(3 * s.batch, s.hidden, "hidden states");
    const size_t sums = checked_add(checked_mul(rows, s.width(), "gates"), states, "gates");
    const size_t elements = checked_add(sums, s.rounds ? left_elements(s) : 0, "gates");
    return round_up(checked_mul(elements, sizeof(T), "gates"), 64);
  }
  CellMemory(const RecurrentShape& s, T* memory) {
    x = memory;
    row = x + s.steps * s.batch * s.width();
    gates = row + s.batch * s.width();
    bias = gates + s.batch * s.width();
    h = bias + s.width();
    c = h + s.batch * s.hidden;
    before = c + s.batch * s.hidden;
    if (s.rounds) rounded = before + s.batch * s.hidden;
  }

 private:
  static size_t left_elements(const RecurrentShape& s) {
    return s.batch * std::max(checked_mul(s.steps, s.input, "steps of all batches"), s.hidden);
  }
};

template <typename T>
struct CellStep {
  const RecurrentShape& s;
  const Parallel& parallel;
  std::array<Matrix<T>, 2> r{};  ///< according to the operator's parts()
  const T* bias = nullptr;       ///< of R if it is separate: [width]
  const T* peepholes = nullptr;  ///< [3 * hidden] or null
  std::span<const CellFunction> functions;
  std::optional<float> clip;
  const int32_t* lengths = nullptr;
  size_t index = 0;      ///< number of steps done before
  const T* x = nullptr;  ///< X·Wᵀ and bias of this step: [batch, width]
  T* gates = nullptr;    ///< working memory: [batch, width]
  T* h = nullptr;  ///< [batch, hidden]: the state before the step, and after it for batch items that have not ended
  T* before = nullptr;   ///< CellMemory::before
  T* c = nullptr;        ///< the cell state, likewise; working memory for operators without one
  T* rounded = nullptr;  ///< CellMemory::rounded
  /// Whether products that are rounded leave out items that are over. As in ONNX Runtime, they do if output Y exists:
  /// its rows of the last step, which are 0 after the end, are multiplied.
  bool rounds_running_only = false;

  /// Whether the functions are these, and their arguments are not clipped.
  bool applies(std::initializer_list<CellFunction::Kind> kinds) const {
    return !clip && std::ranges::equal(functions, kinds, {}, &CellFunction::kind);
  }
  bool ended(size_t b) const { return lengths && index >= size_t(lengths[b]); }
  /// Clips the argument of a function.
  void limit(T* v, size_t n) const {
    if (!clip) return;
    for (size_t i = 0; i < n; ++i) v[i] = v[i] < T(-*clip) ? T(-*clip) : v[i] > T(*clip) ? T(*clip) : v[i];
  }
};

/// The production form: packed weights, vector kernels.
struct FastMath {
  static constexpr bool kCells = true;  ///< whether a kernel computes a cell with the default functions
  /// Below this, gemm() makes one task of a product with one row.
  static constexpr size_t kOneTaskBytes = 512 << 10;

  static void multiply(const CellProduct<float>& p, const Parallel& parallel) {
    const kernels::GemmArgs g = arguments(p);
    g.m == 1 && g.n* g.k * sizeof(float) < kOneTaskBytes ? kernels::gemv_packed(g) : kernels::gemm(g, parallel);
  }
  /// As PlainMath::in_blocks().
  template <class After>
  static void in_blocks(CellProduct<float> p, const CellStep<float>& s, const After& after) {
    const double macs = task_macs(s.parallel, 640 << 10);  // about 10 µs, as those of gemm()
    const size_t hidden = s.s.hidden, width = kernels::gemm_panel_width(), weights = p.b.n * p.b.k;
    if (p.m == 0 || hidden == 0) return;
    p.again = true;
    const UnitTasks tasks(p.m, hidden, width, weights * sizeof(float), double(weights), macs);
    // Units of all gates are whole panels only if a gate is.
    if (tasks.count() == 1 || hidden % width != 0) {
      multiply(p, s.parallel);
      return after({0, p.m, 0, hidden});
    }
    p.a = p.left();  // once, not in each task
    p.rounded = nullptr;
    if (p.a == s.h) p.a = std::copy_n(s.h, p.m * hidden, s.before) - p.m * hidden;
    const bool backwards = s.index % 2 == 1;
    s.parallel.for_each(tasks.count(), [&](size_t task, int) {
      const UnitBlock block = tasks.at(backwards ? tasks.mirrored(task, s.parallel.workers()) : task);
      request_written(s.parallel, p.a, p.m * hidden * sizeof(float));
      multiply_block(p, hidden, block, backwards);
      after(block);
    });
  }
  static void apply(const CellFunction& f, float* x, size_t n) { f.apply(x, n); }

 private:
  static kernels::GemmArgs arguments(const CellProduct<float>& p) {
    kernels::GemmArgs g{.m = p.m,
                        .n = p.b.n,
                        .k = p.b.k,
                        .a = p.left(),
                        .a_stride = p.b.k,
                        .packed_b = p.b.packed,
                        .c = p.c,
                        .c_stride = p.c_stride};
    g.epilogue.bias = p.bias;
    g.epilogue.residual = p.residual;
    g.epilogue.residual_stride = p.c_stride;
    g.b_stays = p.again && kernels::gemm_b_stays(p.b.n * p.b.k * sizeof(float));
    return g;
  }

  /// The product of some rows and the weights of some units, those of all gates.
  static void multiply_block(const CellProduct<float>& p, size_t hidden, const UnitBlock& block, bool backwards) {
    const size_t gates = p.b.n / hidden;
    kernels::GemmArgs g = arguments(p);
    if (gates > 1 && by_vector(p)) return kernels::gemv_packed_groups(g, {gates, block.n0, block.n1, backwards});
    g.m = block.m1 - block.m0;
    g.n = block.units();
    g.a += block.m0 * g.a_stride;
    for (size_t i = 0; i < gates; ++i) {
      const size_t at = (backwards ? gates - 1 - i : i) * hidden + block.n0, to = block.m0 * g.c_stride + at;
      g.packed_b = p.b.packed + at * g.k;
      g.c = p.c + to;
      if (p.bias) g.epilogue.bias = p.bias + at;
      if (p.residual) g.epilogue.residual = p.residual + to;
      by_vector(p) ? kernels::gemv_packed(g) : kernels::gemm_block(g, 0, g.n);
    }
  }
  static bool by_vector(const CellProduct<float>& p) {
    return p.m == 1 && kernels::gemv_packed_pays(p.b.n * p.b.k * sizeof(float));
  }
};

}  // namespace retort::ops

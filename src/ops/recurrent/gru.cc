// GRU: z = f(x·Wzᵀ + h·Rzᵀ + bz), r = f(x·Wrᵀ + h·Rrᵀ + br), h' = (1 - z)·n + z·h with the candidate n = g(x·Whᵀ +
// (r·h)·Rhᵀ + bh), or with linear_before_reset g(x·Whᵀ + Wbh + r·(h·Rhᵀ + Rbh)).
#include "kernels/recurrent/cell.h"
#include "ops/recurrent/common/recurrent_op.h"

namespace retort::ops {
namespace {

struct Gru : Recurrent<Gru> {
  static constexpr size_t kGates = 3;  // in the order z r h
  static constexpr std::array<const char*, 2> kFunctions{"Sigmoid", "Tanh"};
  static constexpr bool kCell = false;

  int64_t linear_before_reset = 0;
  static constexpr auto attributes =
      std::tuple_cat(recurrent_attributes, std::tuple{attr("linear_before_reset", &Gru::linear_before_reset)});
  bool separate_bias() const { return linear_before_reset != 0; }
  std::span<const size_t> parts() const {
    static constexpr size_t kAll[] = {3}, kCandidateApart[] = {2, 1};
    if (linear_before_reset) return kAll;
    return kCandidateApart;
  }

  template <class Math, typename T>
  void step(const CellStep<T>& s) const {
    linear_before_reset ? reset_after<Math>(s) : reset_before<Math>(s);
  }

 private:
  template <class Math, typename T>
  static void gate(const CellStep<T>& s, const CellFunction& f, T* v, size_t n) {
    s.limit(v, n);
    Math::apply(f, v, n);
  }
  // Computes the new state of one row from the activated z and the candidate before its function.
  template <class Math, typename T>
  static void finish(const CellStep<T>& s, const T* z, T* n, T* h) {
    gate<Math>(s, s.functions[1], n, s.s.hidden);
    for (size_t i = 0; i < s.s.hidden; ++i) h[i] = (T(1) - z[i]) * n[i] + z[i] * h[i];
  }

  template <class Math, typename T>
  void reset_after(const CellStep<T>& s) const {
    const size_t hidden = s.s.hidden, width = 3 * hidden;
    Math::multiply({.m = s.s.batch, .a = s.h, .b = s.r[0], .c = s.gates, .c_stride = width, .bias = s.bias},
                   s.parallel);
    for (size_t b = 0; b < s.s.batch; ++b) {
      if (s.ended(b)) continue;
      T *z = s.gates + b * width, *r = z + hidden, *n = r + hidden;
      const T* x = s.x + b * width;
      if constexpr (Math::kCells) {
        if (s.applies({CellFunction::Kind::sigmoid, CellFunction::Kind::tanh})) {
          kernels::gru_cell({hidden, x, z, s.h + b * hidden});
          continue;
        }
      }
      for (size_t i = 0; i < 2 * hidden; ++i) z[i] += x[i];
      gate<Math>(s, s.functions[0], z, 2 * hidden);
      for (size_t i = 0; i < hidden; ++i) n[i] = x[2 * hidden + i] + r[i] * n[i];
      finish<Math>(s, z, n, s.h + b * hidden);
    }
  }

  template <class Math, typename T>
  void reset_before(const CellStep<T>& s) const {
    const size_t hidden = s.s.hidden, width = 3 * hidden;
    T* reset = s.c;  // r·h: [batch, hidden]
    Math::multiply({.m = s.s.batch, .a = s.h, .b = s.r[0], .c = s.gates, .c_stride = width, .residual = s.x},
                   s.parallel);
    for (size_t b = 0; b < s.s.batch; ++b) {
      T *z = s.gates + b * width, *r = z + hidden;
      gate<Math>(s, s.functions[0], z, 2 * hidden);
      for (size_t i = 0; i < hidden; ++i) reset[b * hidden + i] = r[i] * s.h[b * hidden + i];
    }
    Math::multiply({.m = s.s.batch,
                    .a = reset,
                    .b = s.r[1],
                    .c = s.gates + 2 * hidden,
                    .c_stride = width,
                    .residual = s.x + 2 * hidden},
                   s.parallel);
    for (size_t b = 0; b < s.s.batch; ++b) {
      T* z = s.gates + b * width;
      if (!s.ended(b)) finish<Math>(s, z, z + 2 * hidden, s.h + b * hidden);
    }
  }
};

}  // namespace

extern const OpDef op_gru;
constinit const OpDef op_gru = define<Gru>({
    .name = "GRU",
    .since = {1, 3, 7, 14, 22},
    .inputs = {"X: T", "W: T", "R: T", "B: T?", "sequence_lens: int32?", "initial_h: T?"},
    .outputs = {"Y: T?", "Y_h: T?"},
    .types = kFloats,
});

}  // namespace retort::ops

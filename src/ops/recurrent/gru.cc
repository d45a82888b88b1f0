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
  // Computes the new state of n units from the activated z and the candidate before its function.
  template <class Math, typename T>
  static void finish(const CellStep<T>& s, const T* z, T* candidate, T* h, size_t n) {
    gate<Math>(s, s.functions[1], candidate, n);
    for (size_t i = 0; i < n; ++i) h[i] = (T(1) - z[i]) * candidate[i] + z[i] * h[i];
  }

  template <class Math, typename T>
  void reset_after(const CellStep<T>& s) const {
    const size_t width = 3 * s.s.hidden;
    Math::in_blocks(
        CellProduct<T>{.m = s.s.batch, .a = s.h, .b = s.r[0], .c = s.gates, .c_stride = width, .bias = s.bias}, s,
        [&](const UnitBlock& block) {
          for (size_t b = block.m0; b < block.m1; ++b)
            if (!s.ended(b)) reset_after<Math>(s, b, block);
        });
  }
  // The units of one row.
  template <class Math, typename T>
  static void reset_after(const CellStep<T>& s, size_t b, const UnitBlock& block) {
    const size_t hidden = s.s.hidden, width = 3 * hidden, units = block.units();
    T *z = s.gates + b * width + block.n0, *r = z + hidden, *n = r + hidden, *h = s.h + b * hidden + block.n0;
    const T* x = s.x + b * width + block.n0;
    if constexpr (Math::kCells) {
      if (s.applies({CellFunction::Kind::sigmoid, CellFunction::Kind::tanh}))
        return kernels::gru_cell({units, x, z, h, hidden});
    }
    for (T* v : {z, r}) {
      for (size_t i = 0; i < units; ++i) v[i] += x[v - z + i];
      gate<Math>(s, s.functions[0], v, units);
    }
    for (size_t i = 0; i < units; ++i) n[i] = x[2 * hidden + i] + r[i] * n[i];
    finish<Math>(s, z, n, h, units);
  }

  template <class Math, typename T>
  void reset_before(const CellStep<T>& s) const {
    const size_t hidden = s.s.hidden, width = 3 * hidden;
    T* reset = s.c;  // r·h: [batch, hidden]
    Math::in_blocks(
        CellProduct<T>{.m = s.s.batch, .a = s.h, .b = s.r[0], .c = s.gates, .c_stride = width, .residual = s.x}, s,
        [&](const UnitBlock& block) {
          for (size_t b = block.m0; b < block.m1; ++b) {
            const size_t at = b * hidden + block.n0;
            T *z = s.gates + b * width + block.n0, *r = z + hidden;
            for (T* v : {z, r}) gate<Math>(s, s.functions[0], v, block.units());
            for (size_t i = 0; i < block.units(); ++i) reset[at + i] = r[i] * s.h[at + i];
          }
        });
    Math::in_blocks(CellProduct<T>{.m = s.s.batch,
                                   .a = reset,
                                   .b = s.r[1],
                                   .c = s.gates + 2 * hidden,
                                   .c_stride = width,
                                   .residual = s.x + 2 * hidden},
                    s, [&](const UnitBlock& block) {
                      for (size_t b = block.m0; b < block.m1; ++b) {
                        T* z = s.gates + b * width + block.n0;
                        if (!s.ended(b)) finish<Math>(s, z, z + 2 * hidden, s.h + b * hidden + block.n0, block.units());
                      }
                    });
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

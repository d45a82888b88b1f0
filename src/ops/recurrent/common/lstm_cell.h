// The cell of LSTM: i, o, f = f(x·Wᵀ + h·Rᵀ + b + p·c), n = g(x·Wᵀ + h·Rᵀ + b), c' = f·c + i·n, h' = o·h(c'); o uses
// c'. Peepholes p are optional; with input_forget f = 1 - i.
#pragma once
#include "ops/recurrent/common/lstm_row.h"
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
    if constexpr (Math::kCells) {
      if (has_default_cell(s, input_forget != 0))
        return Math::in_blocks(product(s), s, [&](const UnitBlock& block) {
          for (size_t b = block.m0; b < block.m1; ++b) {
            const size_t at = b * hidden + block.n0;
            if (!s.ended(b))
              kernels::lstm_cell({block.units(), s.gates + b * width + block.n0, s.c + at, s.h + at, hidden});
          }
        });
    }
    Math::multiply(product(s), s.parallel);
    for (size_t b = 0; b < s.s.batch; ++b)
      if (!s.ended(b)) lstm_row<Math>(s, input_forget != 0, s.gates + b * width, s.h + b * hidden, s.c + b * hidden);
  }

 protected:
  /// The sums of all gates in one step.
  template <typename T>
  static CellProduct<T> product(const CellStep<T>& s) {
    return {.m = s.s.batch,
            .a = s.h,
            .b = s.r[0],
            .c = s.gates,
            .c_stride = 4 * s.s.hidden,
            .residual = s.x,
            .rounded = s.rounded,
            .steps = {s.rounds_running_only ? s.lengths : nullptr, s.index}};
  }
};

}  // namespace retort::ops

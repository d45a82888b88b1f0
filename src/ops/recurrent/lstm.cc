// LSTM: i, o, f = f(x·Wᵀ + h·Rᵀ + b + p·c), n = g(x·Wᵀ + h·Rᵀ + b), c' = f·c + i·n, h' = o·h(c'); o sees c'. Peepholes p may
// be missing; with input_forget f = 1 - i.
#include "ops/recurrent/common/lstm_row.h"
#include "ops/recurrent/common/recurrent_op.h"

namespace retort::ops {
namespace {

struct Lstm : Recurrent<Lstm> {
  static constexpr size_t kGates = 4;  // i o f c
  static constexpr std::array<const char*, 3> kFunctions{"Sigmoid", "Tanh", "Tanh"};
  static constexpr bool kCell = true;

  int64_t input_forget = 0;
  static constexpr auto attributes =
      std::tuple_cat(recurrent_attributes, std::tuple{attr("input_forget", &Lstm::input_forget)});

  template <class Math, typename T>
  void step(const CellStep<T>& s) const {
    const size_t hidden = s.s.hidden, width = 4 * hidden;
    Math::multiply({.m = s.s.batch, .a = s.h, .b = s.r[0], .c = s.gates, .c_stride = width, .residual = s.x},
                   s.parallel);
    for (size_t b = 0; b < s.s.batch; ++b)
      if (!s.ended(b)) lstm_row<Math>(s, input_forget != 0, s.gates + b * width, s.h + b * hidden, s.c + b * hidden);
  }
};

}  // namespace

extern const OpDef op_lstm;
constinit const OpDef op_lstm = define<Lstm>({
    .name = "LSTM",
    .since = {1, 7, 14, 22},
    .inputs = {"X: T", "W: T", "R: T", "B: T?", "sequence_lens: int32?", "initial_h: T?", "initial_c: T?", "P: T?"},
    .outputs = {"Y: T?", "Y_h: T?", "Y_c: T?"},
    .types = kFloats,
});

}  // namespace retort::ops

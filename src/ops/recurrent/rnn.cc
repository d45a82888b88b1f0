// RNN: h' = f(x·Wᵀ + h·Rᵀ + Wb + Rb).
#include "ops/recurrent/common/recurrent_op.h"

namespace retort::ops {
namespace {

struct Rnn : Recurrent<Rnn> {
  static constexpr size_t kGates = 1;
  static constexpr std::array<const char*, 1> kFunctions{"Tanh"};
  static constexpr bool kCell = false;

  template <class Math, typename T>
  void step(const CellStep<T>& s) const {
    const size_t hidden = s.s.hidden;
    Math::in_blocks(
        CellProduct<T>{.m = s.s.batch, .a = s.h, .b = s.r[0], .c = s.gates, .c_stride = hidden, .residual = s.x}, s,
        [&](const UnitBlock& block) {
          for (size_t b = block.m0; b < block.m1; ++b) {
            if (s.ended(b)) continue;
            T* h = s.h + b * hidden + block.n0;
            std::copy_n(s.gates + b * hidden + block.n0, block.units(), h);
            s.limit(h, block.units());
            Math::apply(s.functions[0], h, block.units());
          }
        });
  }
};

}  // namespace

extern const OpDef op_rnn;
constinit const OpDef op_rnn = define<Rnn>({
    .name = "RNN",
    .since = {1, 7, 14, 22},
    .inputs = {"X: T", "W: T", "R: T", "B: T?", "sequence_lens: int32?", "initial_h: T?"},
    .outputs = {"Y: T?", "Y_h: T?"},
    .types = kFloats,
});

}  // namespace retort::ops

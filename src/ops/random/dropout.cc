// Dropout in training: elements become 0 with probability `ratio`; the others are multiplied by 1 / (1 - ratio). The
// lift removes the node if training_mode is constantly false.
#include "ops/integers.h"
#include "ops/nn/common/load.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct Dropout : RandomOp<int64_t> {
  static constexpr std::tuple attributes{attr("seed", &Dropout::seed)};
  enum Input : size_t { kData, kRatio, kTraining };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kData));
    c.set(1, DType::boolean);
    c.set(0, c.dtype(kData), c.shape(kData));
    c.set(1, DType::boolean, c.shape(kData));
  }
  void run(RunContext& c) const {
    const bool training = c.has(kTraining) && integer(c, kTraining) != 0;
    require(!c.has(kRatio) || c.count(kRatio) == 1, ErrorCode::invalid_argument, "ratio has {} elements",
            c.count(kRatio));
    const double ratio = !training ? 0 : c.has(kRatio) ? load_floats(c, kRatio)[0] : 0.5;
    require(ratio >= 0 && ratio < 1, ErrorCode::invalid_argument, "ratio {} is outside of [0, 1)", ratio);
    const RandomNumbers n = numbers(c);
    std::vector<double> y = load_floats(c, kData);
    const auto mask = c.output<bool>(1);
    for (size_t i = 0; i < y.size(); ++i) {
      mask[i] = n.uniform(i) >= ratio;
      y[i] = mask[i] ? y[i] / (1 - ratio) : 0;
    }
    store_floats(c, 0, y);
  }
};

}  // namespace

extern const OpDef op_dropout;
constinit const OpDef op_dropout = define<Dropout>({
    .name = "Dropout",
    .since = {1, 6, 7, 10, 12, 13, 22},
    .inputs = {"data: T", "ratio: T1?", "training_mode: bool?"},
    .outputs = {"output: T", "mask: bool"},
    .types = kFloats,
    .traits = kRandom,
});

}  // namespace retort::ops

// Binarizer: 1 above the threshold, 0 otherwise.
#include "ops/elementwise.h"
#include "ops/ml/common/features.h"

namespace retort::ops {
namespace {

struct Binarizer : UnaryElementwise {
  float threshold = 0;
  static constexpr std::tuple attributes{attr("threshold", &Binarizer::threshold)};
  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = float(x[i]) > threshold ? T(1) : T(0);
  }
};

}  // namespace

extern const OpDef op_binarizer;
constinit const OpDef op_binarizer = define<Binarizer>({
    .name = "Binarizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFeatureTypes,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops

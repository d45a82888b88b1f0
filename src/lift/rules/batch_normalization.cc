// BatchNormalization: before opset 14 a graph was always in inference mode, with up to five outputs; `spatial` could be
// 0 before opset 9.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void spatial(Rewriter& r) {
  require(r.attributes().get_or<int64_t>("spatial", 1) != 0, ErrorCode::not_implemented,
          "spatial = 0 (statistics per pixel) is not supported; export the model with opset 9 or newer");
  r.erase({"spatial", "is_test"});
}

void outputs(Rewriter& r) {
  for (size_t i = 1; i < r.node().outputs.size(); ++i)
    require(!r.output_used(i), ErrorCode::not_implemented,
            "output {} (training statistics) is used; export the model for inference", i);
  for (size_t i = 1; i < r.node().outputs.size(); ++i) r.drop_output(i);
}

constexpr LiftRule kBatchNormalizationRules[] = {{"BatchNormalization", 9, spatial},
                                                 {"BatchNormalization", 14, outputs}};

}  // namespace

extern const LiftRules lift_batch_normalization;
constinit const LiftRules lift_batch_normalization{kBatchNormalizationRules};

}  // namespace retort

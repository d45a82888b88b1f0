// HannWindow: the raised cosine.
#include "ops/signal/common/window.h"

namespace retort::ops {
namespace {

struct HannWindow : CosineWindow {
  void run(RunContext& c) const { fill(c, 0.5, 0.5, 0); }
};

}  // namespace

extern const OpDef op_hann_window;
constinit const OpDef op_hann_window = define<HannWindow>({
    .name = "HannWindow",
    .since = {17},
    .inputs = {"size: I"},
    .outputs = {"output: T2"},
});

}  // namespace retort::ops

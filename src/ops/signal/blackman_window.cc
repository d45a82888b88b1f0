// BlackmanWindow: a window made of two cosines.
#include "ops/signal/common/window.h"

namespace retort::ops {
namespace {

struct BlackmanWindow : CosineWindow {
  void run(RunContext& c) const { fill(c, 0.42, 0.5, 0.08); }
};

}  // namespace

extern const OpDef op_blackman_window;
constinit const OpDef op_blackman_window = define<BlackmanWindow>({
    .name = "BlackmanWindow",
    .since = {17},
    .inputs = {"size: I"},
    .outputs = {"output: T2"},
});

}  // namespace retort::ops

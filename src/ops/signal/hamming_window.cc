// HammingWindow: a cosine on a pedestal.
#include "ops/signal/common/window.h"

namespace retort::ops {
namespace {

struct HammingWindow : CosineWindow {
  void run(RunContext& c) const { fill(c, 25.0 / 46, 21.0 / 46, 0); }
};

}  // namespace

extern const OpDef op_hamming_window;
constinit const OpDef op_hamming_window = define<HammingWindow>({
    .name = "HammingWindow",
    .since = {17},
    .inputs = {"size: I"},
    .outputs = {"output: T2"},
});

}  // namespace retort::ops

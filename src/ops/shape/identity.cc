// Identity: the input itself, of any kind.
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct Identity {
  void infer(InferContext& c) const {
    c.set(0, c.type(0));
    if (const auto content = c.try_value(0)) c.set_value(0, *content);
  }
  void run(RunContext& c) const { run_view(c); }
};

}  // namespace

extern const OpDef op_identity;
constinit const OpDef op_identity = define<Identity>({
    .name = "Identity",
    .since = {1, 13, 14, 16, 19, 21, 23, 24, 25},
    .inputs = {"input: V"},
    .outputs = {"output: V"},
    .traits = kView | kMayAliasInput0,
});

}  // namespace retort::ops

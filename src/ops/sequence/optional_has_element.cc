// OptionalHasElement: whether an optional has a value; true for every value that is not an optional.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct OptionalHasElement {
  void infer(InferContext& c) const { c.set(0, DType::boolean, {}); }
  void run(RunContext& c) const {
    const auto* o = c.has(0) ? c.in_slot(0).boxed.get<Optional>() : nullptr;
    c.set_value(0, Tensor::of<bool>({}, {c.has(0) && (!o || o->value)}));
  }
};

}  // namespace

extern const OpDef op_optional_has_element;
constinit const OpDef op_optional_has_element = define<OptionalHasElement>({
    .name = "OptionalHasElement",
    .since = {15, 18, 28},
    .inputs = {"input: O?"},
    .outputs = {"output: bool"},
    .traits = kBoxed,
});

}  // namespace retort::ops

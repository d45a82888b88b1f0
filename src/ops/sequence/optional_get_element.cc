// OptionalGetElement: the value of an optional that has one.
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct OptionalGetElement {
  void infer(InferContext& c) const {
    const ValueType& t = c.type(0);
    const bool optional = t.kind == ValueType::Kind::optional;
    if (!optional || t.element) c.set(0, optional ? *t.element : t);
  }
  void run(RunContext& c) const {
    const auto* o = c.in_slot(0).boxed.get<Optional>();
    require(!o || o->value, ErrorCode::invalid_argument, "the optional has no value");
    c.set_value(0, o ? own_copy(*o->value) : copy_of(c, 0));
  }
};

}  // namespace

extern const OpDef op_optional_get_element;
constinit const OpDef op_optional_get_element = define<OptionalGetElement>({
    .name = "OptionalGetElement",
    .since = {15, 18, 28},
    .inputs = {"input: O"},
    .outputs = {"output: V"},
    .traits = kBoxed,
});

}  // namespace retort::ops

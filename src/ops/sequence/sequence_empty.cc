// SequenceEmpty: a sequence without elements, whose element type is tensors of type `dtype`.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct SequenceEmpty {
  DType dtype = DType::f32;
  static constexpr std::tuple attributes{attr("dtype", &SequenceEmpty::dtype)};

  void infer(InferContext& c) const { c.set(0, ValueType::sequence_of(ValueType::tensor(dtype))); }
  void run(RunContext& c) const { c.set_value(0, Sequence{.dtype = dtype}); }
};

}  // namespace

extern const OpDef op_sequence_empty;
constinit const OpDef op_sequence_empty = define<SequenceEmpty>({
    .name = "SequenceEmpty",
    .since = {11},
    .outputs = {"output: S"},
    .traits = kBoxed,
});

}  // namespace retort::ops

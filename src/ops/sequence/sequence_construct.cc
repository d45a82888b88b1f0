// SequenceConstruct: a sequence of the inputs.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct SequenceConstruct {
  void infer(InferContext& c) const { c.set(0, ValueType::sequence_of(ValueType::tensor(c.dtype(0)))); }
  void run(RunContext& c) const {
    Sequence s{.dtype = c.dtype(0)};
    for (size_t i = 0; i < c.input_count(); ++i) s.items.push_back(copy_of(c, i));
    c.set_value(0, std::move(s));
  }
};

}  // namespace

extern const OpDef op_sequence_construct;
constinit const OpDef op_sequence_construct = define<SequenceConstruct>({
    .name = "SequenceConstruct",
    .since = {11},
    .inputs = {"inputs: T..."},
    .outputs = {"output_sequence: S"},
    .traits = kBoxed,
});

}  // namespace retort::ops

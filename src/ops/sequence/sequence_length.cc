// SequenceLength: the number of elements.
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct SequenceLength {
  void infer(InferContext& c) const {
    element_type(c, 0);
    c.set(0, DType::i64, {});
  }
  void run(RunContext& c) const { c.set_value(0, Tensor::of<int64_t>({}, {int64_t(sequence_at(c, 0).items.size())})); }
};

}  // namespace

extern const OpDef op_sequence_length;
constinit const OpDef op_sequence_length = define<SequenceLength>({
    .name = "SequenceLength",
    .since = {11},
    .inputs = {"input_sequence: S"},
    .outputs = {"length: int64"},
    .traits = kBoxed,
});

}  // namespace retort::ops

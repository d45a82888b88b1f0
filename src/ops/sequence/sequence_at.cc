// SequenceAt: one element; negative positions count from the end.
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct SequenceAt {
  void infer(InferContext& c) const {
    const ValueType t = element_type(c, 0);
    if (t.is_tensor()) c.set(0, t.dtype);
  }
  void run(RunContext& c) const {
    const Sequence& s = sequence_at(c, 0);
    c.set_value(0, own_copy(s.items[position_at(c, 1, s.items.size())]));
  }
};

}  // namespace

extern const OpDef op_sequence_at;
constinit const OpDef op_sequence_at = define<SequenceAt>({
    .name = "SequenceAt",
    .since = {11},
    .inputs = {"input_sequence: S", "position: I"},
    .outputs = {"tensor: V"},
    .traits = kBoxed,
});

}  // namespace retort::ops

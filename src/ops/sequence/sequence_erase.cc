// SequenceErase: the sequence without its last element or the one at a given position.
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct SequenceErase {
  void infer(InferContext& c) const { c.set(0, c.type(0)); }
  void run(RunContext& c) const {
    Sequence s = sequence_at(c, 0);
    require(!s.items.empty(), ErrorCode::invalid_argument, "the sequence is empty");
    const size_t at = c.has(1) ? position_at(c, 1, s.items.size()) : s.items.size() - 1;
    s.items.erase(at);
    c.set_value(0, std::move(s));
  }
};

}  // namespace

extern const OpDef op_sequence_erase;
constinit const OpDef op_sequence_erase = define<SequenceErase>({
    .name = "SequenceErase",
    .since = {11},
    .inputs = {"input_sequence: S", "position: I?"},
    .outputs = {"output_sequence: S"},
    .traits = kBoxed,
});

}  // namespace retort::ops

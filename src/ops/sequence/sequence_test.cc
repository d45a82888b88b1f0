#include "ops/op_test.h"

namespace retort::ops {
namespace {

// Sequences and optionals are no tensors, which is all that OpRun compares.
const OpTestOptions kOwn{.own_test = "Sequence and Optional in session/engine_tests/sequence_test.cc"};
const OpTest construct("SequenceConstruct", {}, kOwn), empty("SequenceEmpty", {}, kOwn), at("SequenceAt", {}, kOwn),
    insert("SequenceInsert", {}, kOwn), erase("SequenceErase", {}, kOwn), length("SequenceLength", {}, kOwn),
    concat("ConcatFromSequence", {}, kOwn), split("SplitToSequence", {}, kOwn), optional("Optional", {}, kOwn),
    has_element("OptionalHasElement", {}, kOwn), get_element("OptionalGetElement", {}, kOwn);

}  // namespace
}  // namespace retort::ops

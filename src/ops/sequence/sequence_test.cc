#include "ops/op_test.h"

namespace retort::ops {
namespace {

// Sequences and optionals are not tensors, and OpRun compares only tensors.
const OpTestOptions kOwnTest{.own_test = "Sequence and Optional in session/engine_tests/sequence_test.cc"};
const OpTest construct("SequenceConstruct", {}, kOwnTest), empty("SequenceEmpty", {}, kOwnTest),
    at("SequenceAt", {}, kOwnTest), insert("SequenceInsert", {}, kOwnTest), erase("SequenceErase", {}, kOwnTest),
    length("SequenceLength", {}, kOwnTest), concat("ConcatFromSequence", {}, kOwnTest),
    split("SplitToSequence", {}, kOwnTest), optional("Optional", {}, kOwnTest),
    has_element("OptionalHasElement", {}, kOwnTest), get_element("OptionalGetElement", {}, kOwnTest);

}  // namespace
}  // namespace retort::ops

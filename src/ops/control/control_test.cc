#include "ops/op_test.h"

namespace retort::ops {
namespace {

// A body needs a session: src/session/engine_tests/control_test.cc.
const OpTest if_test("If", {}, {.own_test = "If in session/engine_tests/control_test.cc"});
const OpTest loop("Loop", {}, {.own_test = "Loop in session/engine_tests/control_test.cc"});
const OpTest scan("Scan", {}, {.own_test = "Scan in session/engine_tests/control_test.cc"});
const OpTest sequence_map("SequenceMap", {}, {.own_test = "SequenceMap in session/engine_tests/sequence_test.cc"});
// What it does is its caller's.
const OpTest external("External", {}, {.domain = "retort", .own_test = "custom.* in tests/abi"});
// Makes maps, which OpRun does not compare.
const OpTest zip_map("ZipMap", {},
                     {.domain = "ai.onnx.ml", .own_test = "ZipMap in session/engine_tests/control_test.cc"});

}  // namespace
}  // namespace retort::ops
